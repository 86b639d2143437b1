"""/docs and /openapi.json: Swagger UI, from an installed package. Nothing is loaded from other sites."""

from __future__ import annotations

import json
from importlib.resources import files

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html

from keeps.server.public import KeptAnswer

FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css", "favicon.png": "image/png"}


def mount_docs(app: FastAPI) -> None:
    """Mount the page and its files."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Keeps",
        swagger_js_url="/docs/swagger-ui-bundle.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon.png",
    )
    answers = {
        "/docs": KeptAnswer(lambda: bytes(page.body), "text/html; charset=utf-8"),
        "/openapi.json": KeptAnswer(lambda: json.dumps(app.openapi()).encode(), "application/json"),
    }
    for name, media_type in FILES.items():
        file = files("fastapi_offline").joinpath("static", name)
        answers[f"/docs/{name}"] = KeptAnswer(file.read_bytes, media_type, cache_control="max-age=86400")
    for path, answer in answers.items():
        app.add_route(path, answer.response)

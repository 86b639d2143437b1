"""/docs and /openapi.json: Swagger UI, from the package that holds it. Nothing is loaded from elsewhere."""

from __future__ import annotations

import json
from importlib.resources import files

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html

from keeps.server.public import KeptAnswer

FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css", "favicon.png": "image/png"}


def mount_docs(app: FastAPI) -> None:
    """The page and the files that it needs."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Keeps",
        swagger_js_url="/docs/swagger-ui-bundle.js",
        swagger_css_url="/docs/swagger-ui.css",
        swagger_favicon_url="/docs/favicon.png",
    )
    kept = {
        "/docs": KeptAnswer(lambda: bytes(page.body), "text/html; charset=utf-8"),
        "/openapi.json": KeptAnswer(lambda: json.dumps(app.openapi()).encode(), "application/json"),
    }
    for name, media_type in FILES.items():
        file = files("fastapi_offline").joinpath("static", name)
        kept[f"/docs/{name}"] = KeptAnswer(file.read_bytes, media_type, cache_control="max-age=86400")
    for path, answer in kept.items():
        app.add_route(path, answer.response)

"""/docs and /openapi.json: Swagger UI, from the package that holds it. Nothing is loaded from elsewhere."""

from __future__ import annotations

import asyncio
from importlib.resources import files

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css", "favicon.png": "image/png"}


def mount_docs(app: FastAPI) -> None:
    """The page and the files that it needs."""

    async def page(_request: Request) -> Response:
        return get_swagger_ui_html(
            openapi_url="/openapi.json",
            title="Keeps",
            swagger_js_url="/docs/swagger-ui-bundle.js",
            swagger_css_url="/docs/swagger-ui.css",
            swagger_favicon_url="/docs/favicon.png",
        )

    async def file(request: Request) -> Response:
        name = request.url.path.rpartition("/")[2]
        content = files("fastapi_offline").joinpath("static", name).read_bytes()
        return Response(content, media_type=FILES[name], headers={"Cache-Control": "max-age=86400"})

    async def document(_request: Request) -> Response:
        # Made at the first request, in half a second: in a thread, so that nobody else waits for it.
        return JSONResponse(await asyncio.to_thread(app.openapi))

    app.add_route("/openapi.json", document)
    app.add_route("/docs", page)
    for name in FILES:
        app.add_route(f"/docs/{name}", file)

"""Routes that need no credentials: health, metrics and the documentation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import request_response

from keeps.doors.server.cached_response import CachedResponse
from keeps.doors.server.openapi import openapi_document
from keeps.doors.server.router import Route
from keeps_client.errors import KeepsError

SERVICE = "Keeps"
READY_SECONDS = 5.0
"""Seconds for the database to answer `/ready`."""
_FILES = {
    "swagger-ui-bundle.js": ("swagger-ui-bundle.js", "text/javascript"),
    "swagger-ui.css": ("swagger-ui.css", "text/css"),
    "favicon.png": ("favicon-32x32.png", "image/png"),
}
"""Files of Swagger UI with their types, from the extra `swagger`: nothing is loaded from other sites."""


async def index(request: Request) -> Response:  # noqa: ARG001
    """Say what serves here, and where to go on."""
    return JSONResponse({"service": SERVICE, "docs": "/docs", "openapi": "/openapi.json", "health": "/health"})


async def health(request: Request) -> Response:  # noqa: ARG001
    return JSONResponse({"status": "ok"})


async def ready(request: Request) -> Response:
    try:
        async with asyncio.timeout(READY_SECONDS):
            await request.app.state.keeps.server_version()
    except KeepsError as error:
        return JSONResponse({"status": "unavailable", "detail": error.detail}, 503)
    except TimeoutError:
        detail = f"the database does not answer within {READY_SECONDS:.0f} s"
        return JSONResponse({"status": "unavailable", "detail": detail}, 503)
    return JSONResponse({"status": "ready"})


async def metrics(request: Request) -> Response:
    return await request.app.state.exposition.response(request)


def public_routes() -> Iterator[Route]:
    """Yield the routes; the responses that they cache belong to one application."""
    yield Route(path="/", methods=("GET", "HEAD"), app=request_response(index))
    for path, respond in (("/health", health), ("/ready", ready), ("/metrics", metrics)):
        yield Route(path=path, methods=("GET",), app=request_response(respond))
    yield from documentation_routes(_swagger_ui())
    yield _cached("/openapi.json", CachedResponse(lambda: json.dumps(openapi_document()).encode(), "application/json"))


def documentation_routes(swagger_ui: Path | None) -> Iterator[Route]:
    """Yield the page of the API, and the files that it loads; without Swagger UI, a list of the operations."""
    if swagger_ui is None:
        yield _cached("/docs", CachedResponse(_list_of_operations, "text/html; charset=utf-8"))
        return
    page = files("keeps.doors.server").joinpath("docs.html")
    yield _cached("/docs", CachedResponse(page.read_bytes, "text/html; charset=utf-8"))
    for name, (file, media_type) in _FILES.items():
        read = swagger_ui.joinpath(file).read_bytes
        yield _cached(f"/docs/{name}", CachedResponse(read, media_type, cache_control="max-age=86400"))


def _swagger_ui() -> Path | None:
    """Return the folder of Swagger UI; None unless the extra `swagger` is installed."""
    try:
        from swagger_ui_bundle import swagger_ui_path
    except ImportError:
        return None
    return swagger_ui_path


def _list_of_operations() -> bytes:
    rows = [
        f"<tr><td><code>{method.upper()} {escape(path)}</code></td><td>{escape(operation.get('summary', ''))}</td></tr>"
        for path, methods in openapi_document()["paths"].items()
        for method, operation in methods.items()
    ]
    page = files("keeps.doors.server").joinpath("operations.html").read_text(encoding="utf-8")
    return page.replace("<!-- operations -->", "\n".join(rows)).encode()


def _cached(path: str, response: CachedResponse) -> Route:
    return Route(path=path, methods=("GET", "HEAD"), app=request_response(response.response))


PUBLIC_PATHS = frozenset(route.path for route in public_routes())

"""The OpenAPI document: FastAPI's, with errors, credentials and examples added to each route."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from keeps.server.edge import PUBLIC
from keeps.server.examples import PARAMETERS, example_of
from keeps_client.endpoints import ENDPOINTS
from keeps_client.models import Document as StoredDocument

_ERRORS = {
    "401": "No usable credentials (`unauthenticated`).",
    "403": "The role does not allow it (`forbidden`).",
    "404": "Not there, or somebody else's (`not_found`).",
    "409": "Another version is stored (`conflict`): with the current one.",
    "413": "Too much at once (`payload_too_large`).",
    "422": "The input breaks a rule (`validation_failed`).",
    "429": "Too many requests (`rate_limited`): with `Retry-After`.",
    "503": "Not available right now (`unavailable`).",
}
_ELSEWHERE = {
    "424": "The database that was asked did not answer as it should (`database_failed`).",
    "501": "Needs a setting that is not made here (`not_configured`).",
}
"""Errors of only those operations that call other servers."""
_PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "An error, by RFC 9457.",
    "required": ["type", "title", "status", "code", "detail", "request_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {"type": "object", "properties": {"field": {"type": "string"}, "message": {"type": "string"}}},
        },
        "current_version": {"type": ["integer", "null"]},
        "current": {},
        "retry_after_seconds": {"type": "number"},
    },
    "examples": [
        {
            "type": "urn:keeps:problem:not_found",
            "title": "No such thing",
            "status": 404,
            "code": "not_found",
            "detail": "no plan 'p'",
            "request_id": "0f8c1c5e-0000-4000-8000-000000000000",
        }
    ],
}
_UPLOAD = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "document": {"type": "string", "description": "JSON: title, source, metadata, tags, visibility"},
    },
}
_LINE = '{"type": "memory", "row": {…}}'
_EXAMPLES: dict[str, tuple[Any, Any]] = {
    f"{each.verb.lower()} {each.path}": (
        None if each.body is None else example_of(each.body),
        example_of(each.answer)["items"] if each.bare else example_of(each.answer),
    )
    for each in ENDPOINTS
} | {
    "get /v1/events/stream": (None, "id: 1\nevent: memory.written\ndata: {…}\n\n"),
    "get /v1/admin/export": (None, _LINE),
    "post /v1/documents": (
        {"file": "(the document)", "document": '{"title": "Handbook", "tags": ["people"]}'},
        {
            "status": "created",
            "document": example_of(StoredDocument),
            "stored": 41,
            "known": 1,
            "removed": 0,
            "hidden": 0,
        }
        | {"notes": []},
    ),
    "post /v1/admin/import": (_LINE, {"stored": 12, "unchanged": 0, "failed": 0, "errors": []}),
}
"""Examples of the body and the answer of each route."""
_METHODS = ("get", "post", "put", "patch", "delete")
Document = dict[str, Any]
"""A part of the document, in the shape that OpenAPI defines."""


def describe(app: FastAPI) -> Callable[[], Document]:
    """Return a function that makes the document once."""
    document: Document = {}
    making = Lock()

    def made() -> Document:
        with making:
            if not document:
                document.update(_made(app))
        return document

    return made


def _made(app: FastAPI) -> Document:
    document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    schemas = document["components"]["schemas"]
    schemas["Problem"] = _PROBLEM
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    document["components"]["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "A JWT or an API key."},
        "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    for path, operations in document["paths"].items():
        for method in _METHODS:
            if method in operations:
                _complete(path, method, operations[method])
    return document


def _complete(path: str, method: str, operation: Document) -> None:
    name = operation["operationId"] = f"{method} {path}"
    responses = operation["responses"]
    responses.pop("422", None)
    if path in PUBLIC:
        if path == "/ready":
            responses["503"] = {
                "description": "The database does not answer.",
                "content": {"application/json": {"schema": {"type": "object"}}},
            }
        return
    operation["security"] = [{"bearer": []}, {"apiKey": []}]
    elsewhere = _ELSEWHERE if operation.get("tags") == ["databases"] else {}
    for status, description in {**_ERRORS, **elsewhere}.items():
        content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
        responses.setdefault(status, {"description": description, "content": content})
    if method == "post":
        operation.setdefault("parameters", []).append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "schema": {"type": "string", "pattern": "^[!-~]{1,128}$"},
                "description": "Sent again with the same body, a write is done once and answers the same for 24 hours.",
            }
        )
        responses.setdefault(
            "200",
            {"description": "It was there already, or the answer of before.", **_content_of(responses.get("201"))},
        )
    if name == "post /v1/documents":
        operation["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": _UPLOAD}}}
    if path == "/v1/admin/import":
        operation["requestBody"] = {
            "required": True,
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        }
    if path == "/v1/admin/export":
        responses["200"]["content"] = {"application/x-ndjson": {"schema": {"type": "string"}}}
    for parameter in operation.get("parameters", []):
        if parameter["name"] in PARAMETERS:
            parameter["example"] = PARAMETERS[parameter["name"]]
    body, answer = _EXAMPLES[name]
    for media in operation.get("requestBody", {}).get("content", {}).values():
        media["example"] = body
    for status in ("200", "201"):
        for media in responses.get(status, {}).get("content", {}).values():
            media["example"] = answer


def _content_of(response: Document | None) -> Document:
    return {"content": {kind: dict(media) for kind, media in response["content"].items()}} if response else {}

"""The OpenAPI document, made from the endpoints and the JSON schemas of their pydantic models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import WithDefaultSchema

from keeps import __version__
from keeps.doors.server.custom_routes import (
    ADD_DOCUMENT,
    CUSTOM_ENDPOINTS,
    EXPORT,
    EXPORT_SPACE,
    EXPORT_TENANT,
    IMPORT_DATA,
    STREAM_EVENTS,
)
from keeps.doors.server.examples import PARAMETERS, example_of
from keeps.doors.server.parameters import IF_MATCH_PATTERN
from keeps_client.endpoint import VERSION, Endpoint
from keeps_client.endpoints import ENDPOINTS
from keeps_client.models import Document as StoredDocument

Json = dict[str, Any]
"""A part of the document, in the shape that OpenAPI defines."""
Part = tuple[Endpoint[Any, Any, Any], str]
"""An endpoint, and `body` or `answer`."""
_ERRORS = {
    "401": "Missing or invalid credentials (`unauthenticated`).",
    "403": "The role does not allow it (`forbidden`).",
    "404": "Does not exist, or belongs to another user (`not_found`).",
    "409": "Another version is stored (`conflict`); the answer contains it.",
    "413": "Request too large (`payload_too_large`).",
    "422": "Invalid input (`validation_failed`).",
    "429": "Too many requests (`rate_limited`), with `Retry-After`.",
    "503": "Temporarily unavailable (`unavailable`).",
}
_DATABASE_ERRORS = {
    "424": "The queried database failed (`database_failed`).",
    "501": "Needs a setting that is missing (`not_configured`).",
}
_TEXT: Json = {"type": "string"}
_PROBLEM: Json = {
    "type": "object",
    "title": "Problem",
    "description": "An error according to RFC 9457.",
    "required": ["type", "title", "status", "code", "detail", "request_id"],
    "properties": {
        **dict.fromkeys(("type", "title", "code", "detail", "request_id"), _TEXT),
        "status": {"type": "integer"},
        "errors": {"type": "array", "items": {"type": "object", "properties": {"field": _TEXT, "message": _TEXT}}},
        "current_version": {"type": ["integer", "null"]},
        "current": {},
        "retry_after_seconds": {"type": "number"},
    },
    "examples": [
        {
            "type": "urn:keeps:problem:not_found",
            "title": "Not found",
            "status": 404,
            "code": "not_found",
            "detail": "no plan 'p'",
            "request_id": "0f8c1c5e-0000-4000-8000-000000000000",
        }
    ],
}
_UPLOAD: Json = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "document": {"type": "string", "description": "JSON: title, source, metadata, tags, visibility"},
    },
}
_UPLOAD_EXAMPLE = {"file": "(the document)", "document": '{"title": "Handbook", "tags": ["people"]}'}
_LINES: Json = {"application/x-ndjson": {"schema": _TEXT, "example": '{"type": "memory", "row": {…}}'}}
_CONTENT: Mapping[Part, Json] = {
    (STREAM_EVENTS, "answer"): {},
    (ADD_DOCUMENT, "body"): {"multipart/form-data": {"schema": _UPLOAD, "example": _UPLOAD_EXAMPLE}},
    (EXPORT, "answer"): _LINES,
    (EXPORT_TENANT, "answer"): _LINES,
    (EXPORT_SPACE, "answer"): _LINES,
    (IMPORT_DATA, "body"): _LINES,
}
"""Bodies and answers that are not JSON."""
_IDEMPOTENCY_KEY: Json = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": "^[!-~]{1,128}$"},
    "description": "A repeated write with the same key and body runs once and returns the same response for 24 hours.",
}
_PUBLIC: Mapping[str, tuple[str, Json]] = {
    "health": (
        "Report that the process answers. It does not use the database.",
        {"type": "object", "additionalProperties": _TEXT, "title": "Response Health Health Get"},
    ),
    "ready": ("Report whether requests can be served, with a query of the database. 503 when it does not answer.", {}),
    "metrics": ("Return Prometheus metrics.", {}),
}
"""Description and schema of the routes that need no credentials."""


@cache
def openapi_document() -> Json:
    """Return the document."""
    endpoints = [*ENDPOINTS, *CUSTOM_ENDPOINTS]
    contents, components = _json_contents(endpoints)
    paths: Json = {f"/{name}": {"get": _public_operation(name)} for name in _PUBLIC}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.verb.lower()] = _operation(endpoint, {**contents, **_CONTENT})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Keeps",
            "summary": "Memory for AI agents, isolated by the database.",
            "version": __version__,
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "description": "A JWT or an API key."},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


class _Generator(GenerateJsonSchema):
    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """Leave the default of an optional field out if it is null."""
        json_schema = super().default_schema(schema)
        if json_schema.get("default", ...) is None:
            del json_schema["default"]
        return json_schema


def _json_contents(endpoints: list[Endpoint[Any, Any, Any]]) -> tuple[dict[Part, Json], Json]:
    """Return the content of all bodies and answers as JSON, and the schemas of their models."""
    adapters: dict[Part, TypeAdapter[Any]] = {}
    for endpoint in endpoints:
        adapters[endpoint, "answer"] = endpoint.items if endpoint.bare else endpoint.adapter
        if endpoint.body is not None:
            adapters[endpoint, "body"] = TypeAdapter(endpoint.body)
    schemas, definitions = TypeAdapter.json_schemas(
        [(part, "validation", adapter) for part, adapter in adapters.items() if part not in _CONTENT],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Generator,
    )
    contents: dict[Part, Json] = {}
    for (part, _), schema in schemas.items():
        if "$ref" not in schema:
            endpoint = part[0]
            name = re.sub(r"\W", "_", f"response_{endpoint.name}{endpoint.path}_{endpoint.verb}")
            schema = {**schema, "title": name.title().replace("_", " ")}
        contents[part] = {"application/json": {"schema": schema, "example": _example(*part)}}
    return contents, definitions["$defs"]


def _example(endpoint: Endpoint[Any, Any, Any], part: str) -> Any:
    if endpoint is ADD_DOCUMENT:
        counts = {"stored": 41, "known": 1, "removed": 0, "hidden": 0}
        return {"status": "created", "document": example_of(StoredDocument), **counts, "notes": []}
    if endpoint is IMPORT_DATA:
        return {"stored": 12, "unchanged": 0, "failed": 0, "errors": []}
    example = example_of(endpoint.body if part == "body" else endpoint.answer)
    return example["items"] if part == "answer" and endpoint.bare else example


def _operation(endpoint: Endpoint[Any, Any, Any], contents: Mapping[Part, Json]) -> Json:
    success: Json = {"description": "Successful Response"}
    if content := contents[endpoint, "answer"]:
        success["content"] = content
    responses: Json = {str(endpoint.status): success}
    if endpoint.verb == "POST":
        responses.setdefault(
            "200", {**success, "description": "It already existed, or this is the stored answer of an earlier request."}
        )
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    errors = _ERRORS | _DATABASE_ERRORS if endpoint.tag == "databases" else _ERRORS
    responses |= {status: {"description": text, "content": problem} for status, text in errors.items()}
    operation: Json = {
        "tags": [endpoint.tag],
        "summary": endpoint.name.replace("_", " ").title(),
        "operationId": f"{endpoint.verb.lower()} {endpoint.path}",
        "responses": responses,
        "security": [{"bearer": []}, {"apiKey": []}],
    }
    if endpoint.doc:
        operation["description"] = endpoint.doc
    if not endpoint.repeatable:
        operation["x-keeps-repeatable"] = False  # clients send it at most once
    if parameters := _parameters(endpoint):
        operation["parameters"] = parameters
    if (content := contents.get((endpoint, "body"))) is not None:
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _parameters(endpoint: Endpoint[Any, Any, Any]) -> list[Json]:
    """Return the parameters in the path, the query and the headers."""
    parameters: list[Json] = []
    if (model := endpoint.params) is not None:
        properties = model.model_json_schema(schema_generator=_Generator)["properties"]
        names = [name for name in model.model_fields if name != VERSION]
        names.sort(key=lambda name: name not in endpoint.path_names)
        fields, in_path = model.model_fields, endpoint.path_names
        parameters += [_parameter(name, fields[name], properties[name], in_path) for name in names]
    if endpoint.takes_version:
        schema = {"type": "string", "pattern": IF_MATCH_PATTERN}
        parameters.append(_header("if-match", schema, description="The version that must be stored, as its ETag"))
    if endpoint is STREAM_EVENTS:
        parameters.append(_header("last-event-id", {"type": "integer", "minimum": 0, "exclusiveMaximum": 2**63}))
    if endpoint.verb == "POST":
        parameters.append(_IDEMPOTENCY_KEY)
    return parameters


def _parameter(name: str, field: FieldInfo, schema: Json, path_names: tuple[str, ...]) -> Json:
    in_path = name in path_names
    parameter: Json = {
        "name": name,
        "in": "path" if in_path else "query",
        "required": field.is_required(),
        "schema": schema,
    }
    if field.description and not in_path:
        parameter["description"] = field.description
    if name in PARAMETERS:
        parameter["example"] = PARAMETERS[name]
    return parameter


def _header(name: str, schema: Json, **about: str) -> Json:
    optional = {"anyOf": [schema, {"type": "null"}], "title": name.title(), **about}
    return {"name": name, "in": "header", "required": False, "schema": optional, **about}


def _public_operation(name: str) -> Json:
    description, schema = _PUBLIC[name]
    success: Json = {"description": "Successful Response"}
    responses: Json = {"200": success}
    if name != "metrics":
        success["content"] = {"application/json": {"schema": schema}}
    if name == "ready":
        content = {"application/json": {"schema": {"type": "object"}}}
        responses["503"] = {"description": "The database does not answer.", "content": content}
    about = {"summary": name.title(), "description": description, "operationId": f"get /{name}"}
    return {"tags": ["operations"], **about, "responses": responses}

"""Read the operations of an OpenAPI 3 document as tools. Pure; nothing outside the document is read."""

from __future__ import annotations

import json
import re
from typing import Any

from keeps_client.errors import ValidationFailedError
from keeps_client.models.tools import MAX_SCHEMA

METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
MOST_OPERATIONS, MOST_DEPTH, MOST_REFERENCES = 500, 12, 100
_UNFIT = re.compile(r"[^A-Za-z0-9_.:-]+")


def tools_of(document: dict[str, Any], prefix: str | None) -> tuple[list[dict[str, Any]], list[str]]:
    """Return each operation as the fields of a tool; and the omissions, with the reason for each.

    Raises ValidationFailedError if it is not an OpenAPI 3 document, or refers to something outside itself.
    """
    if not str(document.get("openapi", "")).startswith("3."):
        raise ValidationFailedError("openapi must be an OpenAPI 3 document, with its version in `openapi`")
    paths = document.get("paths")
    if not isinstance(paths, dict) or not paths:
        raise ValidationFailedError("the OpenAPI document has no paths")
    tools: list[dict[str, Any]] = []
    left: list[str] = []
    parts = _Parts(document)
    for path, path_item in paths.items():
        item = parts.target(path_item)
        for method in METHODS:
            operation = item.get(method) if isinstance(item, dict) else None
            if not isinstance(operation, dict):
                continue
            if len(tools) >= MOST_OPERATIONS:
                left.append(f"{method.upper()} {path}: more than {MOST_OPERATIONS} operations")
                continue
            tool = _tool(document, path, method, operation, prefix)
            try:
                tool["input_schema"] = _input(parts.begun(), item, operation)
            except _TooLongError:
                left.append(f"{tool['name']}: its input schema is too long and is omitted")
            tools.append(tool)
    return tools, left


def _tool(
    document: dict[str, Any], path: str, method: str, operation: dict[str, Any], prefix: str | None
) -> dict[str, Any]:
    called = str(operation.get("operationId") or f"{method}{path}")[:1_000]
    name = "-".join(filter(None, (prefix, _UNFIT.sub("-", called).strip("-"))))[:100] or method
    summary, description = (" ".join(str(operation.get(each) or "").split()) for each in ("summary", "description"))
    return {
        "name": name,
        "purpose": (summary or description or f"{method.upper()} {path}")[:500],
        "when_to_use": (description if summary and description else None) and description[:500],
        "input_schema": None,
        "auth": _auth(document, operation),
    }


def _input(parts: _Parts, item: dict[str, Any], operation: dict[str, Any]) -> dict[str, Any] | None:
    """Return the JSON Schema of an operation's input. Raises _TooLongError."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for listed in [*_listed(item.get("parameters")), *_listed(operation.get("parameters"))]:
        parameter = parts.target(listed)
        if isinstance(parameter, dict) and parameter.get("name"):
            schema_of_parameter = parts.resolved(parameter.get("schema") or {})
            properties[str(parameter["name"])] = _described(
                schema_of_parameter, parts.resolved(parameter.get("description"))
            )
            if parameter.get("required"):
                required.append(str(parameter["name"]))
    body = parts.target(operation.get("requestBody") or {})
    content = body.get("content") if isinstance(body, dict) else None
    for kind, media in (content or {}).items() if isinstance(content, dict) else ():
        if "json" in kind and isinstance(media, dict):
            properties["body"] = parts.resolved(media.get("schema") or {})
            if body.get("required"):
                required.append("body")
            break
    if not properties:
        return None
    schema = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    if len(json.dumps(schema)) > MAX_SCHEMA:
        raise _TooLongError
    return schema


def _described(schema: Any, said: object) -> Any:
    if isinstance(schema, dict) and said and "description" not in schema:
        return {**schema, "description": str(said)[:500]}
    return schema


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _auth(document: dict[str, Any], operation: dict[str, Any]) -> str | None:
    needed = operation.get("security", document.get("security"))
    names = dict.fromkeys(name for each in _listed(needed) if isinstance(each, dict) for name in each)
    return ", ".join(map(str, names))[:200] or None


class _TooLongError(Exception):
    """The input schema of an operation is too long."""


class _Parts:
    """Resolves references in a document. The size per operation is limited, since schemas may contain themselves."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._left = MAX_SCHEMA

    def begun(self) -> _Parts:
        """Reset the size limit for the next operation."""
        self._left = MAX_SCHEMA
        return self

    def target(self, part: Any) -> Any:
        """Return a part, or the part that it refers to."""
        for _ in range(MOST_REFERENCES):
            reference = part.get("$ref") if isinstance(part, dict) else None
            if not isinstance(reference, str):
                return part
            if not reference.startswith("#/"):
                raise ValidationFailedError(f"$ref must point inside the document, and {reference[:200]!r} does not")
            part = self._document
            for step in reference[2:].split("/"):
                key = step.replace("~1", "/").replace("~0", "~")
                part = part.get(key) if isinstance(part, dict) else None
            if part is None:
                raise ValidationFailedError(f"$ref {reference[:200]!r} points to nothing")
        raise ValidationFailedError("a $ref of the OpenAPI document points to itself")

    def resolved(self, part: Any, depth: int = 0) -> Any:
        """Return a part with all references replaced, down to MOST_DEPTH. Raises _TooLongError."""
        part = self.target(part)
        self._left -= 2 + (len(part) if isinstance(part, str) else 0)
        if self._left < 0:
            raise _TooLongError
        if depth > MOST_DEPTH:
            return {}
        if isinstance(part, list):
            return [self.resolved(item, depth + 1) for item in part]
        if not isinstance(part, dict):
            return part
        self._left -= sum(map(len, part))
        return {name: self.resolved(value, depth + 1) for name, value in part.items()}

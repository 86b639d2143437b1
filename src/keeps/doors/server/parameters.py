"""Reads the parameters and the body of a request by the pydantic models of its endpoint."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from keeps.doors.server.urls import SLASH
from keeps_client.checked import message_of
from keeps_client.endpoint import VERSION, Endpoint
from keeps_client.errors import ConflictError, ValidationFailedError

MAX_BYTES_ON_LOOP = 1 << 16
"""Bytes up to which a body is validated on the event loop."""
MAX_REPORTED_ERRORS, MAX_READ_ERRORS = 100, 1_000
"""Validation errors in a response, and errors that are read at all: pydantic makes an object of each at once."""
IF_MATCH_PATTERN = r'^(W/)?"?[0-9]{1,10}"?$'
_IF_MATCH = re.compile(IF_MATCH_PATTERN)
Finding = Mapping[str, Any]
"""A validation error in pydantic's form."""


def read_parameters(endpoint: Endpoint[Any, Any, Any], request: Request, findings: list[Finding]) -> Any:
    """Return the parameters in the path and the query; what is wrong is added to the findings."""
    model = endpoint.params
    if model is None:
        return None
    path: dict[str, Any] = request.scope["path_params"]
    values = path
    if query := request.scope["query_string"]:
        values = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)) | path
        values.pop("", None)
    try:
        params = model.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        wrong: list[Finding] = [{**detail, "loc": detail["loc"][:1] or ("query",)} for detail in details]
        findings += sorted(wrong, key=lambda finding: finding["loc"][0] not in path)
        return None
    slashes = {name: value.replace(SLASH, "/") for name, value in path.items() if SLASH in str(value)}
    return params.model_copy(update=slashes) if slashes else params


def read_version(request: Request, findings: list[Finding]) -> str | None:
    """Return the header If-Match, or None; a wrong one is added to the findings."""
    if_match = request.headers.get("if-match")
    if if_match is not None and not _IF_MATCH.search(if_match):
        findings.append(_finding("if_match", f"String should match pattern '{IF_MATCH_PATTERN}'"))
    return if_match


async def read_body(model: type[BaseModel], content: bytes, findings: list[Finding]) -> Any:
    """Return the body; what is wrong is added to the findings."""
    try:
        if len(content) > MAX_BYTES_ON_LOOP:
            # Validators in Python take up to half a second of a long body; in a thread others come in between.
            return await asyncio.to_thread(model.model_validate_json, content)
        return model.model_validate_json(content)
    except ValidationError as error:
        if (count := error.error_count()) > MAX_READ_ERRORS:
            findings.append(_finding("", f"{count:,} values are invalid; check one of them first"))
        else:
            findings += error.errors(include_url=False, include_input=False)
    return None


def validation_error(findings: list[Finding]) -> ValidationFailedError:
    """Return an error with the first findings, without the values, which may have been sent by mistake."""
    errors = [
        {"field": ".".join(str(part) for part in finding["loc"]) or "body", "message": message_of(finding)}
        for finding in findings[:MAX_REPORTED_ERRORS]
    ]
    detail = "; ".join(f"{each['field']}: {each['message']}" for each in errors)
    rest = len(findings) - len(errors)
    return ValidationFailedError(f"{detail}; and {rest:,} more" if rest else detail, errors)


def set_version(if_match: str, params: Any, body: Any) -> tuple[Any, Any]:
    """Return the parameters and the body with the version of the If-Match header.

    Raises ValidationFailedError for a number that is no version, ConflictError if the body has another version.
    """
    version = int(if_match.strip().removeprefix("W/").strip('"'))
    if version > 2_147_483_647:
        raise ValidationFailedError('If-Match must be a version, such as "3"')
    if params is not None and VERSION in type(params).model_fields:
        return params.model_copy(update={VERSION: version}), body
    if body.expected_version not in (None, version):
        raise ConflictError("If-Match and expected_version name different versions")
    return params, body.model_copy(update={"expected_version": version})


def _finding(name: str, message: str) -> Finding:
    return {"loc": (name,) if name else (), "type": "", "msg": message}

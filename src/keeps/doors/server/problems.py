"""Errors as application/problem+json (RFC 9457)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import NotRequired, TypedDict

from keeps_client.errors import (
    ConflictError,
    DatabaseFailedError,
    KeepsError,
    QueryRefusedError,
    RateLimitedError,
    ValidationFailedError,
)

MEDIA_TYPE = "application/problem+json"
TITLES = {
    "validation_failed": "Invalid input",
    "unauthenticated": "Missing or invalid credentials",
    "forbidden": "Forbidden",
    "quota_exceeded": "Quota exceeded",
    "not_found": "Not found",
    "conflict": "Conflict with stored data",
    "payload_too_large": "Request too large",
    "rate_limited": "Too many requests",
    "query_refused": "Query refused",
    "database_failed": "The queried database failed",
    "not_configured": "Not configured",
    "unavailable": "Temporarily unavailable",
    "internal": "Internal error",
}


class Problem(TypedDict):
    """The body of an error (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    request_id: str
    errors: NotRequired[list[Mapping[str, object]]]
    current_version: NotRequired[int | None]
    current: NotRequired[object]
    retry_after_seconds: NotRequired[float]
    rule: NotRequired[str]
    kind: NotRequired[str]


def problem_of(error: KeepsError, request_id: str) -> Problem:
    problem = _problem(error.code, error.status, error.detail, request_id)
    if isinstance(error, ValidationFailedError) and error.errors:
        problem["errors"] = error.errors
    elif isinstance(error, ConflictError):
        problem["current_version"], problem["current"] = error.current_version, error.current
    elif isinstance(error, QueryRefusedError):
        problem["rule"] = error.rule
    elif isinstance(error, DatabaseFailedError):
        problem["kind"] = error.kind
    elif isinstance(error, RateLimitedError):
        problem["retry_after_seconds"] = error.retry_after_seconds
    return problem


def internal_problem(request_id: str) -> Problem:
    """Return the problem for an internal error, which only says where to find it in the log."""
    return _problem("internal", 500, "a defect of Keeps; the log has the details under this request_id", request_id)


def encode(problem: Problem) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return status, headers and body of an answer."""
    body = json.dumps(problem, ensure_ascii=True, default=str).encode()
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    if problem["status"] == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if "retry_after_seconds" in problem:
        headers.append((b"retry-after", str(math.ceil(problem["retry_after_seconds"])).encode()))
    elif problem["code"] == "unavailable":
        headers.append((b"retry-after", b"1"))
    return problem["status"], headers, body


def _problem(code: str, status: int, detail: str, request_id: str) -> Problem:
    return {
        "type": f"urn:keeps:problem:{code}",
        "title": TITLES[code],
        "status": status,
        "code": code,
        "detail": detail,
        "request_id": request_id,
    }

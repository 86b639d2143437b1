"""Requests and responses as values: what to send, and the model or error in a response. Pure."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from uuid import UUID, uuid4

from pydantic import ValidationError

from keeps_client.endpoint import VERSION, AnswerT, Endpoint
from keeps_client.errors import (
    ConflictError,
    DatabaseFailedError,
    ForbiddenError,
    KeepsError,
    NotConfiguredError,
    NotFoundError,
    PayloadTooLargeError,
    QueryRefusedError,
    QuotaExceededError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
    ValidationFailedError,
)
from keeps_client.idempotency import key_of_write

_ERRORS: dict[str, type[KeepsError]] = {
    error.code: error
    for error in (
        UnauthenticatedError,
        ForbiddenError,
        QuotaExceededError,
        NotFoundError,
        PayloadTooLargeError,
        NotConfiguredError,
        UnavailableError,
    )
}
MAX_ATTEMPTS = 4
MAX_WAIT_SECONDS = 20.0
RATE_WAIT_SECONDS = 65.0
"""Default seconds that a call waits when its rate is used up; rates are per minute."""
RETRYABLE = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Call:
    """One request. Writes carry an Idempotency-Key, so a repeated one has no further effect."""

    method: str
    path: str
    body: bytes | None = None
    media_type: str = "application/json"
    repeatable: bool = True
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def with_key(self) -> Call:
        if self.method == "GET":
            return self
        key = key_of_write(f"{self.method} {self.path} {dict(self.headers)}\n".encode() + (self.body or b""))
        if key is None and not self.repeatable:
            return self
        headers = {**self.headers, "Idempotency-Key": key or str(uuid4())}
        return Call(self.method, self.path, self.body, self.media_type, self.repeatable, headers)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. `headers` has lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def call(method: str, *segments: str, query: Mapping[str, object] | None = None) -> Call:
    """Return a call of `/v1/<segments>` without a body."""
    return Call(method, "/v1/" + "/".join(_segment(each) for each in segments) + _query(query or {}))


def call_of(endpoint: Endpoint[AnswerT, Any, Any], fields: Mapping[str, object]) -> Call:
    """Return the request for an operation, with the given arguments only. Raises ValidationFailedError."""
    params, body = endpoint.split(fields)
    arguments = {} if params is None else {name: getattr(params, name) for name in params.model_fields_set}
    version = arguments.pop(VERSION, None)
    path = endpoint.path
    for name in endpoint.path_names:
        path = path.replace(f"{{{name}}}", _segment(_text(arguments.pop(name))))
    return Call(
        endpoint.verb,
        path + _query(arguments),
        None if body is None else body.model_dump_json(exclude_unset=True).encode(),
        repeatable=endpoint.repeatable,
        headers={} if version is None else {"If-Match": f'"{version}"'},
    )


def answer_of(endpoint: Endpoint[AnswerT, Any, Any], answer: Answer) -> AnswerT:
    """Return the answer of an operation. Raises the error that the server names."""
    if answer.status >= 400:
        raise error_of(answer)
    try:
        if endpoint.bare:
            kind: Any = endpoint.answer
            items = endpoint.items.validate_json(answer.body)
            return kind(items=items, next_cursor=answer.headers.get("x-next-cursor"))
        return endpoint.adapter.validate_json(answer.body)
    except ValidationError:
        raise UnavailableError("the response is not from Keeps, or from another version of it; check the URL") from None


def error_of(answer: Answer) -> KeepsError:
    """Return the error that the engine would raise."""
    try:
        problem: dict[str, Any] = json.loads(answer.body)
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return UnavailableError(f"HTTP {answer.status}, not from Keeps; check the URL and any proxy in between")
    match code:
        case "validation_failed":
            return ValidationFailedError(detail, problem.get("errors"))
        case "conflict":
            return ConflictError(detail, current_version=problem.get("current_version"), current=problem.get("current"))
        case "rate_limited":
            return RateLimitedError(detail, retry_after_seconds=float(problem.get("retry_after_seconds", 1)))
        case "query_refused":
            return QueryRefusedError(detail, str(problem.get("rule", "")))
        case "database_failed":
            return DatabaseFailedError(detail, str(problem.get("kind", "")))
        case _:
            known = _ERRORS.get(code)
            return known(detail) if known else UnavailableError(f"{detail} (request {problem.get('request_id')})")


def wait_seconds(attempt: int, answer: Answer | None, rate_wait_seconds: float = RATE_WAIT_SECONDS) -> float | None:
    """Return the seconds to wait before attempt number `attempt` (from 1), or None if a retry is useless."""
    if attempt >= MAX_ATTEMPTS or (answer is not None and answer.status not in RETRYABLE):
        return None
    backoff = random.uniform(0.5, 1.0) * 0.1 * 2**attempt
    if answer is None:
        return backoff
    try:
        retry_after = float(answer.headers.get("retry-after", "0"))
    except ValueError:
        retry_after = 0.0
    most = rate_wait_seconds if answer.status == 429 and "ratelimit-limit" in answer.headers else MAX_WAIT_SECONDS
    return max(retry_after, backoff) if retry_after <= most else None


class EventStreamParser:
    """Parses `text/event-stream` into pairs of a number and data; data is None if only the number advanced."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[tuple[int, str | None]]:
        """Return the complete events so far. A block that the connection cuts off is never taken as complete."""
        *blocks, self._rest = (self._rest + chunk).split(b"\n\n")
        events: list[tuple[int, str | None]] = []
        for block in blocks:
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if ": " in line)
            if fields.get("id", "").isdecimal():
                events.append((int(fields["id"]), fields.get("data")))
        return events


def shown_caller(base_url: str, headers: Mapping[str, str], query: str) -> str:
    """Return the server and the caller of a client as text, without a password in the URL and without a token."""
    parts = urlsplit(base_url)
    shown = [f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"]
    users = parse_qs(query).get("user_id", [])
    user = headers.get("X-User-ID") or (users[0] if users else None)
    callers = {"tenant": headers.get("X-Tenant-ID"), "user": user, "agent": headers.get("X-Agent-ID")}
    shown += [f"{name} {value!r}" for name, value in callers.items() if value is not None]
    if "Authorization" in headers:
        shown.append("with a token")
    return ", ".join(shown)


def reconnect_seconds(failures: int) -> float:
    """Return the seconds to wait before a stream is reopened: almost none, and more while it fails."""
    return 0.02 if failures == 0 else min(5.0, 0.1 * 2 ** min(failures, 6)) * random.uniform(0.5, 1.0)


def _query(values: Mapping[str, object]) -> str:
    given = {name: _text(value) for name, value in values.items() if value is not None}
    return "?" + urlencode(given) if given else ""


def _segment(value: str) -> str:
    encoded = quote(value, safe="")
    return encoded.replace(".", "%2E") if set(value) == {"."} else encoded


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def asked(path: str, query: str) -> str:
    """Return a path with the parameters common to all addresses."""
    return f"{path}{'&' if '?' in path else '?'}{query}" if query else path

"""Errors of Keeps, the same in process and over HTTP.

KeepsError                     code                 HTTP status
├── ValidationFailedError      validation_failed    422
├── UnauthenticatedError       unauthenticated      401
├── ForbiddenError             forbidden            403
│   └── QuotaExceededError     quota_exceeded       403   the tenant's quota is used up; the role would allow it
├── NotFoundError              not_found            404   also for another user's row
├── ConflictError              conflict             409   carries the current version and value
├── PayloadTooLargeError       payload_too_large    413
├── RateLimitedError           rate_limited         429   carries retry_after_seconds
├── NotConfiguredError         not_configured       501   says which extra or setting is missing
└── UnavailableError           unavailable          503   try again: the database cannot be reached
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class KeepsError(Exception):
    """An operation that Keeps refuses or that fails. `code` is stable; `detail` is for people."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class ValidationFailedError(KeepsError):
    """The input breaks a rule; `errors` lists `{"field", "message"}` for each problem. Nothing was written."""

    code = "validation_failed"
    status = 422

    def __init__(self, detail: str, errors: Sequence[Mapping[str, object]] | None = None) -> None:
        super().__init__(detail)
        self.errors = list(errors or ())


class UnauthenticatedError(KeepsError):
    """No usable credentials."""

    code = "unauthenticated"
    status = 401


class ForbiddenError(KeepsError):
    """Known caller, but the role does not allow it."""

    code = "forbidden"
    status = 403


class QuotaExceededError(ForbiddenError):
    """The tenant's quota is used up, so nothing was written. The caller's role allows the write."""

    code = "quota_exceeded"


class NotFoundError(KeepsError):
    """No such row that this scope may see."""

    code = "not_found"
    status = 404


class ConflictError(KeepsError):
    """A concurrent change: the stored version is not the expected one.

    `current_version` and `current` are the stored version and value, so that a caller can merge and retry.
    """

    code = "conflict"
    status = 409

    def __init__(self, detail: str, *, current_version: int | None = None, current: object = None) -> None:
        super().__init__(detail)
        self.current_version = current_version
        self.current: Any = current


class PayloadTooLargeError(KeepsError):
    """More bytes, or more values, than the limit allows."""

    code = "payload_too_large"
    status = 413


class RateLimitedError(KeepsError):
    """Too many calls; try again after `retry_after_seconds`."""

    code = "rate_limited"
    status = 429

    def __init__(self, detail: str, *, retry_after_seconds: float = 1.0) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds


class NotConfiguredError(KeepsError):
    """A missing setting or optional package; `detail` names it."""

    code = "not_configured"
    status = 501


class UnavailableError(KeepsError):
    """The database (or a model behind a URL) cannot be reached or is too busy. No partial data was written."""

    code = "unavailable"
    status = 503


class QueryRefusedError(KeepsError):
    """A query to a database that does not pass the gate; `rule` is the broken rule."""

    code = "query_refused"
    status = 422

    def __init__(self, detail: str, rule: str = "") -> None:
        super().__init__(detail)
        self.rule = rule


class DatabaseFailedError(KeepsError):
    """A queried database failed. `kind`: database (it rejects the query), timeout, limit, connect or refused."""

    code = "database_failed"
    status = 424

    def __init__(self, detail: str, kind: str = "") -> None:
        super().__init__(detail)
        self.kind = kind

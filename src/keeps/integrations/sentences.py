"""Errors as sentences that a model can act on, for all tools for models."""

from __future__ import annotations

import re
from collections.abc import Mapping

from keeps_client.errors import (
    ConflictError,
    ForbiddenError,
    KeepsError,
    NotConfiguredError,
    NotFoundError,
    QuotaExceededError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
    ValidationFailedError,
)

FOR_OPERATORS = (ForbiddenError, UnauthenticatedError, RateLimitedError, UnavailableError)
"""Errors that no model can fix: they are logged and counted."""
_ITEM = re.compile(r"^item [0-9]+: ")


def sentence(
    error: KeepsError, *, missing: str = "", conflict: str = "", names: Mapping[str, str] | None = None
) -> str:
    """Return a sentence that says what failed and what to do.

    Args:
        missing: Advice for NotFoundError.
        conflict: Advice for ConflictError.
        names: The tool's names of arguments that have other names in Keeps.
    """
    match error:
        case NotFoundError():
            return f"{_sentence(error.detail)} {missing}".strip()
        case ConflictError():
            return f"{_sentence(error.detail)} {conflict}".strip()
        case NotConfiguredError():
            return f"{_sentence(error.detail)} This cannot be done here; continue without it."
        case QuotaExceededError():
            return f"Nothing was stored because storage is full: {_sentence(error.detail)} Tell the user."
        case ForbiddenError() | UnauthenticatedError():
            return f"This is not allowed, so nothing was done: {_sentence(error.detail)} Do not retry; tell the user."
        case RateLimitedError():
            seconds = max(1, round(error.retry_after_seconds))
            return f"Nothing was done: {_sentence(error.detail)} Wait {seconds} s, then call again."
        case UnavailableError():
            return (
                f"Memory cannot be reached right now, so nothing was done ({error.detail}). Continue without it,"
                " and try again later."
            )
        case _:
            return f"Nothing was done: {_sentence(_named(error, names or {}))} Correct that and call again."


def _named(error: KeepsError, names: Mapping[str, str]) -> str:
    """Return the detail of an error with the tool's own names of its arguments."""
    if not isinstance(error, ValidationFailedError) or not error.errors:
        return error.detail
    problems: list[str] = []
    for problem in error.errors:
        field, _, rest = str(problem["field"]).partition(".")
        field = names.get(field, field)
        problems.append(f"{f'{field}.{rest}' if rest else field or 'input'}: {problem['message']}")
    return "; ".join(problems[:5])


def _sentence(detail: str) -> str:
    return f"{_ITEM.sub('', detail).rstrip('.')}."

"""Errors as sentences that a model can act on. Every door for models uses them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from keeps_client.errors import (
    ConflictError,
    ForbiddenError,
    KeepsError,
    NotConfiguredError,
    NotFoundError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
    ValidationFailedError,
)

FOR_OPERATORS = (ForbiddenError, UnauthenticatedError, RateLimitedError, UnavailableError)
"""Errors that no model can mend: they are logged and counted."""
_ITEM = re.compile(r"^item [0-9]+: ")


def sentence(
    error: KeepsError, *, missing: str = "", conflict: str = "", names: Mapping[str, str] | None = None
) -> str:
    """Return what went wrong and what to do.

    Args:
        missing: What to do where nothing was found.
        conflict: What to do where somebody else was first.
        names: The tool's own names of arguments that Keeps names otherwise.
    """
    match error:
        case NotFoundError():
            return f"{_sentence(error.detail)} {missing}".strip()
        case ConflictError():
            return f"{_sentence(error.detail)} {conflict}".strip()
        case NotConfiguredError():
            return f"{_sentence(error.detail)} This cannot be done here; go on without it."
        case ForbiddenError() | UnauthenticatedError():
            return f"That was not done; it is not allowed: {_sentence(error.detail)} Do not try again; tell the user."
        case RateLimitedError():
            seconds = max(1, round(error.retry_after_seconds))
            return f"That was not done: {_sentence(error.detail)} Wait {seconds} s, then call again."
        case UnavailableError():
            return (
                f"Memory cannot be reached right now, so nothing was done ({error.detail}). Go on without it, and try"
                " again later."
            )
        case _:
            return f"That was not done: {_sentence(_named(error, names or {}))} Change that and call again."


def _named(error: KeepsError, names: Mapping[str, str]) -> str:
    """Return the detail with the tool's own names of its arguments."""
    if not isinstance(error, ValidationFailedError) or not error.errors:
        return error.detail
    told: list[str] = []
    for each in error.errors:
        field, _, rest = str(each["field"]).partition(".")
        field = names.get(field, field)
        told.append(f"{f'{field}.{rest}' if rest else field or 'input'}: {each['message']}")
    return "; ".join(told[:5])


def _sentence(detail: str) -> str:
    return f"{_ITEM.sub('', detail).rstrip('.')}."

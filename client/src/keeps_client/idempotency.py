"""Idempotency keys for a block of calls, so that the same calls under the same key run once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from keeps_client.errors import ValidationFailedError

MAX_KEY_LENGTH = 128


@dataclass(frozen=True, slots=True)
class _Named:
    key: str
    sent: Counter[str] = field(default_factory=Counter[str])


_named: ContextVar[_Named | None] = ContextVar("keeps_idempotency", default=None)


@contextmanager
def idempotent(key: str) -> Generator[None]:
    """Give each write inside an Idempotency-Key that is derived from `key` and the content of the write."""
    token = _named.set(_Named(checked_key(key)))
    try:
        yield
    finally:
        _named.reset(token)


def checked_key(key: str) -> str:
    """Return an idempotency key. Raises ValidationFailedError unless it is 1 to 128 visible ASCII characters."""
    visible = isinstance(key, str) and key.isascii() and key.isprintable() and " " not in key  # pyright: ignore[reportUnnecessaryIsInstance]
    if not visible or not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise ValidationFailedError(f"an idempotency key is 1 to {MAX_KEY_LENGTH} visible ASCII characters")
    return key


def key_of_write(sent: bytes) -> str | None:
    """Return the Idempotency-Key of a write inside `idempotent`, or None outside.

    Args:
        sent: The whole request. The second of two equal ones gets another key.
    """
    named = _named.get()
    if named is None:
        return None
    what = hashlib.sha256(sent).hexdigest()
    named.sent[what] += 1
    return hashlib.sha256(f"{named.key}\0{named.sent[what]}\0{what}".encode()).hexdigest()

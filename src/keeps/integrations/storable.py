"""Text that PostgreSQL can store."""

from __future__ import annotations

import re

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""NUL characters and lone surrogates."""


def storable(text: str) -> str:
    """Return a text with U+FFFD in place of characters that cannot be stored."""
    return UNSTORABLE.sub("\ufffd", text)

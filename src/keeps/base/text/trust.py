"""Determine the origin of a text, and so how far it is trusted. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Origin = Literal["own", "shared", "tool", "document"]
TRUSTED = frozenset((None, "user", "agent", "own", "high"))
"""Values of `metadata.trust` for the user's own words; any other value means that the text came from outside."""
RULES = "rules"
"""`metadata.read_by` of a fact that rules extracted; its text is the clause of the message."""
OUTDATED = "outdated_sentences"
"""`metadata.outdated_sentences` of a message: its sentences that are no longer true, with the day of the change."""
_FROM_OUTSIDE = re.compile(r"(?:tool|web|page|e?mail|mcp|file|ftp|https?)\s{0,5}:", re.IGNORECASE)


def is_quotation(metadata: Mapping[str, object]) -> bool:
    """Return whether a memory is a fact in the original words of the message."""
    return metadata.get("read_by") == RULES


def origin_of(role: str | None, source: str | None, metadata: Mapping[str, object], *, own: bool = True) -> Origin:
    """Return the origin of a text: the asking user and agents, a sharing user, or a tool, a page or a message."""
    trust = metadata.get("trust")
    if role == "tool" or not (trust is None or (isinstance(trust, str) and trust in TRUSTED)):
        return "tool"
    if source is not None and _FROM_OUTSIDE.match(source.lstrip()):
        return "tool"
    return "own" if own else "shared"

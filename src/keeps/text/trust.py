"""Whose words a text is. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Origin = Literal["own", "shared", "tool", "document"]
TRUSTED = frozenset((None, "user", "agent", "own", "high"))
"""What `metadata.trust` may say of one's own words; anything else means that they came from outside."""
RULES = "rules"
"""`metadata.read_by` of a fact that rules read; its text is the clause in which it was said."""
OUTDATED = "outdated_sentences"
"""`metadata.outdated_sentences` of a message: its sentences that are true no longer, with the day."""
_FROM_OUTSIDE = re.compile(r"(?:tool|web|page|e?mail|mcp|file|ftp|https?)\s{0,5}:", re.IGNORECASE)


def is_quotation(metadata: Mapping[str, object]) -> bool:
    """Whether a memory is a fact that is told in the words in which it was said."""
    return metadata.get("read_by") == RULES


def origin_of(role: str | None, source: str | None, metadata: Mapping[str, object], *, own: bool = True) -> Origin:
    """Of the asking user and their agents, of somebody who shares it, or brought in by a tool, a page or a message."""
    trust = metadata.get("trust")
    if role == "tool" or not (trust is None or (isinstance(trust, str) and trust in TRUSTED)):
        return "tool"
    if source is not None and _FROM_OUTSIDE.match(source.lstrip()):
        return "tool"
    return "own" if own else "shared"

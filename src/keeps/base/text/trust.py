"""Determine the origin of a text, and so how far it is trusted. Pure.

Levels, from the most trusted: `user` (their own words), `agent` (said by their agents), `shared` (another user's),
`document`, `tool` (tools, pages, mails, databases). What is derived from several texts has the least level of them, as
`metadata.trust`. keeps.memory_trust computes the same in SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from pydantic import JsonValue

from keeps_client.models.names import Trust

Origin = Literal["own", "space", "tenant", "shared", "tool", "document"]
"""`space`: of a space, where any member may have written it, the asking user, too. `tenant`: shared with the tenant, by
whom is not known. `shared`: by another user."""
LEVELS: tuple[Trust, ...] = get_args(Trust)
"""From the most trusted to the least."""
TRUSTED = frozenset((None, "user", "agent", "own", "high"))
"""Values of `metadata.trust` for the user's own words; any other value means that the text came from outside."""
RULES = "rules"
"""`metadata.read_by` of a fact that rules extracted; its text is the clause of the message."""
OUTDATED = "outdated_sentences"
"""`metadata.outdated_sentences` of a message: its sentences that are no longer true, with the day of the change."""
_SPACES = " \t\n\r\f\v"
_FROM_OUTSIDE = re.compile(r"(?:tool|web|page|e?mail|mcp|file|ftp|https?)[ \t\n\r\f\v]{0,5}:", re.IGNORECASE)
_ADDRESS = re.compile(r"([a-z]{2,5}://[^/?#\s]{1,200})", re.IGNORECASE)


def is_quotation(metadata: Mapping[str, object]) -> bool:
    """Return whether a memory is a fact in the original words of the message."""
    return metadata.get("read_by") == RULES


def trust_of(
    role: str | None, source: str | None, metadata: Mapping[str, object], layer: str | None = None, *, own: bool = True
) -> Trust:
    """Return the level of a memory. `own`: the asking user wrote it."""
    level = _level(role, source, metadata, layer)
    return level if own else least((level, "shared"))


def least(levels: Iterable[Trust]) -> Trust:
    """Return the least trusted of some levels; that of the user if there is none."""
    return LEVELS[max(map(LEVELS.index, levels), default=0)]


def with_trust(metadata: Mapping[str, JsonValue], level: Trust) -> dict[str, JsonValue]:
    """Return the metadata of a memory that was derived from texts of this level."""
    others = {name: value for name, value in metadata.items() if name != "trust"}
    return others if level == "user" else {**others, "trust": level}


def origin_of(
    role: str | None,
    source: str | None,
    metadata: Mapping[str, object],
    *,
    own: bool = True,
    in_space: bool = False,
    layer: str | None = None,
) -> Origin:
    """Return the origin of a text: the asking user and agents, others who share it, a document, or a tool or page.

    `in_space`: a space owns it.
    """
    level = trust_of(role, source, metadata, layer, own=own)
    if level == "shared" and in_space:
        return "space"
    return "own" if level in ("user", "agent") else level


def source_of(role: str | None, source: str | None, metadata: Mapping[str, object]) -> str:
    """Return the name of the source of a text, such as `tool:browser` or `https://example.org`, for a list of sources.

    An address is its server: who trusts one page of it trusts all.
    """
    if source and source.strip():
        address = _ADDRESS.search(source)
        return (address[1] if address else source.strip(_SPACES)).casefold()[:255]
    trust = metadata.get("trust")
    return "tool" if role == "tool" or not isinstance(trust, str) else trust.casefold()[:255] or "tool"


def _level(role: str | None, source: str | None, metadata: Mapping[str, object], layer: str | None) -> Trust:
    if layer == "knowledge":
        return "document"
    if role == "tool" or (source is not None and _FROM_OUTSIDE.match(source.lstrip(_SPACES)) is not None):
        return "tool"
    trust = metadata.get("trust")
    if trust is None or (isinstance(trust, str) and trust in TRUSTED):
        return "agent" if trust == "agent" or role in ("assistant", "system") else "user"
    return trust if trust in ("shared", "document") else "tool"

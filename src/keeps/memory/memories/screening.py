"""Decide which memories wait in the inbox. What depends on the text alone is pure; the rest asks the transaction.

Text of the user's own waits only if it hides something. Text from outside (tools, pages, documents, imports, what an
agent stores through MCP) also waits if it gives instructions to a model; from tools and pages, if one source writes
very many memories in a short time, or if it contradicts what a more trusted source stated.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import JsonValue

from keeps.base.door import DoorName
from keeps.base.text.hidden_text import hides_text
from keeps.base.text.instructions import gives_instructions
from keeps.base.text.trust import LEVELS, source_of, trust_of
from keeps.memory.memories import store
from keeps.memory.memories.store import NewMemoryRow
from keeps.memory.memories.types import MemoryRow
from keeps.store.db.session import Tx
from keeps_client.models.names import HeldFor
from keeps_client.validation import same_json

FLOOD_WINDOW = timedelta(minutes=10)
FLOOD_MEMORIES = 200
"""Number of memories that one source may store within the window; the next ones wait."""
NEWEST = 2_000
"""Number of newest memories among which those of a source are counted."""
FACTS = "facts"
"""Namespace of the facts that a text is compared with."""
DERIVED = ("extraction",)
"""Sources of memories that Keeps derives: the texts that they are derived from were screened."""
BY_AGENT = "agent:"
"""Beginning of the source of text that an agent stores through MCP."""
Claim = tuple[str, str, bool]
"""Key and value of a fact that a text states about the user, and whether it says that the fact ended."""
ReadClaims = Callable[[str], list[Claim]]


@dataclass(frozen=True, slots=True)
class Screening:
    """The findings about the text and origin of a write, before its transaction.

    Attributes:
        source: Name of the source, by which it can be trusted.
        reason: Why the text alone makes it wait.
        outside: The text is of a tool or page: floods and contradictions are looked for.
        claims: Facts about the user that it states.
    """

    source: str
    reason: HeldFor | None
    outside: bool
    claims: Sequence[Claim] = ()


def screening_of(row: MemoryRow, door: DoorName, read_claims: ReadClaims) -> Screening | None:
    """Return what to look at before a row is stored; None for the user's own text, which is stored at once. Pure."""
    level = trust_of(row.role, row.source, row.metadata, row.layer)
    text = _shown_text(row)
    hidden = hides_text(text)
    imported = row.source is not None and row.source not in DERIVED and row.role != "user"
    by_agent = door == "mcp" and level in ("user", "agent")
    judged = level in ("document", "tool") or imported or by_agent
    if not hidden and not judged:
        return None
    reason: HeldFor | None = "hidden_text" if hidden else "instructions" if gives_instructions(text) else None
    outside = level == "tool"
    source = (
        f"{BY_AGENT}{row.agent_id or 'mcp'}"
        if by_agent and not imported
        else source_of(row.role, row.source, row.metadata)
    )
    claims = read_claims(row.content) if outside and reason is None else ()
    if reason is None and not outside:
        return None
    return Screening(source, reason, outside, claims)


def held(row: MemoryRow, reason: HeldFor) -> MemoryRow:
    """Return a row as it waits: hidden like a forgotten one."""
    return row.evolve(held_for=reason, deleted_at=row.updated_at)


async def decided(
    tx: Tx, news: Sequence[NewMemoryRow], screenings: Sequence[Screening | None], now: datetime
) -> list[NewMemoryRow]:
    """Return rows of one user as they are to be stored: those that wait are held."""
    if not any(screenings):
        return list(news)
    sources = sorted({screening.source for screening in screenings if screening is not None})
    trusted = await store.trusted_sources(tx, sources)
    recent: Counter[str] = Counter()
    if any(screening is not None and screening.outside for screening in screenings):
        recent = await _recent(tx, now)
    rows: list[NewMemoryRow] = []
    for new, screening in zip(news, screenings, strict=True):
        if screening is None or screening.source in trusted:
            rows.append(new)
            continue
        reason = screening.reason
        if screening.outside:
            recent[screening.source] += 1
            if reason is None and recent[screening.source] > FLOOD_MEMORIES:
                reason = "flood"
            if reason is None and await _contradicts(tx, new.row, screening):
                reason = "contradiction"
        row = new.row
        if reason is not None and row.source is None and screening.source.startswith(BY_AGENT):
            row = row.evolve(source=screening.source)  # The inbox names it.
        rows.append(new if reason is None else dataclasses.replace(new, row=held(row, reason), embedding=None))
    return rows


async def _recent(tx: Tx, now: datetime) -> Counter[str]:
    """Count the newest memories of each source from outside."""
    counts: Counter[str] = Counter()
    for role, source, trust, count in await store.recent_sources(tx, now - FLOOD_WINDOW, NEWEST):
        metadata: dict[str, JsonValue] = {} if trust is None else {"trust": trust}
        if trust_of(role, source, metadata) == "tool":
            counts[source_of(role, source, metadata)] += count
    return counts


async def _contradicts(tx: Tx, row: MemoryRow, screening: Screening) -> bool:
    """Return whether a text from outside contradicts a more trusted memory: by its key, or by what it states."""
    if row.key is not None:
        stored = await store.lock_key(tx, row.namespace, row.key)
        if stored is not None and less_trusted(row, stored):
            return stored.content != row.content or not same_json(stored.value, row.value)
    for key, value, ended in screening.claims:
        stored = await store.lock_key(tx, FACTS, key)
        if stored is None or stored.valid_to is not None or not less_trusted(row, stored):
            continue
        known = stored.value.get("value") if isinstance(stored.value, dict) else None
        if isinstance(known, str) and (known.casefold() == value.casefold()) == ended:
            return True
    return False


def less_trusted(row: MemoryRow, other: MemoryRow) -> bool:
    """Return whether a memory is less trusted than another one of its user."""
    one, two = (trust_of(each.role, each.source, each.metadata, each.layer) for each in (row, other))
    return LEVELS.index(one) > LEVELS.index(two)


def _shown_text(row: MemoryRow) -> str:
    """Return all text of a memory that a prompt may show."""
    parts = (
        row.content,
        row.trigger_condition,
        row.value,
        row.metadata.get("speaker"),
        row.metadata.get("under"),
        row.key,
    )
    texts = [part for part in parts if isinstance(part, str) and part]
    return texts[0] if len(texts) == 1 else "\n".join(dict.fromkeys(texts))

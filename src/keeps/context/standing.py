"""What a context tells whatever was asked: who the user is, what matters most, how to act, what can be looked up.

It says the same, to the byte, until something is written. So it goes first in a prompt, where a model's provider keeps
what it has read before; what this question found goes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from uuid import UUID

from keeps.context import sections
from keeps.context.budget import SHARES, WHOLE
from keeps.context.sections import Item
from keeps.context.sources import QUERIES
from keeps.db.session import Tx
from keeps.recall import store
from keeps_client.models import ContextRequest, Source
from keeps_client.models.context import SectionName

MOST = 40
"""Memories of each kind that are looked at."""
SECTIONS: tuple[SectionName, ...] = ("long_term", "skills", "knowledge")


async def items(tx: Tx, request: ContextRequest, now: datetime, zone: tzinfo = UTC) -> list[Item]:
    """The user's own lasting memories, and skills that the asking agent may use, the most important first. They are
    read each time: what was kept of them would have to follow who asks, and every way in which something goes."""
    scope = tx.scope
    agent = scope.agent_id if scope.agent_bound else request.agent_id
    rows = await tx.fetch(QUERIES["standing"], scope.tenant_id, scope.user_id, agent, MOST, now)
    found = await store.memories(tx, [row["memory_id"] for row in rows], now)
    told = [found[row["memory_id"]] for row in rows if row["memory_id"] in found]
    every = [sections.as_item(memory, scope.user_id, memory.importance, None, zone=zone) for memory in told]
    once: dict[str, Item] = {}
    for item in every:
        if item.trusted:  # what a tool or page brought is told to who asks for it
            once.setdefault(item.statement, item)
    ordered = sections.newest_first(list(once.values()))
    sections.mark_earlier(ordered)
    return ordered


def told(found: Sequence[Item], sources: Sequence[tuple[Source, bool]], wanted: Sequence[str] | None) -> list[Item]:
    """All that may be told, in the order of sections."""
    every = [*found, *sections.of_sources(sources, data_first=False)]
    return [item for item in every if item.section in SECTIONS and (wanted is None or item.section in wanted)]


def within(offered: Sequence[Item], budget_tokens: int) -> list[Item]:
    """Of each section what fits its share, in order. Tokens are counted."""
    taken: dict[SectionName, int] = dict.fromkeys(SECTIONS, 0)
    kept: list[Item] = []
    for item in offered:
        if taken[item.section] + item.tokens <= SHARES[item.section] * budget_tokens // WHOLE:
            taken[item.section] += item.tokens
            kept.append(item)
    return kept


def rest(found: Sequence[Item], standing: Sequence[Item]) -> list[Item]:
    """Return what a question found and `standing` does not tell already."""
    ids: set[UUID | None] = {item.memory_id for item in standing}
    statements = {item.statement for item in standing}
    new = [
        item
        for item in found
        if (item.memory_id is None or item.memory_id not in ids) and item.statement not in statements
    ]
    return sections.without_quotations(new, standing)

"""Build the stable part of a context: the user's identity, main memories, instructions, and sources.

The text is identical, to the byte, until something is written. It therefore comes first in a prompt, where the model's
provider caches what it has read before; the results for the question follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from uuid import UUID

from keeps.base.text.secrets import holds_a_secret
from keeps.memory.context import sections
from keeps.memory.context.budget import SHARES, WHOLE
from keeps.memory.context.sections import Item
from keeps.memory.memories.store import memory_from_row
from keeps.store.db.session import Row
from keeps_client.models import Source
from keeps_client.models.context import SectionName

SECTIONS: tuple[SectionName, ...] = ("long_term", "skills", "knowledge")


def items(rows: Sequence[Row], user_id: str, zone: tzinfo = UTC) -> list[Item]:
    """Return the user's own lasting memories and the skills that the asking agent may use, most important first.

    They are read each time: a cache would depend on the asking agent and on every way in which a memory can disappear.
    """
    memories = [memory_from_row(row) for row in rows if not holds_a_secret(row["content"])]
    every = [sections.as_item(memory, user_id, memory.importance, None, zone=zone) for memory in memories]
    once: dict[str, Item] = {}
    for item in every:
        if item.trusted:  # Text from a tool or a page is shown only for a matching question.
            once.setdefault(item.statement, item)
    ordered = sections.newest_first(list(once.values()))
    sections.mark_earlier(ordered)
    return ordered


def told(found: Sequence[Item], sources: Sequence[tuple[Source, bool]], wanted: Sequence[str] | None) -> list[Item]:
    """Return all items that may be shown, in order of sections."""
    every = [*found, *sections.of_sources(sources, data_first=False)]
    return [item for item in every if item.section in SECTIONS and (wanted is None or item.section in wanted)]


def within(offered: Sequence[Item], budget_tokens: int) -> list[Item]:
    """Return the items of each section that fit its share, in order. Tokens must be counted."""
    taken: dict[SectionName, int] = dict.fromkeys(SECTIONS, 0)
    fitting: list[Item] = []
    for item in offered:
        if taken[item.section] + item.tokens <= SHARES[item.section] * budget_tokens // WHOLE:
            taken[item.section] += item.tokens
            fitting.append(item)
    return fitting


def rest(found: Sequence[Item], standing: Sequence[Item]) -> list[Item]:
    """Return the items that a question found and `standing` does not show already."""
    ids: set[UUID | None] = {item.memory_id for item in standing}
    statements = {item.statement for item in standing}
    new = [
        item
        for item in found
        if (item.memory_id is None or item.memory_id not in ids) and item.statement not in statements
    ]
    return sections.without_quotations(new, standing)

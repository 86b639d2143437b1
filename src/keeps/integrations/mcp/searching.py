"""Finds the entities that a query names, by the words of their names and types."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from keeps.integrations.mcp.nodes import entity_kind, name_key
from keeps_client.memory.whole import Memory
from keeps_client.models import Entity
from keeps_client.models.common import MAX_LIMIT

MAX_ENTITIES = 10_000
"""Number of names, the newest, whose words are compared with a query. A complete name is found among any number."""
LEAST_PART = 3
"""Minimum characters of a word that may match a part of a longer one."""
_WORD = re.compile(r"\w+")


async def entities_named_in(memory: Memory, query: str) -> list[Entity]:
    """Return the entities whose name, other names or type share words with a query, best first."""
    exact = await memory.list_entities(name=query.strip()[:255], limit=MAX_LIMIT)
    alike = by_words(query, await _newest(memory))
    return list({each.entity_id: each for each in [*exact, *alike]}.values())


def by_words(query: str, entities: Sequence[Entity]) -> list[Entity]:
    """Return the entities that share words with a query. Rare words count more, parts of words half."""
    wanted = name_key(query)
    words = dict.fromkeys(_WORD.findall(wanted))
    texts = [name_key(" ".join((each.name, *each.aliases, entity_kind(each)))) for each in entities]
    shares: list[dict[str, float]] = []
    for text in texts:
        own = set(_WORD.findall(text))
        shares.append(
            {
                word: 1.0 if word in own else 0.5
                for word in words
                if word in own or (len(word) >= LEAST_PART and word in text)
            }
        )
    holders = Counter(word for share in shares for word in share)
    scores = [
        sum(part * math.log(1 + len(entities) / holders[word]) for word, part in share.items())
        + 100 * (wanted in text or name_key(entity.name) in wanted)
        for entity, text, share in zip(entities, texts, shares, strict=True)
    ]
    ranked = sorted(range(len(entities)), key=lambda position: -scores[position])
    return [entities[position] for position in ranked if scores[position] > 0]


async def _newest(memory: Memory) -> list[Entity]:
    entities: list[Entity] = []
    cursor: str | None = None
    while len(entities) < MAX_ENTITIES:
        page = await memory.list_entities(limit=MAX_LIMIT, cursor=cursor)
        entities += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    return entities

"""Parts of a graph that fit into an answer: entities, observations, relations, and a cursor to the rest."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from mcp.server.mcpserver.exceptions import ToolError
from typing_extensions import TypedDict

from keeps.integrations.budgets import LEFT_FOR_THE_FRAME
from keeps.integrations.mcp.answers import UNKNOWN_CURSOR, Lean, start_of, tokens
from keeps.integrations.mcp.nodes import entity_kind, find_names, observations_of, wording
from keeps_client.memory.whole import Memory
from keeps_client.models import Entity, Relation

ShownRelation = TypedDict("ShownRelation", {"from": str, "to": str, "relationType": str})
MAX_EDGES = 10_000
LEFT_FOR_NOTES = 120
OF_A_LINE = 4
"""Tokens of quotes and commas around a text or an edge."""


class ShownEntity(TypedDict):
    name: str
    entityType: str
    observations: list[str]


class Graph(Lean):
    entities: list[ShownEntity]
    relations: list[ShownRelation]
    nextCursor: str | None = None  # noqa: N815  a shape of the reference server
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The start of an answer: a page of entities, the entity in it, and the number of its parts already shown."""

    page: str | None = None
    entity: int = 0
    part: int = 0


def read_place(cursor: str | None) -> Place:
    """Parse a cursor; without one, the first place. Raises ToolError for an unknown cursor."""
    if cursor is None:
        return Place()
    try:
        page, entity, part = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"=="))
    except (ValueError, TypeError, binascii.Error):
        raise ToolError(UNKNOWN_CURSOR) from None
    counts = (entity, part)
    if not isinstance(page, str | None) or not all(type(each) is int and 0 <= each < 1_000_000_000 for each in counts):
        raise ToolError(UNKNOWN_CURSOR)
    return Place(page, entity, part)


def write_place(place: Place) -> str:
    encoded = json.dumps([place.page, place.entity, place.part], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(encoded).decode().rstrip("=")


async def graph_from(
    memory: Memory, entities: Sequence[Entity], place: Place, budget: int, *, incoming: bool
) -> tuple[Graph, Place | None]:
    """Return the part of a graph from `place` on that fits into an answer, and the place of the next part.

    Only an entity that is too long for one answer is split. `incoming`: include relations that end at the entities,
    each once, and not only those that begin there.
    """
    graph = Graph(entities=[], relations=[])
    room = budget - LEFT_FOR_NOTES
    names = {node.entity_id: node.name for node in entities}
    for position in range(place.entity, len(entities)):
        entity = entities[position]
        skipped = place.part if position == place.entity else 0
        shown = ShownEntity(name=entity.name, entityType=entity_kind(entity), observations=[])
        relations: list[ShownRelation] = []
        room -= tokens(shown) + OF_A_LINE
        earlier = {node.entity_id for node in entities[:position]} if incoming else set[UUID]()
        count = 0
        async for part in _parts_of(memory, entity, names, earlier, skipped, incoming=incoming):
            cost = tokens(part) + OF_A_LINE
            if cost > room and (graph.entities or count):
                break
            if not isinstance(part, str):
                relations.append(part)
            elif cost > room:
                shown["observations"].append(start_of(part, max(room, OF_A_LINE) + LEFT_FOR_THE_FRAME) + "…")
                graph.note = "An observation that ends in … is truncated; a higher max_tokens shows more."
            else:
                shown["observations"].append(part)
            room -= cost
            count += 1
        else:
            if room < 0 and graph.entities:
                return graph, Place(place.page, position, skipped)
            graph.entities.append(shown)
            graph.relations += relations
            continue
        if graph.entities:
            return graph, Place(place.page, position, skipped)
        return Graph(entities=[shown], relations=relations, note=graph.note), Place(
            place.page, position, skipped + count
        )
    return graph, None


async def _parts_of(
    memory: Memory,
    entity: Entity,
    names: dict[UUID, str],
    earlier: set[UUID],
    skipped: int,
    *,
    incoming: bool,
) -> AsyncIterator[str | ShownRelation]:
    """Yield the observations of an entity, then its relations, except those shown with an earlier entity."""
    observations = await observations_of(memory, entity)
    for text in observations[skipped:]:
        yield text
    edges = await memory.get_relations(entity, direction="both" if incoming else "outgoing")
    own = [each for each in edges if not {each.source_id, each.target_id} & earlier]
    for edge in own[max(0, skipped - len(observations)) :]:
        yield await _shown(memory, edge, names)


async def _shown(memory: Memory, edge: Relation, names: dict[UUID, str]) -> ShownRelation:
    source, target = [await find_names(memory, names, each) for each in (edge.source_id, edge.target_id)]
    return ShownRelation({"from": source, "to": target, "relationType": wording(edge)})

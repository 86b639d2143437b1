"""Graph: the neighbourhood of one entity, never the whole; edges as they were true at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from uuid import UUID

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps_client.errors import KeepsError, ValidationFailedError
from keeps_client.models import Entity, Memory, Relation

PAGE, DRAWN, MENTIONS = 50, 40, 30
WIDTH, HEIGHT = 760, 440


@dataclass(frozen=True, slots=True)
class Node:
    entity: Entity
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Edge:
    relation: Relation
    source: Node
    target: Node


async def entities(call: Call) -> Response:
    name, start, end = call.asked("name"), call.asked("from"), call.asked("to")
    page = await call.memory.list_entities(name=name or None, limit=PAGE, cursor=call.asked("cursor") or None)
    path = await call.memory.shortest_path(start, end) if start and end else None
    return call.page("graph.html", items=page.items, more=call.more(page.next_cursor), path=path)


async def entity(call: Call) -> Response:
    entity_id = call.given("entity_id")
    as_of = call.moment("as_of")
    middle = await call.memory.get_entity(entity_id, as_of=as_of)
    relations = await call.memory.get_relations(middle.entity_id, as_of=as_of)
    around = await call.memory.traverse(middle.entity_id, depth=1, direction="both", limit=DRAWN)
    entities = {item.entity_id: item for item in [middle, *around.entities]}
    nodes, edges = _drawn(middle, entities, relations)
    memories: list[Memory] = []
    for mention in await call.memory.get_mentions(entity_id=middle.entity_id, limit=MENTIONS):
        try:
            memories.append(await call.memory.get(mention.memory_id))
        except KeepsError:
            continue
    return call.page(
        "entity.html",
        entity=middle,
        relations=relations,
        known=entities,
        nodes=nodes,
        edges=edges,
        memories=memories,
        cut=around.truncated,
        size=(WIDTH, HEIGHT),
    )


async def merge(call: Call) -> Response:
    form = await call.form()
    named = str(form.get("other", "")).strip()
    others = (await call.memory.list_entities(name=named, limit=3)).items if named else []
    others = [each for each in others if each.entity_id != call.given("entity_id")]
    if len(others) > 1:
        raise ValidationFailedError("several entities have this name: give the id of the one that you mean")
    found = await call.memory.merge_entities(call.given("entity_id"), others[0].entity_id if others else named)
    return call.go(f"/ui/graph/{found.entity_id}", "merged")


async def unmerge(call: Call) -> Response:
    found = await call.memory.unmerge_entity(call.given("entity_id"))
    return call.go(f"/ui/graph/{found.entity_id}", "unmerged")


def _drawn(middle: Entity, known: dict[UUID, Entity], relations: list[Relation]) -> tuple[list[Node], list[Edge]]:
    """Return the nodes and edges of one entity in the middle with its neighbours around it."""
    beside = list(
        dict.fromkeys(
            entity_id
            for relation in relations
            for entity_id in (relation.source_id, relation.target_id)
            if entity_id != middle.entity_id and entity_id in known
        )
    )[:DRAWN]
    place = {middle.entity_id: Node(middle, WIDTH / 2, HEIGHT / 2)}
    for number, entity_id in enumerate(beside):
        angle = 2 * math.pi * number / len(beside) - math.pi / 2
        x = WIDTH / 2 + (WIDTH / 2 - 90) * math.cos(angle)
        y = HEIGHT / 2 + (HEIGHT / 2 - 40) * math.sin(angle)
        place[entity_id] = Node(known[entity_id], round(x, 1), round(y, 1))
    edges = [
        Edge(relation, place[relation.source_id], place[relation.target_id])
        for relation in relations
        if relation.source_id in place and relation.target_id in place and relation.source_id != relation.target_id
    ]
    return list(place.values()), edges


PAGES = {
    "GET /ui/graph": entities,
    "GET /ui/graph/{entity_id:uuid}": entity,
    "POST /ui/graph/{entity_id:uuid}/merge": merge,
    "POST /ui/graph/{entity_id:uuid}/unmerge": unmerge,
}

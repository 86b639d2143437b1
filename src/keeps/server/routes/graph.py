"""/v1/graph: entities, relations, mentions, and the ways between entities."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import TypeAdapter
from starlette.responses import Response

from keeps.server.deps import Cursor, Limit, Reader, Segment, Writer, answer, answers, versioned
from keeps.server.lean import LeanRoute
from keeps_client.models import (
    Direction,
    Entity,
    Mention,
    Merge,
    NewEntity,
    NewMention,
    NewRelation,
    Page,
    PathRequest,
    Reading,
    Relation,
    Traversal,
    TraverseRequest,
)
from keeps_client.models.common import UtcTime

router = APIRouter(prefix="/v1/graph", tags=["graph"], route_class=LeanRoute)
RELATIONS, MENTIONS = TypeAdapter(list[Relation]), TypeAdapter(list[Mention])
Kind = Annotated[str | None, Query(min_length=1, max_length=100)]
AsOf = Annotated[UtcTime | None, Query(description="As it was known then")]


@router.post("/entities", status_code=201, response_model=Entity)
async def add_entity(new: NewEntity, memory: Writer) -> Response:
    """Store an entity: 201 where it is new, 200 where one of its type and name was there."""
    made = await memory.services.graph.add_entity(memory.scope, new)
    return versioned(made, made.version, 201 if made.version == 1 else 200)


@router.get("/entities", response_model=Page[Entity])
async def list_entities(
    memory: Reader,
    name: Annotated[str | None, Query(min_length=1, max_length=255, description="A name or alias")] = None,
    entity_type: Kind = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Entities, newest first."""
    return answer(await memory.list_entities(name=name, entity_type=entity_type, limit=limit, cursor=cursor))


@router.get("/entities/{entity_id:uuid}", response_model=Entity)
async def get_entity(entity_id: UUID, memory: Reader, as_of: AsOf = None) -> Response:
    """One entity, also one that another took in."""
    found = await memory.get_entity(entity_id, as_of=as_of)
    return versioned(found, found.version)


@router.delete("/entities/{entity_id:uuid}", response_model=Entity)
async def delete_entity(entity_id: UUID, memory: Writer, hard: bool = False) -> Response:
    """Delete an entity with its edges; with `hard` for good, also from the log."""
    return answer(await memory.delete_entity(entity_id, hard=hard))


@router.get("/entities/{entity_id}/relations", response_model=list[Relation])
async def get_relations(
    entity_id: Segment,
    memory: Reader,
    direction: Direction = "both",
    relation_type: Kind = None,
    as_of: AsOf = None,
) -> Response:
    """The edges of an entity, by its id or name, oldest first."""
    found = await memory.get_relations(entity_id, direction=direction, relation_type=relation_type, as_of=as_of)
    return answers(RELATIONS, found)


@router.post("/entities/{entity_id:uuid}/merge", response_model=Entity)
async def merge_entities(entity_id: UUID, merge: Merge, memory: Writer) -> Response:
    """Take another entity in, with its names, edges and mentions."""
    return answer(await memory.merge_entities(entity_id, merge.merged_id))


@router.post("/entities/{entity_id:uuid}/unmerge", response_model=Entity)
async def unmerge_entity(entity_id: UUID, memory: Writer) -> Response:
    """Let an entity that was taken in stand alone again."""
    return answer(await memory.unmerge_entity(entity_id))


@router.post("/relations", status_code=201, response_model=Relation)
async def add_relation(new: NewRelation, memory: Writer) -> Response:
    """Store an edge; the same with other properties ends the one before it."""
    return answer(await memory.services.graph.add_relation(memory.scope, new), 201)


@router.delete("/relations/{relation_id:uuid}", response_model=Relation)
async def delete_relation(relation_id: UUID, memory: Writer, hard: bool = False) -> Response:
    """Delete an edge; with `hard` for good, also from the log."""
    return answer(await memory.delete_relation(relation_id, hard=hard))


@router.post("/traverse", response_model=Traversal)
async def traverse(request: TraverseRequest, memory: Reader) -> Response:
    """What is reached from an entity within some steps, or along a pattern."""
    return answer(await memory.services.graph.traverse(memory.scope, request))


@router.post("/shortest-path", response_model=Traversal)
async def shortest_path(request: PathRequest, memory: Reader) -> Response:
    """The way with the fewest edges between two entities."""
    return answer(await memory.services.graph.shortest_path(memory.scope, request))


@router.get("/mentions", response_model=list[Mention])
async def get_mentions(
    memory: Reader,
    entity_id: Annotated[UUID | None, Query()] = None,
    memory_id: Annotated[UUID | None, Query()] = None,
    limit: Limit = 50,
) -> Response:
    """Which memories speak of an entity, or of which entities a memory speaks."""
    return answers(MENTIONS, await memory.get_mentions(entity_id=entity_id, memory_id=memory_id, limit=limit))


@router.post("/mentions", response_model=Mention)
async def add_mention(new: NewMention, memory: Writer) -> Response:
    """Say that a memory speaks of an entity."""
    return answer(await memory.add_mention(new.memory_id, new.entity_id))


@router.delete("/mentions", response_model=Mention)
async def remove_mention(
    memory: Writer, memory_id: Annotated[UUID, Query()], entity_id: Annotated[UUID, Query()]
) -> Response:
    """Say that a memory does not speak of an entity."""
    return answer(await memory.remove_mention(memory_id, entity_id))


@router.post("/read", response_model=Reading)
async def read_entities(memory: Writer, again: bool = False) -> Response:
    """Find entities in one's memories that were not read yet, by rules; with `again` in all."""
    return answer(await memory.read_entities(again=again))

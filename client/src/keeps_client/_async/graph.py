"""The graph over HTTP."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from keeps_client._async.transport import Transport
from keeps_client._requests import call, parsed
from keeps_client.errors import ValidationFailedError
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
from keeps_client.models.memories import Visibility
from keeps_client.validation import as_uuid, directed, given, limited, listed, moment, named, validated

ENTITY, ENTITIES, RELATION = TypeAdapter(Entity), TypeAdapter(Page[Entity]), TypeAdapter(Relation)
RELATIONS, MENTION, MENTIONS = TypeAdapter(list[Relation]), TypeAdapter(Mention), TypeAdapter(list[Mention])
TRAVERSAL, READING = TypeAdapter(Traversal), TypeAdapter(Reading)


class GraphClient:
    """Entities, typed edges between them, and which memory speaks of which entity."""

    _transport: Transport

    async def add_entity(
        self,
        name: str,
        *,
        entity_type: str = "custom",
        properties: dict[str, Any] | None = None,
        entity_id: UUID | str | None = None,
        aliases: Sequence[str] = (),
        visibility: Visibility | None = None,
    ) -> Entity:
        """Store an entity. One of this type that has the name, or has it as an alias, is brought up to date instead."""
        wanted = None if entity_id is None else as_uuid(entity_id, "entity_id")
        offered = {"name": name, "entity_type": entity_type} | given(
            properties=properties, entity_id=wanted, aliases=listed(aliases) or None, visibility=visibility
        )
        new = validated(NewEntity, offered)
        return parsed(ENTITY, await self._transport.send(call("POST", "graph", "entities", body=new)))

    async def get_entity(self, entity_id: UUID | str | Entity, *, as_of: datetime | None = None) -> Entity:
        """One entity; with `as_of`, as it was known then. Raises NotFoundError."""
        wanted = call(
            "GET", "graph", "entities", str(identified(entity_id, "entity_id")), query={"as_of": moment(as_of)}
        )
        return parsed(ENTITY, await self._transport.send(wanted))

    async def list_entities(
        self, *, name: str | None = None, entity_type: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[Entity]:
        """Entities, newest first, a page at a time; only those with a name or alias, or of a type."""
        query = {
            "name": None if name is None else named("name", name, 255), "entity_type": None if entity_type is None else named("entity_type", entity_type, 100),
            "limit": limited(limit), "cursor": None if cursor is None else named("cursor", cursor),
        }  # fmt: skip
        return parsed(ENTITIES, await self._transport.send(call("GET", "graph", "entities", query=query)))

    async def delete_entity(self, entity_id: UUID | str | Entity, *, hard: bool = False) -> Entity:
        """Delete an entity with its edges; `as_of` still shows them. One that was found in text does not come back. `hard`
        removes them for good, also from the log."""
        wanted = call("DELETE", "graph", "entities", str(identified(entity_id, "entity_id")), query={"hard": hard})
        return parsed(ENTITY, await self._transport.send(wanted))

    async def merge_entities(self, entity_id: UUID | str | Entity, merged_id: UUID | str | Entity) -> Entity:
        """Two entities are the same: the first takes the second in, with its names, edges and mentions."""
        body = Merge(merged_id=identified(merged_id, "merged_id"))
        wanted = call("POST", "graph", "entities", str(identified(entity_id, "entity_id")), "merge", body=body)
        return parsed(ENTITY, await self._transport.send(wanted))

    async def unmerge_entity(self, entity_id: UUID | str | Entity) -> Entity:
        """They were not: the one that was taken in stands alone again, as it was."""
        wanted = call("POST", "graph", "entities", str(identified(entity_id, "entity_id")), "unmerge")
        return parsed(ENTITY, await self._transport.send(wanted))

    async def add_relation(
        self,
        source: UUID | str | Entity,
        target: UUID | str | Entity,
        relation_type: str,
        *,
        properties: dict[str, Any] | None = None,
        weight: float = 1.0,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        memory_id: UUID | str | None = None,
        visibility: Visibility | None = None,
        exclusive: bool = False,
    ) -> Relation:
        """Store a directed edge between two entities, named by id, name or as they are.

        The same edge with other properties ends the one before it, which `as_of` still shows. `exclusive` ends all others
        of this type from the same source: somebody works at one place now. `memory_id`: where it comes from.
        """
        offered = {
            "source": _identity(source), "target": _identity(target), "relation_type": relation_type, "weight": weight, "exclusive": exclusive,
        } | given(properties=properties, valid_from=valid_from, valid_to=valid_to, memory_id=memory_id, visibility=visibility)  # fmt: skip
        new = validated(NewRelation, offered)
        return parsed(RELATION, await self._transport.send(call("POST", "graph", "relations", body=new)))

    async def get_relations(
        self,
        entity_id: UUID | str | Entity,
        *,
        direction: Direction = "both",
        relation_type: str | None = None,
        as_of: datetime | None = None,
    ) -> builtins.list[Relation]:
        """The edges of an entity, given by its id or name, that are true now, oldest first; with `as_of`, those that were known
        and true then."""
        query = {
            "direction": directed(direction), "relation_type": None if relation_type is None else named("relation_type", relation_type, 100),
            "as_of": moment(as_of),
        }  # fmt: skip
        wanted = call(
            "GET", "graph", "entities", named("entity_id", str(_identity(entity_id)), 255), "relations", query=query
        )
        return parsed(RELATIONS, await self._transport.send(wanted))

    async def delete_relation(self, relation_id: UUID | str, *, hard: bool = False) -> Relation:
        """Delete an edge; `as_of` still shows it. `hard` removes it for good, also from the log."""
        wanted = call("DELETE", "graph", "relations", str(as_uuid(relation_id, "relation_id")), query={"hard": hard})
        return parsed(RELATION, await self._transport.send(wanted))

    async def traverse(
        self,
        start: UUID | str | Entity,
        *,
        path_pattern: str | None = None,
        depth: int = 2,
        direction: Direction = "outgoing",
        relation_types: Sequence[str] | None = None,
        limit: int = 100,
    ) -> Traversal:
        """What is reached from an entity within `depth` steps, nearest first; or along a pattern such as
        `person -works_at-> org <-works_at- person`. `truncated` says that there is more than `limit`."""
        offered = {"start": _identity(start), "depth": depth, "direction": direction, "limit": limit} | given(
            path_pattern=path_pattern, relation_types=listed(relation_types)
        )
        request = validated(TraverseRequest, offered)
        return parsed(TRAVERSAL, await self._transport.send(call("POST", "graph", "traverse", body=request)))

    async def shortest_path(
        self,
        source: UUID | str | Entity,
        target: UUID | str | Entity,
        *,
        max_depth: int = 6,
        direction: Direction = "both",
        relation_types: Sequence[str] | None = None,
    ) -> Traversal:
        """The way with the fewest edges, in `paths[0]`; `paths` is empty where there is none."""
        offered = {
            "source": _identity(source),
            "target": _identity(target),
            "max_depth": max_depth,
            "direction": direction,
        }
        request = validated(PathRequest, offered | given(relation_types=listed(relation_types)))
        return parsed(TRAVERSAL, await self._transport.send(call("POST", "graph", "shortest-path", body=request)))

    async def get_mentions(
        self, *, entity_id: UUID | str | Entity | None = None, memory_id: UUID | str | None = None, limit: int = 50
    ) -> builtins.list[Mention]:
        """Which memories speak of an entity, newest first; or of which entities a memory speaks."""
        query = {
            "entity_id": None if entity_id is None else identified(entity_id, "entity_id"),
            "memory_id": None if memory_id is None else as_uuid(memory_id), "limit": limited(limit),
        }  # fmt: skip
        return parsed(MENTIONS, await self._transport.send(call("GET", "graph", "mentions", query=query)))

    async def add_mention(self, memory_id: UUID | str, entity_id: UUID | str | Entity) -> Mention:
        """Say that a memory speaks of an entity."""
        body = _pair(memory_id, entity_id)
        return parsed(MENTION, await self._transport.send(call("POST", "graph", "mentions", body=body)))

    async def remove_mention(self, memory_id: UUID | str, entity_id: UUID | str | Entity) -> Mention:
        """Say that a memory does not speak of an entity; it stays so, however often memories are read."""
        pair = _pair(memory_id, entity_id)
        query = {"memory_id": pair.memory_id, "entity_id": pair.entity_id}
        return parsed(MENTION, await self._transport.send(call("DELETE", "graph", "mentions", query=query)))

    async def read_entities(self, *, again: bool = False) -> Reading:
        """Find entities in one's own memories that were not read yet, by rules, without an LLM; with `again`, in all."""
        return parsed(READING, await self._transport.send(call("POST", "graph", "read", query={"again": again})))


def _identity(wanted: UUID | str | Entity) -> UUID | str:
    return wanted.entity_id if isinstance(wanted, Entity) else wanted


def identified(wanted: UUID | str | Entity, name: str) -> UUID:
    """The id of an entity. Raises ValidationFailedError, which says how to find one by its name."""
    try:
        return as_uuid(_identity(wanted), name)
    except ValidationFailedError:
        raise ValidationFailedError(
            f"{name} is not a UUID; list_entities(name=…) finds an entity by its name"
        ) from None


def _pair(memory_id: UUID | str, entity_id: UUID | str | Entity) -> NewMention:
    return NewMention(memory_id=as_uuid(memory_id), entity_id=identified(entity_id, "entity_id"))

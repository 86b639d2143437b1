"""The graph: entities, typed edges between them, and mentions in memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from keeps_client.errors import ValidationFailedError
from keeps_client.memory.base import Doing
from keeps_client.models import Direction, Entity, Mention, Page, Reading, Relation, Traversal
from keeps_client.models.graph import (
    ADD_ENTITY,
    ADD_MENTION,
    ADD_RELATION,
    DELETE_ENTITY,
    DELETE_RELATION,
    GET_ENTITY,
    GET_MENTIONS,
    GET_RELATIONS,
    LIST_ENTITIES,
    MERGE_ENTITIES,
    READ_ENTITIES,
    REMOVE_MENTION,
    SHORTEST_PATH,
    TRAVERSE,
    UNMERGE_ENTITY,
)
from keeps_client.models.memories import Visibility
from keeps_client.validation import as_uuid

Which = UUID | str | Entity
"""An entity, its id, or, if several are accepted, its name."""


class Graph(Doing):
    """Methods for the graph."""

    async def add_entity(
        self,
        name: str,
        *,
        entity_type: str = "custom",
        properties: Mapping[str, object] | None = None,
        entity_id: UUID | str | None = None,
        aliases: Sequence[str] = (),
        visibility: Visibility | None = None,
    ) -> Entity:
        """Store an entity. If one of this type has the name, also as an alias, it is updated instead."""
        return await self._do(
            ADD_ENTITY,
            name=name,
            entity_type=entity_type,
            properties=properties,
            entity_id=entity_id,
            aliases=aliases or None,
            visibility=visibility,
        )

    async def get_entity(self, entity_id: Which, *, as_of: datetime | None = None) -> Entity:
        """Return one entity; with `as_of`, as stored then. Raises NotFoundError."""
        return await self._do(GET_ENTITY, entity_id=_id(entity_id, "entity_id"), as_of=as_of)

    async def list_entities(
        self, *, name: str | None = None, entity_type: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[Entity]:
        """Return entities, newest first, a page at a time; only those with a name or alias, or of a type."""
        return await self._do(LIST_ENTITIES, name=name, entity_type=entity_type, limit=limit, cursor=cursor)

    async def delete_entity(self, entity_id: Which, *, hard: bool = False) -> Entity:
        """Delete an entity with its edges; `as_of` still shows them. An entity found in text does not come back.

        `hard` removes them permanently, also from the log.
        """
        return await self._do(DELETE_ENTITY, entity_id=_id(entity_id, "entity_id"), hard=hard)

    async def merge_entities(self, entity_id: Which, merged_id: Which) -> Entity:
        """Merge two entities that are the same: the second's names, edges and mentions move to the first."""
        one, other = _id(entity_id, "entity_id"), _id(merged_id, "merged_id")
        return await self._do(MERGE_ENTITIES, entity_id=one, merged_id=other)

    async def unmerge_entity(self, entity_id: Which) -> Entity:
        """Undo a merge: the merged entity is separate again, as it was."""
        return await self._do(UNMERGE_ENTITY, entity_id=_id(entity_id, "entity_id"))

    async def add_relation(
        self,
        source: Which,
        target: Which,
        relation_type: str,
        *,
        properties: Mapping[str, object] | None = None,
        weight: float = 1.0,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        memory_id: UUID | str | None = None,
        visibility: Visibility | None = None,
        exclusive: bool = False,
    ) -> Relation:
        """Store a directed edge between two entities, given by id, name or object.

        The same edge with other properties ends the previous one, which `as_of` still shows. `exclusive` ends all other
        edges of this type from the same source, as for a current employer. `memory_id`: the memory that it comes from.
        """
        return await self._do(
            ADD_RELATION,
            source=_identity(source),
            target=_identity(target),
            relation_type=relation_type,
            properties=properties,
            weight=weight,
            valid_from=valid_from,
            valid_to=valid_to,
            memory_id=memory_id,
            visibility=visibility,
            exclusive=exclusive,
        )

    async def get_relations(
        self,
        entity_id: Which,
        *,
        direction: Direction = "both",
        relation_type: str | None = None,
        as_of: datetime | None = None,
    ) -> list[Relation]:
        """Return the edges of an entity, given by its id or name, that are true now, oldest first.

        With `as_of`, return those that were stored and true then.
        """
        which = _identity(entity_id)
        return await self._do(
            GET_RELATIONS,
            entity_id=str(which) if isinstance(which, UUID) else which,
            direction=direction,
            relation_type=relation_type,
            as_of=as_of,
        )

    async def delete_relation(self, relation_id: UUID | str, *, hard: bool = False) -> Relation:
        """Delete an edge; `as_of` still shows it. `hard` removes it permanently, also from the log."""
        return await self._do(DELETE_RELATION, relation_id=relation_id, hard=hard)

    async def traverse(
        self,
        start: Which,
        *,
        path_pattern: str | None = None,
        depth: int = 2,
        direction: Direction = "outgoing",
        relation_types: Sequence[str] | None = None,
        limit: int = 100,
    ) -> Traversal:
        """Return the entities reachable within `depth` steps, nearest first, or the paths that match a pattern.

        Example of a pattern: `person -works_at-> org <-works_at- person`. `truncated`: there are more than `limit`.
        """
        return await self._do(
            TRAVERSE,
            start=_identity(start),
            path_pattern=path_pattern,
            depth=depth,
            direction=direction,
            relation_types=relation_types,
            limit=limit,
        )

    async def shortest_path(
        self,
        source: Which,
        target: Which,
        *,
        max_depth: int = 6,
        direction: Direction = "both",
        relation_types: Sequence[str] | None = None,
    ) -> Traversal:
        """Return the path with the fewest edges, in `paths[0]`; `paths` is empty if there is none."""
        return await self._do(
            SHORTEST_PATH,
            source=_identity(source),
            target=_identity(target),
            max_depth=max_depth,
            direction=direction,
            relation_types=relation_types,
        )

    async def get_mentions(
        self, *, entity_id: Which | None = None, memory_id: UUID | str | None = None, limit: int = 50
    ) -> list[Mention]:
        """Return the mentions of an entity in memories, newest first; or those of entities in a memory."""
        entity = None if entity_id is None else _id(entity_id, "entity_id")
        return await self._do(GET_MENTIONS, entity_id=entity, memory_id=memory_id, limit=limit)

    async def add_mention(self, memory_id: UUID | str, entity_id: Which) -> Mention:
        """Record that a memory mentions an entity."""
        return await self._do(ADD_MENTION, memory_id=memory_id, entity_id=_id(entity_id, "entity_id"))

    async def remove_mention(self, memory_id: UUID | str, entity_id: Which) -> Mention:
        """Record that a memory does not mention an entity. Reading the memory again does not change this."""
        return await self._do(REMOVE_MENTION, memory_id=memory_id, entity_id=_id(entity_id, "entity_id"))

    async def read_entities(self, *, again: bool = False) -> Reading:
        """Find entities in your own unread memories, by rules or by the LLM; with `again`, in all of them."""
        return await self._do(READ_ENTITIES, again=again)


def _identity(wanted: Which) -> UUID | str:
    return wanted.entity_id if isinstance(wanted, Entity) else wanted


def _id(wanted: Which, name: str) -> UUID:
    """Return the id of an entity. Raises ValidationFailedError, which explains how to find one by name."""
    try:
        return as_uuid(_identity(wanted), name)
    except ValidationFailedError:
        raise ValidationFailedError(
            f"{name} is not a UUID; list_entities(name=…) finds an entity by its name"
        ) from None

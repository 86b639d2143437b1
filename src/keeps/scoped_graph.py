"""The graph of one scope."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from keeps.services import Scoped
from keeps_client.errors import ValidationFailedError
from keeps_client.models import (
    Direction,
    Entity,
    Mention,
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


class ScopedGraph(Scoped):
    """Entities, typed edges between them, and which memory speaks of which entity."""

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
        return await self.services.graph.add_entity(self.scope, validated(NewEntity, offered))

    async def get_entity(self, entity_id: UUID | str | Entity, *, as_of: datetime | None = None) -> Entity:
        """One entity; with `as_of`, as it was known then. Raises NotFoundError."""
        return await self.services.graph.get_entity(self.scope, identified(entity_id, "entity_id"), as_of=moment(as_of))

    async def list_entities(
        self, *, name: str | None = None, entity_type: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[Entity]:
        """Entities, newest first, a page at a time; only those with a name or alias, or of a type."""
        return await self.services.graph.page(
            self.scope, name=None if name is None else named("name", name, 255), entity_type=None if entity_type is None else named("entity_type", entity_type, 100),
            limit=limited(limit), cursor=None if cursor is None else named("cursor", cursor),
        )  # fmt: skip

    async def delete_entity(self, entity_id: UUID | str | Entity, *, hard: bool = False) -> Entity:
        """Delete an entity with its edges; `as_of` still shows them. One that was found in text does not come back. `hard`
        removes them for good, also from the log."""
        return await self.services.graph.delete_entity(self.scope, identified(entity_id, "entity_id"), hard=hard)

    async def merge_entities(self, entity_id: UUID | str | Entity, merged_id: UUID | str | Entity) -> Entity:
        """Two entities are the same: the first takes the second in, with its names, edges and mentions."""
        return await self.services.graph.merge(
            self.scope, identified(entity_id, "entity_id"), identified(merged_id, "merged_id")
        )

    async def unmerge_entity(self, entity_id: UUID | str | Entity) -> Entity:
        """They were not: the one that was taken in stands alone again, as it was."""
        return await self.services.graph.unmerge(self.scope, identified(entity_id, "entity_id"))

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
        return await self.services.graph.add_relation(self.scope, validated(NewRelation, offered))

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
        return await self.services.graph.relations_of(
            self.scope, named_or_identified(entity_id, "entity_id"), direction=directed(direction),
            relation_type=None if relation_type is None else named("relation_type", relation_type, 100), as_of=moment(as_of),
        )  # fmt: skip

    async def delete_relation(self, relation_id: UUID | str, *, hard: bool = False) -> Relation:
        """Delete an edge; `as_of` still shows it. `hard` removes it for good, also from the log."""
        return await self.services.graph.delete_relation(self.scope, as_uuid(relation_id, "relation_id"), hard=hard)

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
        return await self.services.graph.traverse(self.scope, validated(TraverseRequest, offered))

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
        return await self.services.graph.shortest_path(self.scope, request)

    async def get_mentions(
        self, *, entity_id: UUID | str | Entity | None = None, memory_id: UUID | str | None = None, limit: int = 50
    ) -> builtins.list[Mention]:
        """Which memories speak of an entity, newest first; or of which entities a memory speaks."""
        return await self.services.graph.mentions(
            self.scope, entity_id=None if entity_id is None else identified(entity_id, "entity_id"),
            memory_id=None if memory_id is None else as_uuid(memory_id), limit=limited(limit),
        )  # fmt: skip

    async def add_mention(self, memory_id: UUID | str, entity_id: UUID | str | Entity) -> Mention:
        """Say that a memory speaks of an entity."""
        return await self.services.graph.set_mention(self.scope, _pair(memory_id, entity_id), rejected=False)

    async def remove_mention(self, memory_id: UUID | str, entity_id: UUID | str | Entity) -> Mention:
        """Say that a memory does not speak of an entity; it stays so, however often memories are read."""
        return await self.services.graph.set_mention(self.scope, _pair(memory_id, entity_id), rejected=True)

    async def read_entities(self, *, again: bool = False) -> Reading:
        """Find entities in one's own memories that were not read yet, by rules, without an LLM; with `again`, in all."""
        return await self.services.reader.read(self.scope, again=again)


def _identity(wanted: UUID | str | Entity) -> UUID | str:
    return wanted.entity_id if isinstance(wanted, Entity) else wanted


def named_or_identified(wanted: UUID | str | Entity, name: str) -> UUID | str:
    """The id of an entity, or its name."""
    try:
        return as_uuid(_identity(wanted), name)
    except ValidationFailedError:
        return named(name, wanted, 255)


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

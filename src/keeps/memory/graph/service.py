"""Manage the graph of a scope: entities, edges, merges, paths between entities, and mentions in memories."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import JsonValue

from keeps.base.clock import Clock, new_id
from keeps.base.cursors import read_cursor_of_id, write_cursor
from keeps.base.scope import Scope
from keeps.memory.graph import store, traversal
from keeps.memory.graph.store import Moved
from keeps.memory.graph.traversal import MAX_RELATIONS
from keeps.memory.memories import store as memories
from keeps.store.db.answers import Answer, StoredAnswer
from keeps.store.db.session import Database, Tx
from keeps.store.events import store as events
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import (
    Direction,
    Entity,
    Mention,
    NewEntity,
    NewMention,
    NewRelation,
    Page,
    PathRequest,
    Relation,
    Traversal,
    TraverseRequest,
)

_UNSAID = {"name": "(erased)", "aliases": [], "properties": {}}
"""Fields of an entity that are removed from a stored answer."""


async def _entity(tx: Tx, found: JsonValue) -> Entity:
    """Return the entity as it is now, or, if it was erased, as the stored answer describes it."""
    kept = Entity.model_validate(found)
    return (await store.entities(tx, [kept.entity_id])).get(kept.entity_id, kept)


async def _relation(tx: Tx, found: JsonValue) -> Relation:
    kept = Relation.model_validate(found)
    return await store.relation(tx, kept.relation_id) or kept


async def _mention(_tx: Tx, found: JsonValue) -> Mention:
    return Mention.model_validate(found)


ENTITY: Answer[Entity] = Answer(
    lambda entity: StoredAnswer({**entity.model_dump(mode="json"), **_UNSAID}, [str(entity.entity_id)]), _entity
)
RELATION: Answer[Relation] = Answer(
    lambda edge: StoredAnswer({**edge.model_dump(mode="json"), "properties": {}}, [str(edge.relation_id)]), _relation
)
MENTION: Answer[Mention] = Answer(
    lambda said: StoredAnswer(said.model_dump(mode="json"), [str(said.memory_id), str(said.entity_id)]), _mention
)


class GraphService:
    """The entities that a scope knows, and the relations between them."""

    def __init__(self, database: Database, introducer: Introducer, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._clock = clock

    async def add_entity(self, scope: Scope, new: NewEntity, *, source: str = "user") -> Entity:
        """Store an entity, or update the one with the same type and name.

        Raises NotFoundError for another user's id.
        """
        write = self._introducer.writing(scope, ENTITY)
        async for attempt in write:
            async with attempt as tx:
                write.result = await self._put_entity(tx, new, source)
        return write.result

    async def _put_entity(self, tx: Tx, new: NewEntity, source: str) -> Entity:
        stored = await self._same(tx, new)
        now = self._clock()
        if stored is None:
            made = Entity(
                entity_id=new.entity_id or new_id(),
                tenant_id=tx.scope.tenant_id,
                user_id=tx.scope.user_id,
                name=new.name,
                entity_type=new.entity_type,
                aliases=tuple(dict.fromkeys(new.aliases)),
                properties=new.properties,
                visibility=new.visibility,
                source=source,  # pyright: ignore[reportArgumentType]
                version=1,
                created_at=now,
                updated_at=now,
            )
            await store.put_entities(tx, [(made, None)])
            return made
        changed = _updated(stored, new)
        if changed == stored:
            return stored
        changed = changed.model_copy(update={"version": stored.version + 1, "updated_at": now})
        await store.put_entities(tx, [(changed, None)])
        return changed

    async def get_entity(self, scope: Scope, entity_id: UUID, *, as_of: datetime | None = None) -> Entity:
        """Return one entity, even a merged one; with `as_of`, as it was known then. Raises NotFoundError."""
        async with self._database.reading(scope) as tx:
            if as_of is None:
                entity = (await store.entities(tx, [entity_id])).get(entity_id)
            else:
                await events.check_reachable(tx, as_of)
                entity = await store.entity_as_of(tx, entity_id, as_of)
        if entity is None or entity.deleted_at is not None:
            raise NotFoundError(f"no entity {entity_id}")
        return entity

    async def page(
        self, scope: Scope, *, name: str | None, entity_type: str | None, limit: int, cursor: str | None
    ) -> Page[Entity]:
        """Return entities, newest first, optionally only those with a name or alias, or of a type."""
        after = read_cursor_of_id(cursor)
        async with self._database.reading(scope) as tx:
            entities, more = await store.page(tx, after, limit, name, entity_type)
        last = entities[-1] if more else None
        return Page(items=entities, next_cursor=write_cursor(last.created_at, str(last.entity_id)) if last else None)

    async def delete_entity(self, scope: Scope, entity_id: UUID, *, hard: bool) -> Entity:
        """Delete an entity with its edges.

        An entity found in text does not reappear.
        `hard`: also remove it from the log.
        """
        write = self._database.writing(scope, ENTITY)
        async for attempt in write:
            async with attempt as tx:
                write.result = await self._remove_entity(tx, entity_id, hard=hard)
        return write.result

    async def _remove_entity(self, tx: Tx, entity_id: UUID, *, hard: bool) -> Entity:
        stored, moved = await self._own(tx, entity_id)
        edges = [edge for edge in await store.own_relations_of(tx, entity_id) if hard or edge.deleted_at is None]
        now = self._clock()
        if hard:
            # Entities merged into it become separate again, unless another entity has their name by now.
            for absorbed in await store.taken_in(tx, entity_id):
                same = await store.named(tx, [absorbed.name], absorbed.entity_type)
                taken = any(other.user_id == tx.scope.user_id and other.entity_id != entity_id for other in same)
                alone = {"merged_into": None, "version": absorbed.version + 1, "updated_at": now}
                changed = absorbed.model_copy(update=alone | ({"deleted_at": now} if taken else {}))
                await store.put_entities(tx, [(changed, None)])
            await store.erase(tx, [entity_id], [edge.relation_id for edge in edges], now)
            return stored.model_copy(update={"name": "(erased)", "aliases": (), "properties": {}})
        if stored.deleted_at is not None:
            return stored
        await store.put_relations(tx, [_changed(now, edge, deleted_at=now) for edge in edges])
        gone = stored.model_copy(update={"deleted_at": now, "updated_at": now, "version": stored.version + 1})
        await store.put_entities(tx, [(gone, moved)])
        return gone

    async def forget_unspoken(self, tx: Tx) -> int:
        """Erase the user's entities that were found only in texts that are erased. Return the number erased."""
        gone = await store.unspoken(tx)
        now = self._clock()
        for erased_id in gone:
            edges = [edge.relation_id for edge in await store.own_relations_of(tx, erased_id)]
            await store.erase(tx, [erased_id], edges, now)
        return len(gone)

    async def merge(self, scope: Scope, entity_id: UUID, merged_id: UUID) -> Entity:
        """Merge `merged_id` into `entity_id`, with its names, edges and mentions. `unmerge` undoes it."""
        write = self._database.writing(scope, ENTITY)
        async for attempt in write:
            async with attempt as tx:
                if entity_id == merged_id:
                    raise ValidationFailedError("an entity cannot be merged into itself")
                target, kept_moved = await self._own(tx, entity_id)
                merged, _ = await self._own(tx, merged_id)
                for entity in (target, merged):
                    if entity.merged_into is not None or entity.deleted_at is not None:
                        raise ConflictError(f"entity {entity.entity_id} is already merged into another, or deleted")
                known_names = {_key(name) for name in (target.name, *target.aliases)}
                added = [name for name in (merged.name, *merged.aliases) if _key(name) not in known_names]
                edges = await store.own_relations_of(tx, merged_id)
                ends = {
                    str(edge.relation_id): [
                        end for end in ("source_id", "target_id") if getattr(edge, end) == merged_id
                    ]
                    for edge in edges
                }
                now = self._clock()
                gone = merged.model_copy(
                    update={"merged_into": entity_id, "version": merged.version + 1, "updated_at": now}
                )
                taken = target.model_copy(
                    update={"aliases": (*target.aliases, *added), "version": target.version + 1, "updated_at": now}
                )
                await store.put_entities(tx, [(gone, {"aliases": added, "ends": ends}), (taken, kept_moved)])
                moved = [_changed(now, edge, **dict.fromkeys(ends[str(edge.relation_id)], entity_id)) for edge in edges]
                await store.put_relations(tx, moved)
                await store.move_mentions(tx, merged_id, entity_id)
                write.result = taken
        return write.result

    async def unmerge(self, scope: Scope, merged_id: UUID) -> Entity:
        """Undo a merge: the entity is separate again, with its own names and edges. Mentions are found again."""
        write = self._database.writing(scope, ENTITY)
        async for attempt in write:
            async with attempt as tx:
                merged, moved = await self._own(tx, merged_id)
                if merged.merged_into is None or moved is None:
                    raise ConflictError(f"entity {merged_id} is not merged into another")
                target, kept_moved = await self._own(tx, merged.merged_into)
                if target.merged_into is not None:
                    raise ConflictError(
                        f"entity {target.entity_id}, into which it is merged, is itself merged into"
                        f" {target.merged_into};"
                        " undo that first"
                    )
                now = self._clock()
                alone = merged.model_copy(
                    update={"merged_into": None, "version": merged.version + 1, "updated_at": now}
                )
                left = target.model_copy(
                    update={
                        "aliases": tuple(alias for alias in target.aliases if alias not in moved["aliases"]),
                        "version": target.version + 1,
                        "updated_at": now,
                    }
                )
                await store.put_entities(tx, [(left, kept_moved), (alone, None)])
                edges = await store.relations(tx, [UUID(relation_id) for relation_id in moved["ends"]])
                back = [
                    _changed(
                        now,
                        edge,
                        **{
                            end: merged_id
                            for end in moved["ends"][str(edge.relation_id)]
                            if getattr(edge, end) == target.entity_id
                        },
                    )
                    for edge in edges
                ]
                await store.put_relations(tx, back)
                await tx.execute(store.QUERIES["readings_forget"], scope.tenant_id, scope.user_id)
                write.result = alone
        return write.result

    async def add_relation(self, scope: Scope, new: NewRelation) -> Relation:
        """Store an edge between two entities.

        The same edge returns `unchanged`; one with other properties ends the previous one.
        """
        write = self._introducer.writing(scope, RELATION)
        async for attempt in write:
            async with attempt as tx:
                write.result = await self._put_relation(tx, new)
        return write.result

    async def _put_relation(self, tx: Tx, new: NewRelation) -> Relation:
        source, target = await traversal.resolved(tx, new.source), await traversal.resolved(tx, new.target)
        now = self._clock()
        if new.memory_id is not None and await memories.get(tx, new.memory_id) is None:
            raise NotFoundError(f"no memory {new.memory_id} to derive the edge from")
        begins = new.valid_from or now
        if new.valid_to is not None and new.valid_to < begins:
            raise ValidationFailedError("valid_to must not be before valid_from")
        target_id = None if new.exclusive else target.entity_id
        open_edges = await store.open_relations(tx, source.entity_id, new.relation_type, begins, target_id)
        wanted = (new.properties, new.weight, new.visibility, new.valid_to)
        for edge in open_edges:
            same = (
                edge.properties,
                edge.weight,
                edge.visibility,
                edge.valid_to,
            ) == wanted and edge.valid_from <= begins
            if same and edge.target_id == target.entity_id and new.valid_from in (None, edge.valid_from):
                if new.memory_id in (None, edge.memory_id):
                    return edge
                told_by = _changed(now, edge, memory_id=new.memory_id)
                await store.put_relations(tx, [told_by])
                return told_by
        over = [
            _changed(now, edge, valid_to=max(begins, edge.valid_from))
            for edge in open_edges
            if edge.valid_from <= begins
        ]
        made = Relation(
            relation_id=new_id(),
            tenant_id=tx.scope.tenant_id,
            user_id=tx.scope.user_id,
            source_id=source.entity_id,
            target_id=target.entity_id,
            relation_type=new.relation_type,
            properties=new.properties,
            weight=new.weight,
            visibility=new.visibility,
            valid_from=begins,
            valid_to=new.valid_to,
            memory_id=new.memory_id,
            event_id=new_id(),
            version=1,
            created_at=now,
            updated_at=now,
        )
        await store.put_relations(tx, [*over, made])
        return made

    async def relations_of(
        self,
        scope: Scope,
        entity: UUID | str,
        *,
        direction: Direction,
        relation_type: str | None,
        as_of: datetime | None,
    ) -> list[Relation]:
        """Return the current edges of an entity, given by id or name; with `as_of`, those known and true then.

        Raises NotFoundError, and ConflictError if several entities have the name.
        """
        if isinstance(entity, str):
            async with self._database.reading(scope) as tx:
                entity = (await traversal.resolved(tx, entity)).entity_id
        await self.get_entity(scope, entity, as_of=as_of)
        async with self._database.reading(scope) as tx:
            types = None if relation_type is None else [relation_type]
            moment = as_of or self._clock()
            return await store.relations_of(tx, entity, direction, moment, types, MAX_RELATIONS, past=as_of is not None)

    async def delete_relation(self, scope: Scope, relation_id: UUID, *, hard: bool) -> Relation:
        """Delete an edge, which `as_of` still shows; `hard` also removes it from the log. Raises NotFoundError."""
        write = self._database.writing(scope, RELATION)
        async for attempt in write:
            async with attempt as tx:
                write.result = await self._remove_relation(tx, relation_id, hard=hard)
        return write.result

    async def _remove_relation(self, tx: Tx, relation_id: UUID, *, hard: bool) -> Relation:
        stored = await store.relation(tx, relation_id)
        if stored is None or stored.user_id != tx.scope.user_id:
            raise NotFoundError(f"no relation {relation_id} that you may delete")
        if hard:
            await store.erase(tx, [], [relation_id], self._clock())
            return stored.model_copy(update={"properties": {}})
        if stored.deleted_at is not None:
            return stored
        now = self._clock()
        gone = _changed(now, stored, deleted_at=now)
        await store.put_relations(tx, [gone])
        return gone

    async def traverse(self, scope: Scope, request: TraverseRequest) -> Traversal:
        """Return what is reachable from an entity within some steps, or along a pattern. Raises NotFoundError."""
        async with self._database.scoped_in_turn(scope) as tx:
            return await traversal.traverse(tx, request, self._clock())

    async def shortest_path(self, scope: Scope, request: PathRequest) -> Traversal:
        """Return the path with the fewest edges between two entities; no paths if none is within `max_depth`."""
        async with self._database.scoped_in_turn(scope) as tx:
            return await traversal.shortest_path(tx, request, self._clock())

    async def mentions(
        self, scope: Scope, *, entity_id: UUID | None = None, memory_id: UUID | None = None, limit: int
    ) -> list[Mention]:
        """Return the memories that mention an entity, newest first, or the entities that a memory mentions.

        Raises NotFoundError.
        """
        if (entity_id is None) == (memory_id is None):
            raise ValidationFailedError("give either an entity_id or a memory_id")
        if entity_id is not None:
            await self.get_entity(scope, entity_id)
        async with self._database.reading(scope) as tx:
            if memory_id is not None and await memories.get(tx, memory_id) is None:
                raise NotFoundError(f"no memory {memory_id}")
            return await store.mentions(tx, entity_id=entity_id, memory_id=memory_id, limit=limit)

    async def set_mention(self, scope: Scope, new: NewMention, *, rejected: bool) -> Mention:
        """State that a memory mentions an entity, or that it does not. Later reading does not change it.

        Raises NotFoundError.
        """
        write = self._introducer.writing(scope, MENTION)
        async for attempt in write:
            async with attempt as tx:
                memory = await memories.get(tx, new.memory_id)
                entity = (await store.entities(tx, [new.entity_id])).get(new.entity_id)
                if memory is None or memory.user_id != scope.user_id or entity is None or entity.deleted_at is not None:
                    raise NotFoundError(f"no memory {new.memory_id} of yours, or no entity {new.entity_id}")
                now = self._clock()
                mention = Mention(
                    memory_id=new.memory_id,
                    entity_id=new.entity_id,
                    user_id=scope.user_id,
                    source="user",
                    rejected=rejected,
                    created_at=now,
                    updated_at=now,
                )
                await store.put_mention(tx, mention)
                write.result = mention
        return write.result

    async def _same(self, tx: Tx, new: NewEntity) -> Entity | None:
        if new.entity_id is not None:
            stored = (await store.entities(tx, [new.entity_id])).get(new.entity_id)
            if stored is not None:
                if stored.user_id != tx.scope.user_id or stored.deleted_at is not None:
                    raise NotFoundError(f"no entity {new.entity_id} that you may change")
                if stored.merged_into is not None:
                    raise ConflictError(f"entity {new.entity_id} is merged into {stored.merged_into}; change that one")
                return stored
            if await store.was_erased(tx, new.entity_id):
                raise ConflictError(f"entity {new.entity_id} was erased; choose another id")
        namesakes = [
            each for each in await store.named(tx, [new.name], new.entity_type) if each.user_id == tx.scope.user_id
        ]
        if namesakes and new.entity_id is not None:
            raise ConflictError(
                f"{new.entity_type} {new.name!r} already exists as entity {namesakes[0].entity_id}",
                current=str(namesakes[0].entity_id),
            )
        return namesakes[0] if namesakes else None

    async def _own(self, tx: Tx, entity_id: UUID) -> tuple[Entity, Moved | None]:
        stored = await store.entity_with_moved(tx, entity_id)
        if stored is None or stored[0].user_id != tx.scope.user_id:
            raise NotFoundError(f"no entity {entity_id} that you may change")
        return stored


def _changed(now: datetime, relation: Relation, **changes: Any) -> Relation:
    return relation.model_copy(
        update={**changes, "event_id": new_id(), "version": relation.version + 1, "updated_at": now}
    )


def _updated(held: Entity, new: NewEntity) -> Entity:
    """Return the entity with the given fields changed; properties are merged, names added."""
    named = new.model_fields_set
    known_names = {_key(each) for each in (held.name, *held.aliases)}
    names = [each for each in (new.name, *new.aliases) if _key(each) not in known_names]
    changes: dict[str, Any] = {"aliases": (*held.aliases, *dict.fromkeys(names))} if names else {}
    if "properties" in named:
        changes["properties"] = {**held.properties, **new.properties}
    for name in ("visibility", "entity_type"):
        if name in named:
            changes[name] = getattr(new, name)
    return held.model_copy(update=changes)


def _key(name: str) -> str:
    return " ".join(name.casefold().split())

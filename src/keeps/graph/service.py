"""The graph of a scope: entities, edges, merges, ways between entities, and which memory speaks of which."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import JsonValue

from keeps.clock import Clock, new_id
from keeps.cursors import read_cursor_of_id, write_cursor
from keeps.db.answers import Answer, Kept
from keeps.db.session import Database, Tx
from keeps.events import store as events
from keeps.graph import store, traversal
from keeps.graph.store import Moved
from keeps.graph.traversal import MAX_RELATIONS
from keeps.memories import store as memories
from keeps.scope import Scope
from keeps.tenants.service import Introducer
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
"""What an answer that is kept does not say of an entity."""


async def _entity(tx: Tx, found: JsonValue) -> Entity:
    """As it is now; or, where this answered its own erasing, what was said of it then."""
    kept = Entity.model_validate(found)
    return (await store.entities(tx, [kept.entity_id])).get(kept.entity_id, kept)


async def _relation(tx: Tx, found: JsonValue) -> Relation:
    kept = Relation.model_validate(found)
    return await store.relation(tx, kept.relation_id) or kept


async def _mention(_tx: Tx, found: JsonValue) -> Mention:
    return Mention.model_validate(found)


ENTITY: Answer[Entity] = Answer(
    lambda entity: Kept({**entity.model_dump(mode="json"), **_UNSAID}, [str(entity.entity_id)]), _entity
)
RELATION: Answer[Relation] = Answer(
    lambda edge: Kept({**edge.model_dump(mode="json"), "properties": {}}, [str(edge.relation_id)]), _relation
)
MENTION: Answer[Mention] = Answer(
    lambda said: Kept(said.model_dump(mode="json"), [str(said.memory_id), str(said.entity_id)]), _mention
)


class GraphService:
    """What a scope knows of who is who, and how they belong together."""

    def __init__(self, database: Database, introducer: Introducer, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._clock = clock

    async def add_entity(self, scope: Scope, new: NewEntity, *, source: str = "user") -> Entity:
        """Store an entity, or bring the one that has its type and name up to date. Raises NotFoundError for another's
        id."""

        async def work(tx: Tx) -> Entity:
            held = await self._same(tx, new)
            now = self._clock()
            if held is None:
                made = Entity(
                    entity_id=new.entity_id or new_id(),
                    tenant_id=scope.tenant_id,
                    user_id=scope.user_id,
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
            changed = _updated(held, new)
            if changed == held:
                return held
            changed = changed.model_copy(update={"version": held.version + 1, "updated_at": now})
            await store.put_entities(tx, [(changed, None)])
            return changed

        return await self._introducer.write(scope, work, answer=ENTITY)

    async def get_entity(self, scope: Scope, entity_id: UUID, *, as_of: datetime | None = None) -> Entity:
        """One entity, also one that was merged; with `as_of`, as it was known then. Raises NotFoundError."""
        async with self._database.reading(scope) as tx:
            if as_of is None:
                found = (await store.entities(tx, [entity_id])).get(entity_id)
            else:
                await events.check_reachable(tx, as_of)
                found = await store.entity_as_of(tx, entity_id, as_of)
        if found is None or found.deleted_at is not None:
            raise NotFoundError(f"no entity {entity_id}")
        return found

    async def page(
        self, scope: Scope, *, name: str | None, entity_type: str | None, limit: int, cursor: str | None
    ) -> Page[Entity]:
        """Entities, newest first; only those of a name or alias, or of a type."""
        after = read_cursor_of_id(cursor)
        async with self._database.reading(scope) as tx:
            found, more = await store.page(tx, after, limit, name, entity_type)
        last = found[-1] if more else None
        return Page(items=found, next_cursor=write_cursor(last.created_at, str(last.entity_id)) if last else None)

    async def delete_entity(self, scope: Scope, entity_id: UUID, *, hard: bool) -> Entity:
        """Delete an entity with its edges. One found in text does not come back; `hard` takes it out of the log,
        too."""

        async def work(tx: Tx) -> Entity:
            held, moved = await self._own(tx, entity_id)
            edges = [each for each in await store.own_relations_of(tx, entity_id) if hard or each.deleted_at is None]
            now = self._clock()
            if hard:
                # Those that it took in stand alone again, unless somebody has their name by now.
                for each in await store.taken_in(tx, entity_id):
                    same = await store.named(tx, [each.name], each.entity_type)
                    taken = any(other.user_id == scope.user_id and other.entity_id != entity_id for other in same)
                    alone = {"merged_into": None, "version": each.version + 1, "updated_at": now}
                    changed = each.model_copy(update=alone | ({"deleted_at": now} if taken else {}))
                    await store.put_entities(tx, [(changed, None)])
                await store.erase(tx, [entity_id], [each.relation_id for each in edges], now)
                return held.model_copy(update={"name": "(erased)", "aliases": (), "properties": {}})
            if held.deleted_at is not None:
                return held
            await store.put_relations(tx, [_changed(now, each, deleted_at=now) for each in edges])
            gone = held.model_copy(update={"deleted_at": now, "updated_at": now, "version": held.version + 1})
            await store.put_entities(tx, [(gone, moved)])
            return gone

        return await self._database.write(scope, work, answer=ENTITY)

    async def forget_unspoken(self, tx: Tx) -> int:
        """Erase the user's entities that were found in texts which are gone for good; how many."""
        gone = await store.unspoken(tx)
        now = self._clock()
        for each in gone:
            edges = [edge.relation_id for edge in await store.own_relations_of(tx, each)]
            await store.erase(tx, [each], edges, now)
        return len(gone)

    async def merge(self, scope: Scope, entity_id: UUID, merged_id: UUID) -> Entity:
        """`entity_id` takes `merged_id` in: its names, edges and mentions. `unmerge` undoes it."""

        async def work(tx: Tx) -> Entity:
            if entity_id == merged_id:
                raise ValidationFailedError("an entity cannot be merged into itself")
            kept, kept_moved = await self._own(tx, entity_id)
            merged, _ = await self._own(tx, merged_id)
            for each in (kept, merged):
                if each.merged_into is not None or each.deleted_at is not None:
                    raise ConflictError(f"entity {each.entity_id} is merged into another already, or deleted")
            known = {_key(each) for each in (kept.name, *kept.aliases)}
            added = [each for each in (merged.name, *merged.aliases) if _key(each) not in known]
            edges = await store.own_relations_of(tx, merged_id)
            ends = {
                str(each.relation_id): [end for end in ("source_id", "target_id") if getattr(each, end) == merged_id]
                for each in edges
            }
            now = self._clock()
            gone = merged.model_copy(
                update={"merged_into": entity_id, "version": merged.version + 1, "updated_at": now}
            )
            taken = kept.model_copy(
                update={"aliases": (*kept.aliases, *added), "version": kept.version + 1, "updated_at": now}
            )
            await store.put_entities(tx, [(gone, {"aliases": added, "ends": ends}), (taken, kept_moved)])
            moved = [_changed(now, each, **dict.fromkeys(ends[str(each.relation_id)], entity_id)) for each in edges]
            await store.put_relations(tx, moved)
            await store.move_mentions(tx, merged_id, entity_id)
            return taken

        return await self._database.write(scope, work, answer=ENTITY)

    async def unmerge(self, scope: Scope, merged_id: UUID) -> Entity:
        """Undo a merge: the entity stands alone again, with the names and edges that it brought. Mentions are found
        anew."""

        async def work(tx: Tx) -> Entity:
            merged, moved = await self._own(tx, merged_id)
            if merged.merged_into is None or moved is None:
                raise ConflictError(f"entity {merged_id} is not merged into another")
            kept, kept_moved = await self._own(tx, merged.merged_into)
            if kept.merged_into is not None:
                raise ConflictError(
                    f"entity {kept.entity_id}, which took it in, is itself merged into {kept.merged_into}; undo that"
                    " first"
                )
            now = self._clock()
            alone = merged.model_copy(update={"merged_into": None, "version": merged.version + 1, "updated_at": now})
            left = kept.model_copy(
                update={
                    "aliases": tuple(each for each in kept.aliases if each not in moved["aliases"]),
                    "version": kept.version + 1,
                    "updated_at": now,
                }
            )
            await store.put_entities(tx, [(left, kept_moved), (alone, None)])
            edges = await store.relations(tx, [UUID(each) for each in moved["ends"]])
            back = [
                _changed(
                    now,
                    each,
                    **{
                        end: merged_id
                        for end in moved["ends"][str(each.relation_id)]
                        if getattr(each, end) == kept.entity_id
                    },
                )
                for each in edges
            ]
            await store.put_relations(tx, back)
            await tx.execute(store.QUERIES["readings_forget"], scope.tenant_id, scope.user_id)
            return alone

        return await self._database.write(scope, work, answer=ENTITY)

    async def add_relation(self, scope: Scope, new: NewRelation) -> Relation:
        """Store an edge between two entities. The same edge is `unchanged`; with other properties it ends the one
        before."""

        async def work(tx: Tx) -> Relation:
            source, target = await traversal.resolved(tx, new.source), await traversal.resolved(tx, new.target)
            now = self._clock()
            if new.memory_id is not None and await memories.get(tx, new.memory_id) is None:
                raise NotFoundError(f"no memory {new.memory_id} for the edge to come from")
            begins = new.valid_from or now
            if new.valid_to is not None and new.valid_to < begins:
                raise ValidationFailedError("valid_to must not be before valid_from")
            target_id = None if new.exclusive else target.entity_id
            known = await store.open_relations(tx, source.entity_id, new.relation_type, begins, target_id)
            told = (new.properties, new.weight, new.visibility, new.valid_to)
            for each in known:
                same = (
                    each.properties,
                    each.weight,
                    each.visibility,
                    each.valid_to,
                ) == told and each.valid_from <= begins
                if same and each.target_id == target.entity_id and new.valid_from in (None, each.valid_from):
                    if new.memory_id in (None, each.memory_id):
                        return each
                    told_by = _changed(now, each, memory_id=new.memory_id)
                    await store.put_relations(tx, [told_by])
                    return told_by
            over = [
                _changed(now, each, valid_to=max(begins, each.valid_from))
                for each in known
                if each.valid_from <= begins
            ]
            made = Relation(
                relation_id=new_id(),
                tenant_id=scope.tenant_id,
                user_id=scope.user_id,
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

        return await self._introducer.write(scope, work, answer=RELATION)

    async def relations_of(
        self,
        scope: Scope,
        entity: UUID | str,
        *,
        direction: Direction,
        relation_type: str | None,
        as_of: datetime | None,
    ) -> list[Relation]:
        """The edges of an entity, by its id or name, that are true now; with `as_of`, those that were known and true
        then.
        Raises NotFoundError, and ConflictError where several have the name."""
        if isinstance(entity, str):
            async with self._database.reading(scope) as tx:
                entity = (await traversal.resolved(tx, entity)).entity_id
        await self.get_entity(scope, entity, as_of=as_of)
        async with self._database.reading(scope) as tx:
            types = None if relation_type is None else [relation_type]
            moment = as_of or self._clock()
            return await store.relations_of(tx, entity, direction, moment, types, MAX_RELATIONS, past=as_of is not None)

    async def delete_relation(self, scope: Scope, relation_id: UUID, *, hard: bool) -> Relation:
        """Delete an edge, which `as_of` still shows; `hard` takes it out of the log, too. Raises NotFoundError."""

        async def work(tx: Tx) -> Relation:
            held = await store.relation(tx, relation_id)
            if held is None or held.user_id != scope.user_id:
                raise NotFoundError(f"no relation {relation_id} that you may delete")
            if hard:
                await store.erase(tx, [], [relation_id], self._clock())
                return held.model_copy(update={"properties": {}})
            if held.deleted_at is not None:
                return held
            now = self._clock()
            gone = _changed(now, held, deleted_at=now)
            await store.put_relations(tx, [gone])
            return gone

        return await self._database.write(scope, work, answer=RELATION)

    async def traverse(self, scope: Scope, request: TraverseRequest) -> Traversal:
        """What is reached from an entity within some steps, or along a pattern. Raises NotFoundError."""
        async with self._database.scoped_in_turn(scope) as tx:
            return await traversal.traverse(tx, request, self._clock())

    async def shortest_path(self, scope: Scope, request: PathRequest) -> Traversal:
        """The way with the fewest edges from one entity to another; no paths where there is none within `max_depth`."""
        async with self._database.scoped_in_turn(scope) as tx:
            return await traversal.shortest_path(tx, request, self._clock())

    async def mentions(
        self, scope: Scope, *, entity_id: UUID | None = None, memory_id: UUID | None = None, limit: int
    ) -> list[Mention]:
        """Which memories speak of an entity, newest first; or of which entities a memory speaks. Raises
        NotFoundError."""
        if (entity_id is None) == (memory_id is None):
            raise ValidationFailedError("give an entity_id or a memory_id: one of the two")
        if entity_id is not None:
            await self.get_entity(scope, entity_id)
        async with self._database.reading(scope) as tx:
            if memory_id is not None and await memories.get(tx, memory_id) is None:
                raise NotFoundError(f"no memory {memory_id}")
            return await store.mentions(tx, entity_id=entity_id, memory_id=memory_id, limit=limit)

    async def set_mention(self, scope: Scope, new: NewMention, *, rejected: bool) -> Mention:
        """Say that a memory speaks of an entity, or that it does not. It stays said, whatever reading finds. Raises
        NotFoundError."""

        async def work(tx: Tx) -> Mention:
            memory = await memories.get(tx, new.memory_id)
            entity = (await store.entities(tx, [new.entity_id])).get(new.entity_id)
            if memory is None or memory.user_id != scope.user_id or entity is None or entity.deleted_at is not None:
                raise NotFoundError(f"no memory {new.memory_id} of yours, or no entity {new.entity_id}")
            now = self._clock()
            said = Mention(
                memory_id=new.memory_id,
                entity_id=new.entity_id,
                user_id=scope.user_id,
                source="user",
                rejected=rejected,
                created_at=now,
                updated_at=now,
            )
            await store.put_mention(tx, said)
            return said

        return await self._introducer.write(scope, work, answer=MENTION)

    async def _same(self, tx: Tx, new: NewEntity) -> Entity | None:
        if new.entity_id is not None:
            held = (await store.entities(tx, [new.entity_id])).get(new.entity_id)
            if held is not None:
                if held.user_id != tx.scope.user_id or held.deleted_at is not None:
                    raise NotFoundError(f"no entity {new.entity_id} that you may change")
                if held.merged_into is not None:
                    raise ConflictError(f"entity {new.entity_id} is merged into {held.merged_into}; change that one")
                return held
            if await store.was_erased(tx, new.entity_id):
                raise ConflictError(f"entity {new.entity_id} was erased; choose another id")
        found = [
            each for each in await store.named(tx, [new.name], new.entity_type) if each.user_id == tx.scope.user_id
        ]
        if found and new.entity_id is not None:
            raise ConflictError(
                f"{new.entity_type} {new.name!r} is there already, as entity {found[0].entity_id}",
                current=str(found[0].entity_id),
            )
        return found[0] if found else None

    async def _own(self, tx: Tx, entity_id: UUID) -> tuple[Entity, Moved | None]:
        held = await store.entity_with_moved(tx, entity_id)
        if held is None or held[0].user_id != tx.scope.user_id:
            raise NotFoundError(f"no entity {entity_id} that you may change")
        return held


def _changed(now: datetime, relation: Relation, **changes: Any) -> Relation:
    return relation.model_copy(
        update={**changes, "event_id": new_id(), "version": relation.version + 1, "updated_at": now}
    )


def _updated(held: Entity, new: NewEntity) -> Entity:
    """What the caller gave, in place of what is stored; properties one by one, names added."""
    given = new.model_fields_set
    known = {_key(each) for each in (held.name, *held.aliases)}
    names = [each for each in (new.name, *new.aliases) if _key(each) not in known]
    changes: dict[str, Any] = {"aliases": (*held.aliases, *dict.fromkeys(names))} if names else {}
    if "properties" in given:
        changes["properties"] = {**held.properties, **new.properties}
    for name in ("visibility", "entity_type"):
        if name in given:
            changes[name] = getattr(new, name)
    return held.model_copy(update=changes)


def _key(name: str) -> str:
    return " ".join(name.casefold().split())

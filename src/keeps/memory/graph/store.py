"""Run the statements on the graph. Rows are written whole, each with its event in the same transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from keeps.base.clock import new_id
from keeps.memory.graph.finding import KnownNames, words_of_name
from keeps.store.db.session import Row, Tx
from keeps.store.db.size_limits import fetch_page, fetch_whole
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.models import Direction, Entity, Mention, Relation

QUERIES = Statements("keeps.memory.graph")
PROPERTIES = ("properties",)
PROVIDER = "graph"
MOST_PATHS = 10_000
"""Maximum number of partial paths in one traversal: a second of work for any pattern."""
Moved = dict[str, Any]
"""The data that undoes a merge: the added aliases, and the moved ends of relations."""


async def put_entities(tx: Tx, changed: Sequence[tuple[Entity, Moved | None]]) -> None:
    """Store entities in their current state, each with its event."""
    images = [{**entity.model_dump(mode="json"), "moved": moved} for entity, moved in changed]
    await tx.execute(QUERIES["entity_put"], json.dumps(images, ensure_ascii=False))
    news = [
        NewEvent(
            new_id(),
            "memory.deleted" if entity.deleted_at else "memory.written",
            str(entity.entity_id),
            entity.updated_at,
            entity.visibility,
            tx.scope.agent_id,
            {
                "key": f"{entity.entity_type}/{entity.name}",
                "value": entity.name,
                "value_type": "text",
                "content_type": "entity",
                "provider_id": PROVIDER,
                "entity": image,
            },
        )
        for (entity, _), image in zip(changed, images, strict=True)
    ]
    await events.append(tx, news)


async def put_relations(tx: Tx, relations: Sequence[Relation]) -> None:
    """Store edges in their current state, each with its event, whose id they carry."""
    if not relations:
        return
    images = [relation.model_dump(mode="json") for relation in relations]
    await tx.execute(QUERIES["relation_put"], json.dumps(images, ensure_ascii=False))
    news = [
        NewEvent(
            relation.event_id,
            "memory.unlinked" if relation.deleted_at else "memory.linked",
            str(relation.relation_id),
            relation.updated_at,
            relation.visibility,
            tx.scope.agent_id,
            {
                "source_key": str(relation.source_id),
                "target_key": str(relation.target_id),
                "relation": relation.relation_type,
                "provider_id": PROVIDER,
                "edge": image,
            },
        )
        for relation, image in zip(relations, images, strict=True)
    ]
    await events.append(tx, news)


async def put_mention(tx: Tx, mention: Mention) -> None:
    """Store a user's statement about a memory and an entity, with its event."""
    image = {**mention.model_dump(mode="json"), "tenant_id": tx.scope.tenant_id}
    await tx.execute(QUERIES["mention_put"], json.dumps(image))
    data = {
        "source_key": str(mention.memory_id),
        "target_key": str(mention.entity_id),
        "relation": "mentions",
        "provider_id": PROVIDER,
        "mention": image,
    }
    kind = "memory.unlinked" if mention.rejected else "memory.linked"
    subject = f"{mention.memory_id}/{mention.entity_id}"
    await events.append(tx, [NewEvent(new_id(), kind, subject, mention.updated_at, "private", tx.scope.agent_id, data)])


async def erase(tx: Tx, entity_ids: Sequence[UUID], relation_ids: Sequence[UUID], now: datetime) -> None:
    """Delete rows for good, redact their events, and record one event for each deletion."""
    who = (tx.scope.tenant_id, tx.scope.user_id)
    await tx.execute(QUERIES["graph_redact"], [*entity_ids, *relation_ids])
    await tx.execute(QUERIES["cascade_log"], list(entity_ids), [])
    await tx.execute(QUERIES["relations_delete"], *who, list(relation_ids))
    await tx.execute(QUERIES["entities_delete"], *who, list(entity_ids))
    gone = [("entity_id", subject_id) for subject_id in entity_ids] + [
        ("relation_id", subject_id) for subject_id in relation_ids
    ]
    news = [
        NewEvent(
            new_id(),
            "memory.erased",
            str(subject_id),
            now,
            "private",
            None,
            {name: str(subject_id), "provider_id": PROVIDER},
        )
        for name, subject_id in gone
    ]
    await events.append(tx, news)


async def entities(tx: Tx, entity_ids: Sequence[UUID]) -> dict[UUID, Entity]:
    rows = await fetch_whole(tx, QUERIES["entity_get"], tx.scope.tenant_id, list(entity_ids), columns=PROPERTIES)
    return {row["entity_id"]: entity_from_row(row) for row in rows}


async def entity_with_moved(tx: Tx, entity_id: UUID) -> tuple[Entity, Moved | None] | None:
    rows = await tx.fetch(QUERIES["entity_get"], tx.scope.tenant_id, [entity_id])
    return (entity_from_row(rows[0]), json.loads(rows[0]["moved"] or "null")) if rows else None


async def taken_in(tx: Tx, entity_id: UUID) -> list[Entity]:
    """Return the user's own entities that were merged into an entity."""
    rows = await tx.fetch(QUERIES["entities_taken_in"], tx.scope.tenant_id, tx.scope.user_id, entity_id)
    return [entity_from_row(row) for row in rows]


async def was_erased(tx: Tx, entity_id: UUID) -> bool:
    row = await tx.fetch_row(QUERIES["entity_was_erased"], tx.scope.tenant_id, str(entity_id))
    return row is not None and row["erased"]


async def unspoken(tx: Tx) -> list[UUID]:
    """Return the user's own entities, found in texts, that nothing mentions any more."""
    rows = await tx.fetch(QUERIES["entities_unspoken"], tx.scope.tenant_id, tx.scope.user_id)
    return [row["entity_id"] for row in rows]


async def entity_as_of(tx: Tx, entity_id: UUID, moment: datetime) -> Entity | None:
    row = await tx.fetch_row(QUERIES["entity_as_of"], tx.scope.tenant_id, str(entity_id), moment)
    return None if row is None else entity_from_row(row)


async def named(tx: Tx, names: Sequence[str], entity_type: str | None = None) -> list[Entity]:
    """Return the entities with one of the names, the user's own first."""
    rows = await tx.fetch(QUERIES["entities_named"], tx.scope.tenant_id, list(names), entity_type, tx.scope.user_id)
    return [entity_from_row(row) for row in rows]


async def page(
    tx: Tx, after: tuple[datetime, UUID] | None, limit: int, name: str | None, entity_type: str | None
) -> tuple[list[Entity], bool]:
    """Return one page, newest first, and whether there are more."""
    created_at, entity_id = after or (None, None)
    arguments = (created_at, entity_id, limit + 1, name, entity_type)
    listing = QUERIES["entities_list"]
    rows, more = await fetch_page(tx, listing, tx.scope.tenant_id, *arguments, limit=limit, columns=PROPERTIES)
    return [entity_from_row(row) for row in rows], more


async def relation(tx: Tx, relation_id: UUID) -> Relation | None:
    rows = await tx.fetch(QUERIES["relation_get"], tx.scope.tenant_id, [relation_id])
    return relation_from_row(rows[0]) if rows else None


async def relations(tx: Tx, relation_ids: Sequence[UUID]) -> list[Relation]:
    rows = await fetch_whole(tx, QUERIES["relation_get"], tx.scope.tenant_id, list(relation_ids), columns=PROPERTIES)
    by_id = {row["relation_id"]: relation_from_row(row) for row in rows}
    return [by_id[each] for each in relation_ids if each in by_id]


async def own_relations_of(tx: Tx, entity_id: UUID) -> list[Relation]:
    rows = await tx.fetch(QUERIES["relations_own_of"], tx.scope.tenant_id, tx.scope.user_id, entity_id)
    return [relation_from_row(row) for row in rows]


async def open_relations(
    tx: Tx, source_id: UUID, relation_type: str, moment: datetime, target_id: UUID | None
) -> list[Relation]:
    rows = await tx.fetch(
        QUERIES["relations_open"], tx.scope.tenant_id, tx.scope.user_id, source_id, relation_type, moment, target_id
    )
    return [relation_from_row(row) for row in rows]


async def relations_of(
    tx: Tx,
    entity_id: UUID,
    direction: Direction,
    moment: datetime,
    types: Sequence[str] | None,
    limit: int,
    *,
    past: bool,
) -> list[Relation]:
    """Return the edges of an entity that are true at `moment`; with `past`, as they were known then."""
    statement = QUERIES["relations_as_of" if past else "relations_of"]
    wanted = None if types is None else list(types)
    arguments = (tx.scope.tenant_id, entity_id, direction, moment, wanted, limit)
    return [relation_from_row(row) for row in await fetch_whole(tx, statement, *arguments, columns=PROPERTIES)]


async def reach(
    tx: Tx, start: UUID, depth: int, direction: Direction, types: Sequence[str] | None, moment: datetime, limit: int
) -> list[tuple[UUID, int]]:
    rows = await tx.fetch(
        QUERIES["reach"],
        tx.scope.tenant_id,
        start,
        depth,
        direction,
        None if types is None else list(types),
        moment,
        limit,
    )
    return [(row["entity_id"], row["depth"]) for row in rows]


async def relations_among(
    tx: Tx, entity_ids: Sequence[UUID], moment: datetime, types: Sequence[str] | None, limit: int
) -> list[Relation]:
    rows = await fetch_whole(
        tx,
        QUERIES["relations_among"],
        tx.scope.tenant_id,
        list(entity_ids),
        moment,
        None if types is None else list(types),
        limit,
        columns=PROPERTIES,
    )
    return [relation_from_row(row) for row in rows]


async def step(
    tx: Tx, here: Sequence[UUID], direction: Direction, types: Sequence[str] | None, moment: datetime, limit: int
) -> list[tuple[UUID, UUID, UUID]]:
    """Return edges from some entities: (relation, from, to)."""
    rows = await tx.fetch(
        QUERIES["step"],
        tx.scope.tenant_id,
        list(here),
        direction,
        None if types is None else list(types),
        moment,
        limit,
    )
    return [(row["relation_id"], row["here"], row["there"]) for row in rows]


async def paths(
    tx: Tx,
    start: UUID,
    relations: Sequence[str],
    directions: Sequence[str],
    entities: Sequence[str],
    moment: datetime,
    limit: int,
) -> tuple[list[tuple[list[UUID], list[UUID]]], bool]:
    """Return the paths along a pattern, each with its entities and edges, and whether there may be more."""
    rows = await tx.fetch(
        QUERIES["paths"],
        tx.scope.tenant_id,
        start,
        list(relations),
        list(directions),
        list(entities),
        moment,
        limit,
        MOST_PATHS,
    )
    found = [(row["entities"], row["relations"]) for row in rows if row["entities"] is not None]
    return found, len(found) < len(rows)


async def mentions(
    tx: Tx, *, entity_id: UUID | None = None, memory_id: UUID | None = None, limit: int
) -> list[Mention]:
    name, wanted = ("mentions_of_entity", entity_id) if entity_id is not None else ("mentions_of_memory", memory_id)
    rows = await tx.fetch(QUERIES[name], tx.scope.tenant_id, wanted, limit)
    return [Mention.model_construct(**dict(row)) for row in rows]


async def move_mentions(tx: Tx, source: UUID, target: UUID) -> None:
    await tx.execute(QUERIES["mentions_move"], tx.scope.tenant_id, tx.scope.user_id, source, target)


async def known_names(tx: Tx) -> KnownNames[UUID]:
    """Return every name that the scope knows, including the rejected ones."""
    names: KnownNames[UUID] = KnownNames()
    for row in await tx.fetch(QUERIES["known_names"], tx.scope.tenant_id):
        for name in (row["name"], *row["aliases"]):
            if row["rejected"]:
                names.rejected.add(words_of_name(name))
            else:
                names.add(name, row["entity_id"])
    return names


def entity_from_row(row: Row) -> Entity:
    values = dict(row)
    values.pop("moved", None)
    values["properties"] = json.loads(values["properties"])
    values["aliases"] = tuple(values["aliases"])
    return Entity.model_construct(**values)


def relation_from_row(row: Row) -> Relation:
    return Relation.model_construct(**{**dict(row), "properties": json.loads(row["properties"])})

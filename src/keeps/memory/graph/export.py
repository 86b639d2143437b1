"""Export of entities, relations, and mentions that users set."""

from __future__ import annotations

from keeps.memory.graph import store
from keeps.memory.memories import store as memories
from keeps.store.db.errors import MissingError
from keeps.store.db.session import Tx
from keeps.store.export import NO_ID, NO_TIME, Export, JsonRow, check_as_new
from keeps_client.models import Entity, Mention, NewEntity, NewRelation, Relation


def _read_entity(row: JsonRow) -> tuple[Entity, JsonRow | None]:
    moved = row.pop("moved", None)
    check_as_new(NewEntity, row)
    return Entity.model_validate(row), moved if isinstance(moved, dict) else None


async def _add_entity(tx: Tx, read: tuple[Entity, JsonRow | None]) -> bool:
    entity, moved = read
    same = await store.named(tx, [entity.name], entity.entity_type)
    is_stored = entity.entity_id in await store.entities(tx, [entity.entity_id])
    is_free = entity.deleted_at or entity.merged_into or not any(other.user_id == entity.user_id for other in same)
    if is_stored or not is_free:
        return False
    await store.put_entities(tx, [(entity, moved)])
    return True


def _read_relation(row: JsonRow) -> Relation:
    check_as_new(NewRelation, {**row, "source": row["source_id"], "target": row["target_id"]})
    return Relation.model_validate(row)


async def _add_relation(tx: Tx, relation: Relation) -> bool:
    if await store.relation(tx, relation.relation_id) is not None:
        return False
    ends = {relation.source_id, relation.target_id}
    if ends - set(await store.entities(tx, list(ends))):
        raise MissingError("connects entities that do not exist; import them first")
    await store.put_relations(tx, [relation])
    return True


def _read_mention(row: JsonRow) -> Mention:
    return Mention.model_validate({name: value for name, value in row.items() if name != "tenant_id"})


async def _add_mention(tx: Tx, mention: Mention) -> bool:
    stored = await store.mentions(tx, memory_id=mention.memory_id, limit=1_000)
    if any(other.entity_id == mention.entity_id and other.source == "user" for other in stored):
        return False
    entities = await store.entities(tx, [mention.entity_id])
    memory = await memories.get(tx, mention.memory_id)
    if not entities or memory is None or memory.user_id != tx.scope.user_id:
        raise MissingError("belongs to a memory or entity that does not exist; import it first")
    await store.put_mention(tx, mention)
    return True


EXPORTS = (
    Export(
        "entity",
        store.QUERIES["export_entities"],
        {"depth": 0, "created_at": NO_TIME, "entity_id": NO_ID},
        _read_entity,
        _add_entity,
    ),
    Export(
        "relation",
        store.QUERIES["export_relations"],
        {"created_at": NO_TIME, "relation_id": NO_ID},
        _read_relation,
        _add_relation,
    ),
    Export(
        "mention",
        store.QUERIES["export_mentions"],
        {"memory_id": NO_ID, "entity_id": NO_ID},
        _read_mention,
        _add_mention,
    ),
)

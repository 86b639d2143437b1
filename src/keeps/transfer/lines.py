"""Lines of an export, one function for each type: it checks a row, and returns what stores it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue, TypeAdapter

from keeps.databases import store as databases
from keeps.db.errors import MissingError
from keeps.db.session import Tx
from keeps.documents import store as documents
from keeps.graph import store as graph
from keeps.items import store as items
from keeps.memories import store as memories
from keeps.memories.store import Written
from keeps.memories.types import MemoryRow, content_hash
from keeps.plans import store as plans
from keeps.sessions import store as sessions
from keeps.tasks import store as tasks
from keeps.transcripts import store as transcripts
from keeps.transcripts.store import TranscriptRow
from keeps.working import store as working
from keeps_client.checked import validated
from keeps_client.errors import ValidationFailedError
from keeps_client.models import (
    Entity,
    Memory,
    Mention,
    NewDocument,
    NewEntity,
    NewMemory,
    NewPlanContext,
    NewRelation,
    NewSession,
    NewStates,
    NewTaskContext,
    NewTranscript,
    NewTranscriptEntry,
    Plan,
    PutItem,
    QueryAudit,
    Relation,
    Session,
    TaskContext,
    WorkingItem,
)
from keeps_client.models.common import check_storable
from keeps_client.models.transcripts import AppOf, TranscriptOf

JsonRow = dict[str, Any]
Work = Callable[[Tx], Awaitable[bool]]
"""Stores a row in a transaction of its user, and returns whether it is new."""
_TRANSCRIPT = TypeAdapter(TranscriptRow)
_POSITION: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(ge=1, le=2_000_000_000, strict=True)])


def work_of(kind: str, row: JsonRow) -> Work:
    """Return what stores a row of an export.

    A row keeps the rules that a new thing has to keep, and the ranges of the tables.

    Raises:
        ValidationFailedError: The type is unknown, or is one that no import stores.
        ValueError: A field is missing or out of its range; pydantic's ValidationError is one, too.
    """
    check_storable(row)
    _check_ranges(row)
    reader = _READERS.get(kind)
    if reader is None:
        raise ValidationFailedError(f"holds an unknown type: {kind!r}")
    return reader(row)


def _hash_of(row: MemoryRow, given: object) -> bytes:
    """Return the hash that a line gives, or the one of its words: where it gives none, or somebody edited the words."""
    hashes = [content_hash(row), content_hash(row, row.valid_from)]
    if not isinstance(given, str) or not re.fullmatch(r"\\x(?:[0-9a-f]{2}){32,64}", given):
        return hashes[0]
    known = bytes.fromhex(given[2:])
    # A memory that was changed since it was first stored keeps its first hash.
    return known if row.version > 1 or known[:32] in (each[:32] for each in hashes) else hashes[0]


def _memory(row: JsonRow) -> Work:
    given_hash = row.pop("content_hash", "")
    _check_as(NewMemory, row)
    stored = MemoryRow.of(Memory.model_validate(row))
    written = memories.written(stored.evolve(content_hash=_hash_of(stored, given_hash)))
    return partial(_add_memory, written=written)


async def _add_memory(tx: Tx, written: Written) -> bool:
    return bool(await memories.insert_many(tx, [written], ""))


def _session(row: JsonRow) -> Work:
    _check_as(NewSession, row)
    session = Session.model_validate({**row, "plan_count": 0, "last_activity": row["last_interaction"]})
    return partial(_add_session, session=session)


async def _add_session(tx: Tx, session: Session) -> bool:
    return await sessions.insert(tx, session)


def _plan(row: JsonRow) -> Work:
    _check_as(NewPlanContext, row)
    plan = Plan.model_validate({**row, "sub_plan_ids": []})
    return partial(_add_plan, plan=plan)


async def _add_plan(tx: Tx, plan: Plan) -> bool:
    return await plans.get(tx, plan.plan_id) is None and await plans.insert(tx, plan)


def _task_context(row: JsonRow) -> Work:
    _check_as(NewTaskContext, row)
    task = TaskContext.model_validate(row)
    return partial(_add_task, task=task)


async def _add_task(tx: Tx, task: TaskContext) -> bool:
    if await tasks.get(tx, task.task_id) is not None:
        return False
    await tasks.put(tx, task)
    return True


def _working_memory(row: JsonRow) -> Work:
    item = WorkingItem.model_validate({**{name: row[name] for name in row if name != "created_at"}, "id": ""})
    created_at = datetime.fromisoformat(row["created_at"])
    return partial(_add_working_item, item=item, created_at=created_at)


async def _add_working_item(tx: Tx, item: WorkingItem, created_at: datetime) -> bool:
    return await working.add(tx, item, created_at)


def _entity(row: JsonRow) -> Work:
    moved = row.pop("moved", None)
    _check_as(NewEntity, row)
    entity = Entity.model_validate(row)
    return partial(_add_entity, entity=entity, moved=moved)


async def _add_entity(tx: Tx, entity: Entity, moved: object) -> bool:
    same = await graph.named(tx, [entity.name], entity.entity_type)
    there = entity.entity_id in await graph.entities(tx, [entity.entity_id])
    free = entity.deleted_at or entity.merged_into or not any(each.user_id == entity.user_id for each in same)
    if there or not free:
        return False
    await graph.put_entities(tx, [(entity, moved if isinstance(moved, dict) else None)])
    return True


def _relation(row: JsonRow) -> Work:
    _check_as(NewRelation, {**row, "source": row["source_id"], "target": row["target_id"]})
    relation = Relation.model_validate(row)
    return partial(_add_relation, relation=relation)


async def _add_relation(tx: Tx, relation: Relation) -> bool:
    if await graph.relation(tx, relation.relation_id) is not None:
        return False
    ends = {relation.source_id, relation.target_id}
    if ends - set(await graph.entities(tx, list(ends))):
        raise MissingError("is an edge of entities that are not there; import them first")
    await graph.put_relations(tx, [relation])
    return True


def _mention(row: JsonRow) -> Work:
    mention = Mention.model_validate({name: value for name, value in row.items() if name != "tenant_id"})
    return partial(_add_mention, mention=mention)


async def _add_mention(tx: Tx, mention: Mention) -> bool:
    held = await graph.mentions(tx, memory_id=mention.memory_id, limit=1_000)
    if any(each.entity_id == mention.entity_id and each.source == "user" for each in held):
        return False
    known = await graph.entities(tx, [mention.entity_id])
    memory = await memories.get(tx, mention.memory_id)
    if not known or memory is None or memory.user_id != tx.scope.user_id:
        raise MissingError("is of a memory or entity that is not there; import them first")
    await graph.put_mention(tx, mention)
    return True


def _document(row: JsonRow) -> Work:
    _check_as(NewDocument, row)
    return partial(_add_document, row=row)


async def _add_document(tx: Tx, row: JsonRow) -> bool:
    return await documents.add(tx, row)


def _transcript(row: JsonRow) -> Work:
    _check_as(NewTranscript, row)
    validated(AppOf, {"app": row["app"]})
    transcript = _TRANSCRIPT.validate_python(row)
    return partial(_add_transcript, transcript=transcript)


async def _add_transcript(tx: Tx, transcript: TranscriptRow) -> bool:
    return await transcripts.insert(tx, transcript, transcript.updated_at)


def _transcript_entry(row: JsonRow) -> Work:
    validated(TranscriptOf, {name: row[name] for name in ("app", "transcript_id")})
    entry = NewTranscriptEntry.model_validate({name: row[name] for name in ("entry_id", "at", "entry")})
    position = _POSITION.validate_python(row["position"])
    return partial(_add_entry, row=row, position=position, entry=entry)


async def _add_entry(tx: Tx, row: JsonRow, position: int, entry: NewTranscriptEntry) -> bool:
    held = await transcripts.get(tx, row["app"], row["transcript_id"])
    if held is None or position > held.entry_count:
        raise MissingError("is of a transcript that is not there, or that went on otherwise")
    return await transcripts.add_imported(tx, held, position, entry)


def _transcript_value(row: JsonRow) -> Work:
    validated(AppOf, {"app": row["app"]})
    values = NewStates.model_validate({"state": {row["key"]: row["value"]}}).state
    which = (
        ""
        if row["transcript_id"] == ""
        else validated(TranscriptOf, {name: row[name] for name in ("app", "transcript_id")}).transcript_id
    )
    moment = datetime.fromisoformat(row["updated_at"])
    return partial(_add_value, row=row, transcript_id=which, values=values, at=moment)


async def _add_value(tx: Tx, row: JsonRow, transcript_id: str, values: Mapping[str, JsonValue], at: datetime) -> bool:
    if transcript_id and await transcripts.get(tx, row["app"], transcript_id) is None:
        raise MissingError("is the state of a transcript that is not there; import that first")
    held = await transcripts.states(tx, row["app"], [transcript_id])
    if row["key"] in held[transcript_id]:
        return False
    await transcripts.put_values(tx, row["app"], transcript_id, values, at, row.get("agent_id"))
    return True


def _item(row: JsonRow) -> Work:
    labels = items.labels_of(row["namespace"])
    texts = row["texts"]
    item = PutItem.model_validate(
        {
            **{name: row[name] for name in ("key", "value", "ttl_minutes")},
            "namespace": labels,
            "index": texts is not None,
            "texts": texts or None,
        }
    )
    made, changed = (datetime.fromisoformat(row[name]) for name in ("created_at", "updated_at"))
    return partial(_add_item, item=item, version=row["version"], created_at=made, updated_at=changed)


async def _add_item(tx: Tx, item: PutItem, version: int, created_at: datetime, updated_at: datetime) -> bool:
    return await items.add(tx, item, version, created_at, updated_at)


def _database(_row: JsonRow) -> Work:
    raise ValidationFailedError("is a database, whose credentials are in no export; add it again")


def _query(row: JsonRow) -> Work:
    query = QueryAudit.model_validate(
        {name: row[column] for name, column in databases.AUDIT_COLUMNS.items() if column in row}
    )
    return partial(_add_query, query=query)


async def _add_query(tx: Tx, query: QueryAudit) -> bool:
    return await databases.add_audit(tx, query)


def _check_ranges(row: dict[str, Any]) -> None:
    version = row.get("version", 1)
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= 2_000_000_000:
        raise ValueError("version must be a whole number from 1 on")
    for name, value in row.items():
        if name.endswith("_at") or name in ("valid_from", "valid_to", "last_interaction"):
            if value is None:
                continue
            if not isinstance(value, str) or not 2 <= datetime.fromisoformat(value).year <= 9_998:
                raise ValueError(f"{name} must be a time with its zone, of the years 2 to 9998")


def _check_as(kind: type[BaseModel], row: dict[str, Any]) -> None:
    """The rules for a new one, for the fields that it shares with a stored one."""
    kind.model_validate({name: row[name] for name in kind.model_fields if row.get(name) is not None})


_READERS: Mapping[str, Callable[[JsonRow], Work]] = {
    "memory": _memory,
    "session": _session,
    "plan": _plan,
    "task_context": _task_context,
    "working_memory": _working_memory,
    "entity": _entity,
    "relation": _relation,
    "mention": _mention,
    "document": _document,
    "transcript": _transcript,
    "transcript_entry": _transcript_entry,
    "transcript_value": _transcript_value,
    "item": _item,
    "database": _database,
    "query": _query,
}

"""Export and import as JSON lines, each `{"type", "row"}`; vectors are not among them, they are made again."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from keeps.databases import store as databases
from keeps.db.errors import MissingError
from keeps.db.session import Database, Row, Tx
from keeps.documents import store as documents
from keeps.graph import store as graph
from keeps.indexing.service import Indexer
from keeps.items import store as items
from keeps.memories import store as memories
from keeps.memories.types import MemoryRow, content_hash
from keeps.plans import store as plans
from keeps.scope import Scope
from keeps.sessions import store as sessions
from keeps.tasks import store as tasks
from keeps.tenants.service import Introducer, ensure_user
from keeps.text.json_parts import JsonParts
from keeps.transcripts import store as transcripts
from keeps.transcripts.store import TranscriptRow
from keeps.transfer.erasure import QUERIES
from keeps.working import store as working
from keeps_client.checked import validated, validation_failed
from keeps_client.errors import KeepsError, ValidationFailedError
from keeps_client.models import (
    Entity,
    ImportSummary,
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

_NO_ID, _NO_TIME = UUID(int=0), datetime(1, 1, 1, tzinfo=UTC)
_PAGES: dict[str, tuple[str, dict[str, object]]] = {
    "memory": ("memories", {"older": False, "memory_id": _NO_ID}),
    "session": ("sessions", {"created_at": _NO_TIME, "session_id": ""}),
    "plan": ("plans", {"created_at": _NO_TIME, "plan_id": ""}),
    "task_context": ("task_contexts", {"created_at": _NO_TIME, "task_id": ""}),
    "working_memory": ("working_memory", {"plan_id": "", "key": ""}),
    "entity": ("entities", {"depth": 0, "created_at": _NO_TIME, "entity_id": _NO_ID}),
    "relation": ("relations", {"created_at": _NO_TIME, "relation_id": _NO_ID}),
    "mention": ("mentions", {"memory_id": _NO_ID, "entity_id": _NO_ID}),
    "document": ("documents", {"created_at": _NO_TIME, "document_id": _NO_ID}),
    "transcript": ("transcripts", {"app": "", "transcript_id": ""}),
    "database": ("databases", {"name": ""}),
    "query": ("queries", {"asked_at": _NO_TIME, "audit_id": _NO_ID}),
    "transcript_entry": ("transcript_entries", {"app": "", "transcript_id": "", "position": 0}),
    "transcript_value": ("transcript_values", {"app": "", "transcript_id": "", "key": ""}),
    "item": ("items", {"namespace": "", "key": ""}),
}
"""Each kind of line, in the order of an export: its statement, and the place before the first row, by column."""
_STEP_CHARACTERS = 1 << 16
"""How much of an export is made before others have a turn: it may be compressed on the way."""

_TRANSCRIPT = TypeAdapter(TranscriptRow)
_POSITION: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(ge=1, le=2_000_000_000, strict=True)])

OTHERS_AFTER, MOST_ERRORS = 200, 100


class _Tried(Exception):
    """Ends a transaction that only tried something."""

    def __init__(self, done: bool) -> None:
        super().__init__()
        self.done = done


class TransferService:
    """A tenant's data, or one user's. Roles are checked by the routes."""

    def __init__(self, database: Database, introducer: Introducer, indexer: Indexer) -> None:
        self._database = database
        self._introducer = introducer
        self._indexer = indexer

    async def export(self, scope: Scope, user_id: str | None = None) -> AsyncIterator[str]:
        """The lines of one user, or of all users of the scope's tenant."""
        users = [user_id]
        if user_id is None:
            async with self._database.scoped(scope) as tx:
                users = [row["user_id"] for row in await tx.fetch(QUERIES["export_users"])]
        for each in users:
            owner = Scope(scope.tenant_id, each or scope.user_id)
            for kind, (plural, first) in _PAGES.items():
                place = first
                while rows := await self._read(owner, plural, *place.values()):
                    made = 0
                    for row in rows:
                        line = _line(kind, row)
                        made += len(line)
                        if made > _STEP_CHARACTERS:
                            made = 0
                            await asyncio.sleep(0)
                        yield line
                    place = {name: rows[-1][name] for name in first}

    async def import_lines(self, scope: Scope, lines: Iterable[str], *, dry_run: bool = False) -> ImportSummary:
        """Store exported lines in the scope's tenant, with their ids and owners. What is there already stays as it is.

        Every line stands for itself: one that cannot be stored is reported with its number, and the others go on. With
        `dry_run` each is stored and taken back at once; whether what it refers to is there is not asked.
        """
        stored = unchanged = 0
        errors: list[str] = []
        failed = 0
        for number, line in enumerate(lines, 1):
            if number % OTHERS_AFTER == 0:
                await asyncio.sleep(0)  # lines that are refused at once would keep everybody else waiting
            if not line.strip():
                continue
            try:
                if await self._import(scope.tenant_id, line, dry_run=dry_run):
                    stored += 1
                else:
                    unchanged += 1
            except KeepsError as error:
                failed += 1
                if len(errors) < MOST_ERRORS:
                    errors.append(f"line {number}: {error.detail}")
        return ImportSummary(stored=stored, unchanged=unchanged, failed=failed, errors=errors)

    async def _read(self, owner: Scope, what: str, *values: object) -> list[Row]:
        async with self._database.scoped(owner) as tx:
            return await tx.fetch(QUERIES[f"export_{what}"], owner.tenant_id, owner.user_id, *values)

    async def _import(self, tenant_id: str, line: str, *, dry_run: bool) -> bool:
        JsonParts().see(line.encode("utf-8", "replace"))
        try:
            item: Any = json.loads(line, parse_constant=_refuse)
            kind, row = item["type"], {**item["row"], "tenant_id": tenant_id}
            owner = Scope(tenant_id, row["user_id"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ValidationFailedError("is not a line of an export") from None
        try:
            work = _work(kind, row)
        except ValidationError as error:
            raise validation_failed(error) from None
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValidationFailedError(f"cannot be read: {error}") from None
        if dry_run:
            return await self._tried(owner, work)
        done = await self._introducer.write(owner, work)
        if done and kind in ("memory", "item"):
            self._indexer.notice(owner)
        return done

    async def _tried(self, owner: Scope, work: Callable[[Tx], Awaitable[bool]]) -> bool:
        """Whether it would be stored; it is taken back. What it refers to may be in a line that was taken back, too."""

        async def tried(tx: Tx) -> None:
            await ensure_user(tx)
            raise _Tried(await work(tx))

        try:
            await self._database.write(owner, tried)
        except _Tried as found:
            return found.done
        except MissingError:
            return True
        raise AssertionError


def _hash_of(row: MemoryRow, given: object) -> bytes:
    """Return the hash that a line gives, or the one of its words: where it gives none, or somebody edited the words."""
    hashes = [content_hash(row), content_hash(row, row.valid_from)]
    if not isinstance(given, str) or not re.fullmatch(r"\\x(?:[0-9a-f]{2}){32,64}", given):
        return hashes[0]
    known = bytes.fromhex(given[2:])
    # A memory that was changed since it was first stored keeps its first hash.
    return known if row.version > 1 or known[:32] in (each[:32] for each in hashes) else hashes[0]


def _work(kind: str, row: dict[str, Any]) -> Callable[[Tx], Awaitable[bool]]:
    """What stores a line. A line must keep the rules that a new thing has to keep, and the ranges of the tables."""
    check_storable(row)
    _check_ranges(row)
    match kind:
        case "memory":
            given_hash = row.pop("content_hash", "")
            _check_as(NewMemory, row)
            stored = MemoryRow.of(Memory.model_validate(row))
            written = memories.written(stored.evolve(content_hash=_hash_of(stored, given_hash)))

            async def remember(tx: Tx) -> bool:
                return bool(await memories.insert_many(tx, [written], ""))

            return remember
        case "session":
            _check_as(NewSession, row)
            session = Session.model_validate({**row, "plan_count": 0, "last_activity": row["last_interaction"]})

            async def add_session(tx: Tx) -> bool:
                return await sessions.insert(tx, session)

            return add_session
        case "plan":
            _check_as(NewPlanContext, row)
            plan = Plan.model_validate({**row, "sub_plan_ids": []})

            async def add_plan(tx: Tx) -> bool:
                return await plans.get(tx, plan.plan_id) is None and await plans.insert(tx, plan)

            return add_plan
        case "task_context":
            _check_as(NewTaskContext, row)
            task = TaskContext.model_validate(row)

            async def add_task(tx: Tx) -> bool:
                if await tasks.get(tx, task.task_id) is not None:
                    return False
                await tasks.put(tx, task)
                return True

            return add_task
        case "working_memory":
            item = WorkingItem.model_validate({**{name: row[name] for name in row if name != "created_at"}, "id": ""})
            created_at = datetime.fromisoformat(row["created_at"])

            async def add_key(tx: Tx) -> bool:
                return await working.add(tx, item, created_at)

            return add_key
        case "entity":
            moved = row.pop("moved", None)
            _check_as(NewEntity, row)
            entity = Entity.model_validate(row)

            async def add_entity(tx: Tx) -> bool:
                same = await graph.named(tx, [entity.name], entity.entity_type)
                there = entity.entity_id in await graph.entities(tx, [entity.entity_id])
                free = (
                    entity.deleted_at or entity.merged_into or not any(each.user_id == entity.user_id for each in same)
                )
                if there or not free:
                    return False
                await graph.put_entities(tx, [(entity, moved if isinstance(moved, dict) else None)])
                return True

            return add_entity
        case "relation":
            _check_as(NewRelation, {**row, "source": row["source_id"], "target": row["target_id"]})
            relation = Relation.model_validate(row)

            async def add_relation(tx: Tx) -> bool:
                if await graph.relation(tx, relation.relation_id) is not None:
                    return False
                ends = {relation.source_id, relation.target_id}
                if ends - set(await graph.entities(tx, list(ends))):
                    raise MissingError("is an edge of entities that are not there; import them first")
                await graph.put_relations(tx, [relation])
                return True

            return add_relation
        case "mention":
            mention = Mention.model_validate({name: value for name, value in row.items() if name != "tenant_id"})

            async def add_mention(tx: Tx) -> bool:
                held = await graph.mentions(tx, memory_id=mention.memory_id, limit=1_000)
                if any(each.entity_id == mention.entity_id and each.source == "user" for each in held):
                    return False
                known = await graph.entities(tx, [mention.entity_id])
                memory = await memories.get(tx, mention.memory_id)
                if not known or memory is None or memory.user_id != tx.scope.user_id:
                    raise MissingError("is of a memory or entity that is not there; import them first")
                await graph.put_mention(tx, mention)
                return True

            return add_mention
        case "document":
            _check_as(NewDocument, row)

            async def add_document(tx: Tx) -> bool:
                return await documents.add(tx, row)

            return add_document
        case "transcript":
            _check_as(NewTranscript, row)
            validated(AppOf, {"app": row["app"]})
            transcript = _TRANSCRIPT.validate_python(row)

            async def add_transcript(tx: Tx) -> bool:
                return await transcripts.insert(tx, transcript, transcript.updated_at)

            return add_transcript
        case "transcript_entry":
            validated(TranscriptOf, {name: row[name] for name in ("app", "transcript_id")})
            entry = NewTranscriptEntry.model_validate({name: row[name] for name in ("entry_id", "at", "entry")})
            position = _POSITION.validate_python(row["position"])

            async def add_entry(tx: Tx) -> bool:
                held = await transcripts.get(tx, row["app"], row["transcript_id"])
                if held is None or position > held.entry_count:
                    raise MissingError("is of a transcript that is not there, or that went on otherwise")
                return await transcripts.add_imported(tx, held, position, entry)

            return add_entry
        case "transcript_value":
            validated(AppOf, {"app": row["app"]})
            values = NewStates.model_validate({"state": {row["key"]: row["value"]}}).state
            which = (
                ""
                if row["transcript_id"] == ""
                else validated(TranscriptOf, {name: row[name] for name in ("app", "transcript_id")}).transcript_id
            )
            moment = datetime.fromisoformat(row["updated_at"])

            async def add_value(tx: Tx) -> bool:
                if which and await transcripts.get(tx, row["app"], which) is None:
                    raise MissingError("is the state of a transcript that is not there; import that first")
                held = await transcripts.states(tx, row["app"], [which])
                if row["key"] in held[which]:
                    return False
                await transcripts.put_values(tx, row["app"], which, values, moment, row.get("agent_id"))
                return True

            return add_value
        case "item":
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

            async def add_item(tx: Tx) -> bool:
                return await items.add(tx, item, row["version"], made, changed)

            return add_item
        case "database":
            raise ValidationFailedError("is a database, whose credentials are in no export; add it again")
        case "query":
            query = QueryAudit.model_validate(
                {name: row[column] for name, column in databases.AUDIT_COLUMNS.items() if column in row}
            )

            async def add_query(tx: Tx) -> bool:
                return await databases.add_audit(tx, query)

            return add_query
        case _:
            raise ValidationFailedError(f"holds an unknown type: {kind!r}")


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


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _line(kind: str, row: Row) -> str:
    """PostgreSQL writes `jsonb` in one line, and numbers as they were stored."""
    return f'{{"type": "{kind}", "row": {row["row"]}}}\n'

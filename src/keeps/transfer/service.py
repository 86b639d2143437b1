"""Export and import as JSON lines, each `{"type", "row"}`; vectors are not among them, they are made again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from keeps.db.errors import MissingError
from keeps.db.session import Database, Row, Tx
from keeps.indexing.service import Indexer
from keeps.scope import Scope
from keeps.tenants.service import Introducer, ensure_user
from keeps.text.json_parts import JsonParts
from keeps.transfer.erasure import QUERIES
from keeps.transfer.lines import Work, work_of
from keeps_client.checked import validation_failed
from keeps_client.errors import KeepsError, ValidationFailedError
from keeps_client.models import (
    ImportSummary,
)

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
            work = work_of(kind, row)
        except ValidationError as error:
            raise validation_failed(error) from None
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValidationFailedError(f"cannot be read: {error}") from None
        if dry_run:
            return await self._tried(owner, work)
        stored = False
        async for attempt in self._introducer.writing(owner):
            async with attempt as tx:
                stored = await work(tx)
        if stored and kind in ("memory", "item"):
            self._indexer.notice(owner)
        return stored

    async def _tried(self, owner: Scope, work: Work) -> bool:
        """Whether it would be stored; it is taken back. What it refers to may be in a line that was taken back, too."""
        try:
            async for attempt in self._database.writing(owner):
                async with attempt as tx:
                    await ensure_user(tx)
                    await _store_and_take_back(tx, work)
        except _Tried as found:
            return found.done
        except MissingError:
            return True
        raise AssertionError


async def _store_and_take_back(tx: Tx, work: Work) -> None:
    """Store a row, then raise _Tried, which rolls the transaction back."""
    raise _Tried(await work(tx))


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _line(kind: str, row: Row) -> str:
    """PostgreSQL writes `jsonb` in one line, and numbers as they were stored."""
    return f'{{"type": "{kind}", "row": {row["row"]}}}\n'

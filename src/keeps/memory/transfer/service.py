"""Export and import as JSON lines, each `{"type", "row"}`. Vectors are not included; they are computed again."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Literal

from pydantic import ValidationError

from keeps.base.scope import Scope
from keeps.base.text.json_parts import JsonParts
from keeps.memory.indexing.service import Indexer
from keeps.memory.transfer.erasure import QUERIES
from keeps.store.db.errors import MissingError
from keeps.store.db.session import Database, Row, Tx
from keeps.store.db.statements import Statement
from keeps.store.export import Export, ReadT, check_row
from keeps.store.tenants.service import Introducer, ensure_user
from keeps_client.checked import validation_failed
from keeps_client.errors import KeepsError, ValidationFailedError
from keeps_client.models import (
    ImportSummary,
)

_STEP_CHARACTERS = 1 << 16
"""Characters of an export that are produced before other tasks run: the answer may be compressed on the way."""
OTHERS_AFTER, MOST_ERRORS = 200, 100


Fate = Literal["stored", "unchanged", "differs"]


class _RollBack(Exception):
    """Ends a transaction that was only a trial."""

    def __init__(self, fate: Fate) -> None:
        super().__init__()
        self.fate: Fate = fate


class TransferService:
    """Exports and imports a tenant's data, or one user's. The routes check roles."""

    def __init__(
        self, database: Database, introducer: Introducer, indexer: Indexer, exports: Sequence[Export[Any]]
    ) -> None:
        self._exports = {export.kind: export for export in exports}
        self._database = database
        self._introducer = introducer
        self._indexer = indexer

    async def export(self, scope: Scope, user_id: str | None = None) -> AsyncIterator[str]:
        """Yield the lines of one user, or of all users of the scope's tenant."""
        for owner_id in [user_id] if user_id is not None else await self.users(scope):
            async for line in self.export_owner(Scope(scope.tenant_id, owner_id)):
                yield line

    async def export_owner(self, owner: Scope) -> AsyncIterator[str]:
        """Yield the lines of what the owner of a scope has: a user, or a space that the acting user may read."""
        for kind, export in self._exports.items():
            position = export.first
            while rows := await self._read(owner, export.page, *position.values()):
                made = 0
                for row in rows:
                    line = _line(kind, row)
                    made += len(line)
                    if made > _STEP_CHARACTERS:
                        made = 0
                        await asyncio.sleep(0)
                    yield line
                position = {name: rows[-1][name] for name in export.first}

    async def users(self, scope: Scope, after: str = "", limit: int | None = None) -> list[str]:
        """Return the users of the scope's tenant by id, from `after` on."""
        async with self._database.scoped(scope) as tx:
            return [row["user_id"] for row in await tx.fetch(QUERIES["users_after"], after, limit)]

    async def import_lines(self, scope: Scope, lines: Iterable[str], *, dry_run: bool = False) -> ImportSummary:
        """Store exported lines in the scope's tenant, with their ids and owners. Existing rows stay as they are.

        Each line is independent: an invalid one is reported with its number, and the others are stored. With `dry_run`,
        each is stored and rolled back at once; references to missing rows are not detected.
        """
        fates: Counter[Fate] = Counter()
        errors: list[str] = []
        failed = 0
        for number, line in enumerate(lines, 1):
            if number % OTHERS_AFTER == 0:
                await asyncio.sleep(0)  # Lines that are rejected at once would block other tasks.
            if not line.strip():
                continue
            try:
                fates[await self._import(scope.tenant_id, line, dry_run=dry_run)] += 1
            except KeepsError as error:
                failed += 1
                if len(errors) < MOST_ERRORS:
                    errors.append(f"line {number}: {error.detail}")
        return ImportSummary(
            stored=fates["stored"],
            unchanged=fates["unchanged"],
            differs=fates["differs"],
            failed=failed,
            errors=errors,
        )

    async def _read(self, owner: Scope, page: Statement, *values: object) -> list[Row]:
        async with self._database.scoped(owner) as tx:
            return await tx.fetch(page, owner.tenant_id, owner.user_id, *values)

    async def _import(self, tenant_id: str, line: str, *, dry_run: bool) -> Fate:
        JsonParts().see(line.encode("utf-8", "replace"))
        try:
            item: Any = json.loads(line, parse_constant=_refuse)
            kind, row = item["type"], {**item["row"], "tenant_id": tenant_id}
            owner = Scope(tenant_id, row["user_id"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ValidationFailedError("is not a line of an export") from None
        try:
            export = self._exports.get(kind)
            if export is None:
                raise ValidationFailedError(f"has an unknown type: {kind!r}")
            check_row(row)
            read = export.read(row)
        except ValidationError as error:
            raise validation_failed(error) from None
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValidationFailedError(f"cannot be read: {error}") from None
        if dry_run:
            return await self._would_store(owner, export, read)
        fate: Fate = "unchanged"
        async for attempt in self._introducer.writing(owner):
            async with attempt as tx:
                fate = await _store(tx, export, read)
        if fate == "stored" and kind in ("memory", "item"):
            self._indexer.notice(owner)
        return fate

    async def _would_store(self, owner: Scope, export: Export[ReadT], read: ReadT) -> Fate:
        """Store a row, roll back, and return what it would become; "stored" if it refers to an earlier line."""
        try:
            async for attempt in self._database.writing(owner):
                async with attempt as tx:
                    await ensure_user(tx)
                    raise _RollBack(await _store(tx, export, read))  # noqa: TRY301  it ends the transaction
        except _RollBack as rolled_back:
            return rolled_back.fate
        except MissingError:
            return "stored"
        raise AssertionError


async def _store(tx: Tx, export: Export[ReadT], read: ReadT) -> Fate:
    """Store a row that is not there yet, or say whether the one that is there differs."""
    if await export.add(tx, read):
        return "stored"
    return "differs" if export.differs is not None and await export.differs(tx, read) else "unchanged"


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _line(kind: str, row: Row) -> str:
    """Return a row as a line. PostgreSQL writes `jsonb` on one line, and numbers as they were stored."""
    return f'{{"type": "{kind}", "row": {row["row"]}}}\n'

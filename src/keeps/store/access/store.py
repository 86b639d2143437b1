"""Statements on API keys."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from keeps.store.db.session import Database, Row, Tx
from keeps.store.db.statements import Statements
from keeps_client.errors import UnavailableError
from keeps_client.models import KeyInfo, KeyLimits

QUERIES = Statements("keeps.store.access")
KEY_SECONDS = 3.0


async def insert(tx: Tx, key: KeyInfo, key_hash: bytes) -> None:
    await tx.execute(
        QUERIES["key_insert"],
        key.tenant_id,
        key.key_id,
        key.user_id,
        key.agent_id,
        key.name,
        key_hash,
        key.hint,
        list(key.roles),
        key.created_by,
        key.created_at,
        key.expires_at,
        None if key.limits is None else key.limits.model_dump_json(exclude_none=True),
    )


async def keys(tx: Tx) -> list[KeyInfo]:
    return [_key(row) for row in await tx.fetch(QUERIES["key_list"], tx.scope.tenant_id)]


async def revoke(tx: Tx, key_id: UUID, now: datetime) -> KeyInfo | None:
    row = await tx.fetch_row(QUERIES["key_revoke"], tx.scope.tenant_id, key_id, now)
    return None if row is None else _key(row)


def _key(row: Row) -> KeyInfo:
    limits = None if row["limits"] is None else KeyLimits.model_validate_json(row["limits"])
    return KeyInfo(**{name: value for name, value in row.items() if name != "limits"}, limits=limits)


async def find(database: Database, key_hash: bytes) -> Mapping[str, Any] | None:
    """Return a key's columns, or None. Keys of frozen tenants are in the directory of those.

    Raises UnavailableError when no cell has it and one does not answer.
    """
    answers = await database.cells.everywhere(QUERIES["key_find"], key_hash, seconds=KEY_SECONDS)
    rows_by_cell = {cell: row for cell, rows in answers.items() for row in rows}
    if len(rows_by_cell) > 1:  # A cell restored to a time before the tenant moved has an old row of the key.
        is_in = (await database.cells.trail(next(iter(rows_by_cell.values()))["tenant_id"]))[-1]
        return dict(rows_by_cell[is_in]) if is_in in rows_by_cell else None
    row = next((dict(each) for each in rows_by_cell.values()), None)
    if row is None and database.frozen is not None and (key := await database.frozen.find_key(key_hash)) is not None:
        return key
    if row is None and len(answers) < len(database.cells.names):
        raise UnavailableError("a part of the database is unavailable, and this key may be in it; try again")
    return row

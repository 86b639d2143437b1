"""Statements on keys of access."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from keeps.db.session import Database, Row, Tx
from keeps.db.statements import Statements
from keeps_client.models import KeyInfo

QUERIES = Statements("keeps.access")


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
    )


async def keys(tx: Tx) -> list[KeyInfo]:
    return [KeyInfo(**dict(row)) for row in await tx.fetch(QUERIES["key_list"], tx.scope.tenant_id)]


async def revoke(tx: Tx, key_id: UUID, now: datetime) -> KeyInfo | None:
    row = await tx.fetch_row(QUERIES["key_revoke"], tx.scope.tenant_id, key_id, now)
    return None if row is None else KeyInfo(**dict(row))


async def find(database: Database, key_hash: bytes) -> Row | None:
    rows = await database.privileged_read(QUERIES["key_find"], key_hash)
    return rows[0] if rows else None

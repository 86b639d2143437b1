"""Run the statements on databases and their audits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter

from keeps.sources.databases.rules import Table
from keeps.sources.databases.sealing import KeyRing, Sealed
from keeps.sources.databases.targets import Target
from keeps.store.db.session import Row, Tx
from keeps.store.db.statements import Statements
from keeps_client.models import DatabaseInfo, DatabaseTable, NewDatabase, QueryAudit

QUERIES = Statements("keeps.sources.databases")
AUDIT_KEPT = timedelta(days=90)
AUDIT_COLUMNS = {
    name: {"database": "database_name", "rows": "row_count"}.get(name, name) for name in QueryAudit.model_fields
}
"""The column of each field."""
_TABLES: TypeAdapter[tuple[DatabaseTable, ...]] = TypeAdapter(tuple[DatabaseTable, ...])


@dataclass(frozen=True, slots=True)
class Held:
    """A stored database: its description, its sealed URL, and the requested tables."""

    info: DatabaseInfo
    sealed: Sealed
    allowed: dict[str, list[str] | str]
    samples: dict[str, list[str]]

    @property
    def bound(self) -> str:
        return bound_to(self.info.tenant_id, self.info.database_id)

    @property
    def tables(self) -> list[Table]:
        """Return the tables in the gate's form."""
        return [
            Table(
                each.name, tuple(column.name for column in each.columns), each.database_schema, each.whole, each.default
            )
            for each in self.info.tables
        ]


def bound_to(tenant_id: str, database_id: UUID) -> str:
    """Return the text that a credential is bound to, so that it opens for this row only."""
    return f"{tenant_id}\0{database_id}"


async def insert(
    tx: Tx, database_id: UUID, new: NewDatabase, target: Target, sealed: Sealed, told: Mapping[str, Any], now: datetime
) -> bool:
    """Store a database; return False if the name is taken."""
    row = await tx.fetch_row(
        QUERIES["database_insert"],
        tx.scope.tenant_id,
        database_id,
        new.name,
        target.dialect,
        target.location,
        sealed.data,
        sealed.key_id,
        new.purpose,
        new.asked_by,
        json.dumps(new.model_dump(mode="json")["tables"]),
        json.dumps(new.model_dump(mode="json")["samples"]),
        json.dumps(told["tables"]),
        told["warnings"],
        now,
        tx.scope.user_id,
    )
    return row is not None


async def named(tx: Tx, name: str) -> Held | None:
    row = await tx.fetch_row(QUERIES["database_named"], tx.scope.tenant_id, name)
    return None if row is None else _held(row)


async def all_of(tx: Tx) -> list[Held]:
    return [_held(row) for row in await tx.fetch(QUERIES["databases_list"], tx.scope.tenant_id)]


async def described(tx: Tx, name: str, told: Mapping[str, Any], now: datetime) -> bool:
    row = await tx.fetch_row(
        QUERIES["database_described"], tx.scope.tenant_id, name, json.dumps(told["tables"]), told["warnings"], now
    )
    return row is not None


async def remove(tx: Tx, name: str) -> str | None:
    """Remove a database; return who added it, or None if it does not exist."""
    row = await tx.fetch_row(QUERIES["database_remove"], tx.scope.tenant_id, name)
    return None if row is None else row["created_by"]


async def rotate(tx: Tx, keys: KeyRing) -> int:
    """Seal some credentials of a tenant with the newest key; return their number."""
    rows = await tx.fetch(QUERIES["databases_sealed_otherwise"], tx.scope.tenant_id, keys.newest)
    for row in rows:
        bound = bound_to(tx.scope.tenant_id, row["database_id"])
        sealed = keys.seal(keys.open(Sealed(row["credential"], row["key_id"]), bound), bound)
        await tx.execute(QUERIES["database_sealed"], tx.scope.tenant_id, row["database_id"], sealed.data, sealed.key_id)
    return len(rows)


async def add_audit(tx: Tx, asked: QueryAudit) -> bool:
    """Record a query; return False if it is recorded already."""
    row = await tx.fetch_row(
        QUERIES["audit_insert"],
        tx.scope.tenant_id,
        asked.audit_id,
        tx.scope.user_id,
        asked.agent_id,
        asked.database,
        asked.question,
        asked.sql,
        asked.outcome,
        asked.rule,
        list(asked.tables),
        asked.rows,
        asked.took_ms,
        asked.asked_at,
    )
    return row is not None


async def audits(tx: Tx, after: tuple[datetime, UUID] | None, limit: int) -> list[QueryAudit]:
    place = after or (None, None)
    rows = await tx.fetch(QUERIES["audit_page"], tx.scope.tenant_id, tx.scope.user_id, *place, limit)
    return [QueryAudit(**{name: row[column] for name, column in AUDIT_COLUMNS.items()}) for row in rows]


async def forget_audits(tx: Tx, asked_before: datetime) -> None:
    await tx.execute(QUERIES["audit_forget"], tx.scope.tenant_id, tx.scope.user_id, asked_before)


def tables_of(told: object) -> tuple[DatabaseTable, ...]:
    """Return the tables of a server's description. Raises ValueError for an invalid one."""
    return _TABLES.validate_python(told)


def _held(row: Row) -> Held:
    values: dict[str, Any] = {
        name: row[name] for name in DatabaseInfo.model_fields if name not in ("tables", "warnings")
    }
    info = DatabaseInfo(**values, tables=_TABLES.validate_json(row["tables"]), warnings=tuple(row["warnings"]))
    sealed = Sealed(row["credential"], row["key_id"])
    return Held(info, sealed, json.loads(row["allowed"]), json.loads(row["samples"]))

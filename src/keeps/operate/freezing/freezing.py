"""Freeze a tenant: its rows go to a sealed bundle outside the database.

1. The directory names the bundle, and is committed: every bundle that may exist has an entry.
2. One transaction, in the tenant's turn to write, on one snapshot: all rows are written to the bundle, which is stored,
   read back and compared. Then the rows are removed, and the entry says that the tenant is frozen. That commit decides.

The transaction stays open while the bundle is stored. Writers of the tenant wait for it; there are none, or few, since
nobody has used the tenant for long. After a crash before the commit, the rows are here and the entry names a useless
bundle, which the next freeze, thaw or erasure of the tenant removes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

from keeps.base.clock import Clock
from keeps.base.scope import Scope, check_id
from keeps.operate.freezing import bundles
from keeps.operate.freezing.bundles import BundleWriter, Contents
from keeps.operate.freezing.directory import FrozenDirectory, new_bundle
from keeps.operate.freezing.store import QUERIES
from keeps.operate.freezing.stores import BundleStore
from keeps.store.db.session import Database, Tx
from keeps.store.db.transaction import TryAgainError
from keeps.store.schema.revisions import HEAD
from keeps_client.errors import ConflictError, KeepsError, NotFoundError, UnavailableError

BATCH_BYTES = 1 << 18
ATTEMPTS = 5
FREEZER = "keeps.freezing"
"""The user of transactions that freeze and thaw."""
Step = Literal["named", "locked", "written", "stored", "verified", "removed", "frozen"]
STEPS: tuple[Step, ...] = ("named", "locked", "written", "stored", "verified", "removed", "frozen")
Told = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Freeze:
    """The result of a freeze. `bytes`: the size of the bundle."""

    tenant_id: str
    rows: int
    bytes: int
    cell: str


class Freezer:
    """Freezes tenants. `told`: called after each step."""

    def __init__(
        self, database: Database, directory: FrozenDirectory, clock: Clock, told: Told = lambda _: None
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._told = told

    async def freeze(self, tenant_id: str, cell: str, store: BundleStore, unused_since: datetime | None) -> Freeze:
        """Freeze a tenant that has no entry.

        Raises NotFoundError for an unknown tenant, and ConflictError if it was used after `unused_since`, or another
        process freezes it.
        """
        check_id("tenant_id", tenant_id)
        scope = Scope(tenant_id, FREEZER)
        bundle = new_bundle(_hash(tenant_id))
        key = secrets.token_bytes(32)
        origin = await self._directory.origin(cell)
        sealed = self._directory.seal(bundle, {"tenant_id": tenant_id, "key": key.hex(), "origin": origin})
        async with self._database.carrying(scope, cell) as tx:
            row = await tx.fetch_row(QUERIES["begin"], bundle, sealed.data, sealed.key_id)
        if row is None or not row["begun"]:
            if await self._directory.entry(tenant_id, cell) is not None:
                raise ConflictError(f"another process freezes or thaws tenant {tenant_id}; try again later")
            raise NotFoundError(f"no tenant {tenant_id!r} that can be frozen; see `keeps tenants list`")
        self._told("named")
        try:
            done = await self._tried(scope, cell, bundle, key, store, unused_since)
        except KeepsError:
            await store.remove(bundle)  # Its entry may be removed by another process already.
            raise
        self._told("frozen")
        return done

    async def _tried(
        self, scope: Scope, cell: str, bundle: str, key: bytes, store: BundleStore, unused_since: datetime | None
    ) -> Freeze:
        """Try the transaction again when the tenant's rows changed meanwhile."""
        attempt = 1
        while True:
            try:
                async with self._database.carrying(scope, cell) as tx:
                    return await self._carry(tx, bundle, key, store, unused_since)
            except TryAgainError:
                if attempt == ATTEMPTS:
                    raise
            attempt += 1

    async def _carry(
        self, tx: Tx, bundle: str, key: bytes, store: BundleStore, unused_since: datetime | None
    ) -> Freeze:
        locked = await tx.fetch_row(QUERIES["lock"])
        if locked is None or not locked["locked"]:
            raise ConflictError(
                f"another process freezes, thaws or erases tenant {tx.scope.tenant_id}; try again later"
            )
        self._told("locked")
        about = _About()
        async with store.keeping(bundle) as path:
            contents = await self._write(tx, path, bundle, key, about)
            if unused_since is not None and about.used_after(unused_since):
                raise ConflictError(f"tenant {tx.scope.tenant_id} was used meanwhile; it stays")
            self._told("written")
            size = (await asyncio.to_thread(path.stat)).st_size
        self._told("stored")
        async with store.getting(bundle) as path:
            read = await asyncio.to_thread(_read_back, path, key, bundle)
        if read != contents:
            raise UnavailableError(f"the bundle {bundle} differs from what was written; nothing was removed")
        self._told("verified")
        origin = await self._directory.origin(tx.cell)
        sealed = self._directory.seal(bundle, about.entry(tx.scope.tenant_id, key, origin, contents))
        sealed_keys = self._directory.seal_keys(bundle, about.keys)
        row = await tx.fetch_row(
            QUERIES["end"],
            bundle,
            contents.digest,
            contents.held,
            size,
            [bytes.fromhex(key_hash) for key_hash in about.keys],
            sealed.data,
            sealed_keys.data,
            sealed.key_id,
        )
        assert row is not None and row["removed"] == contents.held  # noqa: PT018, S101  the function compares them
        self._told("removed")
        return Freeze(tx.scope.tenant_id, contents.held, size, tx.cell)

    async def _write(self, tx: Tx, path: Path, bundle: str, key: bytes, about: _About) -> Contents:
        tables = {row["name"]: row["columns"] for row in await tx.fetch(QUERIES["tables"])}
        header = {
            "revision": HEAD,
            "tenant_id": tx.scope.tenant_id,
            "frozen_at": self._clock().isoformat(),
            "tables": tables,
        }
        with bundles.writing(path, key, bundle, header) as writer:
            for table, columns in tables.items():
                row = await tx.fetch_row(QUERIES["open"], table, columns, BATCH_BYTES)
                while row is not None:
                    if row["held"]:
                        await asyncio.to_thread(_add, writer, about, table, columns, row["batch"], row["held"])
                    row = await tx.fetch_row(QUERIES["next"], BATCH_BYTES) if row["more"] else None
        return writer.contents


def _add(writer: BundleWriter, about: _About, table: str, columns: Sequence[str], batch: str, held: int) -> None:
    writer.add(table, batch, held)
    about.see(table, columns, batch)


def _read_back(path: Path, key: bytes, bundle: str) -> Contents:
    with bundles.reading(path, key, bundle) as reader:
        return reader.read_all()


class _About:
    """The description of a tenant for its entry, read from its rows."""

    def __init__(self) -> None:
        self.keys: dict[str, dict[str, Any]] = {}
        self._tenant: dict[str, str | None] = {}

    def see(self, table: str, columns: Sequence[str], batch: str) -> None:
        if table == "tenants":
            (values,) = json.loads(batch)
            self._tenant = dict(zip(columns, values, strict=True))
        elif table == "api_keys":
            for values in json.loads(batch):
                row = dict(zip(columns, values, strict=True))
                self.keys[str(row["key_hash"]).removeprefix("\\x")] = _key(row)

    def used_after(self, moment: datetime) -> bool:
        used_on = self._tenant.get("used_on")
        return used_on is not None and date.fromisoformat(used_on) >= moment.date()

    def entry(self, tenant_id: str, key: bytes, origin: str, contents: Contents) -> Mapping[str, Any]:
        tenant = self._tenant
        return {
            "tenant_id": tenant_id,
            "key": key.hex(),
            "origin": origin,
            "tenant": {
                "users": contents.rows["users"],
                "memories": int(tenant["memory_count"] or 0),
                "bytes": int(tenant["memory_bytes"] or 0) + int(tenant["state_bytes"] or 0),
                "max_memories": tenant["max_memories"] and int(tenant["max_memories"]),
                "max_bytes": tenant["max_bytes"] and int(tenant["max_bytes"]),
                "created_at": datetime.fromisoformat(str(tenant["created_at"])).isoformat(),
            },
            "rows": {table: rows for table, rows in contents.rows.items() if rows},
            "log": {
                "sequence": int(tenant["last_sequence"] or 0),
                "hash": (tenant["chain_hash"] or "").removeprefix("\\x") or None,
            },
        }


def _key(row: Mapping[str, str | None]) -> dict[str, Any]:
    roles = (row["roles"] or "{}").strip("{}")
    return {
        **{
            name: row[name]
            for name in ("tenant_id", "key_id", "user_id", "agent_id", "limits", "expires_at", "revoked_at")
        },
        "roles": [role.strip('"') for role in roles.split(",") if role],
    }


def _hash(tenant_id: str) -> bytes:
    return hashlib.sha256(tenant_id.encode()).digest()

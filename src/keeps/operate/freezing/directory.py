"""The directory of frozen tenants: reads entries of all cells, and opens what is sealed in them.

An entry stands under the hash of the tenant's id. Its id, the key of its bundle and counts are sealed, and so are its
API keys, which still authenticate. Without its entry a bundle cannot be opened.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from keeps.base.telemetry.logs import log
from keeps.operate.freezing.store import QUERIES
from keeps.operate.freezing.stores import BundleStore
from keeps.sources.databases.sealing import KeyRing, Sealed
from keeps.store.db.frozen import FrozenTenant
from keeps.store.db.session import Database, Row
from keeps_client.errors import KeepsError, UnavailableError

AT_ONCE = 1_000
KEY_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Entry:
    """An opened entry, with the key of its bundle. `origin`: the database that wrote the bundle."""

    tenant: FrozenTenant
    key: bytes
    origin: str


class FrozenDirectory:
    """Entries of frozen tenants in all cells."""

    def __init__(self, database: Database, ring: KeyRing) -> None:
        self._database = database
        self._ring = ring

    async def entry(self, tenant_id: str, cell: str) -> Entry | None:
        """Return the entry of a tenant in a cell. Raises UnavailableError if no key opens it."""
        rows = await (await self._database.cells.get(cell)).privileged_read(QUERIES["entry"], tenant_id)
        return self._opened(cell, rows[0]) if rows else None

    async def origin(self, cell: str) -> str:
        """Return the name of a cell's database for its bundles."""
        (row,) = await (await self._database.cells.get(cell)).privileged_read(QUERIES["origin"])
        return row["origin"]

    async def remove(self, entry: Entry, store: BundleStore) -> None:
        """Remove a bundle, unless another database wrote it: this one is a copy, and the other may need the bundle."""
        if entry.origin == await self.origin(entry.tenant.cell):
            await store.remove(entry.tenant.bundle)
        else:
            log().warning("a bundle of another database stays in the store", bundle=entry.tenant.bundle)

    async def find(self, tenant_id: str) -> Entry | None:
        """Return the entry of a tenant, in the cell that it is in."""
        return await self.entry(tenant_id, (await self._database.cells.trail(tenant_id))[-1])

    async def all(self) -> list[FrozenTenant]:
        """Return all entries. One that no key opens has no tenant id, and the reason as its problem."""
        tenants: list[FrozenTenant] = []
        for cell in await self._database.cells.all():
            async for rows in _pages(self._database, cell.name):
                tenants += await asyncio.to_thread(self._listed, cell.name, rows)
        return tenants

    async def find_key(self, key_hash: bytes) -> Mapping[str, Any] | None:
        """Return the columns of an API key of a frozen tenant."""
        answers = await self._database.cells.everywhere(QUERIES["find_key"], key_hash, seconds=KEY_SECONDS)
        for row in (row for rows in answers.values() for row in rows):
            keys = json.loads(self._ring.open(Sealed(row["sealed_keys"], row["key_id"]), _keys_bound(row["bundle"])))
            return _key_of(keys, key_hash.hex())
        return None

    async def reseal(self) -> int:
        """Seal all entries with the newest key; return the number of those that had another."""
        changed = 0
        for cell in await self._database.cells.all():
            async for rows in _pages(self._database, cell.name):
                for row in (row for row in rows if row["key_id"] != self._ring.newest):
                    sealed = self._again(row["sealed"], row["key_id"], _bound(row["bundle"]))
                    keys = None if row["sealed_keys"] is None else row["sealed_keys"]
                    keys = keys and self._again(keys, row["key_id"], _keys_bound(row["bundle"]))
                    await cell.privileged_read(
                        QUERIES["reseal"], row["bundle"], row["key_id"], sealed, keys, self._ring.newest
                    )
                    changed += 1
        return changed

    def _again(self, data: bytes, key_id: str, bound: str) -> bytes:
        return self._ring.seal(self._ring.open(Sealed(data, key_id), bound), bound).data

    def seal(self, bundle: str, about: Mapping[str, Any]) -> Sealed:
        """Seal what an entry says of its tenant. Raises NotConfiguredError without KEEPS_SECRET_KEYS."""
        return self._ring.seal(json.dumps(about), _bound(bundle))

    def seal_keys(self, bundle: str, keys: Mapping[str, Any]) -> Sealed:
        """Seal the API keys of a tenant, by the hash of their secrets."""
        return self._ring.seal(json.dumps(keys), _keys_bound(bundle))

    def _listed(self, cell: str, rows: Sequence[Row]) -> list[FrozenTenant]:
        tenants: list[FrozenTenant] = []
        for row in rows:
            try:
                tenants.append(self._opened(cell, row).tenant)
            except KeepsError as error:
                tenants.append(_tenant(cell, row, {}, error.detail))
        return tenants

    def _opened(self, cell: str, row: Row) -> Entry:
        try:
            about = json.loads(self._ring.open(Sealed(row["sealed"], row["key_id"]), _bound(row["bundle"])))
        except UnavailableError as error:
            raise UnavailableError(
                f"the entry of the bundle {row['bundle']} cannot be opened: {error.detail}"
            ) from None
        return Entry(_tenant(cell, row, about), bytes.fromhex(about["key"]), about["origin"])


def new_bundle(tenant_hash: bytes) -> str:
    """Return a new name for the bundle of a tenant."""
    name = tenant_hash.hex()
    return f"{name[:2]}/{name}-{secrets.token_hex(8)}.frozen"


async def _pages(database: Database, cell: str) -> AsyncGenerator[list[Row]]:
    after = b""
    while rows := await (await database.cells.get(cell)).privileged_read(QUERIES["entries"], after, AT_ONCE):
        yield rows
        after = rows[-1]["tenant_hash"]


def _tenant(cell: str, row: Row, about: Mapping[str, Any], problem: str | None = None) -> FrozenTenant:
    return FrozenTenant(
        tenant_id=about.get("tenant_id"),
        tenant_hash=row["tenant_hash"].hex(),
        cell=cell,
        state=row["state"],
        bundle=row["bundle"],
        started_at=row["started_at"],
        frozen_at=row["frozen_at"],
        revision=row["revision"],
        held=row["held"] or 0,
        bytes=row["bytes"] or 0,
        tenant=about.get("tenant", {}),
        rows=about.get("rows", {}),
        log=about.get("log", {}),
        problem=problem,
    )


def _key_of(keys: Mapping[str, Any], key_hash: str) -> Mapping[str, Any] | None:
    key: dict[str, Any] | None = keys.get(key_hash)
    if key is None:
        return None
    times = {name: key[name] and datetime.fromisoformat(key[name]) for name in ("expires_at", "revoked_at")}
    return {**key, **times, "key_id": UUID(key["key_id"])}


def _bound(bundle: str) -> str:
    return f"frozen tenant {bundle}"


def _keys_bound(bundle: str) -> str:
    return f"frozen keys {bundle}"

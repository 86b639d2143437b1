"""Erase a user or a tenant, with a receipt that counts the rows before and after."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

from keeps.base.cache.redis import RedisCache, session_key, tenant_keys
from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.memory.providers.service import ProviderService
from keeps.memory.transfer.certificates import CertificateSigner, Place, erasure_statement
from keeps.memory.transfer.erased import ErasureNotes
from keeps.store.db.frozen import FrozenError
from keeps.store.db.session import Database, Tx, taking_long
from keeps.store.db.statements import Statements
from keeps_client.errors import ConflictError, NotFoundError
from keeps_client.models import ErasureReceipt, Quota, TenantInfo

QUERIES = Statements("keeps.memory.transfer")


class TenantService:
    """Administration of users and tenants. The routes check roles."""

    def __init__(
        self,
        database: Database,
        providers: ProviderService,
        cache: RedisCache | None,
        clock: Clock,
        erased: Callable[[str], None],
        signer: CertificateSigner,
    ) -> None:
        """`erased`: called with the tenant of erased data."""
        self._signer = signer
        self._cache = cache
        self._erased = erased
        self._database = database
        self._providers = providers
        self._clock = clock

    async def erase_user(self, scope: Scope, user_id: str) -> ErasureReceipt:
        """Erase everything that a user of the scope's tenant owns, also in the log. Raises NotFoundError."""
        target = Scope(scope.tenant_id, user_id)
        await self._check_left_over(target.tenant_id)
        await self._thaw(scope)
        await self._noted("begin", target.tenant_id, user_id)
        removed, left = await self._providers.erase(target)
        receipt, place = await self._erase(target, user_id)
        self._erased(target.tenant_id)
        if self._cache is not None:
            await self._cache.drop(session_key(target.tenant_id, target.user_id, ""), all_below=True)
        return await self._certified(_with_providers(receipt, removed, left), place)

    async def erase_tenant(self, scope: Scope) -> ErasureReceipt:
        """Erase the scope's tenant: every row of every user, its log and its keys. Raises NotFoundError."""
        await self._check_left_over(scope.tenant_id)
        await self._noted("begin", scope.tenant_id)
        if (receipt := await self._erase_frozen(scope)) is not None:
            return receipt
        async with self._database.scoped(scope) as tx:
            users = [row["user_id"] for row in await tx.fetch(QUERIES["export_users"])]
        removed, left = Counter[str](), Counter[str]()
        for user_id in users:
            for total, counts in zip(
                (removed, left), await self._providers.erase(Scope(scope.tenant_id, user_id)), strict=True
            ):
                total.update(counts)
        self._providers.forget_folders([scope.tenant_id])
        receipt, place = await self._erase(scope, None)
        self._erased(scope.tenant_id)
        if self._cache is not None:
            await self._cache.drop(tenant_keys(scope.tenant_id), all_below=True)
        return await self._certified(_with_providers(receipt, removed, left), place)

    async def _thaw(self, scope: Scope) -> None:
        """Thaw the tenant if it is frozen, however long that takes, and remove bundles that hold earlier rows of it."""
        if self._database.frozen is None:
            return
        with taking_long():
            async with self._database.scoped(scope):
                pass
        await self._database.frozen.clear(scope.tenant_id)

    async def _erase_frozen(self, scope: Scope) -> ErasureReceipt | None:
        """Erase a frozen tenant without its rows, if they cannot be brought back; None once they are here.

        They are brought back first, because other providers erase by the users that they name.
        """
        frozen = None if self._database.frozen is None else await self._database.frozen.find(scope.tenant_id)
        try:
            await self._thaw(scope)
        except FrozenError:
            if frozen is None or self._database.frozen is None:
                raise
        else:
            return None
        await self._database.frozen.erase(frozen)
        await self._noted("done", scope.tenant_id)
        self._erased(scope.tenant_id)
        place = Place(frozen.cell, None, None, frozen.log.get("sequence"), frozen.log.get("hash"))
        return await self._certified(self._receipt(scope, None, dict(frozen.rows), {}, 0), place)

    async def _certified(self, receipt: ErasureReceipt, place: Place) -> ErasureReceipt:
        """Return the receipt with a signed statement of it, where there is a key to sign with."""
        if not self._signer.configured:
            return receipt
        homes = [server.home for server in self._database.cells.servers.values()]
        statement = await asyncio.to_thread(erasure_statement, receipt, place, homes)
        certificate = await asyncio.to_thread(self._signer.sign, statement)
        return receipt.model_copy(update={"certificate": certificate})

    async def _check_left_over(self, tenant_id: str) -> None:
        """Raise ConflictError if a move has left rows in another cell, since they would outlive the erasure."""
        if len(await self._database.cells.all()) == 1:
            return
        for cell, rows in (await self._database.cells.everywhere(QUERIES["left_over"], tenant_id)).items():
            for row in rows:
                raise ConflictError(
                    f"a move of this tenant is incomplete: rows are left in the cell {cell}. Repeat keeps tenants move"
                    f" {tenant_id} --to {row['is_in']}, then erase"
                )

    async def _erase(self, scope: Scope, user_id: str | None) -> tuple[ErasureReceipt, Place]:
        """Erase a user, or with None the tenant, in one transaction; return from where, too. Raises NotFoundError.

        The end is recorded even if there was nothing: otherwise a restore would erase a later user of the same name.
        """
        before: dict[str, int] = {}
        left: dict[str, int] = {}
        place: Place | None = None
        names = (scope.tenant_id,) if user_id is None else (scope.tenant_id, user_id)
        try:
            async for attempt in self._database.writing(scope):
                async with attempt as tx:
                    # The log of a tenant is erased with it, and that of a user's tenant goes on.
                    place = await _place(tx) if user_id is None else None
                    before, left = await (_erase_tenant(tx) if user_id is None else _erase_user(tx, user_id))
                    place = place or await _place(tx)
        except NotFoundError:
            await self._noted("done", *names)
            raise
        await self._noted("done", *names)
        redacted = 0 if user_id is None else before.pop("events")
        assert place is not None
        return self._receipt(scope, user_id, before, left, redacted), place

    async def _noted(self, state: Literal["begin", "done"], *what: str) -> None:
        """Record the erasure in every home whose backups may contain the data."""
        for server in self._database.cells.servers.values():
            notes = ErasureNotes(server.home, self._clock)
            await asyncio.to_thread(notes.begin if state == "begin" else notes.done, *what)

    async def page(self, after: str, limit: int, *, frozen: bool = False) -> list[TenantInfo]:
        """Return tenants by id, with their usage. For operators. `frozen`: include frozen tenants."""
        found = await self._database.cells.everywhere(QUERIES["tenants_list"], after, limit)
        infos = [TenantInfo(cell=cell, **dict(row)) for cell, rows in found.items() for row in rows]
        if frozen and self._database.frozen is not None:
            infos += [
                TenantInfo(tenant_id=str(each.tenant_id), cell=each.cell, state="frozen", **each.tenant)
                for each in await self._database.frozen.page(after, limit)
            ]
        return sorted(infos, key=lambda each: each.tenant_id)[:limit]

    async def find_users(self, scope: Scope, beginning: str, limit: int) -> list[str]:
        """Return users of the scope's tenant whose id begins with a text, by id. For administrators."""
        async with self._database.scoped(scope) as tx:
            return [row["user_id"] for row in await tx.fetch(QUERIES["users_beginning"], beginning, limit)]

    async def find_tenants(self, beginning: str, limit: int) -> list[str]:
        """Return tenants whose id begins with a text, by id. For operators."""
        rows = await self._database.cells.everywhere(QUERIES["tenants_beginning"], beginning, limit)
        return sorted(row["tenant_id"] for some in rows.values() for row in some)[:limit]

    async def set_quota(self, tenant_id: str, quota: Quota) -> TenantInfo:
        """Set the limits of a tenant. Only given limits change; None removes a limit. Raises NotFoundError."""
        fields = quota.model_fields_set
        info: TenantInfo | None = None
        async for attempt in self._database.writing(Scope(tenant_id)):
            async with attempt as tx:
                row = await tx.fetch_row(
                    QUERIES["tenant_quota"],
                    tenant_id,
                    quota.max_memories,
                    quota.max_bytes,
                    "max_memories" in fields,
                    "max_bytes" in fields,
                )
                if row is not None:
                    info = TenantInfo(users=(await _counts(tx, None))["users"], cell=tx.cell, **dict(row))
        if info is None:
            raise NotFoundError(f"no tenant {tenant_id!r}")
        return info

    def _receipt(
        self, scope: Scope, user_id: str | None, before: dict[str, int], left: dict[str, int], redacted: int
    ) -> ErasureReceipt:
        return ErasureReceipt(
            tenant_id=scope.tenant_id,
            user_id=user_id,
            removed=before,
            events_redacted=redacted,
            remaining=left,
            complete=not any(left.values()),
            erased_at=self._clock(),
        )


def _with_providers(receipt: ErasureReceipt, removed: Mapping[str, int], left: Mapping[str, int]) -> ErasureReceipt:
    """Return the receipt with the entries of other providers; entries that could not be removed make it incomplete."""
    return receipt.model_copy(
        update={
            "removed": {**receipt.removed, **{f"provider {name}": count for name, count in removed.items()}},
            "remaining": {**receipt.remaining, **{f"provider {name}": count for name, count in left.items()}},
            "complete": receipt.complete and not any(left.values()),
        }
    )


async def _erase_user(tx: Tx, user_id: str) -> tuple[dict[str, int], dict[str, int]]:
    """Erase a user; return the counts of rows before and after."""
    await tx.execute(QUERIES["leave_shared_state"])
    before = await _counts(tx, user_id)
    if not any(before.values()):
        raise NotFoundError(f"no user {user_id!r}")
    await tx.fetch_row(QUERIES["erase_user"])
    return before, await _counts(tx, user_id)


async def _erase_tenant(tx: Tx) -> tuple[dict[str, int], dict[str, int]]:
    """Erase the tenant of the transaction; return the counts of rows before and after."""
    before = await _counts(tx, None)
    if not any(before.values()):
        raise NotFoundError(f"no tenant {tx.scope.tenant_id!r}")
    await tx.fetch_row(QUERIES["erase_tenant"])
    return before, await _counts(tx, None)


async def _place(tx: Tx) -> Place:
    row = await tx.fetch_row(QUERIES["erased_from"], tx.scope.tenant_id)
    columns = {} if row is None else dict(row)
    return Place(
        cell=tx.cell,
        database=columns.get("database"),
        server=columns.get("server"),
        sequence=columns.get("last_sequence"),
        hash=columns.get("hash"),
    )


async def _counts(tx: Tx, user_id: str | None) -> dict[str, int]:
    return {row["name"]: row["held"] for row in await tx.fetch(QUERIES["count_rows"], user_id)}

"""Tenants behind a sharding router: PgDog or SPQR leads each transaction to the shard of its tenant.

Cells whose directory is the router's. Tenants' transactions go through the router, with its sharding key as their first
statement; everything that names no tenant goes to each shard by its direct address.

Each shard has connections to the router of its own: the numbers of types such as halfvec may differ between shards, and
a connection remembers them. Which shard a tenant is on is learned from the answer to the first statement.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256

import asyncpg

from keeps.base.scope import Scope
from keeps.store.db.cell import LONG_CONNECTIONS, Cell
from keeps.store.db.cells import CellAddress, Cells
from keeps.store.db.frozen import FROZEN
from keeps.store.db.pool import Pool
from keeps.store.db.statements import Statement, Statements
from keeps.store.db.transaction import ENTER_READ, Row, Tx
from keeps_client.errors import KeepsError, UnavailableError

DISTRIBUTION = "keeps"
"""Name of SPQR's distribution of tenants."""
_QUERIES = Statements("keeps.store.db")
_WHERE = _QUERIES["shard"].text.partition("SELECT ")[2]
_HINTS: Mapping[str, tuple[str, ...]] = {
    "pgdog": ("SET LOCAL pgdog.sharding_key TO '{key}'",),
    "spqr": (f"SET __spqr__distribution TO '{DISTRIBUTION}'", "SET __spqr__sharding_key TO '{key}'"),
}
"""Statements after BEGIN. SPQR has no SET LOCAL: what is set within a transaction ends with it."""
_TRIES, _SAMPLE = 4, 3
"""Times that a key without a tenant is tried, and tenants of each shard, to check the router."""


def sharding_key(tenant_id: str) -> str:
    """Return the key of a tenant for a router: the SHA-256 of its id in hexadecimal digits, as in the directory."""
    return sha256(tenant_id.encode()).hexdigest()


class Shard(Cell):
    """A PostgreSQL behind a router. `direct`: a pool that bypasses the router; `router`: one that leads to it."""

    def __init__(self, name: str, direct: Pool, router: Pool, engine: str) -> None:
        super().__init__(name, direct)
        self.serving, self._serving_long = router, router.apart(LONG_CONNECTIONS)
        self._hints = _HINTS[engine]
        self._route = self
        self.shards: Shards | None = None

    async def begin(self, scope: Scope, enter: Statement) -> Tx | str:
        """Begin a transaction through the router; return the name of another shard if it led there."""
        try:
            return await super().begin(scope, enter)
        except asyncpg.PostgresError as error:
            raise UnavailableError(f"the router refused a transaction: {error}") from error

    def hints(self, tenant_id: str) -> tuple[str, ...]:
        """Return the statements after BEGIN that tell the router the tenant."""
        key = sharding_key(tenant_id)
        return tuple(hint.format(key=key) for hint in self._hints)

    def entering(self, statement: Statement) -> str:
        """Return the text of an entering statement whose rows also say which shard ran it."""
        return f"{statement.text},\n       {_WHERE}"

    async def arrive(self, connection: asyncpg.Connection, pool: Pool, tenant_id: str, rows: list[Row]) -> str | None:
        """Prepare a connection that reached its shard; return the name of another shard that the router led to."""
        if len(rows) != 1 or self.shards is None:
            raise UnavailableError(f"the router sent a transaction to {len(rows)} shards; it has no shard for its key")
        name = await self.shards.name_of(rows[0]["shard"])
        if rows[0]["elsewhere"] == FROZEN:
            raise UnavailableError("this tenant is frozen, and stays so while KEEPS_ROUTER is set; thaw it without")
        if rows[0]["elsewhere"] is not None:
            raise UnavailableError(
                f"the router led a tenant to the shard {name}, which records that the tenant is in"
                f" {rows[0]['elsewhere']}; correct the router's mapping (key {sharding_key(tenant_id)})"
            )
        if name != self.name:
            return name
        await pool.register_types(connection)
        return None


class Shards(Cells):
    """The shards behind a router, as configured; the first one is `main`. Addresses of `opening` are not sealed."""

    main: Shard

    def __init__(
        self, main: Shard, opening: Callable[[CellAddress], Awaitable[Cell]], others: list[CellAddress]
    ) -> None:
        super().__init__(main, opening)
        self._addresses = {each.name: each for each in others}
        self._names: dict[str, str] = {}
        """Names of shards by what their databases say of themselves, which changes when a server restarts."""
        main.shards = self

    async def read(self, *, again: bool = False) -> None:
        """Do nothing: shards are configured, and no directory is read."""

    async def get(self, name: str) -> Cell:
        """Return an open shard. Raises UnavailableError when it does not exist or cannot be opened."""
        shard = await super().get(name)
        if isinstance(shard, Shard):
            shard.shards = self
        return shard

    async def trail(self, tenant_id: str, candidate: Cell | None = None) -> list[str]:  # noqa: ARG002  only cells are added
        """Return the shard that the router leads a tenant to."""
        return [await self.led_to(tenant_id)]

    def undecided(self, one: str, other: str) -> str:
        """Return what to do if the router leads a tenant to two shards in turn."""
        return f"the router leads this tenant to the shards {one} and {other} in turn; give each key one shard"

    async def name_of(self, database: str) -> str:
        """Return the name of a shard by what its database says of itself."""
        if database not in self._names:
            found = await self.everywhere(_QUERIES["shard"], seconds=10)
            self._names = {rows[0]["shard"]: name for name, rows in found.items()}
        if database not in self._names:
            raise UnavailableError(
                "the router led to a database that is none of KEEPS_ROUTER_SHARDS, or a shard that does not answer at"
                " its direct address there"
            )
        return self._names[database]

    async def led_to(self, tenant_id: str) -> str:
        """Return the shard that the router leads a tenant to."""
        begun = await self.main.begin(Scope(tenant_id), ENTER_READ)
        if isinstance(begun, str):
            return begun
        await begun.leave()
        return begun.cell

    async def check(self) -> None:
        """Raise UnavailableError, with what to do, unless the router leads tenants to the shards that hold them."""
        directory = {row["name"] for row in await self.main.privileged_read(_QUERIES["cells"])}
        if missing := sorted(directory - set(self.names)):
            raise UnavailableError(
                f"the directory of cells has {', '.join(missing)}, and KEEPS_ROUTER_SHARDS has no shard of that name:"
                " its tenants would be out of reach"
            )
        new = {await self.led_to("keeps: no tenant") for _ in range(_TRIES)}
        if len(new) > 1:
            raise UnavailableError(
                f"the router leads a new tenant to {', '.join(sorted(new))} in turn: give it a default shard, so that"
                " each key has one"
            )
        for cell in await self.all():
            try:
                rows = await cell.privileged_read(_QUERIES["some_tenants"], _SAMPLE)
            except KeepsError:
                continue  # Only this shard's tenants are affected.
            for row in rows:
                if (led := await self.led_to(row["tenant_id"])) != cell.name:
                    raise UnavailableError(
                        f"the router leads a tenant of the shard {cell.name} to {led}: correct its mapping (key"
                        f" {sharding_key(row['tenant_id'])})"
                    )

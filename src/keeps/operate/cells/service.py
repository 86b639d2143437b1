"""Administration of cells: list, add, remove, and move tenants. For operators, who control the databases."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from keeps.base.scope import check_id
from keeps.base.settings import Settings
from keeps.engine import Keeps
from keeps.operate.cells.copying import Place
from keeps.operate.cells.exporting import Placements
from keeps.operate.cells.moving import Mover, Progress
from keeps.operate.cells.opening import ADD_AGAIN, bound_to
from keeps.operate.cells.store import QUERIES, SETTLED
from keeps.sources.databases.sealing import KeyRing, Sealed
from keeps.store.db.cell import MAIN, Cell
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.db.pool import address_of, open_pool
from keeps.store.db.probe import probe
from keeps.store.db.provision import administered, at_once, given_passwords, prepare
from keeps.store.db.session import Connection
from keeps.store.db.shards import sharding_key
from keeps_client.errors import ConflictError, KeepsError, NotFoundError, UnavailableError, ValidationFailedError

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class CellInfo:
    """A cell and its contents. `weight`: its share of new tenants. `problem`: why it cannot be used now."""

    name: str
    address: str
    weight: int
    tenants: int | None = None
    bytes: int | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOver:
    """Rows of a tenant in a cell that it is not on: left behind by a move, or a copy in progress."""

    tenant_id: str
    cell: str
    is_in: str
    arriving: bool


class CellService:
    """Manages cells. `admin_urls`: administrator URLs by cell name; embedded cells need none."""

    def __init__(self, keeps: Keeps, settings: Settings, admin_urls: Mapping[str, str]) -> None:
        self._database = keeps.database
        self._settings = settings
        self._admin_urls = admin_urls
        self._ring = KeyRing(settings.secret_keys, ADD_AGAIN)

    async def list(self) -> list[CellInfo]:
        """Return all cells, the main one first; a single one if there are no others."""
        rows = await self._database.main.privileged_read(QUERIES["cells"])
        weights = {row["name"]: row["weight"] for row in rows}
        own = self._settings.database_url
        addresses = {MAIN: address_of(own) if own else str(self._settings.home)}
        for row in rows:
            if row["name"] != MAIN:
                sealed = Sealed(row["address"], row["key_id"])
                try:
                    addresses[row["name"]] = address_of(self._ring.open(sealed, bound_to(row["name"])))
                except UnavailableError as error:
                    addresses[row["name"]] = f"({error.detail})"
        return [await self._about(name, address, weights.get(name, 1)) for name, address in addresses.items()]

    async def _about(self, name: str, address: str, weight: int) -> CellInfo:
        try:
            (about,) = await (await self._database.cells.get(name)).privileged_read(QUERIES["about"])
        except KeepsError as error:
            return CellInfo(name, address, weight, problem=error.detail)
        return CellInfo(name, address, weight, about["tenants"], about["bytes"])

    async def add(
        self,
        name: str,
        *,
        admin_url: str | None = None,
        url: str | None = None,
        home: Path | None = None,
        weight: int = 1,
    ) -> CellInfo:
        """Make a PostgreSQL, or an embedded database under `home`, a cell.

        Its existing tenants become tenants of this Keeps.

        Args:
            admin_url: Administrator URL of a PostgreSQL; roles and tables are created.
            url: URL of a PostgreSQL that has roles and tables.
            home: Absolute path of an embedded database.

        Raises:
            ValidationFailedError, ConflictError: The message says what prevents it.
        """
        if url is None and home is None:
            admin_url = admin_url or self._admin_urls.get(name)
        if name == MAIN or len([each for each in (admin_url, url, home) if each is not None]) != 1:
            raise ValidationFailedError(
                f"a cell needs a name other than {MAIN} and one address: --admin-url, --url or --folder"
            )
        if not _NAME.fullmatch(name):
            raise ValidationFailedError(
                f"{name!r} is not a name for a cell: use up to 40 of a to z, 0 to 9, - and _, a letter first"
            )
        self._ring.newest  # noqa: B018  raises where nothing can be sealed
        async with administered(self.place(MAIN).url) as main:
            if admin_url is not None:
                url = await self._prepare(name, admin_url)
            tenants, frozen = await self._admit(name, url, home)
            address = str(home) if home is not None else str(url)
            sealed = self._ring.seal(address, bound_to(name))
            existing = {row["name"] for row in await main.fetch(QUERIES["cells"].text)}
            (placed,) = await main.fetch(QUERIES["placed_in"].text, name)
            if name in existing and placed["tenants"] and not tenants and not frozen:
                raise ConflictError(
                    f"the directory has tenants in the cell {name}, and this database has none: it is not that cell"
                )
            if not existing:
                await main.execute(QUERIES["cell_put"].text, MAIN, None, None, 1)
            try:
                for tenant_id in tenants:
                    await _claim(main, tenant_id, name)
                await main.execute(QUERIES["place_frozen"].text, name, frozen)
                await main.execute(QUERIES["cell_put"].text, name, sealed.data, sealed.key_id, weight)
            except BaseException:
                if name not in existing:
                    await main.execute(QUERIES["cell_remove"].text, name)
                raise
            await self._database.cells.read(again=True)
        return await self._about(name, address_of(address), weight)

    async def _prepare(self, name: str, admin_url: str) -> str:
        """Create roles and tables on an unused server: existing roles have passwords of others."""
        async with administered(admin_url) as there:
            (roles,) = await there.fetch(QUERIES["roles_there"].text)
        passwords = given_passwords()
        url = None if roles["there"] and "keeps_app" not in passwords else await prepare(admin_url, passwords)
        if url is None:
            raise ConflictError(
                "the role keeps_app already exists on this server, and others may use its password: give --url"
                f" postgresql://keeps_app:…@host/database for the cell {name}, or its password in"
                " KEEPS_APP_PASSWORD"
            )
        return url

    async def _admit(self, name: str, url: str | None, home: Path | None) -> tuple[list[str], list[bytes]]:
        """Check that a database may be a cell, and return its tenants, and the hashes of its frozen ones.

        It must isolate tenants, be no other cell, and have no tenant that exists here.
        """
        server = None if home is None else await EmbeddedPostgres.open(home)
        tenants: list[str] = []
        frozen: list[bytes] = []
        try:
            cell = Cell(name, await open_pool(server.app_url if server else str(url), size=1))
            try:
                await probe(cell)
                (mine,) = await cell.privileged_read(QUERIES["identity"])
                for other in await self._database.cells.all():
                    (its,) = await other.privileged_read(QUERIES["identity"])
                    if other.name != name and mine["database"] == its["database"]:
                        raise ConflictError(f"this database is already the cell {other.name}")
                if await cell.privileged_read(QUERIES["cells"]):
                    raise ConflictError("this database has its own cells; remove them first")
                frozen = await _frozen(cell)
                if frozen and name not in self._database.cells.names:
                    raise ConflictError(
                        f"this database has {len(frozen):,} frozen tenants; bring them back first, with"
                        " `keeps tenants thaw`"
                    )
                (been,) = await cell.privileged_read(QUERIES["has_placements"])
                if been["has"] and name not in self._database.cells.names:
                    raise ConflictError(
                        "this database was a cell, and records that some tenants are elsewhere; if that is over,"
                        " its administrator empties keeps_cells.placements"
                    )
                async for tenant_id in _tenants(cell):
                    where = (await self._database.cells.trail(tenant_id, cell))[-1]
                    if where not in (MAIN, name) or (where == MAIN and await self._is_in_main(tenant_id)):
                        raise ConflictError(f"tenant {tenant_id} is in this database and in the cell {where}; move one")
                    tenants.append(tenant_id)
            finally:
                await cell.close()
        finally:
            if server is not None:
                await server.close()
        return tenants, frozen

    async def _is_in_main(self, tenant_id: str) -> bool:
        rows = await self._database.main.privileged_read(QUERIES["tenant_there"], tenant_id)
        return bool(rows)

    async def set_weight(self, name: str, weight: int) -> None:
        """Set a cell's share of new tenants, relative to the others; 0: none. Raises NotFoundError."""
        async with administered(self.place(MAIN).url) as main:
            if not await main.fetch(QUERIES["cell_weight"].text, name, weight):
                raise NotFoundError(f"no cell {name!r}; see `keeps cells list`")

    async def remove(self, name: str) -> None:
        """Remove an empty cell.

        Its database stays as it is. Raises ConflictError if it has tenants, or may get some.
        """
        if name == MAIN:
            raise ConflictError(f"{MAIN} holds the directory")
        if (lost := await self._lost(name)) is not None:
            await self._remove_lost(name, lost)
            return
        cell = await self._database.cells.get(name)
        for left_over in await self.left_over():
            if name in (left_over.cell, left_over.is_in):
                raise ConflictError(
                    f"a move of tenant {left_over.tenant_id} between {left_over.cell} and {left_over.is_in} is"
                    " incomplete; repeat it"
                )
        busy = ConflictError(f"the cell {name} has tenants or gets new ones; run `keeps cells drain {name}` first")
        if [tenant async for tenant in _tenants(cell)]:
            raise busy
        if frozen := await _frozen(cell):
            raise ConflictError(
                f"the cell {name} has {len(frozen):,} frozen tenants; see `keeps tenants frozen`. Thaw and move"
                " them, or erase them"
            )
        async with administered(self.place(MAIN).url) as main, administered(self.place(name).url) as there:
            gone = await there.fetch(QUERIES["forwarded"].text)
            async with at_once(main):
                (held,) = await main.fetch(QUERIES["cell_locked"].text, name)
                if held["weight"] or [tenant async for tenant in _tenants(cell)]:
                    raise busy
                await main.execute(
                    QUERIES["forward"].text, name, [row["tenant_hash"] for row in gone], [row["cell"] for row in gone]
                )
                await main.execute(QUERIES["cell_remove"].text, name)
        await self._database.cells.read(again=True)

    async def _lost(self, name: str) -> str | None:
        """Return why no key opens the address of a cell; None if one does."""
        for row in await self._database.main.privileged_read(QUERIES["cells"]):
            if row["name"] == name:
                try:
                    self._ring.open(Sealed(row["address"], row["key_id"]), bound_to(name))
                except UnavailableError as error:
                    return error.detail
        return None

    async def _remove_lost(self, name: str, why: str) -> None:
        """Remove a cell whose address does not open; only the directory tells whether it has tenants."""
        async with administered(self.place(MAIN).url) as main, at_once(main):
            (held,) = await main.fetch(QUERIES["cell_locked"].text, name)
            (placed,) = await main.fetch(QUERIES["placed_in"].text, name)
            if held["weight"]:
                raise ConflictError(f"the cell {name} gets new tenants; run `keeps cells drain {name}` first")
            if placed["tenants"]:
                raise ConflictError(
                    f"the directory has {placed['tenants']:,} tenants in the cell {name}, and its address does not"
                    f" open: {why}. Then move them with keeps cells drain {name} --move"
                )
            await main.execute(QUERIES["cell_remove"].text, name)
        await self._database.cells.read(again=True)

    async def names(self) -> list[str]:
        """Return the names of all cells, read anew, the main one first."""
        await self._database.cells.read(again=True)
        return self._database.cells.names

    async def is_there(self, tenant_id: str, name: str) -> bool:
        """Return whether a tenant is in a cell, with rows."""
        if (await self._database.cells.trail(tenant_id))[-1] != name:
            return False
        cell = await self._database.cells.get(name)
        return bool(await cell.privileged_read(QUERIES["tenant_there"], tenant_id))

    async def tenants(self, name: str) -> list[str]:
        """Return the tenants of a cell."""
        return [each async for each in _tenants(await self._database.cells.get(name))]

    async def left_over(self) -> list[LeftOver]:
        """Return the rows in all cells that moves left or are about to bring, and those that a restore brought back."""
        found = await self._database.cells.everywhere(QUERIES["left_over"])
        left = [
            LeftOver(row["tenant_id"], name, row["cell"], row["arriving"])
            for name, rows in found.items()
            for row in rows
        ]
        places: dict[str, list[str]] = {}
        for cell in await self._database.cells.all():
            if not cell.away:
                async for tenant_id in _tenants(cell):
                    places.setdefault(tenant_id, []).append(cell.name)
        for tenant_id, names in places.items():
            if len(names) > 1:
                is_in = (await self._database.cells.trail(tenant_id))[-1]
                left += [LeftOver(tenant_id, name, is_in, arriving=False) for name in names if name != is_in]
        return left

    async def placements(self) -> Placements:
        """Return the cell of every tenant by the key of a router, for those that were erased too.

        Raises ConflictError while a move is incomplete.
        """
        if left := await self.left_over():
            raise ConflictError(
                f"a move of tenant {left[0].tenant_id} to {left[0].is_in} is incomplete; finish it with `keeps tenants"
                " move`"
            )
        keys = {sharding_key(tenant_id): MAIN for tenant_id in await self.tenants(MAIN)}
        async with administered(self.place(MAIN).url) as main:
            rows = await main.fetch(QUERIES["placements"].text)
            weights = {row["name"]: row["weight"] for row in await main.fetch(QUERIES["cells"].text)} or {MAIN: 1}
        keys |= {row["key"]: row["cell"] for row in rows}
        return Placements(sorted(weights, key=lambda name: name != MAIN), keys, max(weights, key=weights.__getitem__))

    async def choose(self, besides: str) -> str:
        """Choose a cell by weight for a tenant that leaves another. Raises ConflictError if there is none."""
        rows = [row for row in await self._database.main.privileged_read(QUERIES["cells"]) if row["name"] != besides]
        weights = [row["weight"] for row in rows]
        if not any(weights):
            raise ConflictError("no other cell accepts tenants; use `keeps cells add` or `keeps cells weight`")
        return random.choices([row["name"] for row in rows], weights)[0]

    async def move(
        self, tenant_id: str, target: str, told: Callable[[Progress], None], *, dry_run: bool = False
    ) -> Progress:
        """Move a tenant, or continue an interrupted move.

        If the move is not possible, an error such as NotFoundError says why, and the tenant stays where it was.
        `dry_run`: only check.
        """
        check_id("tenant_id", tenant_id)
        await self._database.cells.read(again=True)
        if target not in self._database.cells.names:
            raise NotFoundError(f"no cell {target!r}; see `keeps cells list`")
        if self._database.frozen is not None and await self._database.frozen.find(tenant_id) is not None:
            raise ConflictError(f"tenant {tenant_id} is frozen; run `keeps tenants thaw {tenant_id}`, then move it")
        trail = await self._database.cells.trail(tenant_id)
        if trail[-1] in trail[:-1]:
            if dry_run:
                raise ConflictError(
                    f"a move of tenant {tenant_id} between the cells {trail[-2]} and {trail[-1]} was interrupted; the"
                    " same command without --dry-run continues it"
                )
            await self._open_decided(tenant_id, trail[-2:], told)
            trail = await self._database.cells.trail(tenant_id)
        is_in = trail[-1]
        if is_in != target:
            mover = self._mover(tenant_id, is_in, target, told)
            return await (mover.look() if dry_run else mover.run())
        done = Progress("erased", tenant_id, target, target)
        if dry_run:
            return done
        for each in await self.left_over():
            if each.tenant_id == tenant_id and not each.arriving:
                done = await self._mover(tenant_id, each.cell, target, told).go_on()
        if len(trail) > len({MAIN, target}):  # The directory still names an earlier cell.
            async with administered(self.place(MAIN).url) as main:
                await main.execute(QUERIES["place"].text, tenant_id, target, SETTLED)
        return done

    async def _open_decided(self, tenant_id: str, pair: Sequence[str], told: Callable[[Progress], None]) -> None:
        """Continue a decided move to its target, when each of two cells says that the tenant is in the other."""
        for source, target in (pair, pair[::-1]):
            async with administered(self.place(target).url) as there:
                placed = await there.fetchrow(QUERIES["placed"].text, tenant_id)
            if placed is not None and placed["arriving"]:
                await self._mover(tenant_id, source, target, told).go_on()
                return
        raise ConflictError(f"the cells {pair[0]} and {pair[1]} each say that tenant {tenant_id} is in the other")

    async def give_up(self, tenant_id: str, target: str) -> None:
        """Undo a move that was interrupted before its decision."""
        is_in = (await self._database.cells.trail(tenant_id))[-1]
        await self._mover(tenant_id, is_in, target, lambda _: None).give_up()

    def _mover(self, tenant_id: str, source: str, target: str, told: Callable[[Progress], None]) -> Mover:
        return Mover(tenant_id, self.place(source), self.place(target), self.place(MAIN), told)

    def place(self, name: str) -> Place:
        """Return a cell with its URL as administrator. Raises ValidationFailedError if that is not known."""
        if name in self._admin_urls:
            return Place(name, self._admin_urls[name])
        server = self._database.cells.server_of(name)
        if server is not None:
            return Place(name, server.url("postgres"))
        raise ValidationFailedError(
            f"this needs the administrator of the cell {name}: --admin {name}=postgresql://postgres:…@host/database"
        )


async def _claim(main: Connection, tenant_id: str, name: str) -> None:
    """Claim a tenant of a new cell, in a turn in which nobody creates it in the main cell."""
    async with at_once(main):
        await main.fetch(QUERIES["write_lock"].text, tenant_id)
        if await main.fetch(QUERIES["tenant_there"].text, tenant_id):
            raise ConflictError(f"tenant {tenant_id} is in this database and in the cell {MAIN}; move one")
        await main.execute(QUERIES["place"].text, tenant_id, name, SETTLED)


async def _frozen(cell: Cell) -> list[bytes]:
    hashes: list[bytes] = []
    while rows := await cell.privileged_read(QUERIES["frozen_hashes"], hashes[-1] if hashes else b""):
        hashes += [row["tenant_hash"] for row in rows]
    return hashes


async def _tenants(cell: Cell) -> AsyncGenerator[str]:
    after = ""
    while rows := await cell.privileged_read(QUERIES["tenants"], after):
        for row in rows:
            yield row["tenant_id"]
        after = rows[-1]["tenant_id"]

"""Move a tenant from one cell to another while it is in use, by PostgreSQL's logical replication.

Its rows are copied and kept up to date by a publication with row filters. Then, inside one writer's turn of the tenant:
the last writes arrive, replication is stopped, and the source records that the tenant is elsewhere. That commit
decides. Before it the tenant is at the source, and no caller is sent to the copy. After it every caller is redirected,
and waits a moment until the target records the same. After a crash at any point, the same command returns to the
beginning, or continues to the end. Nothing is erased at the source before the decision, or while it is being read.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any, Literal

from keeps.operate.cells.copying import LOCKED, Copy, Ends, Place, made, until
from keeps.operate.cells.rights import OF_SOURCE, OF_TARGET, missing_rights
from keeps.operate.cells.store import ARRIVING, QUERIES, SETTLED
from keeps.store.db.provision import administered, at_once
from keeps.store.db.session import Connection
from keeps.store.schema.revisions import HEAD
from keeps_client.errors import ConflictError, KeepsError, UnavailableError, ValidationFailedError

Step = Literal[
    "checked",
    "marked",
    "copying",
    "copied",
    "caught up",
    "held",
    "cut off",
    "decided",
    "opened",
    "listed",
    "cleaned",
    "erased",
]
NEAR_BYTES = 1 << 20
"""Maximum bytes left to send before writers are held."""
HOLD_SECONDS, WAIT_FOR_WRITERS = 5.0, "3000"
"""Seconds that writers are held at most; milliseconds that the move waits for the current writer."""
HOLDS = 20
READERS_SECONDS = 60.0
ENDING_SECONDS = 3.0


@dataclass(slots=True)
class Progress:
    """The progress of a move. `rows`: by table, at the source. `held_seconds`: how long writers were held."""

    step: Step
    tenant_id: str
    source: str
    target: str
    tables: int = 0
    tables_ready: int = 0
    rows: dict[str, int] = field(default_factory=dict[str, int])
    held_seconds: float = 0.0
    left: dict[str, int] = field(default_factory=dict[str, int])


class Mover:
    """One move. `told`: called after each step, and while tables are copied."""

    def __init__(
        self, tenant_id: str, source: Place, target: Place, main: Place, told: Callable[[Progress], None]
    ) -> None:
        self._tenant_id = tenant_id
        self._places = {"source": source, "target": target, "main": main}
        self._replication = Copy(tenant_id, source, target)
        self.progress = Progress("checked", tenant_id, source.name, target.name)
        self._told = told

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Ends]:
        async with AsyncExitStack() as stack:
            opened = {}
            for end, place in self._places.items():
                opened[end] = await stack.enter_async_context(administered(place.url))
            # The connection of a killed mover holds the lock until the server has noticed.
            deadline = monotonic() + ENDING_SECONDS
            while not await opened["main"].fetchval(QUERIES["one_mover"].text, self._tenant_id):
                if monotonic() < deadline:
                    await asyncio.sleep(0.05)
                    continue
                raise ConflictError(f"tenant {self._tenant_id} is already being moved; wait until that ends")
            yield Ends(**opened)

    async def look(self) -> Progress:
        """Return the size of the move. Raises ValidationFailedError, which says what prevents it."""
        async with self._connected() as ends:
            await self._check(ends)
        return self.progress

    async def run(self) -> Progress:
        """Move a tenant from the source completely."""
        async with self._connected() as ends:
            await self._check(ends)
            await self._clean(ends)
            self._did("checked")
            try:
                await self._copy(ends)
                await self._decide(ends)
            except Exception:
                with suppress(KeepsError):
                    # The tenant has not moved, unless the move was decided or a cell is unreachable.
                    await self._clean(ends)
                raise
            await self._finish(ends)
        return self.progress

    async def go_on(self) -> Progress:
        """Continue a move after its decision: the source says that the tenant is at the target."""
        async with self._connected() as ends:
            await self._finish(ends)
        return self.progress

    async def give_up(self) -> None:
        """Remove what an undecided move left at both ends."""
        async with self._connected() as ends:
            await self._clean(ends)

    def _did(self, step: Step) -> None:
        self.progress.step = step
        self._told(self.progress)

    async def _check(self, ends: Ends) -> None:
        states = {
            "source": await ends.source.fetchrow(QUERIES["server"].text),
            "target": await ends.target.fetchrow(QUERIES["server"].text),
        }
        for end, state in states.items():
            where = f"the cell {self._places[end].name}"
            if state is None or state["revision"] != HEAD:
                raise ValidationFailedError(
                    f"{where} is at revision {state and state['revision']}, this Keeps at {HEAD}; run keeps migrate"
                )
            rights = OF_SOURCE if end == "source" else OF_TARGET
            if missing := await missing_rights(getattr(ends, end), rights):
                raise ValidationFailedError(f"a move needs more rights at {where}: {'; '.join(missing)}")
        await self._replication.hide_password(ends)
        source = states["source"]
        assert source is not None  # noqa: S101  it was looked at
        if source["wal_level"] != "logical":
            raise ValidationFailedError(
                f"the cell {self._places['source'].name} has wal_level {source['wal_level']}; a move needs logical:"
                " ALTER SYSTEM SET wal_level = logical, and restart it"
            )
        if source["free_slots"] < 1 + 2:
            raise ValidationFailedError(
                f"the cell {self._places['source'].name} has {source['free_slots']} free replication slots; a move"
                " needs up to 3: raise max_replication_slots"
            )
        self.progress.rows = await self._count(ends.source)
        if not self.progress.rows.get("tenants"):
            raise ValidationFailedError(f"no tenant {self._tenant_id} in the cell {self._places['source'].name}")
        there = await self._count(ends.target)
        marked = await ends.target.fetchrow(QUERIES["placed"].text, self._tenant_id)
        if any(there.values()) and marked is None:
            raise ConflictError(
                f"the cell {self._places['target'].name} holds rows of tenant {self._tenant_id} that are no copy of a"
                " move; look at both before you erase one"
            )

    async def _copy(self, ends: Ends) -> None:
        await ends.target.execute(QUERIES["place"].text, self._tenant_id, self._places["source"].name, ARRIVING)
        self._did("marked")
        await self._replication.begin(ends)
        await until(lambda: self._copied(ends), math.inf)
        self._did("copied")
        await until(lambda: self._is_near(ends), math.inf)
        self._did("caught up")

    async def _copied(self, ends: Ends) -> bool:
        ready, tables = await self._replication.tables(ends)
        if ready != self.progress.tables_ready or not self.progress.tables:
            self.progress.tables, self.progress.tables_ready = tables, ready
            self._did("copying")
        return ready == tables

    async def _is_near(self, ends: Ends) -> bool:
        return await self._copied(ends) and await self._replication.behind(ends, None) <= NEAR_BYTES

    async def _decide(self, ends: Ends) -> None:
        for _ in range(HOLDS):
            if await self._held(ends):
                break
            await asyncio.sleep(1)
        else:
            raise UnavailableError(
                f"the copy of tenant {self._tenant_id} cannot keep up with the writes; nothing was moved. Try again"
                " when there are fewer writes"
            )

    async def _held(self, ends: Ends) -> bool:
        """Decide the move in one writer's turn. Return False if the last writes took too long to arrive."""
        loop = asyncio.get_running_loop()
        async with administered(self._places["source"].url) as holder, at_once(holder):
            await holder.fetch(QUERIES["patience"].text, WAIT_FOR_WRITERS)
            try:
                await holder.fetch(QUERIES["write_lock"].text, self._tenant_id)
            except Exception as error:
                if getattr(error, "sqlstate", None) == LOCKED:
                    return False
                raise
            began = loop.time()
            self._did("held")
            position = str(await ends.source.fetchval(QUERIES["position"].text))
            if not await until(lambda: self._has_all(ends, position), HOLD_SECONDS):
                return False
            await self._replication.cut_off(ends)
            self._did("cut off")
            # Check that this is still the only mover, since another one may have restarted the copy.
            await ends.main.fetchval(QUERIES["now"].text)
            if not await self._replication.is_whole(ends):
                raise ConflictError("another process restarted the copy; nothing was moved")
            await holder.execute(QUERIES["place"].text, self._tenant_id, self._places["target"].name, SETTLED)
        self.progress.held_seconds = loop.time() - began
        self._did("decided")
        return True

    async def _has_all(self, ends: Ends, position: str) -> bool:
        return await self._replication.behind(ends, position) <= 0

    async def _nobody_reads(self, ends: Ends, moment: datetime) -> bool:
        return not await ends.source.fetchval(QUERIES["older"].text, moment)

    async def _open(self, ends: Ends) -> None:
        """Record at the target, after the source, that the tenant is there; in the main cell, update the directory."""
        await ends.target.execute(QUERIES["place_here"].text, self._tenant_id)
        self._did("opened")

    async def _finish(self, ends: Ends) -> None:
        """Complete the move after the decision."""
        await self._open(ends)
        if self._places["main"].name != self._places["target"].name:
            await ends.main.execute(QUERIES["place"].text, self._tenant_id, self._places["target"].name, SETTLED)
        self._did("listed")
        moment: Any = await ends.source.fetchval(QUERIES["now"].text)
        await self._replication.remove(ends)
        self._did("cleaned")
        if not await until(lambda: self._nobody_reads(ends, moment), READERS_SECONDS):
            raise UnavailableError(
                f"tenant {self._tenant_id} is in the cell {self._places['target'].name}, but is still being read in"
                f" {self._places['source'].name}: repeat the command later, to erase it there"
            )
        self.progress.rows = await self._count(ends.source)
        await self._check_arrived(ends)
        # The cell says so already, unless it was restored to an earlier time.
        await ends.source.execute(QUERIES["place"].text, self._tenant_id, self._places["target"].name, SETTLED)
        await self._erase(ends.source)
        self.progress.left = {name: held for name, held in (await self._count(ends.source)).items() if held}
        self._did("erased")

    async def _clean(self, ends: Ends) -> None:
        """Return to the beginning: remove the copy and its replication; never after the decision.

        Replication is stopped inside a writer's turn, in which nobody else can decide the move.
        """
        async with self._turn() as holder:
            decided = await holder.fetchrow(QUERIES["placed"].text, self._tenant_id)
            if decided is not None and decided["cell"] != self._places["source"].name:
                raise ConflictError(
                    f"tenant {self._tenant_id} has moved to the cell {decided['cell']}; repeat the command"
                )
            await self._replication.remove(ends)
        if await ends.target.fetchrow(QUERIES["placed"].text, self._tenant_id) is not None:
            await ends.main.fetchval(QUERIES["now"].text)  # Check that this is still the only mover.
            await self._erase(ends.target)
            await ends.target.execute(QUERIES["place"].text, self._tenant_id, self._places["source"].name, SETTLED)

    @asynccontextmanager
    async def _turn(self) -> AsyncGenerator[Connection]:
        """Hold the tenant's turn to write at the source, in one transaction. Raises UnavailableError on timeout."""
        async with administered(self._places["source"].url) as holder, at_once(holder):
            await holder.fetch(QUERIES["patience"].text, WAIT_FOR_WRITERS)
            await holder.fetch(QUERIES["write_lock"].text, self._tenant_id)
            yield holder

    async def _check_arrived(self, ends: Ends) -> None:
        """Check that the target has everything that will be erased at the source. Raises ConflictError."""
        before, now = [
            await each.fetchval(QUERIES["reached"].text, self._tenant_id) for each in (ends.source, ends.target)
        ]
        made_anew = before is not None and now is not None and now[-1] > before[-1]  # The tenant was erased meanwhile.
        if before is not None and not made_anew and (now is None or now[-1] != before[-1] or now[0] < before[0]):
            raise ConflictError(
                f"the cell {self._places['target'].name} does not hold what {self._places['source'].name} holds of"
                f" tenant {self._tenant_id}; nothing was erased. One may have been restored: compare them"
            )

    async def _erase(self, connection: Connection) -> None:
        async with at_once(connection):
            await connection.fetch(QUERIES["write_lock"].text, self._tenant_id)
            await connection.fetch(QUERIES["without_triggers"].text)
            await made(connection, "erase_statement", self._tenant_id)

    async def _count(self, connection: Connection) -> dict[str, int]:
        made = await connection.fetchval(QUERIES["count_statement"].text, self._tenant_id)
        return {row["name"]: row["held"] for row in await connection.fetch(made)}

"""A copy of a tenant's rows in another PostgreSQL, kept up to date by logical replication.

It uses a publication with row filters and a slot at the source, and a subscription at the target. `cells/moving.py`
decides about its use.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from keeps.operate.cells.rights import is_quiet
from keeps.operate.cells.store import QUERIES
from keeps.store.db.provision import at_once
from keeps.store.db.session import Connection
from keeps_client.errors import UnavailableError

WAIT_FOR_TRANSACTIONS = "60000"
"""Milliseconds that a copy waits at its start for earlier transactions."""
CUT_OFF_SECONDS, SLOTS_SECONDS = 5.0, 60.0
"""Seconds that copies may take to end, and to release their slots."""
POLL_SECONDS = 0.01
LOCKED = "55P03"
_IN_USE, _GONE = "55006", "42704"


@dataclass(frozen=True, slots=True)
class Place:
    """A cell, and its URL as administrator."""

    name: str
    url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Ends:
    """Administrator connections to source and target."""

    source: Connection
    target: Connection
    main: Connection


class Copy:
    """The copy of one tenant.

    Its publication, slot and subscription share one name, by which a later run finds them.
    """

    def __init__(self, tenant_id: str, source: Place, target: Place) -> None:
        self._tenant_id = tenant_id
        self._source, self._target = source, target
        self._name = "keeps_move_" + hashlib.sha256(tenant_id.encode()).hexdigest()[:24]

    async def begin(self, ends: Ends) -> None:
        await made(ends.source, "publish_statement", self._tenant_id, self._name)
        await self._make_slot(ends)
        same = await _same_version(ends)
        await self.hide_password(ends)
        await made(ends.target, "subscribe_statement", self._name, self._source.url, same)

    async def hide_password(self, ends: Ends) -> None:
        """Keep the statements of this session, one of which contains a password, out of the target's log.

        Raises UnavailableError if the role may not.
        """
        if not await is_quiet(ends.target):
            raise UnavailableError(
                f"the log of the cell {self._target.name} would show the password of the administrator of"
                f" {self._source.name}; nothing was moved. Set log_statement = none and log_min_duration_statement = -1"
                " there, or GRANT SET ON PARAMETER log_statement, log_min_duration_statement, log_min_error_statement"
            )

    async def _make_slot(self, ends: Ends) -> None:
        """Make the slot, once every earlier transaction on the source's server has ended.

        Raises UnavailableError, which names the one that does not end.
        """
        try:
            async with at_once(ends.source):
                await ends.source.fetch(QUERIES["patience"].text, WAIT_FOR_TRANSACTIONS)
                await ends.source.fetch(QUERIES["slot_make"].text, self._name)
        except Exception as error:
            if getattr(error, "sqlstate", None) != LOCKED:
                raise
            row = await ends.source.fetchrow(QUERIES["longest"].text)
            which = "one" if row is None else f"process {row['pid']} of {row['who']} in {row['place']}"
            raise UnavailableError(
                f"a move begins when all transactions on the server of cell {self._source.name} that began before it"
                f" have ended, and {which} goes on; nothing was moved. Try again when it has ended"
            ) from None

    async def tables(self, ends: Ends) -> tuple[int, int]:
        """Return the number of copied tables, and of all. Raises UnavailableError when an error stopped the copy."""
        status = await ends.target.fetchrow(QUERIES["copied"].text, self._name)
        if status is None or not status["runs"]:
            raise UnavailableError(
                f"an error stopped the copy: see the log of the cell {self._target.name}; nothing was moved"
            )
        return status["ready"], status["tables"]

    async def behind(self, ends: Ends, position: str | None) -> int:
        """Return the bytes of the log that have yet to arrive, up to `position` or to now."""
        lag = await ends.source.fetchrow(QUERIES["behind"].text, self._name, position)
        if lag is None or lag["bytes"] is None:
            raise UnavailableError(
                f"the replication slot {self._name} no longer exists in the cell {self._source.name}; nothing was moved"
            )
        return lag["bytes"]

    async def cut_off(self, ends: Ends) -> None:
        """Stop replication. Raises UnavailableError when it does not stop."""
        await made(ends.target, "pause_statement", self._name)
        if not await until(lambda: self._is_cut_off(ends), CUT_OFF_SECONDS):
            raise UnavailableError("the copy could not be disconnected; nothing was moved")

    async def is_whole(self, ends: Ends) -> bool:
        """Return whether all tables are copied, even if replication is stopped."""
        found = await ends.target.fetchrow(QUERIES["copied"].text, self._name)
        return found is not None and found["ready"] == found["tables"]

    async def remove(self, ends: Ends) -> None:
        """Remove the existing subscription, slots and publication; the rows stay."""
        found = await ends.target.fetchrow(QUERIES["copied"].text, self._name)
        for row in await ends.target.fetch(QUERIES["stop_statements"].text, self._name):
            await ends.target.execute(row["made"])
        slots = found["slots"] if found is not None else ""
        # Slots first: to drop a subscription drops those of its tables, and waits for one that is being made, which
        # waits for every transaction on its server; where both databases are on one, for this one.
        if not await until(lambda: self._without_slots(ends, slots), SLOTS_SECONDS):
            raise UnavailableError(
                f"the replication slot {self._name} of the cell {self._source.name} stays in use; try again"
            )
        await made(ends.target, "unsubscribe_statement", self._name)
        await made(ends.source, "unpublish_statement", self._name)

    async def _is_cut_off(self, ends: Ends) -> bool:
        found = await ends.target.fetchrow(QUERIES["copied"].text, self._name)
        return found is None or not found["works"]

    async def _without_slots(self, ends: Ends, beginning: str) -> bool:
        stopped = await self._is_cut_off(ends)
        slots = await ends.source.fetch(QUERIES["slots_of"].text, self._name, beginning)
        for slot in slots:
            if slot["active_pid"] is not None:
                await ends.source.fetch(QUERIES["slot_end"].text, slot["active_pid"])
            else:
                try:
                    await ends.source.fetch(QUERIES["slot_drop"].text, slot["name"])
                except Exception as error:  # A sender left by a killed move may take or drop the slot now.
                    if getattr(error, "sqlstate", None) not in (_IN_USE, _GONE):
                        raise
        return stopped and not slots


async def until(holds: Callable[[], Awaitable[bool]], seconds: float) -> bool:
    """Poll until a condition holds; return False on timeout. PostgreSQL does not signal that a copy has arrived."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + seconds
    while not await holds():
        if loop.time() > ends_at:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


async def made(connection: Connection, name: str, *values: Any) -> None:
    """Run a statement that PostgreSQL itself built, with its names and values quoted."""
    statement = await connection.fetchval(QUERIES[name].text, *values)
    if statement is not None:
        await connection.execute(statement)


async def _same_version(ends: Ends) -> bool:
    versions = {
        (await each.fetchrow(QUERIES["server"].text) or {"version": 0})["version"] // 10_000
        for each in (ends.source, ends.target)
    }
    return len(versions) == 1 and min(versions) >= 16

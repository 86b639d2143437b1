"""Live subscriptions to events, without loss or duplicates.

Writers of a tenant take turns until commit, so its sequence numbers appear in order and without gaps: a reader that has
read up to a number has missed nothing before it. Writes of this process wake its subscribers at once. Those of others
are found by one small query for all subscribed tenants, four times a second. NOTIFY would make all writers of the
installation wait for each other at commit, and does not pass a pooler.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

from keeps.base.scope import Scope
from keeps.store.db.session import Database
from keeps.store.events import store
from keeps_client.errors import KeepsError, RateLimitedError, UnavailableError, ValidationFailedError
from keeps_client.models import Event

POLL_SECONDS = 0.25
POLL_PATIENCE = 5.0
STALE_SECONDS = 10.0
"""Seconds for which a replaced leader that has not noticed yet may lag behind."""
BATCH = 50
MAX_SUBSCRIPTIONS, MAX_OF_A_TENANT, MAX_OF_A_USER = 2_000, 500, 50
READING_AT_ONCE = 2
"""Subscriptions of a tenant that read at a time after a write; the others wait their turn."""


class Feed:
    """Wakes the subscribers of this process when their tenant's log has grown."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: set[Subscription] = set()
        self._last: dict[str, int] = {}
        self._reading: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        database.on_commit.append(lambda scope: self._notice(scope.tenant_id))

    def subscribe(
        self, scope: Scope, *, after: int | None, types: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> Subscription:
        """Return a subscription to the events after number `after`, or to new ones if it is None.

        Use it as `async with`. Raises RateLimitedError when there are too many.
        """
        who = (scope.tenant_id, scope.acting)
        if len(self._open) >= MAX_SUBSCRIPTIONS:
            raise RateLimitedError(
                f"this server already has {MAX_SUBSCRIPTIONS:,} subscriptions", retry_after_seconds=5
            )
        scopes = [subscription.scope for subscription in self._open]
        if [other.tenant_id for other in scopes].count(scope.tenant_id) >= MAX_OF_A_TENANT:
            raise RateLimitedError(
                f"a tenant has at most {MAX_OF_A_TENANT} subscriptions at once", retry_after_seconds=5
            )
        if [(other.tenant_id, other.acting) for other in scopes].count(who) >= MAX_OF_A_USER:
            raise RateLimitedError(f"a user has at most {MAX_OF_A_USER} subscriptions at once", retry_after_seconds=5)
        return Subscription(self, self._database, scope, after, types, kinds)

    def reading(self, tenant_id: str) -> asyncio.Semaphore:
        """Return the semaphore that a tenant's subscriptions hold while they read."""
        return self._reading.setdefault(tenant_id, asyncio.Semaphore(READING_AT_ONCE))

    def open(self, subscription: Subscription) -> None:
        if self._closed:
            raise UnavailableError("this Keeps is closed; open it again")
        self._open.add(subscription)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._poll())

    def end(self) -> None:
        for each in self._open:
            each.end()

    def leave(self, subscription: Subscription) -> None:
        self._open.discard(subscription)

    @property
    def closed(self) -> bool:
        return self._closed

    async def pause(self) -> None:
        """Pause before the next query to a database that was away."""
        await asyncio.sleep(4 * POLL_SECONDS)

    async def close(self) -> None:
        """End all subscriptions with an error that says that this Keeps is closed."""
        self._closed = True
        self.end()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _notice(self, tenant_id: str) -> None:
        for each in self._open:
            if each.scope.tenant_id == tenant_id:
                each.wake()

    async def _poll(self) -> None:
        while self._open:
            await asyncio.sleep(POLL_SECONDS)
            tenants = list({subscription.scope.tenant_id for subscription in self._open})
            try:
                answers = await self._database.cells.everywhere(
                    store.QUERIES["last_sequences"], tenants, seconds=POLL_PATIENCE
                )
            except KeepsError:
                continue  # The database is away: subscribers wait until it is back.
            last: dict[str, int] = {}
            for row in (row for rows in answers.values() for row in rows):
                tenant_id = row["tenant_id"]  # During a move a tenant is in two cells; its log only grows.
                last[tenant_id] = max(row["last_sequence"], last.get(tenant_id, 0))
            for tenant_id, reached in last.items():
                if self._last.get(tenant_id) != reached:
                    self._notice(tenant_id)
            self._last = {**{key: self._last[key] for key in tenants if key in self._last}, **last}


class Subscription:
    """The position of one subscriber in the log: nothing up to number `position` is missing."""

    def __init__(
        self,
        feed: Feed,
        database: Database,
        scope: Scope,
        after: int | None,
        types: Sequence[str] | None,
        kinds: Sequence[str] | None,
    ) -> None:
        self.scope = scope
        self.position = after or 0
        self._from_now = after is None
        self._feed = feed
        self._database = database
        self._types = types
        self._kinds = kinds
        self._wake = asyncio.Event()
        self._reading = feed.reading(scope.tenant_id)
        self._ended = False
        self._has_read = False
        self._ahead_since = 0.0

    def wake(self) -> None:
        self._wake.set()

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    async def next_batch(self, timeout_seconds: float) -> list[Event]:
        """Return the next events, in order; none if none came in time.

        Raises UnavailableError while the database is away.
        """
        deadline = asyncio.get_running_loop().time() + timeout_seconds
        while not self._ended:
            self._wake.clear()
            if found := await self._read():
                return found
            try:
                async with asyncio.timeout_at(deadline):
                    await self._wake.wait()
            except TimeoutError:
                return []
        raise UnavailableError("this Keeps is closing; subscribe again after the last sequence that you received")

    async def _read(self) -> list[Event]:
        async with self._reading, self._database.scoped(self.scope) as tx:
            reach = await store.reach(tx)
            if self._from_now:
                self.position, self._from_now = reach.last_sequence, False
            if self.position > reach.last_sequence:
                now = asyncio.get_running_loop().time()
                self._ahead_since = self._ahead_since or now
                if self._has_read and now - self._ahead_since < STALE_SECONDS:
                    raise UnavailableError(
                        "this server has fewer events than were read before; it may be an old primary"
                    )
                raise ValidationFailedError(
                    f"this tenant's log ends at {reach.last_sequence}, before {self.position}; it may have been erased"
                    " or restored. Subscribe again"
                )
            self._ahead_since, self._has_read = 0.0, True
            if self.position < reach.retired_sequence:
                raise ValidationFailedError(
                    f"events up to {reach.retired_sequence} are no longer stored; read the current data and subscribe"
                    f" after {reach.retired_sequence}"
                )
            events: list[Event] = []
            while not events and self.position < reach.last_sequence:
                events, more = await store.after(
                    tx, self.position, reach.last_sequence, types=self._types, kinds=self._kinds, limit=BATCH
                )
                self.position = events[-1].sequence if more else reach.last_sequence
        return events

    async def __aenter__(self) -> Self:
        self._feed.open(self)
        try:
            # Fix the start now, not when the first batch is requested.
            if self._from_now:
                async with self._database.scoped(self.scope) as tx:
                    self.position, self._from_now = (await store.reach(tx)).last_sequence, False
        except BaseException:  # Python does not call __aexit__ if __aenter__ fails.
            self._feed.leave(self)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feed.leave(self)

"""The event log: pages, subscriptions, replay, verification, retention."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime, timedelta

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.store.db.session import Database, taking_long
from keeps.store.events import store
from keeps.store.events.chain import ChainCheck
from keeps.store.events.feed import Feed, Subscription
from keeps_client.errors import NotFoundError, UnavailableError
from keeps_client.models import (
    Anchor,
    ChainVerification,
    Difference,
    Event,
    EventLink,
    LogRetention,
    ReplayedTable,
    Verification,
)

HEARTBEAT_SECONDS = 15.0
MAX_DIFFERENCES = 20
REPLAY_SECONDS = 3_600.0
CHAIN_PAGE = 500


class EventService:
    """Reads the log, and checks that the rows match it."""

    def __init__(self, database: Database, feed: Feed, clock: Clock) -> None:
        self._database = database
        self._feed = feed
        self._clock = clock

    async def page(
        self, scope: Scope, *, after: int, types: Sequence[str] | None, kinds: Sequence[str] | None, limit: int
    ) -> list[Event]:
        """Return the events after a number that the scope may see, oldest first."""
        async with self._database.scoped(scope) as tx:
            known = await store.reach(tx)
            found, _ = await store.after(tx, after, known.last_sequence, types=types, kinds=kinds, limit=limit)
            return found

    async def last_sequence(self, scope: Scope) -> int:
        """Return the number of the tenant's newest event, whether or not the scope may see it."""
        async with self._database.scoped(scope) as tx:
            return (await store.reach(tx)).last_sequence

    def subscription(
        self, scope: Scope, *, after: int | None, types: Sequence[str] | None, kinds: Sequence[str] | None
    ) -> Subscription:
        """Return a subscription that gives events in batches, for a server, which also sends heartbeats."""
        return self._feed.subscribe(scope, after=after, types=types, kinds=kinds)

    async def subscribe(
        self, scope: Scope, *, after: int | None, types: Sequence[str] | None, kinds: Sequence[str] | None
    ) -> AsyncGenerator[Event]:
        """Yield events as they happen, without end. While the database is away it waits, then continues."""
        async with self.subscription(scope, after=after, types=types, kinds=kinds) as subscription:
            while True:
                try:
                    batch = await subscription.next_batch(HEARTBEAT_SECONDS)
                except UnavailableError:
                    if self._feed.closed:
                        raise
                    await self._feed.pause()
                    continue
                for event in batch:
                    yield event

    async def verify(self, scope: Scope) -> Verification:
        """Compare the tenant's rows with its events, byte by byte, and verify the chain of its log.

        The log must have no gaps, and the content of each memory must match its `content_hash`. The answer names ids
        and columns, never contents.
        """
        with taking_long():
            return await self._verify(scope, await self._verify_chain(scope, ()))

    async def verify_chain(self, scope: Scope, anchors: Sequence[Anchor] = ()) -> ChainVerification:
        """Verify the chain of the tenant's log, and that it contains the anchors of this tenant."""
        with taking_long():
            return await self._verify_chain(scope, anchors)

    async def chain_head(self, scope: Scope) -> Anchor:
        """Return the head of the chain now. Raises NotFoundError for a log without a chain."""
        async with self._database.scoped(scope) as tx:
            head = await store.chain_head(tx)
        if head.chain_hash is None:
            raise NotFoundError("this tenant's log has no chain yet: it begins with the next event")
        return Anchor(
            tenant_id=scope.tenant_id, sequence=head.last_sequence, hash=head.chain_hash.hex(), time=self._clock()
        )

    async def links(self, scope: Scope, *, after: int, limit: int, contents: bool) -> list[EventLink]:
        """Return a page of the chain of the whole tenant, oldest first. For administrators."""
        async with self._database.snapshot(scope) as tx:
            return await store.chain_of_all_users(tx, after, limit, contents=contents)

    async def _verify_chain(self, scope: Scope, anchors: Sequence[Anchor]) -> ChainVerification:
        async with self._database.snapshot(scope) as tx:
            head = await store.chain_head(tx)
            check = ChainCheck.of(scope.tenant_id, head.last_sequence, head.retired_sequence, head.chain_hash, anchors)
            while rows := await tx.fetch(store.QUERIES["chain_events"], check.position, CHAIN_PAGE):
                for row in rows:
                    check.take(row)
                    if check.broken is not None:
                        return check.finish()
                await asyncio.sleep(0)
            return check.finish()

    async def _verify(self, scope: Scope, chain: ChainVerification) -> Verification:
        async with self._database.scoped(scope) as tx:
            reach = await store.reach(tx)
            rows = await tx.fetch(store.QUERIES["replay_differences"], MAX_DIFFERENCES, timeout_seconds=REPLAY_SECONDS)
        differences = [
            Difference(
                table=row["table_name"], row=json.loads(row["row_key"]), problem=row["problem"], columns=row["columns"]
            )
            for row in rows
            if row["problem"] is not None
        ]
        compared = {row["table_name"]: row["compared"] for row in rows if row["problem"] is None}
        return Verification(
            tenant_id=scope.tenant_id,
            equal=not differences and chain.intact,
            events=reach.last_sequence,
            compared=compared,
            differences=differences,
            chain=chain,
        )

    async def replay(self, scope: Scope, until: datetime | None) -> list[ReplayedTable]:
        """Return the rows of each table that the tenant's events up to `until` describe."""
        with taking_long():
            return await self._replay(scope, until)

    async def _replay(self, scope: Scope, until: datetime | None) -> list[ReplayedTable]:
        async with self._database.scoped(scope) as tx:
            if until is not None:
                await store.check_reachable(tx, until)
            rows = await tx.fetch(
                store.QUERIES["replay_counts"],
                until or datetime.max.replace(tzinfo=UTC),
                timeout_seconds=REPLAY_SECONDS,
            )
        return [ReplayedTable(table=row["table_name"], rows=row["told"]) for row in rows]

    async def retire(self, older_than_days: float) -> LogRetention:
        """Remove events of all tenants that are older, except those that replay needs.

        Raises ValidationFailedError under 30 days.
        """
        before = self._clock() - timedelta(days=older_than_days)
        found = await self._database.cells.everywhere(store.QUERIES["events_retire"], before)
        rows = [row for each in found.values() for row in each]
        return LogRetention(
            before=before, removed=sum(row["removed"] for row in rows), kept=sum(row["kept"] for row in rows)
        )

    async def close(self) -> None:
        """End all subscriptions."""
        await self._feed.close()

    def end_subscriptions(self) -> None:
        """Tell subscribers to reconnect, because this server is about to stop."""
        self._feed.end()

    async def make_partitions(self) -> None:
        """Make partitions for this month and the next ones."""
        await self._database.cells.everywhere(store.QUERIES["partitions_make"])


def split_names(names: str | None) -> list[str] | None:
    """Split names with commas between them, as in a query."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]

"""Gather the writes of one process: many callers, one multi-row statement, one commit.

Each tenant has a lane. While one transaction of a lane runs, further writes wait in it and are stored together in the
next; no write waits for others to arrive. Writes of several users are stored together too: each row is written as its
own user, and PostgreSQL checks it against that user (ADR 44). This includes writes that may be retried: their answers
are stored in the same commit. Every caller gets the receipt or the error of its own write: a conflicting write fails
alone, and if a whole transaction fails, its writes are tried one by one.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from keeps.memory.memories.answers import RECEIPT
from keeps.memory.memories.changes import Changes, Write
from keeps.store.db.repeats import drop_overdue, known_answers, save_answers, save_answers_of_users
from keeps.store.db.session import Tx, traced
from keeps.store.tenants.service import Introducer
from keeps_client.errors import KeepsError
from keeps_client.models import Receipt

MAX_GATHERED = 256
JOINING_TURNS = 2
"""Turns of the event loop before a transaction begins: requests that have arrived are read and join it. Without them
the first of sixteen would have a transaction of its own."""


class _AnsweredBeforeError(Exception):
    """A request stored together with others already had its answer, so nothing may be stored for it."""


_Waiting = tuple[Write, "asyncio.Future[Receipt]"]


@dataclass(slots=True)
class _Lane:
    waiting: list[_Waiting] = field(default_factory=list[_Waiting])
    task: asyncio.Task[None] | None = None


class Writer:
    """Gathers single writes."""

    def __init__(self, introducer: Introducer, changes: Changes) -> None:
        self._introducer = introducer
        self._changes = changes
        self._lanes: dict[str, _Lane] = {}

    async def write(self, write: Write) -> Receipt:
        """Store one memory. Return when it is committed."""
        if write.request is not None:
            write.request.check()
        await self._introducer.introduce(write.scope)
        lane = self._lanes.setdefault(write.scope.tenant_id, _Lane())
        future: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        lane.waiting.append((write, future))
        if lane.task is None or lane.task.done():
            lane.task = asyncio.get_running_loop().create_task(self._drain(write.scope.tenant_id, lane))
        receipt = await future
        if write.request is not None:
            write.request.answered = True
        return receipt

    async def close(self) -> None:
        """Wait for pending writes."""
        await asyncio.gather(*(lane.task for lane in self._lanes.values() if lane.task is not None))

    async def _drain(self, tenant_id: str, lane: _Lane) -> None:
        while lane.waiting:
            for _ in range(JOINING_TURNS):
                await asyncio.sleep(0)
            size = _batch_size(lane.waiting)
            batch, lane.waiting = lane.waiting[:size], lane.waiting[size:]
            await self._commit(batch)
        self._lanes.pop(tenant_id, None)

    async def _commit(self, batch: list[_Waiting]) -> None:
        """Store a batch and tell each caller its outcome; if the whole fails, store its writes one by one."""
        writes = [write for write, _ in batch]
        traces = {write.traceparent for write in writes}
        outcomes: Mapping[UUID, Receipt | BaseException] = {}
        try:
            # A transaction has one trace; if several requests share it, none is named.
            with traced(traces.pop() if len(traces) == 1 else ""):
                outcomes = await self._store(writes)
        except BaseException as error:  # noqa: BLE001  a defect must reach the caller, not vanish in a task
            if len(batch) == 1 or (isinstance(error, KeepsError) and error.code == "unavailable"):
                outcomes = {write.memory_id: error for write in writes}
            else:
                for waiting in batch:
                    await self._commit([waiting])
        for write, future in batch:
            if future.done():
                continue
            outcome = outcomes[write.memory_id]
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    async def _store(self, writes: list[Write]) -> dict[UUID, Receipt | KeepsError]:
        """Store writes in one transaction; return their outcomes by memory id."""
        writes = sorted(writes, key=_user)  # Stable: keeps the order within a user.
        if _user(writes[0]) != _user(writes[-1]):
            try:
                return await self._store_together(writes)
            except _AnsweredBeforeError:
                pass  # Look for the answers first.
        outcomes: dict[UUID, Receipt | KeepsError] = {}
        async for attempt in self._introducer.writing(writes[0].scope):
            async with attempt as tx:
                outcomes = await self._store_by_user(tx, writes)
        return outcomes

    async def _store_together(self, writes: list[Write]) -> dict[UUID, Receipt | KeepsError]:
        """Store the new memories of all users in one statement, then the rest by user.

        Nothing is stored ahead for a user who expects a version, since the earlier writes of that user come first, or
        of whose writes one may have to wait in the inbox.
        Raises _AnsweredBeforeError if a request has an answer already.
        """
        careful = {_user(write) for write in writes if write.if_version is not None or write.screening is not None}
        ahead = [write for write in writes if _user(write) not in careful]
        outcomes: dict[UUID, Receipt | KeepsError] = {}
        async for attempt in self._introducer.writing(writes[0].scope):
            async with attempt as tx:
                created = await self._changes.create(tx, ahead) if ahead else {}
                done = [
                    (write.scope, write.request, created[write.memory_id])
                    for write in ahead
                    if write.request is not None and write.memory_id in created
                ]
                if done:
                    if not await save_answers_of_users(tx, done, RECEIPT):
                        raise _AnsweredBeforeError
                    await tx.become(random.choice(done)[0])  # noqa: S311  each user's turn comes
                    await drop_overdue(tx)
                rest = [write for write in writes if write.memory_id not in created]
                outcomes = {**created, **await self._store_by_user(tx, rest)}
        return outcomes

    async def _store_by_user(self, tx: Tx, writes: list[Write]) -> dict[UUID, Receipt | KeepsError]:
        """Store the writes of each user as that user. A request that was answered before gets its answer again."""
        outcomes: dict[UUID, Receipt | KeepsError] = {}
        for _, group in groupby(writes, key=_user):
            same_user = list(group)
            await tx.become(same_user[0].scope)
            acting = same_user[0].scope.acting_user
            requests = [None if write.request is None else write.request.by(acting) for write in same_user]
            repeated = await known_answers(tx, requests, RECEIPT)
            fresh = [position for position in range(len(same_user)) if position not in repeated]
            new = [same_user[position] for position in fresh]
            results = await self._changes.apply(tx, new) if new else []
            done = [
                (request, result)
                for position, result in zip(fresh, results, strict=True)
                if (request := requests[position]) is not None and not isinstance(result, KeepsError)
            ]
            await save_answers(tx, done, RECEIPT)
            outcomes |= {same_user[position].memory_id: outcome for position, outcome in repeated.items()}
            outcomes |= {write.memory_id: result for write, result in zip(new, results, strict=True)}
        return outcomes


def _user(write: Write) -> tuple[str, str, str, str]:
    return write.scope.reader


def _is_checked_alone(write: Write) -> bool:
    return write.scope.acting_user is not None or write.scope.grant is not None


def _batch_size(waiting: Sequence[_Waiting]) -> int:
    """Return how many waiting writes go into one transaction.

    A request that is sent twice ends the batch: the second finds the answer of the first. What is written into a space
    by one user, or with a limited key, goes into a transaction of its own: PostgreSQL checks who acts.
    """
    keys: set[tuple[str, str]] = set()
    first = waiting[0][0]
    for position, (write, _) in enumerate(waiting[:MAX_GATHERED]):
        if _user(write) != _user(first) and (_is_checked_alone(write) or _is_checked_alone(first)):
            return position
        if write.request is not None:
            key = write.scope.user_id, write.request.key
            if key in keys:
                return position
            keys.add(key)
    return min(len(waiting), MAX_GATHERED)

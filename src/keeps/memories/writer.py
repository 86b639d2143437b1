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
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from keeps.db.repeats import Request, current_request, drop_overdue, keep_each, once_each
from keeps.db.session import Database, Tx, current_trace, traced
from keeps.memories.answers import RECEIPT
from keeps.memories.store import Written
from keeps.scope import Scope
from keeps_client.errors import KeepsError
from keeps_client.models import Receipt

MAX_GATHERED = 256


@dataclass(frozen=True, slots=True)
class Write:
    """One memory to store: the new row, and the data to reconcile it with a stored one."""

    scope: Scope
    new: Written
    given: frozenset[str]
    if_version: int | None
    traceparent: str = field(default_factory=current_trace)
    request: Request | None = field(default_factory=current_request)

    @property
    def memory_id(self) -> UUID:
        return self.new.row.memory_id


Apply = Callable[[Tx, list[Write]], Awaitable[list[Receipt | KeepsError]]]
Create = Callable[[Tx, list[Write]], Awaitable[dict[UUID, Receipt]]]


class _AnsweredBeforeError(Exception):
    """A request stored together with others already had its answer, so nothing may be stored for it."""


@dataclass(slots=True)
class _Lane:
    waiting: list[tuple[Write, asyncio.Future[Receipt]]] = field(
        default_factory=list[tuple[Write, "asyncio.Future[Receipt]"]]
    )
    task: asyncio.Task[None] | None = None


class Writer:
    """Gathers single writes.

    `apply`: stores writes of one user and answers each with a receipt or an error.
    `create`: stores the new memories of several users and returns their receipts by memory id.
    """

    def __init__(self, database: Database, apply: Apply, create: Create) -> None:
        self._database = database
        self._apply = apply
        self._create = create
        self._lanes: dict[str, _Lane] = {}

    async def write(self, write: Write) -> Receipt:
        """Store one memory. Return when it is committed."""
        if write.request is not None:
            write.request.check()
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
            batch, lane.waiting = lane.waiting[:MAX_GATHERED], lane.waiting[MAX_GATHERED:]
            await self._commit(batch)
        self._lanes.pop(tenant_id, None)

    async def _commit(self, batch: list[tuple[Write, asyncio.Future[Receipt]]]) -> None:
        # Sorting keeps the order within a user, and each user's writes form one statement.
        batch = sorted(batch, key=lambda waiting: _who(waiting[0]))
        traces = {write.traceparent for write, _ in batch}
        try:
            # A transaction has one trace; if several requests share it, none is named.
            with traced(traces.pop() if len(traces) == 1 else ""):
                answers = await self._stored([write for write, _ in batch])
        except KeepsError as error:
            if len(batch) == 1 or error.code == "unavailable":
                _settle(batch, [error] * len(batch))
            else:
                for waiting in batch:
                    await self._commit([waiting])
            return
        except BaseException as error:  # noqa: BLE001  a defect must reach the caller, not vanish in a task
            if len(batch) == 1:
                _settle(batch, [error])
            else:
                for waiting in batch:
                    await self._commit([waiting])
            return
        _settle(batch, answers)

    async def _stored(self, writes: list[Write]) -> list[Receipt | KeepsError]:
        scope = writes[0].scope
        if len({_who(write) for write in writes}) > 1:
            try:
                return await self._database.write(scope, lambda tx: self._together(tx, writes))
            except _AnsweredBeforeError:
                pass
        return await self._database.write(scope, lambda tx: self._by_user(tx, writes))

    async def _together(self, tx: Tx, writes: list[Write]) -> list[Receipt | KeepsError]:
        """Store the new memories of all users in one statement, then the rest by user.

        Nothing is stored ahead for a user who expects a version or sends two requests with one key: the first of them
        must be
        answered first.
        """
        keys = Counter(_key(write) for write in writes if write.request is not None)
        careful = {_who(write) for write in writes if write.if_version is not None or keys[_key(write)] > 1}
        ahead = [write for write in writes if _who(write) not in careful]
        created = await self._create(tx, ahead) if ahead else {}
        done = [
            (write.scope, write.request, created[write.memory_id])
            for write in ahead
            if write.request is not None and write.memory_id in created
        ]
        if done:
            if not await keep_each(tx, done, RECEIPT):
                raise _AnsweredBeforeError
            await tx.become(random.choice(done)[0])  # noqa: S311  each user's turn comes
            await drop_overdue(tx)
        rest = await self._by_user(tx, [write for write in writes if write.memory_id not in created])
        later = iter(rest)
        return [created.get(write.memory_id) or next(later) for write in writes]

    async def _by_user(self, tx: Tx, writes: list[Write]) -> list[Receipt | KeepsError]:
        answers: list[Receipt | KeepsError] = []
        for _, group in groupby(writes, key=_who):
            same_user = list(group)
            await tx.become(same_user[0].scope)

            async def applied(places: Sequence[int], writes: list[Write] = same_user) -> Sequence[Receipt | KeepsError]:
                return await self._apply(tx, [writes[place] for place in places])

            answers.extend(await once_each(tx, [write.request for write in same_user], applied, RECEIPT))
        return answers


def _who(write: Write) -> tuple[str, str]:
    return write.scope.user_id, write.scope.bound_agent


def _key(write: Write) -> tuple[str, str | None]:
    return write.scope.user_id, None if write.request is None else write.request.key


def _settle(batch: list[tuple[Write, asyncio.Future[Receipt]]], answers: Sequence[Receipt | BaseException]) -> None:
    for (_, future), answer in zip(batch, answers, strict=True):
        if future.done():
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)

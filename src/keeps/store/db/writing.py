"""A write: one transaction, tried again when PostgreSQL asks for it.

    write = database.writing(scope, ANSWER)
    async for attempt in write:
        async with attempt as tx:
            write.result = await store.insert(tx, row)
    return write.result

The block runs once for each attempt, so it does nothing but database work, and it is left at its end only: a `return`
inside it would skip the next attempt (tests/policy/test_writes.py). `result` is stored with its effect, for a request
that may be sent again. A request that was answered before gets no attempt: `result` is its stored answer.

Without an answer, the block sets variables of its function:

    removed = 0
    async for attempt in database.writing(scope):
        async with attempt as tx:
            removed = await store.sweep(tx, now)
    return removed
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from keeps.base.scope import Scope
from keeps.store.db.answers import Answer
from keeps.store.db.errors import UserGoneError
from keeps.store.db.repeats import current_request, known_answer, save_answers
from keeps.store.db.transaction import LeaderGoneError, TryAgainError, Tx
from keeps_client.errors import UnavailableError

ResultT = TypeVar("ResultT")

MAX_ATTEMPTS = 5
LEADER_PAUSES = (0.1, 0.5, 1.5)
"""Pauses in seconds before a write is retried after its server went away."""


class Transactions(Protocol):
    """Opens the transactions of a write; `Database` is one."""

    def write_transaction(self, scope: Scope) -> AbstractAsyncContextManager[Tx]: ...

    def committed(self, scope: Scope) -> None: ...


class Introduce(Protocol):
    """Creates the rows of a tenant and a user; with `again` also when this process has seen the user before."""

    def __call__(self, scope: Scope, *, again: bool = False) -> Awaitable[None]: ...


class Writing(Generic[ResultT]):
    """The attempts of one write, alone among the writers of its tenant: see the module.

    Raises UnavailableError when the server is gone; then the write is either complete or absent.

    Args:
        answer: How the result is stored and restored, for a write inside `repeatable`.
        introduce: Called before the first attempt, and again if another process erased the user meanwhile.
    """

    def __init__(
        self, database: Transactions, scope: Scope, answer: Answer[ResultT] | None, introduce: Introduce | None = None
    ) -> None:
        self._database = database
        self._scope = scope
        self._answer = answer
        self._introduce = introduce
        self._request = None if answer is None else current_request()
        self._result: ResultT | None = None
        self._attempts = 0
        self._pauses = iter(LEADER_PAUSES)
        self._committed = self._introduced_again = False
        self._transaction: AbstractAsyncContextManager[Tx] | None = None
        self._tx: Tx | None = None

    @property
    def result(self) -> ResultT:
        """The result of the block, or the stored answer of a request that was answered before."""
        if self._result is None:
            raise AssertionError("a write with an answer sets `result` in its block; one without has none")
        return self._result

    @result.setter
    def result(self, result: ResultT) -> None:
        self._result = result

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Self:
        """Begin the next attempt; end the loop after a commit, or when the request was answered before."""
        if not self._attempts:
            if self._request is not None:
                self._request.check()
            if self._introduce is not None:
                await self._introduce(self._scope)
        while not self._committed:
            try:
                if await self._begin():
                    return self
            except (TryAgainError, LeaderGoneError, UserGoneError) as error:
                await self._pause_after(error)
        raise StopAsyncIteration

    async def __aenter__(self) -> Tx:
        assert self._tx is not None
        return self._tx

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        """Commit; after an error that PostgreSQL asks to retry, pause and return True: the loop goes on."""
        try:
            if error is None and self._answer is not None:
                error = await self._save_result(self._answer)
            await self._leave(error)
        except (TryAgainError, LeaderGoneError, UserGoneError) as failure:
            await self._pause_after(failure)
            return True
        self._end()
        return False

    async def _begin(self) -> bool:
        """Open the transaction. Return False if the request was answered before, so that its block does not run."""
        self._attempts += 1
        self._result = None
        self._transaction = self._database.write_transaction(self._scope)
        self._tx = await self._transaction.__aenter__()
        if self._answer is None or self._request is None:
            return True
        error: BaseException | None = None
        try:
            self._result = await known_answer(self._tx, self._request.by(self._scope.acting_user), self._answer)
            if self._result is None:
                return True
        except BaseException as failure:  # noqa: BLE001  the transaction ends with it
            error = failure
        await self._leave(error)
        self._end()
        return False

    async def _save_result(self, answer: Answer[ResultT]) -> BaseException | None:
        """Store the result in the transaction that makes it. Return an error, for the transaction to end with it."""
        try:
            result = self.result
            if self._request is not None and self._tx is not None:
                await save_answers(self._tx, [(self._request.by(self._scope.acting_user), result)], answer)
        except BaseException as error:  # noqa: BLE001  the transaction ends with it
            return error
        return None

    async def _leave(self, error: BaseException | None) -> None:
        """Commit; or with an error roll back, and raise it as the transaction translates it."""
        assert self._transaction is not None
        if error is None:
            await self._transaction.__aexit__(None, None, None)
        elif not await self._transaction.__aexit__(type(error), error, error.__traceback__):
            raise error

    def _end(self) -> None:
        self._committed = True
        if self._request is not None:
            self._request.answered = True
        self._database.committed(self._scope)

    async def _pause_after(self, error: TryAgainError | LeaderGoneError | UserGoneError) -> None:
        """Wait until the next attempt may succeed. Raise if there is none."""
        if isinstance(error, UserGoneError):
            if self._introduce is None or self._introduced_again:
                raise error
            self._introduced_again = True
            self._attempts, self._pauses = 0, iter(LEADER_PAUSES)
            await self._introduce(self._scope, again=True)
            return
        if isinstance(error, TryAgainError):
            if self._attempts == MAX_ATTEMPTS:
                raise UnavailableError(
                    "the database was too busy with other writers; nothing was written. Try again"
                ) from error
            await asyncio.sleep(random.uniform(0, 0.01 * 2**self._attempts))
            return
        pause = next(self._pauses, None)
        if pause is None or self._attempts == MAX_ATTEMPTS:
            raise error
        await asyncio.sleep(pause)

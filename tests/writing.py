"""Runs a function in one write, for tests that need a transaction of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from keeps.base.scope import Scope
from keeps.store.db.session import Database, Tx

ResultT = TypeVar("ResultT")


async def in_write(database: Database, scope: Scope, work: Callable[[Tx], Awaitable[ResultT]]) -> ResultT:
    """Return what `work` returns in the attempt that is committed."""
    results: list[ResultT] = []
    async for attempt in database.writing(scope):
        async with attempt as tx:
            results.append(await work(tx))
    return results[-1]

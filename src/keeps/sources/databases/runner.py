"""Queries databases in processes of keeps.sources.databases.host, at most two at once for each database of a tenant."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from keeps.base.fairness import FairSlots
from keeps.base.sandbox.forks import Forks, TooMuchError
from keeps.sources.databases.rules import CONNECT_SECONDS, MOST_BYTES, STATEMENT_SECONDS, Dialect, Passed, Table
from keeps.sources.databases.targets import Reach, Target, check_packages
from keeps.store.db.session import Database
from keeps.store.db.statements import Statements
from keeps_client.errors import DatabaseFailedError, QueryRefusedError, UnavailableError

QUERIES = Statements("keeps.sources.databases")
AT_ONCE, OF_ONE_DATABASE = 8, 2
WAIT_SECONDS = 10.0
SECONDS = float(CONNECT_SECONDS + STATEMENT_SECONDS + 2)


class Runner:
    """Starts the processes that query databases."""

    def __init__(self, database: Database, reach: Reach) -> None:
        self._database = database
        self._reach = reach
        self._forks = Forks("keeps.sources.databases.host", "asks databases")
        self._slots = FairSlots(AT_ONCE, alone=AT_ONCE // 2, beside=2)
        self._each: dict[tuple[str, str], tuple[asyncio.Semaphore, int]] = {}
        self._own: str | None = None

    async def close(self) -> None:
        self._reach.close()
        await self._forks.close()

    async def read(self, tenant_id: str, sql: str, dialect: Dialect, tables: Sequence[Table]) -> Passed:
        """Return a statement that passed the gate. Raises QueryRefusedError, UnavailableError, NotConfiguredError."""
        check_packages()
        job = {"does": "read", "sql": sql, "dialect": dialect, "tables": [asdict(each) for each in tables]}
        await self._take(tenant_id)
        try:
            answer = json.loads(await self._forks.ask(job, seconds=SECONDS, most_bytes=MOST_BYTES))
        except (TimeoutError, ValueError):
            answer = {"refused": "it cannot be parsed within the limits of time and memory", "rule": "nesting"}
        finally:
            self._slots.leave(tenant_id)
        if "refused" in answer:
            raise QueryRefusedError(answer["refused"], answer["rule"])
        return Passed(answer["sql"], tuple(answer["tables"]))

    async def _take(self, tenant_id: str) -> None:
        try:
            await self._slots.take(tenant_id, WAIT_SECONDS)
        except TimeoutError:
            raise UnavailableError("too many queries of this tenant are waiting; try again later") from None

    async def run(self, tenant_id: str, target: Target, sql: str, tables: Sequence[str], rows: int) -> dict[str, Any]:
        """Return columns, rows, and whether there were more.

        Raises DatabaseFailedError, UnavailableError, ForbiddenError.
        """
        return await self._ask(tenant_id, target, {"does": "run", "sql": sql, "tables": list(tables), "rows": rows})

    async def describe(
        self,
        tenant_id: str,
        target: Target,
        tables: Mapping[str, Sequence[str] | str],
        samples: Mapping[str, Sequence[str]],
    ) -> dict[str, Any]:
        """Return the listed tables as the server describes them.

        Raises DatabaseFailedError, UnavailableError, ForbiddenError.
        """
        job = {"does": "describe", "tables": dict(tables), "samples": dict(samples)}
        return await self._ask(tenant_id, target, job)

    async def _ask(self, tenant_id: str, target: Target, job: dict[str, Any]) -> dict[str, Any]:
        if self._own is None:
            (row,) = await self._database.privileged_read(QUERIES["own_identity"])
            self._own = str(row["began"])
        key = tenant_id, target.location
        semaphore, wanted = self._each.get(key, (asyncio.Semaphore(OF_ONE_DATABASE), 0))
        self._each[key] = semaphore, wanted + 1
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await semaphore.acquire()
            try:
                return await self._turn(tenant_id, target, {**job, "own": self._own})
            finally:
                semaphore.release()
        except TimeoutError:
            raise UnavailableError("too many queries are waiting for this database; try again later") from None
        finally:
            wanted = self._each[key][1] - 1
            if wanted:
                self._each[key] = semaphore, wanted
            else:
                del self._each[key]

    async def _turn(self, tenant_id: str, target: Target, job: dict[str, Any]) -> dict[str, Any]:
        await self._take(tenant_id)
        try:
            address = await self._reach.address(target)
            answer = await self._forks.ask({**target.job(address), **job}, seconds=SECONDS, most_bytes=4 * MOST_BYTES)
        except TimeoutError:
            raise DatabaseFailedError(f"it did not answer within {SECONDS:.0f} s", "timeout") from None
        except TooMuchError:
            raise DatabaseFailedError("its result is too large", "limit") from None
        finally:
            self._slots.leave(tenant_id)
        try:
            result: dict[str, Any] = await asyncio.to_thread(json.loads, answer)
        except ValueError:
            raise DatabaseFailedError("the query exceeded its limits of memory or time", "limit") from None
        if "error" in result:
            raise DatabaseFailedError(result["error"], result["kind"])
        return result

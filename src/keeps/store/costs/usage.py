"""Count the use of models, and write it a moment later, each tenant's in one statement: no call waits for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, time

from keeps.base.clock import Clock
from keeps.base.scope import COSTS_USER_ID, Scope
from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import Metrics
from keeps.store.costs import store
from keeps.store.costs.budgets import Alert, Budgets
from keeps.store.costs.spend import Spend
from keeps.store.costs.store import ModelKind, UsageKey
from keeps.store.db.session import Database
from keeps_client.errors import KeepsError

FLUSH_SECONDS = 2.0
RETRY_SECONDS = 20.0
"""Pause after counts could not be written."""
MAX_BUFFERED = 10_000
"""Rows that wait at most; beyond them, new tenants and models are not counted until some are written."""
MAX_NAME = 100


class ModelUsage:
    """Counts of this process that are not written yet, and the budgets that they count against.

    A crash loses at most two seconds of counts, and what could not be written while the database was away.
    """

    def __init__(self, database: Database, clock: Clock, metrics: Metrics, budgets: Budgets) -> None:
        self.budgets = budgets
        self._database = database
        self._clock = clock
        self._metrics = metrics
        self._waiting: dict[str, dict[UsageKey, Spend]] = {}
        self._size = 0
        self._writing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def note(self, tenant_id: str, job: str, model: str, kind: ModelKind, spend: Spend) -> None:
        """Count requests of a tenant, for the metrics and for its day. Without a tenant, for the metrics alone."""
        self._count(job, spend)
        if not tenant_id:
            return
        key = UsageKey(self._clock().astimezone(UTC).date(), job, model[:MAX_NAME].replace("\0", ""), kind)
        rows = self._waiting.setdefault(tenant_id, {})
        if key in rows:
            rows[key].add(spend)
        elif self._size < MAX_BUFFERED:
            rows[key] = replace(spend)
            self._size += 1
        else:
            log().warning("model usage not counted", tenant_id=tenant_id, job=job, tokens=spend.tokens)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._flush_later())

    def drop(self, tenant_id: str) -> None:
        """Forget what waits of a tenant, since something of it was erased and the tenant may be gone."""
        self._size -= len(self._waiting.pop(tenant_id, ()))

    async def flush(self, tenant_id: str | None = None) -> bool:
        """Write the counts of a tenant, or of all. Return False if some wait on, since they cannot be written now."""
        written = True
        async with self._writing:
            for tenant in [tenant_id] if tenant_id is not None else list(self._waiting):
                rows = self._waiting.pop(tenant, {})
                if rows and not await self._write(tenant, rows):
                    written = False
        return written

    async def blocked_until(self, tenant_id: str) -> datetime | None:
        """Return when jobs of a tenant may ask the LLM again, if a budget is used up."""
        if not self.budgets:
            return None
        today = self._clock().astimezone(UTC).date()
        await self.flush(None if self.budgets.reads_all(today) else tenant_id)
        async with self._database.scoped(Scope(tenant_id, COSTS_USER_ID)) as tx:
            states = await self.budgets.of_tenant(tx, today)
        states += await self.budgets.of_all(self._database, today)
        resets = [state.budget.resets_on(today) for state in states if state.level == "reached"]
        return datetime.combine(max(resets), time(), UTC) if resets else None

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if not await self.flush():
            log().warning("model usage not counted", rows=self._size)

    def _count(self, job: str, spend: Spend) -> None:
        metrics = self._metrics.costs
        for outcome, number in (("answered", spend.calls - spend.failed), ("failed", spend.failed)):
            metrics.calls.labels(job, outcome).inc(number)
        for direction, tokens in (("sent", spend.prompt_tokens), ("answered", spend.completion_tokens)):
            metrics.tokens.labels(job, direction).inc(tokens)
        metrics.seconds.labels(job).inc(spend.seconds)

    async def _write(self, tenant_id: str, rows: dict[UsageKey, Spend]) -> bool:
        """Write the counts of a tenant, and tell it of its budgets. Keep the counts if the database is away."""
        today = self._clock().astimezone(UTC).date()
        alerts: list[Alert] = []
        try:
            async for attempt in self._database.writing(Scope(tenant_id, COSTS_USER_ID)):
                async with attempt as tx:
                    await store.add(tx, rows)
                    alerts = await self.budgets.alert_tenant(tx, today, self._clock())
        except (KeepsError, asyncio.CancelledError) as error:
            waiting = self._waiting.setdefault(tenant_id, {})
            self._size -= len(rows)
            for key, spend in rows.items():
                if key in waiting:
                    waiting[key].add(spend)
                else:
                    waiting[key] = spend
                    self._size += 1
            if isinstance(error, asyncio.CancelledError):
                raise
            log().warning("model usage waits", tenant_id=tenant_id, rows=len(rows), error=error.code)
            return False
        self._size -= len(rows)
        for alert in alerts:
            self.budgets.report(alert, tenant_id)
        return True

    async def _flush_later(self) -> None:
        while self._waiting:
            await asyncio.sleep(FLUSH_SECONDS)
            written = await self.flush()
            if written:
                await self._check_installation()
            else:
                await asyncio.sleep(RETRY_SECONDS)

    async def _check_installation(self) -> None:
        today = self._clock().astimezone(UTC).date()
        try:
            self.budgets.report_all(await self.budgets.of_all(self._database, today), today)
        except KeepsError as error:
            log().warning("budgets not checked", error=error.code)

"""Run a job for one tenant: user by user, in batches, each batch in its own transaction with its changes recorded.

A killed run leaves complete batches; the next run continues, since finished work is no longer due.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import get_args

from keeps.base.clock import Clock, new_id
from keeps.base.scope import JOB_USER_ID, Scope
from keeps.base.telemetry.metrics import Metrics
from keeps.memory.operations.service import QUERIES as RECEIPTS
from keeps.memory.operations.service import OperationService
from keeps.part import Run, UserJob
from keeps.store.db.errors import UserGoneError
from keeps.store.db.session import Database, taking_long
from keeps_client.errors import KeepsError, NotFoundError, ValidationFailedError
from keeps_client.models import Operation
from keeps_client.models.operations import JobName

USERS_AT_ONCE = 500
LONGEST_REST = timedelta(days=7)
"""Time after which a job runs although its tenant has no work for it."""
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class ReadyJob:
    """A job with the function that does its work, and its period by the settings."""

    run: UserJob
    period: timedelta | None
    per_user: bool


class Lifecycle:
    """Runs the jobs of a tenant, given by name."""

    def __init__(
        self,
        database: Database,
        operations: OperationService,
        clock: Clock,
        metrics: Metrics,
        jobs: Mapping[str, ReadyJob],
    ) -> None:
        self._database = database
        self._operations = operations
        self._clock = clock
        self._metrics = metrics
        self.jobs = jobs

    async def run(
        self, tenant_id: str, job: str, *, progress: Progress | None = None, seconds: float = math.inf
    ) -> Operation | None:
        """Run one job for one tenant. Return None if there was nothing to do.

        An error is recorded in the receipt and raised.
        After `seconds`, the rest is left to the next run, which is then due at once.
        `progress` is called for each finished user.
        """
        check_job(job)
        run = Run(new_id(), tenant_id, job, self._clock(), time.monotonic() + seconds)
        started, success = time.perf_counter(), "false"
        try:
            with taking_long():
                done = await self._run(run, progress)
            success = "true"
            return done
        finally:
            self._metrics.jobs.labels(job, success).inc()
            self._metrics.job_rows.labels(job).inc(sum(run.counts.values()))
            self._metrics.job_seconds.labels(job).observe(time.perf_counter() - started)

    async def _run(self, run: Run, progress: Progress | None) -> Operation | None:
        try:
            if self.jobs[run.job].per_user:
                await self._users(run, self.jobs[run.job].run, progress)
            else:
                await self.jobs[run.job].run(Scope(run.tenant_id, JOB_USER_ID), run)
        except KeepsError as error:
            await self._operations.finish(run, None, f"{error.code}: {error.detail}")
            raise
        except asyncio.CancelledError:
            await asyncio.shield(self._operations.finish(run, run.now, "stopped; continues at the next run"))
            raise
        period = self.jobs[run.job].period
        due_at = None if period is None else run.now if run.is_over else run.now + period
        latest = None if run.is_over else run.now + LONGEST_REST
        try:
            return await self._operations.finish(run, due_at, latest=latest)
        except UserGoneError:
            raise NotFoundError(f"no tenant {run.tenant_id!r}") from None

    async def _users(self, run: Run, job: UserJob, progress: Progress | None) -> None:
        after = ""
        scope = Scope(run.tenant_id, JOB_USER_ID)
        while not run.is_over:
            async with self._database.scoped(scope) as tx:
                rows = await tx.fetch(RECEIPTS["users_due"], run.job, run.now, after, USERS_AT_ONCE)
            for row in rows:
                await job(Scope(run.tenant_id, row["user_id"]), run)
                if progress:
                    progress(1)
                if run.is_over:
                    return
            if len(rows) < USERS_AT_ONCE:
                return
            after = rows[-1]["user_id"]


def check_job(job: str) -> None:
    """Raise ValidationFailedError, which lists the jobs, for an unknown job."""
    if job not in get_args(JobName):
        raise ValidationFailedError(f"there is no job {job!r}; the jobs are {', '.join(get_args(JobName))}")

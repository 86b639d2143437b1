"""The part of the jobs that age, merge and end memories, count them, and of running all jobs."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from keeps.base.scope import Scope
from keeps.memory.lifecycle import consolidation, decay, expiry, promotion
from keeps.memory.lifecycle.service import Lifecycle, ReadyJob
from keeps.memory.lifecycle.statements import QUERIES
from keeps.memory.memories.changes import Changes
from keeps.memory.operations.service import OperationService
from keeps.part import Core, Job, Part, Run, UserJob
from keeps.store.db.session import Database
from keeps.store.tenants.counts import TenantCounts

HOURLY, DAILY, WEEKLY = timedelta(hours=1), timedelta(days=1), timedelta(days=7)


def make(core: Core) -> None:
    jobs = {job.name: ReadyJob(job.run(core), job.period_by(core.settings), job.per_user) for job in core.jobs}
    core.add(Lifecycle(core.database, core.get(OperationService), core.clock, core.metrics, jobs))


def _decay(core: Core) -> UserJob:
    return partial(decay.decay_user, core.database)


def _promotion(core: Core) -> UserJob:
    return partial(promotion.promote_user, core.database)


def _expiry(core: Core) -> UserJob:
    return partial(expiry.expire_user, core.database, Changes("", core.clock), core.sweeps)


def _consolidation(core: Core) -> UserJob:
    return partial(consolidation.consolidate_user, core.database, Changes("", core.clock))


def _storage(core: Core) -> UserJob:
    return partial(_sample_storage, core.database)


async def _sample_storage(database: Database, scope: Scope, run: Run) -> None:
    async for attempt in database.writing(scope):
        async with attempt as tx:
            await tx.execute(QUERIES["storage_sample"], run.tenant_id, run.now.date())


def _counts(core: Core) -> UserJob:
    return partial(_check_counts, TenantCounts(core.database, core.metrics))


async def _check_counts(counts: TenantCounts, scope: Scope, run: Run) -> None:
    check = await counts.check(scope)
    if check.is_first:
        run.counts["first"] += 1
    if check.wrong:
        run.counts["corrected"] += len(check.wrong)


PART = Part(
    "lifecycle",
    make,
    jobs=(
        Job("promotion", HOURLY, _promotion, undoable=True),
        Job("decay", HOURLY, _decay, undoable=True),
        Job("expiry", lambda settings: timedelta(hours=settings.cleanup_interval_hours), _expiry, undoable=True),
        Job("storage", HOURLY, _storage, undoable=False, per_user=False),
        Job("counts", DAILY, _counts, undoable=False, per_user=False),
        Job("consolidation", WEEKLY, _consolidation, undoable=True),
    ),
)

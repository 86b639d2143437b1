"""The jobs of a tenant, each written down once: how often it is due, and whether what it does can be taken back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from keeps_client.models.operations import JobName

HOURLY, WEEKLY = timedelta(hours=1), timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Job:
    """`period`: None where it is due otherwise: `expiry` as it is set (KEEPS_CLEANUP_INTERVAL_HOURS), `index` whenever
    something waits for a vector."""

    name: JobName
    period: timedelta | None
    undoable: bool


JOBS = (
    Job("sessions", HOURLY, undoable=True),
    Job("promotion", HOURLY, undoable=True),
    Job("decay", HOURLY, undoable=True),
    Job("expiry", None, undoable=True),
    Job("storage", HOURLY, undoable=False),
    Job("consolidation", WEEKLY, undoable=True),
    Job("index", None, undoable=False),
)
PERIODS = {job.name: job.period for job in JOBS if job.period is not None}
UNDOABLE = frozenset(job.name for job in JOBS if job.undoable)

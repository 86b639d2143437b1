"""The part of the worker and its queue."""

from __future__ import annotations

from keeps.memory.jobs.worker import JobQueue, Worker
from keeps.memory.lifecycle.service import Lifecycle
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import operations as api


def make(core: Core) -> None:
    core.open(Worker(core.database, core.get(Lifecycle), core.clock))
    core.add(JobQueue(core.database))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    queue = core.get(JobQueue)
    return (
        serves(api.LIST_JOBS, lambda _, __, ___: queue.status()),
        serves(api.LIST_HELD_JOBS, lambda _, __, ___: queue.held()),
        serves(api.RETRY_JOBS, lambda _, p, __: queue.retry(p.job_id)),
    )


PART = Part("jobs", make, endpoints)

"""The part of the receipts of jobs."""

from __future__ import annotations

from keeps.memory.operations.service import DECISIONS, OperationService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import operations as api


def make(core: Core) -> None:
    undoable = frozenset(job.name for job in core.jobs if job.undoable) | {DECISIONS}
    core.add(OperationService(core.database, core.clock, undoable))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(OperationService)
    return (
        serves(
            api.LIST_OPERATIONS,
            lambda s, p, _: service.page(s, job=p.job, status=p.status, limit=p.limit, cursor=p.cursor),
        ),
        serves(api.GET_OPERATION, lambda s, p, _: service.get(s, p.operation_id)),
        serves(api.UNDO_OPERATION, lambda s, p, _: service.undo(s, p.operation_id)),
    )


PART = Part("operations", make, endpoints)

"""/v1/operations: what jobs did, and undoing it; /v1/admin/jobs: the queue."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import TypeAdapter
from starlette.responses import Response

from keeps.server.deps import Admin, Cursor, Limit, Operator, Reader, answer, answers
from keeps.server.lean import LeanRoute
from keeps_client.models import HeldJob, Operation, OperationDetail, Page, QueueStatus
from keeps_client.models.operations import JobName, OperationStatus

router = APIRouter(prefix="/v1", route_class=LeanRoute)
QUEUE, HELD = TypeAdapter(list[QueueStatus]), TypeAdapter(list[HeldJob])


@router.get("/operations", tags=["operations"], response_model=Page[Operation])
async def list_operations(
    memory: Reader,
    job: JobName | None = None,
    status: OperationStatus | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """What background jobs did to the tenant, newest first: names and counts."""
    return answer(await memory.operations(job=job, status=status, limit=limit, cursor=cursor))


@router.get("/operations/{operation_id:uuid}", tags=["operations"], response_model=OperationDetail)
async def get_operation(operation_id: UUID, memory: Reader) -> Response:
    """One operation, with what it did to one's own memories."""
    return answer(await memory.operation(operation_id))


@router.post("/operations/{operation_id:uuid}/undo", tags=["operations"], response_model=Operation)
async def undo_operation(operation_id: UUID, caller: Admin) -> Response:
    """Take back what an operation did to the whole tenant, as one; what was changed since is left alone."""
    return answer(await caller.memory.undo(operation_id))


@router.get("/admin/jobs", tags=["administration"], response_model=list[QueueStatus])
async def list_jobs(caller: Operator) -> Response:
    """What the worker's queue holds: counts. For operators."""
    return answers(QUEUE, await caller.services.queue.status())


@router.get("/admin/jobs/held", tags=["administration"], response_model=list[HeldJob])
async def list_held_jobs(caller: Operator) -> Response:
    """Dead letters: jobs that failed after all attempts. For operators."""
    return answers(HELD, await caller.services.queue.held())


@router.post("/admin/jobs/retry", tags=["administration"], response_model=int)
async def retry_jobs(caller: Operator, job_id: Annotated[int | None, Query(ge=1, lt=2**63)] = None) -> Response:
    """Queue one dead letter again, or all of them; how many. For operators."""
    return Response(str(await caller.services.queue.retry(job_id)), media_type="application/json")

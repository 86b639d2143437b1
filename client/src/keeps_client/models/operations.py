"""Operations: the changes of background jobs, and undoing them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, JsonValue

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Cursor, Limit, Page, Wire

JobName = Literal["sessions", "promotion", "decay", "expiry", "storage", "consolidation", "index", "counts"]
OperationName = Literal[JobName, "inbox"]
"""A job, or decisions of a person about the inbox."""
OperationStatus = Literal["running", "completed", "failed", "undone"]


class Operation(Wire):
    """One run of a job over a tenant, or a decision about the inbox.

    `counts`: what it did, by name, such as `{"archived": 12}`.

    `undoable`: whether it can still be undone as a whole: for 30 days, if it changed anything.
    """

    operation_id: UUID
    tenant_id: str
    job: str
    status: OperationStatus
    counts: dict[str, int]
    error: str | None = None
    undoable: bool
    started_at: datetime
    finished_at: datetime | None = None
    undone_at: datetime | None = None
    undone_by: str | None = None


class OperationChange(Wire):
    """A change of one memory of the asking user by an operation: the changed fields before and after.

    `before` is None if the operation created the memory.
    """

    memory_id: UUID
    before: dict[str, JsonValue] | None = None
    after: dict[str, JsonValue]


class OperationDetail(Operation):
    """An operation, with the changes to your own memories (at most 1,000)."""

    changes: tuple[OperationChange, ...]


class QueueStatus(Wire):
    """The number of jobs of a kind in one status of the worker's queue: queued, picked, or failed after all
    attempts.
    """

    job: str
    status: str
    jobs: int
    oldest: datetime


class HeldJob(Wire):
    """A dead letter: a job that failed after all attempts and waits for `retry`."""

    id: int
    job: str
    tenant_id: str
    attempts: int
    failed_at: datetime


class OperationId(Wire):
    operation_id: UUID


class OperationQuery(Wire):
    job: OperationName | None = None
    status: OperationStatus | None = None
    limit: Limit = 50
    cursor: Cursor = None


class WhichJob(Wire):
    job_id: Annotated[int | None, Field(ge=1, lt=2**63)] = None


LIST_OPERATIONS = Endpoint(
    "list_operations",
    "GET",
    "/v1/operations",
    "reader",
    "operations",
    Page[Operation],
    "List the changes of background jobs to the tenant, newest first: names and counts.",
    params=OperationQuery,
)
GET_OPERATION = Endpoint(
    "get_operation",
    "GET",
    "/v1/operations/{operation_id}",
    "reader",
    "operations",
    OperationDetail,
    "Return one operation, with its changes to your own memories.",
    params=OperationId,
)
UNDO_OPERATION = Endpoint(
    "undo_operation",
    "POST",
    "/v1/operations/{operation_id}/undo",
    "admin",
    "operations",
    Operation,
    "Undo an operation for the whole tenant. Rows changed since stay as they are.",
    params=OperationId,
)
LIST_JOBS = Endpoint(
    "list_jobs",
    "GET",
    "/v1/admin/jobs",
    "operator",
    "administration",
    list[QueueStatus],
    "Count the jobs in the worker's queue. For operators.",
)
LIST_HELD_JOBS = Endpoint(
    "list_held_jobs",
    "GET",
    "/v1/admin/jobs/held",
    "operator",
    "administration",
    list[HeldJob],
    "List dead letters: jobs that failed after all attempts. For operators.",
)
RETRY_JOBS = Endpoint(
    "retry_jobs",
    "POST",
    "/v1/admin/jobs/retry",
    "operator",
    "administration",
    int,
    "Queue one dead letter again, or all of them. Returns their number. For operators.",
    params=WhichJob,
)

"""Operations: what background jobs did, and undoing it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import JsonValue

from keeps_client.models.common import Wire

JobName = Literal["sessions", "promotion", "decay", "expiry", "storage", "consolidation", "index"]
OperationStatus = Literal["running", "completed", "failed", "undone"]


class Operation(Wire):
    """One run of a job over a tenant. `counts`: what it did, by name, such as `{"archived": 12}`.

    `undoable`: whether its changes can still be taken back as one; they can for 30 days, if it made any.
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
    """What an operation did to one memory of the asking user: the changed fields before and after.

    `before` is None where the operation made the memory.
    """

    memory_id: UUID
    before: dict[str, JsonValue] | None = None
    after: dict[str, JsonValue]


class OperationDetail(Operation):
    """An operation, with the changes to one's own memories (at most 1,000)."""

    changes: tuple[OperationChange, ...]


class QueueStatus(Wire):
    """How many jobs of a kind the worker's queue holds in one status: queued, picked, or failed after all attempts."""

    job: str
    status: str
    jobs: int
    oldest: datetime


class HeldJob(Wire):
    """A dead letter: a job that failed after all attempts, and waits for somebody to say `retry`."""

    id: int
    job: str
    tenant_id: str
    attempts: int
    failed_at: datetime

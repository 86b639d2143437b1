# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""What background jobs did, and undoing it."""

from __future__ import annotations

from uuid import UUID

from keeps_client._sync.base import Doing
from keeps_client.models import Operation, OperationDetail, Page
from keeps_client.models.operations import GET_OPERATION, LIST_OPERATIONS, UNDO_OPERATION


class Operations(Doing):
    """Operations of the tenant."""

    def operations(
        self, *, job: str | None = None, status: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Page[Operation]:
        """What background jobs did to this tenant, newest first. `status`: running, completed, failed or undone."""
        return self._do(LIST_OPERATIONS, job=job, status=status, limit=limit, cursor=cursor)

    def operation(self, operation_id: UUID | str) -> OperationDetail:
        """One operation, with what it did to one's own memories. Raises NotFoundError."""
        return self._do(GET_OPERATION, operation_id=operation_id)

    def undo(self, operation_id: UUID | str) -> Operation:
        """Take back what an operation did, for the whole tenant, as one (role admin); what was changed since is left
        alone.

        Raises ConflictError after 30 days, and NotFoundError.
        """
        return self._do(UNDO_OPERATION, operation_id=operation_id)

# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Operations of background jobs, and undoing them."""

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
        """Return the operations of background jobs in this tenant, newest first.

        `status`: running, completed, failed or undone.
        """
        return self._do(LIST_OPERATIONS, job=job, status=status, limit=limit, cursor=cursor)

    def operation(self, operation_id: UUID | str) -> OperationDetail:
        """Return one operation, with its changes to your own memories. Raises NotFoundError."""
        return self._do(GET_OPERATION, operation_id=operation_id)

    def undo(self, operation_id: UUID | str) -> Operation:
        """Undo an operation for the whole tenant, as one (role admin); rows changed since stay as they are.

        Raises ConflictError after 30 days, and NotFoundError.
        """
        return self._do(UNDO_OPERATION, operation_id=operation_id)

"""Task contexts: delegated work, stored so that any process that gets the result can continue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keeps_client.memory.base import Doing
from keeps_client.models import Deleted, TaskContext
from keeps_client.models.memories import Visibility
from keeps_client.models.tasks import (
    DELETE_TASK_CONTEXT,
    GET_TASK_BY_SUBTASK,
    GET_TASK_CONTEXT,
    PUT_SUB_TASK,
    STORE_TASK_CONTEXT,
    UPDATE_TASK_CONTEXT,
)
from keeps_client.validation import given


class Tasks(Doing):
    """Methods for delegated work."""

    async def store_task_context(
        self,
        task_id: str,
        plan_id: str | None = None,
        context: Mapping[str, object] | None = None,
        *,
        event_type: str | None = None,
        response_event: str | None = None,
        response_topic: str | None = None,
        data: Mapping[str, object] | None = None,
        sub_tasks: Sequence[object] | None = None,
        state: Mapping[str, object] | None = None,
        visibility: Visibility | None = None,
        expected_version: int | None = None,
    ) -> TaskContext:
        """Store delegated work, replacing an existing task, so that any process that gets the result can continue.

        `context` holds several of the fields at once; its other entries go into `state`. With `visibility` `tenant`,
        every user of the tenant may read, change and delete it by its id.
        """
        return await self._do(
            STORE_TASK_CONTEXT,
            details=True,
            task_id=task_id,
            plan_id=plan_id,
            context=context,
            event_type=event_type,
            response_event=response_event,
            response_topic=response_topic,
            data=data,
            sub_tasks=sub_tasks,
            state=state,
            visibility=visibility,
            expected_version=expected_version,
        )

    async def get_task_context(self, task_id: str) -> TaskContext:
        """Return a task context. Raises NotFoundError."""
        return await self._do(GET_TASK_CONTEXT, task_id=task_id, details=True)

    async def find_task(self, task_id: str) -> TaskContext | None:
        """Return a task context, or None if there is none."""
        return await self._find(GET_TASK_CONTEXT, task_id=task_id, details=True)

    async def update_task_context(self, task_id: str, **changes: Any) -> TaskContext:
        """Change the given fields (those of TaskContextChange); with `expected_version`, only if it is stored."""
        return await self._do(UPDATE_TASK_CONTEXT, task_id=task_id, details=True, body=changes)

    async def put_sub_task(
        self,
        task_id: str,
        sub_task_id: str,
        *,
        event_type: str | None = None,
        status: str | None = None,
        data: Mapping[str, object] | None = None,
        result: object = None,
    ) -> TaskContext:
        """Add a sub-task to a task, or update it, atomically: concurrent calls lose nothing.

        `status` is free. A sub-task waits until it is one of FINAL_STATUSES (`completed`, `failed`, `cancelled`, …).
        Raises NotFoundError if there is no such task.
        """
        fields = given(event_type=event_type, status=status, data=data, result=result)
        return await self._do(PUT_SUB_TASK, task_id=task_id, sub_task_id=sub_task_id, **fields)

    async def delete_task_context(self, task_id: str, *, missing_ok: bool = False) -> Deleted:
        """Delete a task context and redact its events. Raises NotFoundError; with `missing_ok`, `deleted` is False
        instead.
        """
        return await self._delete(DELETE_TASK_CONTEXT, missing_ok, task_id=task_id)

    async def get_task_by_subtask(self, sub_task_id: str) -> TaskContext:
        """Return the task that waits for a sub-task. Raises NotFoundError."""
        return await self._do(GET_TASK_BY_SUBTASK, sub_task_id=sub_task_id, details=True)

    async def find_task_by_subtask(self, sub_task_id: str) -> TaskContext | None:
        """Return the task that waits for a sub-task, or None if there is none."""
        return await self._find(GET_TASK_BY_SUBTASK, sub_task_id=sub_task_id, details=True)

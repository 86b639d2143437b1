"""Helpers for cooperating agents: the state of a workflow, delegated tasks, and a planner's state machine.

They accept any memory: the engine's, a client, or an object with an attribute `memory`. Each change of a named value,
an action or the result of a sub-task is one atomic operation, so concurrent agents lose nothing. They only store data;
use any event bus.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, Protocol
from uuid import uuid4

from keeps_client.errors import NotFoundError
from keeps_client.models import PlanContext as StoredPlan
from keeps_client.models import TaskContext as StoredTask
from keeps_client.models.memories import Visibility

ACTIONS = "action_history"
FINAL_STATUSES = frozenset(
    {
        *("completed", "done", "succeeded", "success"),
        *("failed", "error", "timeout", "timed_out", "expired"),
        *("cancelled", "canceled", "aborted", "rejected", "skipped"),
    }
)
"""Final statuses of a sub-task, in lower case. With any other status its result is still to come."""
_NOTHING = object()


class Memory(Protocol):
    """The methods of a memory that the helpers use."""

    store: Any
    retrieve: Any
    get_plan_state: Any
    list_plan_state: Any
    append_to_list: Any
    extend_list: Any
    update_object: Any
    increment: Any
    delete_plan_state: Any
    store_task_context: Any
    get_task_context: Any
    put_sub_task: Any
    update_task_context: Any
    delete_task_context: Any
    get_task_by_subtask: Any
    store_plan_context: Any
    get_plan_context: Any
    get_plan_by_correlation: Any


class HasMemory(Protocol):
    """An object of an agent's framework that has its memory."""

    @property
    def memory(self) -> Any: ...


def memory_of(given: Memory | HasMemory) -> Memory:
    """Return a memory, or that of a context which has one as `memory`."""
    found: Any = getattr(given, "memory", given)
    return found


class WorkflowState:
    """The shared state of a plan: named values and an action history, each a key of its working memory.

    state = WorkflowState(memory, plan_id) await state.record_action("research.requested") await state.set("findings",
    ["…"])          # read it as memory.retrieve("findings", plan_id)

    Each change is one statement in the database, so any number of agents may make changes at once.
    """

    def __init__(self, memory: Memory | HasMemory, plan_id: str) -> None:
        self._memory = memory_of(memory)
        self.plan_id = plan_id

    async def record_action(self, event_name: str) -> builtins.list[Any]:
        """Add to the action history; return the new history. All agents see one order."""
        return await self.append(ACTIONS, event_name)

    async def get_action_history(self) -> builtins.list[Any]:
        """Return the recorded actions, oldest first."""
        return await self._memory.retrieve(ACTIONS, self.plan_id) or []

    async def set(self, key: str, value: object) -> None:
        """Store a named value."""
        await self._memory.store(key, value, self.plan_id, workflow=True)

    async def get(self, key: str, default: object = None) -> Any:
        """Return a named value, or `default`."""
        try:
            return (await self._memory.get_plan_state(self.plan_id, key)).value
        except NotFoundError:
            return default

    async def get_all(self) -> dict[str, Any]:
        """Return all named values, and the action history under `action_history`."""
        values: dict[str, Any] = {ACTIONS: []}
        cursor: str | None = None
        while True:
            page = await self._memory.list_plan_state(self.plan_id, limit=200, cursor=cursor)
            values |= {item.key: item.value for item in page.items}
            cursor = page.next_cursor
            if cursor is None:
                return values

    async def has(self, key: str) -> bool:
        """Return whether there is a value under this name, including None."""
        return await self.get(key, _NOTHING) is not _NOTHING

    async def delete(self, key: str) -> bool:
        """Remove a named value, also from the log; return False if there was none."""
        try:
            await self._memory.delete_plan_state(self.plan_id, key)
        except NotFoundError:
            return False
        return True

    async def increment(self, key: str, delta: float = 1) -> float:
        """Add to a named number, which begins at 0; return the new number."""
        return await self._memory.increment(key, self.plan_id, delta, whole=True, workflow=True)

    async def append(self, key: str, value: object) -> builtins.list[Any]:
        """Append to a named list, which begins empty; return the new list."""
        return await self._memory.append_to_list(key, value, self.plan_id, whole=True, workflow=True)

    async def extend(self, key: str, values: builtins.list[object]) -> builtins.list[Any]:
        """Append several values to a named list, next to each other; return the new list."""
        return await self._memory.extend_list(key, values, self.plan_id, whole=True, workflow=True)

    async def update_dict(self, key: str, changes: Mapping[str, object]) -> dict[str, Any]:
        """Set entries of a named object, which begins empty; return the new object."""
        return await self._memory.update_object(key, changes, self.plan_id, whole=True, workflow=True)

    async def clear(self) -> None:
        """Remove the action history and all values that a WorkflowState made, also from the log.

        Values first stored by other calls (`store`, `set_plan_state`) stay.
        """
        await self._memory.delete_plan_state(self.plan_id, workflow=True)
        await self.delete(ACTIONS)

    async def cleanup(self) -> int:
        """Remove everything in the plan's working memory, also from the log; return the number of keys."""
        return (await self._memory.delete_plan_state(self.plan_id)).count_deleted


class ResultContext:
    """The result of a sub-task: `restore_task` gives the task that waits for it."""

    def __init__(self, memory: Memory | HasMemory, sub_task_id: str, data: object = None) -> None:
        self._memory = memory_of(memory)
        self.sub_task_id = sub_task_id
        self.data = data

    async def restore_task(self) -> TaskContext:
        """Return the task that waits for it. Raises NotFoundError."""
        return await TaskContext.restore_by_subtask(self._memory, self.sub_task_id)


class TaskContext:
    """A delegated task: `save` it before delegating, `restore` it when a result arrives, `complete` it at the end.

    task = TaskContext(memory, "task-1", event_type="research.requested", data={"topic": "bees"}) await
    task.delegate("sub-1", event_type="web.search.requested")     # then publish the event, on any bus task = await
    TaskContext.restore_by_subtask(memory, "sub-1")         # in any process that receives the result await
    task.complete()
    """

    def __init__(
        self,
        memory: Memory | HasMemory,
        task_id: str,
        *,
        event_type: str,
        plan_id: str | None = None,
        response_event: str | None = None,
        response_topic: str = "action-results",
        data: Mapping[str, object] | None = None,
        sub_tasks: builtins.list[object] | None = None,
        state: Mapping[str, object] | None = None,
        visibility: Visibility | None = None,
        version: int | None = None,
    ) -> None:
        self._memory = memory_of(memory)
        self.task_id = task_id
        self.event_type = event_type
        self.plan_id = plan_id
        self.response_event = response_event
        self.response_topic = response_topic
        self.data = data or {}
        self.sub_tasks = sub_tasks or []
        self.state = state or {}
        self.visibility: Visibility | None = visibility
        self.version = version

    @classmethod
    async def restore(cls, memory: Memory | HasMemory, task_id: str) -> TaskContext:
        """Return the task as it was saved. Raises NotFoundError."""
        return cls._of(memory, await memory_of(memory).get_task_context(task_id))

    @classmethod
    async def restore_by_subtask(cls, memory: Memory | HasMemory, sub_task_id: str) -> TaskContext:
        """Return the task that waits for a sub-task. Raises NotFoundError."""
        return cls._of(memory, await memory_of(memory).get_task_by_subtask(sub_task_id))

    async def save(self) -> None:
        """Store the task. Raises ConflictError if another process changed it since it was restored or saved."""
        stored = await self._memory.store_task_context(
            self.task_id,
            event_type=self.event_type,
            plan_id=self.plan_id,
            response_event=self.response_event,
            response_topic=self.response_topic,
            data=self.data,
            sub_tasks=self.sub_tasks,
            state=self.state,
            visibility=self.visibility,
            expected_version=self.version,
        )
        self.visibility = stored.visibility
        self.version = stored.version

    async def delegate(
        self, sub_task_id: str | None = None, *, event_type: str, data: Mapping[str, object] | None = None
    ) -> str:
        """Record a sub-task as sent out; return its id, made if none is given.

        Publish its event, with that id, afterwards, so that no result comes too early.
        """
        sub_task_id = sub_task_id or str(uuid4())
        if self.version is None:
            await self.save()
        item = {"event_type": event_type, "status": "pending", "data": data or {}}
        self._follow(await self._memory.put_sub_task(self.task_id, sub_task_id, **item))
        return sub_task_id

    async def record_result(self, sub_task_id: str, result: object, *, status: str = "completed") -> bool:
        """Record the result of a sub-task, or with `status="failed"` the failure; return True when none is pending.

        Several results may come at once, in several processes: each is recorded.
        """
        self._follow(await self._memory.put_sub_task(self.task_id, sub_task_id, status=status, result=result))
        return not self.pending

    def _follow(self, stored: StoredTask) -> None:
        """Take over the current sub-tasks. A concurrent change of the rest is left for `save` to report."""
        self.sub_tasks = [*stored.sub_tasks]
        if self.version == stored.version - 1:
            self.version = stored.version

    @property
    def pending(self) -> builtins.list[str]:
        """Return the sub-tasks that neither succeeded nor failed yet."""
        return [_sub_task_id(each) for each in self.sub_tasks if not _is_final(each)]

    async def complete(self, result: object = None) -> Any:
        """Complete the task: remove it and its data; return `result`, for you to publish.

        A task that another process has completed is no error.
        """
        try:
            await self._memory.delete_task_context(self.task_id)
        except NotFoundError:
            pass
        return result

    @classmethod
    def _of(cls, memory: Memory | HasMemory, stored: StoredTask) -> TaskContext:
        return cls(
            memory,
            stored.task_id,
            event_type=stored.event_type,
            plan_id=stored.plan_id,
            response_event=stored.response_event,
            response_topic=stored.response_topic,
            data=dict(stored.data),
            sub_tasks=[*stored.sub_tasks],
            state=dict(stored.state),
            visibility=stored.visibility,
            version=stored.version,
        )


class PlanContext:
    """A planner's state machine: `save` it after each transition, `restore` it when an event comes in."""

    def __init__(
        self,
        memory: Memory | HasMemory,
        plan_id: str,
        *,
        goal_event: str,
        goal_data: Mapping[str, object] | None = None,
        session_id: str | None = None,
        response_event: str | None = None,
        state: Mapping[str, object] | None = None,
        current_state: str | None = None,
        correlation_ids: builtins.list[str] | None = None,
        visibility: Visibility | None = None,
        version: int | None = None,
    ) -> None:
        self._memory = memory_of(memory)
        own = {"goal_data": goal_data, "state": state, "correlation_ids": correlation_ids}
        self._given = {name for name, value in own.items() if value is not None}
        self.plan_id = plan_id
        self.goal_event = goal_event
        self.goal_data = goal_data or {}
        self.session_id = session_id
        self.response_event = response_event
        self.state = state or {}
        self.current_state = current_state
        self.correlation_ids = correlation_ids or []
        self.visibility: Visibility | None = visibility
        self.version = version

    @classmethod
    async def restore(cls, memory: Memory | HasMemory, plan_id: str) -> PlanContext:
        """Return the plan as it was saved. Raises NotFoundError."""
        return cls._of(memory, await memory_of(memory).get_plan_context(plan_id))

    @classmethod
    async def restore_by_correlation(cls, memory: Memory | HasMemory, correlation_id: str) -> PlanContext:
        """Return the plan that waits for a correlation id. Raises NotFoundError."""
        return cls._of(memory, await memory_of(memory).get_plan_by_correlation(correlation_id))

    async def save(self) -> None:
        """Store the plan. Raises ConflictError if another process changed it since it was restored or saved.

        If it was neither, and the plan exists, the stored fields that this object does not have stay, and are taken
        over.
        """
        fields = {"goal_data": self.goal_data, "state": self.state, "correlation_ids": self.correlation_ids}
        if self.version is None:
            fields = {name: value for name, value in fields.items() if value or name in self._given}
        stored = await self._memory.store_plan_context(
            self.plan_id,
            goal_event=self.goal_event,
            session_id=self.session_id,
            response_event=self.response_event,
            current_state=self.current_state,
            visibility=self.visibility,
            expected_version=self.version,
            **fields,
        )
        self._follow(stored)

    def _follow(self, stored: StoredPlan) -> None:
        """Take over the stored plan."""
        self.session_id = stored.session_id
        self.response_event = stored.response_event
        self.current_state = stored.current_state
        self.visibility = stored.visibility
        self.version = stored.version
        for name in ("goal_data", "state", "correlation_ids"):
            if not getattr(self, name):
                setattr(self, name, getattr(stored, name))

    async def transition(self, to: str, *, waiting_for: builtins.list[str] | None = None) -> None:
        """Go to another state, waiting for these correlation ids, and save."""
        self.current_state = to
        self.correlation_ids = waiting_for or []
        self._given.add("correlation_ids")
        await self.save()

    @classmethod
    def _of(cls, memory: Memory | HasMemory, stored: StoredPlan) -> PlanContext:
        return cls(
            memory,
            stored.plan_id,
            goal_event=stored.goal_event,
            goal_data=dict(stored.goal_data),
            session_id=stored.session_id,
            response_event=stored.response_event,
            state=dict(stored.state),
            current_state=stored.current_state,
            correlation_ids=[*stored.correlation_ids],
            visibility=stored.visibility,
            version=stored.version,
        )


def _is_final(item: Any) -> bool:
    return isinstance(item, dict) and str(item.get("status")).lower().replace("-", "_") in FINAL_STATUSES


def _sub_task_id(item: Any) -> str:
    return item["sub_task_id"] if isinstance(item, dict) else item

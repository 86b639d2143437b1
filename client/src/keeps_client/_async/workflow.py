"""Helpers for agents that work together: the state of a workflow, delegated tasks, and a planner's state machine.

They take any memory: the engine's, or a client. None of them keeps a copy of what is stored, and every change is one of
the atomic operations, so two agents that use them at once lose nothing. Any event bus will do: they only store.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Protocol

from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import PlanContext as StoredPlan
from keeps_client.models import TaskContext as StoredTask

ACTIONS = "action_history"
STATE = "workflow_state"
MAX_TRIES = 50


class Memory(Protocol):
    """What the helpers ask of a memory."""

    store_if_version_matches: Any
    retrieve: Any
    retrieve_with_version: Any
    append_to_list: Any
    increment: Any
    delete_plan_state: Any
    store_task_context: Any
    get_task_context: Any
    update_task_context: Any
    delete_task_context: Any
    get_task_by_subtask: Any
    store_plan_context: Any
    get_plan_context: Any
    get_plan_by_correlation: Any


class WorkflowState:
    """The shared state of a plan: an action history and named values, in working memory.

    state = WorkflowState(memory, plan_id)
    await state.record_action("research.requested")
    await state.set("findings", ["…"])
    """

    def __init__(self, memory: Memory, plan_id: str) -> None:
        self._memory = memory
        self.plan_id = plan_id

    async def record_action(self, event_name: str) -> builtins.list[Any]:
        """Add to the action history; returns it as it is then. All agents see one order."""
        return await self._memory.append_to_list(ACTIONS, event_name, self.plan_id)

    async def get_action_history(self) -> builtins.list[Any]:
        """What was recorded, oldest first."""
        return await self._memory.retrieve(ACTIONS, self.plan_id) or []

    async def set(self, key: str, value: Any) -> None:
        """Store a named value."""
        await self._change(lambda state: {**state, key: value})

    async def get(self, key: str, default: Any = None) -> Any:
        """A named value, or `default`."""
        return (await self._values()).get(key, default)

    async def get_all(self) -> dict[str, Any]:
        """All named values, and the action history under `action_history`."""
        return {ACTIONS: await self.get_action_history(), **await self._values()}

    async def has(self, key: str) -> bool:
        """Whether there is a value under this name, be it None."""
        return key in await self._values()

    async def delete(self, key: str) -> bool:
        """Remove a named value; False where there was none."""
        there = False

        def without(state: dict[str, Any]) -> dict[str, Any]:
            nonlocal there
            there = key in state
            return {name: value for name, value in state.items() if name != key}

        await self._change(without)
        return there

    async def increment(self, key: str, delta: float = 1) -> float:
        """Add to a named number, which begins at 0; returns it as it is then."""
        if "." in key:
            return await self._replace(key, lambda old: _number(key, old) + delta)
        return await self._memory.increment(f"{STATE}.{key}", self.plan_id, delta)

    async def append(self, key: str, value: Any) -> builtins.list[Any]:
        """Append to a named list, which begins empty; returns it as it is then."""
        if "." in key:
            return await self._replace(key, lambda old: [*_list(key, old), value])
        return await self._memory.append_to_list(f"{STATE}.{key}", value, self.plan_id)

    async def extend(self, key: str, values: builtins.list[Any]) -> builtins.list[Any]:
        """Append several values to a named list, together; returns it as it is then."""
        return await self._replace(key, lambda old: [*_list(key, old), *values])

    async def update_dict(self, key: str, changes: dict[str, Any]) -> dict[str, Any]:
        """Set entries of a named object, which begins empty; returns it as it is then."""
        return await self._replace(key, lambda old: {**_dict(key, old), **changes})

    async def clear(self) -> None:
        """Empty the named values and the action history; other keys of the plan stay."""
        for key in (STATE, ACTIONS):
            try:
                await self._memory.delete_plan_state(self.plan_id, key)
            except NotFoundError:
                pass

    async def cleanup(self) -> int:
        """Remove everything in the plan's working memory, also from the log; returns how many keys there were."""
        return (await self._memory.delete_plan_state(self.plan_id)).count_deleted

    async def _values(self) -> dict[str, Any]:
        return await self._memory.retrieve(STATE, self.plan_id) or {}

    async def _replace(self, key: str, change: Callable[[Any], Any]) -> Any:
        made: Any = None

        def changed(state: dict[str, Any]) -> dict[str, Any]:
            nonlocal made
            made = change(state.get(key))
            return {**state, key: made}

        await self._change(changed)
        return made

    async def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Read, change, store if nobody else did meanwhile; else again with what they stored."""
        state, version = await self._memory.retrieve_with_version(STATE, self.plan_id)
        for attempt in range(1, MAX_TRIES + 1):
            try:
                await self._memory.store_if_version_matches(STATE, change(state or {}), self.plan_id, version)
                return
            except ConflictError as error:
                if attempt == MAX_TRIES:
                    raise
                state, version = error.current, error.current_version or 0


class TaskContext:
    """A delegated task: `save` it before the work goes out, `restore` it when a result comes in, `complete` it at the end.

    task = TaskContext(memory, "task-1", event_type="research.requested", data={"topic": "bees"})
    await task.delegate("sub-1", event_type="web.search.requested")     # then publish the event, on any bus
    task = await TaskContext.restore_by_subtask(memory, "sub-1")         # in whichever process gets the result
    await task.complete()
    """

    def __init__(
        self,
        memory: Memory,
        task_id: str,
        *,
        event_type: str,
        plan_id: str | None = None,
        response_event: str | None = None,
        response_topic: str = "action-results",
        data: dict[str, Any] | None = None,
        sub_tasks: builtins.list[Any] | None = None,
        state: dict[str, Any] | None = None,
        version: int | None = None,
    ) -> None:
        self._memory = memory
        self.task_id = task_id
        self.event_type = event_type
        self.plan_id = plan_id
        self.response_event = response_event
        self.response_topic = response_topic
        self.data = data or {}
        self.sub_tasks = sub_tasks or []
        self.state = state or {}
        self.version = version

    @classmethod
    async def restore(cls, memory: Memory, task_id: str) -> TaskContext:
        """The task as it was saved. Raises NotFoundError."""
        return cls._of(memory, await memory.get_task_context(task_id))

    @classmethod
    async def restore_by_subtask(cls, memory: Memory, sub_task_id: str) -> TaskContext:
        """The task that waits for a sub-task. Raises NotFoundError."""
        return cls._of(memory, await memory.get_task_by_subtask(sub_task_id))

    async def save(self) -> None:
        """Store the task. Raises ConflictError if somebody changed it since it was restored or saved."""
        stored = await self._memory.store_task_context(
            self.task_id,
            event_type=self.event_type,
            plan_id=self.plan_id,
            response_event=self.response_event,
            response_topic=self.response_topic,
            data=self.data,
            sub_tasks=self.sub_tasks,
            state=self.state,
            expected_version=self.version,
        )
        self.version = stored.version

    async def delegate(self, sub_task_id: str, *, event_type: str, data: dict[str, Any] | None = None) -> None:
        """Note a sub-task as sent out, and save. Publish its event afterwards, so that no result comes too early."""
        item = {"sub_task_id": sub_task_id, "event_type": event_type, "status": "pending", "data": data or {}}
        self.sub_tasks = [*(each for each in self.sub_tasks if _sub_task_id(each) != sub_task_id), item]
        await self.save()

    async def record_result(self, sub_task_id: str, result: Any) -> bool:
        """Note the result of a sub-task, and save; True when no sub-task is pending any more.

        Several results may come at once, in several processes: each is noted, whoever is first.
        """
        for attempt in range(1, MAX_TRIES + 1):
            self.sub_tasks = [
                {**(each if isinstance(each, dict) else {"sub_task_id": each}), "status": "completed", "result": result}
                if _sub_task_id(each) == sub_task_id
                else each
                for each in self.sub_tasks
            ]
            try:
                await self.save()
                break
            except ConflictError:
                if attempt == MAX_TRIES:
                    raise
                self.__dict__.update((await self.restore(self._memory, self.task_id)).__dict__)
        return not self.pending

    @property
    def pending(self) -> builtins.list[str]:
        """The sub-tasks without a result."""
        return [
            _sub_task_id(each)
            for each in self.sub_tasks
            if not isinstance(each, dict) or each.get("status") != "completed"
        ]

    async def complete(self) -> None:
        """The task is done: remove it, and what it held. Done by somebody else already is fine."""
        try:
            await self._memory.delete_task_context(self.task_id)
        except NotFoundError:
            pass

    @classmethod
    def _of(cls, memory: Memory, stored: StoredTask) -> TaskContext:
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
            version=stored.version,
        )


class PlanContext:
    """A planner's state machine: `save` it after each transition, `restore` it when an event comes in."""

    def __init__(
        self,
        memory: Memory,
        plan_id: str,
        *,
        goal_event: str,
        goal_data: dict[str, Any] | None = None,
        session_id: str | None = None,
        response_event: str | None = None,
        state: dict[str, Any] | None = None,
        current_state: str | None = None,
        correlation_ids: builtins.list[str] | None = None,
        version: int | None = None,
    ) -> None:
        self._memory = memory
        self.plan_id = plan_id
        self.goal_event = goal_event
        self.goal_data = goal_data or {}
        self.session_id = session_id
        self.response_event = response_event
        self.state = state or {}
        self.current_state = current_state
        self.correlation_ids = correlation_ids or []
        self.version = version

    @classmethod
    async def restore(cls, memory: Memory, plan_id: str) -> PlanContext:
        """The plan as it was saved. Raises NotFoundError."""
        return cls._of(memory, await memory.get_plan_context(plan_id))

    @classmethod
    async def restore_by_correlation(cls, memory: Memory, correlation_id: str) -> PlanContext:
        """The plan that waits for this id. Raises NotFoundError."""
        return cls._of(memory, await memory.get_plan_by_correlation(correlation_id))

    async def save(self) -> None:
        """Store the plan. Raises ConflictError if somebody changed it since it was restored or saved."""
        stored = await self._memory.store_plan_context(
            self.plan_id,
            goal_event=self.goal_event,
            goal_data=self.goal_data,
            session_id=self.session_id,
            response_event=self.response_event,
            state=self.state,
            current_state=self.current_state,
            correlation_ids=self.correlation_ids,
            expected_version=self.version,
        )
        self.version = stored.version

    async def transition(self, to: str, *, waiting_for: builtins.list[str] | None = None) -> None:
        """Go to another state, waiting for these correlation ids, and save."""
        self.current_state = to
        self.correlation_ids = waiting_for or []
        await self.save()

    @classmethod
    def _of(cls, memory: Memory, stored: StoredPlan) -> PlanContext:
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
            version=stored.version,
        )


def _sub_task_id(item: Any) -> str:
    return item["sub_task_id"] if isinstance(item, dict) else item


def _number(key: str, value: Any) -> Any:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValidationFailedError(f"{key} holds a {type(value).__name__}, not a number")
    return value


def _list(key: str, value: Any) -> builtins.list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValidationFailedError(f"{key} holds a {type(value).__name__}, not a list")
    return value


def _dict(key: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValidationFailedError(f"{key} holds a {type(value).__name__}, not an object")
    return value

"""Task contexts: store, get, find by sub-task, update, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from keeps.base.clock import Clock
from keeps.base.scope import Scope, own_or_shared, state_scope, visibility_of
from keeps.state.tasks import store
from keeps.store.db.answers import Answer, StoredAnswer, plain
from keeps.store.db.session import Database, Tx
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import Deleted, NewTaskContext, SubTaskChange, TaskContext, TaskContextChange
from keeps_client.models.common import storable_json
from keeps_client.models.memories import Visibility

MOST_SUB_TASKS = 1_000


async def _given(tx: Tx, found: JsonValue) -> TaskContext:
    return await _held(tx, str(found))


TASK: Answer[TaskContext] = Answer(lambda task: StoredAnswer(task.task_id, [f"task:{task.task_id}"]), _given)
DONE = plain(bool)


class TaskService:
    """Delegated work of a user that waits for results.

    An id names the user's own task, else one that the tenant shares.
    `details`: return sub-tasks with all their fields, or only their ids, as the SDK of the source documents expects.
    """

    def __init__(
        self, database: Database, introducer: Introducer, clock: Clock, *, visibility: Visibility = "private"
    ) -> None:
        """`visibility`: the default for new tasks."""
        self._database = database
        self._introducer = introducer
        self._clock = clock
        self._visibility = visibility

    async def store(self, scope: Scope, new: NewTaskContext, *, details: bool = True) -> TaskContext:
        """Store or replace a task context. Raises ConflictError if the stored version is not `expected_version`."""
        scope = state_scope(scope, new.visibility or self._visibility)

        write = self._introducer.writing(scope, TASK)
        async for attempt in write:
            async with attempt as tx:
                stored = await store.get(tx, new.task_id)
                _check(stored, new.expected_version, new.task_id)
                now = self._clock()
                task = TaskContext(
                    **new.model_dump(exclude={"expected_version", "user_id", "context", "sub_tasks", "visibility"}),
                    sub_tasks=with_known(new.sub_tasks, stored.sub_tasks if stored else []),
                    tenant_id=scope.tenant_id,
                    user_id=scope.user_id,
                    visibility=visibility_of(scope.user_id),
                    agent_id=scope.agent_id,
                    version=stored.version + 1 if stored else 1,
                    created_at=stored.created_at if stored else now,
                    updated_at=now,
                )
                await store.put(tx, task)
                write.result = task
        return _answer(write.result, details)

    async def get(self, scope: Scope, task_id: str, *, details: bool = True) -> TaskContext:
        async def read(scope: Scope) -> TaskContext:
            async with self._database.scoped(scope) as tx:
                return await _held(tx, task_id)

        return _answer(await own_or_shared(scope, read), details)

    async def by_subtask(self, scope: Scope, sub_task_id: str, *, details: bool = True) -> TaskContext:
        """Return the task that waits for a sub-task. Raises NotFoundError."""

        async def read(scope: Scope) -> TaskContext:
            async with self._database.scoped(scope) as tx:
                task = await store.by_subtask(tx, sub_task_id)
            if task is None:
                raise NotFoundError(f"no task waits for sub-task {sub_task_id!r}")
            return task

        return _answer(await own_or_shared(scope, read), details)

    async def update(
        self, scope: Scope, task_id: str, change: TaskContextChange, *, details: bool = True
    ) -> TaskContext:
        """Change the given fields. Raises ConflictError if the stored version is not `expected_version`."""

        async def change_task(scope: Scope) -> TaskContext:
            write = self._database.writing(scope, TASK)
            async for attempt in write:
                async with attempt as tx:
                    stored = await _held(tx, task_id)
                    _check(stored, change.expected_version, task_id)
                    changes = {name: getattr(change, name) for name in change.model_fields_set - {"expected_version"}}
                    if "sub_tasks" in changes:
                        changes["sub_tasks"] = with_known(change.sub_tasks, stored.sub_tasks)
                    write.result = await self._put(tx, stored, changes)
            return write.result

        return _answer(await own_or_shared(scope, change_task), details)

    async def put_sub_task(self, scope: Scope, task_id: str, sub_task_id: str, change: SubTaskChange) -> TaskContext:
        """Add a sub-task or update one; everything else in the task stays. Raises NotFoundError."""
        changes = change.model_dump(include=change.model_fields_set)

        async def change_task(scope: Scope) -> TaskContext:
            write = self._database.writing(scope, TASK)
            async for attempt in write:
                async with attempt as tx:
                    stored = await _held(tx, task_id)
                    sub_tasks = with_sub_task(stored.sub_tasks, sub_task_id, changes)
                    if len(sub_tasks) > MOST_SUB_TASKS:
                        raise ValidationFailedError(f"a task has at most {MOST_SUB_TASKS:,} sub-tasks")
                    _check_size(sub_task_id, sub_tasks)
                    write.result = await self._put(tx, stored, {"sub_tasks": sub_tasks})
            return write.result

        return await own_or_shared(scope, change_task)

    async def delete(self, scope: Scope, task_id: str) -> Deleted:
        async def delete_task(scope: Scope) -> bool:
            write = self._database.writing(scope, DONE)
            async for attempt in write:
                async with attempt as tx:
                    if not await store.delete(tx, task_id, self._clock()):
                        raise NotFoundError(f"no task context {task_id!r}")
                    write.result = True
            return write.result

        await own_or_shared(scope, delete_task)
        return Deleted(message=f"task context {task_id!r} is deleted")

    async def _put(self, tx: Tx, task: TaskContext, changes: Mapping[str, object]) -> TaskContext:
        """Store the next version of a task."""
        changed = task.model_copy(update={**changes, "version": task.version + 1, "updated_at": self._clock()})
        await store.put(tx, changed)
        return changed


def with_sub_task(sub_tasks: Sequence[JsonValue], sub_task_id: str, given: Mapping[str, JsonValue]) -> list[JsonValue]:
    """Return the sub-tasks with one of them updated in place, or added at the end as pending."""
    new: dict[str, JsonValue] = {"sub_task_id": sub_task_id, "status": "pending", **given}
    changed: list[JsonValue] = []
    there = False
    for entry in sub_tasks:
        sub_task: dict[str, JsonValue] = (
            entry if isinstance(entry, dict) else {"sub_task_id": entry, "status": "pending"}
        )
        if sub_task["sub_task_id"] == sub_task_id:
            there = True
            changed.append({**sub_task, **given})
        else:
            changed.append(entry)
    return changed if there else [*changed, new]


def _check_size(sub_task_id: str, sub_tasks: Sequence[JsonValue]) -> None:
    """Raise ValidationFailedError if a sub-task exceeds the size that can be stored with its task."""
    grown = next(each for each in sub_tasks if isinstance(each, dict) and each["sub_task_id"] == sub_task_id)
    try:
        storable_json(grown)
    except ValueError as error:
        raise ValidationFailedError(f"with this change sub-task {sub_task_id!r} {error}") from None


def with_known(sub_tasks: Sequence[JsonValue], held: Sequence[JsonValue]) -> list[JsonValue]:
    """Return the sub-tasks; those given as ids get their details from `held`."""
    known = {each["sub_task_id"]: each for each in held if isinstance(each, dict)}
    return [known.get(each, each) if isinstance(each, str) else each for each in sub_tasks]


def _answer(task: TaskContext, details: bool) -> TaskContext:
    if details:
        return task
    ids = [each["sub_task_id"] if isinstance(each, dict) else each for each in task.sub_tasks]
    return task.model_copy(update={"sub_tasks": ids})


async def _held(tx: Tx, task_id: str) -> TaskContext:
    held = await store.get(tx, task_id)
    if held is None:
        raise NotFoundError(f"no task context {task_id!r}")
    return held


def _check(held: TaskContext | None, expected: int | None, task_id: str) -> None:
    version = held.version if held else 0
    if expected not in (None, version):
        raise ConflictError(
            f"task context {task_id!r} has version {version}, not {expected}",
            current_version=version,
            current=held.model_dump(mode="json") if held else None,
        )

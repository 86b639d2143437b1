"""Task contexts: store, get, find by sub-task, update, delete."""

from __future__ import annotations

from pydantic import TypeAdapter

from keeps.clock import Clock
from keeps.db.session import Database, Tx
from keeps.scope import Scope
from keeps.tasks import store
from keeps.tenants.service import Introducer
from keeps_client.errors import ConflictError, NotFoundError
from keeps_client.models import Deleted, NewTaskContext, TaskContext, TaskContextChange

TASK, DONE = TypeAdapter(TaskContext), TypeAdapter(bool)


class TaskService:
    """Delegated work of a user, waiting for results."""

    def __init__(self, database: Database, introducer: Introducer, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._clock = clock

    async def store(self, scope: Scope, new: NewTaskContext) -> TaskContext:
        """Store a task context; one that is there is replaced. Raises ConflictError on another `expected_version`."""

        async def work(tx: Tx) -> TaskContext:
            held = await store.get(tx, new.task_id)
            _check(held, new.expected_version, new.task_id)
            now = self._clock()
            task = TaskContext(
                **new.model_dump(exclude={"expected_version"}), tenant_id=scope.tenant_id, user_id=scope.user_id, agent_id=scope.agent_id,
                version=held.version + 1 if held else 1, created_at=held.created_at if held else now, updated_at=now,
            )  # fmt: skip
            await store.put(tx, task)
            return task

        return await self._introducer.write(scope, work, answer=TASK)

    async def get(self, scope: Scope, task_id: str) -> TaskContext:
        async with self._database.scoped(scope) as tx:
            return await _held(tx, task_id)

    async def by_subtask(self, scope: Scope, sub_task_id: str) -> TaskContext:
        """The task that waits for a sub-task. Raises NotFoundError."""
        async with self._database.scoped(scope) as tx:
            held = await store.by_subtask(tx, sub_task_id)
        if held is None:
            raise NotFoundError(f"no task waits for sub-task {sub_task_id!r}")
        return held

    async def update(self, scope: Scope, task_id: str, change: TaskContextChange) -> TaskContext:
        """Change the given fields. Raises ConflictError when `expected_version` is not stored."""

        async def work(tx: Tx) -> TaskContext:
            held = await _held(tx, task_id)
            _check(held, change.expected_version, task_id)
            given = {name: getattr(change, name) for name in change.model_fields_set - {"expected_version"}}
            task = held.model_copy(update={**given, "version": held.version + 1, "updated_at": self._clock()})
            await store.put(tx, task)
            return task

        return await self._database.write(scope, work, answer=TASK)

    async def delete(self, scope: Scope, task_id: str) -> Deleted:
        async def work(tx: Tx) -> bool:
            if not await store.delete(tx, task_id, self._clock()):
                raise NotFoundError(f"no task context {task_id!r}")
            return True

        await self._database.write(scope, work, answer=DONE)
        return Deleted(message=f"task context {task_id!r} is deleted")


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

"""Export of task contexts."""

from __future__ import annotations

from keeps.state.tasks import store
from keeps.store.db.session import Tx
from keeps.store.export import NO_TIME, Export, JsonRow, check_as_new, differ
from keeps_client.models import NewTaskContext, TaskContext


def _read_task(row: JsonRow) -> TaskContext:
    check_as_new(NewTaskContext, row)
    return TaskContext.model_validate(row)


async def _add_task(tx: Tx, task: TaskContext) -> bool:
    if await store.get(tx, task.task_id) is not None:
        return False
    await store.put(tx, task)
    return True


async def _task_differs(tx: Tx, task: TaskContext) -> bool:
    names = NewTaskContext.model_fields.keys() & TaskContext.model_fields.keys()
    return differ(await store.get(tx, task.task_id), task, names)


EXPORTS = (
    Export(
        "task_context",
        store.QUERIES["export_task_contexts"],
        {"created_at": NO_TIME, "task_id": ""},
        _read_task,
        _add_task,
        _task_differs,
    ),
)

"""Export of task contexts."""

from __future__ import annotations

from keeps.state.tasks import store
from keeps.store.db.session import Tx
from keeps.store.export import NO_TIME, Export, JsonRow, check_as_new
from keeps_client.models import NewTaskContext, TaskContext


def _read_task(row: JsonRow) -> TaskContext:
    check_as_new(NewTaskContext, row)
    return TaskContext.model_validate(row)


async def _add_task(tx: Tx, task: TaskContext) -> bool:
    if await store.get(tx, task.task_id) is not None:
        return False
    await store.put(tx, task)
    return True


EXPORTS = (
    Export(
        "task_context",
        store.QUERIES["export_task_contexts"],
        {"created_at": NO_TIME, "task_id": ""},
        _read_task,
        _add_task,
    ),
)

"""Run the statements on task contexts."""

from __future__ import annotations

import json
from datetime import datetime

from keeps.base.clock import new_id
from keeps.base.scope import visibility_of
from keeps.store.db.session import Row, Tx
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.models import TaskContext

QUERIES = Statements("keeps.state.tasks")


async def get(tx: Tx, task_id: str) -> TaskContext | None:
    row = await tx.fetch_row(QUERIES["task_get"], tx.scope.tenant_id, tx.scope.user_id, task_id)
    return None if row is None else task_from_row(row)


async def by_subtask(tx: Tx, sub_task_id: str) -> TaskContext | None:
    row = await tx.fetch_row(QUERIES["task_by_subtask"], tx.scope.tenant_id, tx.scope.user_id, sub_task_id)
    return None if row is None else task_from_row(row)


async def put(tx: Tx, task: TaskContext) -> None:
    image = task.model_dump_json(exclude={"visibility"})
    await tx.execute(QUERIES["task_put"], image)
    data = {"task_context": json.loads(image)}
    news = [NewEvent(new_id(), "plan.task.written", task.task_id, task.updated_at, "private", tx.scope.agent_id, data)]
    await events.append(tx, news)


async def delete(tx: Tx, task_id: str, now: datetime) -> bool:
    """Delete a task context and redact its events."""
    if await tx.fetch_row(QUERIES["task_delete"], tx.scope.tenant_id, tx.scope.user_id, task_id) is None:
        return False
    await tx.execute(QUERIES["task_redact"], task_id)
    data = {"task_id": task_id}
    await events.append(tx, [NewEvent(new_id(), "plan.task.deleted", task_id, now, "private", tx.scope.agent_id, data)])
    return True


def task_from_row(row: Row) -> TaskContext:
    values = dict(row)
    for name in ("data", "sub_tasks", "state"):
        values[name] = json.loads(values[name])
    return TaskContext.model_construct(**values, visibility=visibility_of(row["user_id"]))

"""The part of task contexts."""

from __future__ import annotations

from keeps.part import Core, EndpointHandler, Part, serves
from keeps.state.tasks.export import EXPORTS
from keeps.state.tasks.service import TaskService
from keeps_client.models import tasks as api


def make(core: Core) -> None:
    core.add(TaskService(core.database, core.introducer, core.clock, visibility=core.settings.state_visibility))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(TaskService)
    return (
        serves(api.STORE_TASK_CONTEXT, lambda s, p, b: service.store(s, b, details=p.details)),
        serves(api.GET_TASK_CONTEXT, lambda s, p, _: service.get(s, p.task_id, details=p.details)),
        serves(api.GET_TASK_BY_SUBTASK, lambda s, p, _: service.by_subtask(s, p.sub_task_id, details=p.details)),
        serves(api.UPDATE_TASK_CONTEXT, lambda s, p, b: service.update(s, p.task_id, b, details=p.details)),
        serves(api.PUT_SUB_TASK, lambda s, p, b: service.put_sub_task(s, p.task_id, p.sub_task_id, b)),
        serves(api.DELETE_TASK_CONTEXT, lambda s, p, _: service.delete(s, p.task_id)),
    )


PART = Part("tasks", make, endpoints, exports=EXPORTS)

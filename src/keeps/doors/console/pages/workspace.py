"""Workspace: plans with the working memory of agents, and task contexts."""

from __future__ import annotations

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.console.views import quoted
from keeps_client.errors import NotFoundError

PAGE, KEYS = 30, 200


async def workspace(call: Call) -> Response:
    if call.asked("task_id"):
        return call.go(f"/ui/workspace/tasks/{quoted(call.asked('task_id'))}")
    if call.asked("plan_id"):
        return call.go(f"/ui/workspace/plans/{quoted(call.asked('plan_id'))}")
    page = await call.memory.list_plans(limit=PAGE, cursor=call.asked("cursor") or None)
    return call.page("workspace.html", items=page.items, more=call.more(page.next_cursor))


async def plan(call: Call) -> Response:
    plan_id = call.given("plan_id")
    state = await call.memory.list_plan_state(plan_id, limit=KEYS)
    try:
        stored = await call.memory.get_plan(plan_id)
    except NotFoundError:
        stored = None
        if not state.items:
            raise
    return call.page("plan.html", plan=stored, plan_id=plan_id, items=state.items)


async def task(call: Call) -> Response:
    return call.page("task.html", task=await call.memory.get_task_context(call.given("task_id")))


PAGES = {
    "GET /ui/workspace": workspace,
    "GET /ui/workspace/plans/{plan_id}": plan,
    "GET /ui/workspace/tasks/{task_id}": task,
}

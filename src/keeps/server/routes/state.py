"""/v1/memory/task-context, plan-context, plans, sessions: work on its way."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query
from pydantic import TypeAdapter
from starlette.responses import Response

from keeps.plans.service import context_of
from keeps.server.deps import Cursor, Reader, Segment, Writer, answer, paged, versioned
from keeps.server.lean import LeanRoute
from keeps.server.routes.working import IfMatch, version_of
from keeps_client.models import (
    Deleted,
    NewPlan,
    NewPlanContext,
    NewSession,
    NewTaskContext,
    Plan,
    PlanChange,
    PlanContext,
    PlanContextChange,
    PlanFilter,
    Session,
    SessionChange,
    SubTaskChange,
    TaskContext,
    TaskContextChange,
)

router = APIRouter(prefix="/v1/memory", route_class=LeanRoute)
PLANS, SESSIONS = TypeAdapter(list[Plan]), TypeAdapter(list[Session])
Hundred = Annotated[int, Query(ge=1, le=100)]
Id = Annotated[str | None, Query(min_length=1, max_length=255)]
BodyT = TypeVar(
    "BodyT", NewTaskContext, TaskContextChange, NewPlanContext, PlanContextChange, PlanChange, SessionChange
)
_TAGS: list[dict[str, Any]] = [{"tags": [each]} for each in ("task contexts", "plan contexts", "plans", "sessions")]
TASKS, CONTEXTS, PLAN, SESSION = _TAGS


@router.post("/task-context", status_code=201, response_model=TaskContext, **TASKS)
async def store_task_context(new: NewTaskContext, memory: Writer, if_match: IfMatch = None) -> Response:
    """Store delegated work (201), or replace what is stored (200)."""
    task = await memory.services.tasks.store(memory.scope, _expecting(new, if_match))
    return versioned(task, task.version, 201 if task.version == 1 else 200)


@router.get("/task-context/by-subtask/{sub_task_id}", response_model=TaskContext, **TASKS)
async def get_task_by_subtask(sub_task_id: Segment, memory: Reader) -> Response:
    """The task that waits for a sub-task."""
    task = await memory.get_task_by_subtask(sub_task_id)
    return versioned(task, task.version)


@router.get("/task-context/{task_id}", response_model=TaskContext, **TASKS)
async def get_task_context(task_id: Segment, memory: Reader) -> Response:
    task = await memory.get_task_context(task_id)
    return versioned(task, task.version)


@router.put("/task-context/{task_id}", response_model=TaskContext, **TASKS)
async def update_task_context(
    task_id: Segment, change: TaskContextChange, memory: Writer, if_match: IfMatch = None
) -> Response:
    """Change the fields that are given; others stay."""
    task = await memory.services.tasks.update(memory.scope, task_id, _expecting(change, if_match))
    return versioned(task, task.version)


@router.put("/task-context/{task_id}/sub-tasks/{sub_task_id}", response_model=TaskContext, **TASKS)
async def put_sub_task(task_id: Segment, sub_task_id: Segment, change: SubTaskChange, memory: Writer) -> Response:
    """Add a sub-task, or note what became of it, in one transaction: nothing is lost when others do the same at once."""
    task = await memory.services.tasks.put_sub_task(memory.scope, task_id, sub_task_id, change)
    return versioned(task, task.version)


@router.delete("/task-context/{task_id}", response_model=Deleted, **TASKS)
async def delete_task_context(task_id: Segment, memory: Writer) -> Response:
    return answer(await memory.delete_task_context(task_id))


@router.post("/plan-context", status_code=201, response_model=PlanContext, **CONTEXTS)
async def store_plan_context(new: NewPlanContext, memory: Writer, if_match: IfMatch = None) -> Response:
    """Store the state machine of a plan; the plan is made where it is not there (201), else replaced (200)."""
    context = await memory.services.plans.store_context(memory.scope, _expecting(new, if_match))
    return versioned(context, context.version, 201 if context.version == 1 else 200)


@router.get("/plan-context/by-correlation/{correlation_id}", response_model=PlanContext, **CONTEXTS)
async def get_plan_by_correlation(correlation_id: Segment, memory: Reader) -> Response:
    """The plan that waits for an id."""
    context = await memory.get_plan_by_correlation(correlation_id)
    return versioned(context, context.version)


@router.get("/plan-context/{plan_id}", response_model=PlanContext, **CONTEXTS)
async def get_plan_context(plan_id: Segment, memory: Reader) -> Response:
    context = await memory.get_plan_context(plan_id)
    return versioned(context, context.version)


@router.put("/plan-context/{plan_id}", response_model=PlanContext, **CONTEXTS)
async def update_plan_context(
    plan_id: Segment, change: PlanContextChange, memory: Writer, if_match: IfMatch = None
) -> Response:
    """Change the fields that are given; others stay."""
    context = context_of(await memory.services.plans.update(memory.scope, plan_id, _expecting(change, if_match)))
    return versioned(context, context.version)


@router.post("/plans", status_code=201, response_model=Plan, **PLAN)
async def create_plan(new: NewPlan, memory: Writer) -> Response:
    plan = await memory.services.plans.create(memory.scope, new)
    return versioned(plan, plan.version, 201)


@router.get("/plans", response_model=list[Plan], **PLAN)
async def list_plans(
    memory: Reader,
    status: PlanFilter | None = None,
    session_id: Id = None,
    parent_plan_id: Id = None,
    limit: Hundred = 20,
    cursor: Cursor = None,
) -> Response:
    """Plans, newest first; `active` means running or paused. `X-Next-Cursor` leads to the next page."""
    found = await memory.list_plans(
        status=status, session_id=session_id, parent_plan_id=parent_plan_id, limit=limit, cursor=cursor
    )
    return paged(PLANS, found)


@router.get("/plans/{plan_id}", response_model=Plan, **PLAN)
async def get_plan(plan_id: Segment, memory: Reader) -> Response:
    plan = await memory.get_plan(plan_id)
    return versioned(plan, plan.version)


@router.put("/plans/{plan_id}", response_model=Plan, **PLAN)
async def update_plan(plan_id: Segment, change: PlanChange, memory: Writer, if_match: IfMatch = None) -> Response:
    """Change the fields that are given; others stay."""
    plan = await memory.services.plans.update(memory.scope, plan_id, _expecting(change, if_match))
    return versioned(plan, plan.version)


@router.delete("/plans/{plan_id}", response_model=Deleted, **PLAN)
async def delete_plan(plan_id: Segment, memory: Writer) -> Response:
    """Remove a plan with its sub-plans, task contexts and working memory."""
    return answer(await memory.delete_plan(plan_id))


@router.post("/sessions", status_code=201, response_model=Session, **SESSION)
async def create_session(new: NewSession, memory: Writer) -> Response:
    session = await memory.services.sessions.create(memory.scope, new)
    return versioned(session, session.version, 201)


@router.get("/sessions", response_model=list[Session], **SESSION)
async def list_sessions(memory: Reader, limit: Hundred = 20, cursor: Cursor = None) -> Response:
    """Sessions, newest first. `X-Next-Cursor` leads to the next page."""
    return paged(SESSIONS, await memory.list_sessions(limit=limit, cursor=cursor))


@router.get("/sessions/{session_id}", response_model=Session, **SESSION)
async def get_session(session_id: Segment, memory: Reader) -> Response:
    session = await memory.get_session(session_id)
    return versioned(session, session.version)


@router.put("/sessions/{session_id}", response_model=Session, **SESSION)
async def update_session(
    session_id: Segment, change: SessionChange, memory: Writer, if_match: IfMatch = None
) -> Response:
    """Change the fields that are given; with none, only the last interaction moves."""
    session = await memory.services.sessions.update(memory.scope, session_id, _expecting(change, if_match))
    return versioned(session, session.version)


@router.delete("/sessions/{session_id}", response_model=Deleted, **SESSION)
async def delete_session(session_id: Segment, memory: Writer) -> Response:
    """Remove a session; its plans stay."""
    return answer(await memory.delete_session(session_id))


def _expecting(body: BodyT, if_match: str | None) -> BodyT:
    """The body with the version of an If-Match header."""
    if if_match is None:
        return body
    return body.model_copy(update={"expected_version": version_of(if_match, body.expected_version)})

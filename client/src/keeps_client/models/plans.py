"""Plans: one goal's execution, its state machine, and its place in the tree of plans."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Cursor, Hundred, Id, Page, Wire
from keeps_client.models.free_context import spread_context
from keeps_client.models.memories import Label, Visibility
from keeps_client.models.tasks import Deleted, Document, FreeContext, StateVisibility
from keeps_client.models.working import ExpectedVersion, PlanId, StateId

PlanStatus = Literal["pending", "running", "paused", "completed", "failed", "cancelled"]
PlanFilter = Literal["active", "pending", "running", "paused", "completed", "failed", "cancelled"]
Correlations = Annotated[list[StateId], Field(max_length=1_000)]


class Plan(Wire):
    """A stored plan. `sub_plan_ids`: its child plans, oldest first."""

    plan_id: str
    tenant_id: str
    user_id: str
    agent_id: str | None = None
    session_id: str | None = None
    parent_plan_id: str | None = None
    goal_event: str
    goal_data: dict[str, JsonValue]
    response_event: str | None = None
    status: PlanStatus
    state: dict[str, JsonValue]
    current_state: str | None = None
    correlation_ids: list[str]
    sub_plan_ids: list[str]
    visibility: Visibility = "private"
    version: int
    created_at: datetime
    updated_at: datetime


class NewPlan(Wire):
    """A plan to create. A missing session is created; the parent must exist. `visibility` `tenant`: every user of the
    tenant may read, change and delete it by its id; its session and parent must be shared, too.
    """

    plan_id: StateId | None = None
    goal_event: Label
    goal_data: Document = Field(default_factory=dict[str, JsonValue])
    response_event: Label | None = None
    session_id: StateId | None = None
    parent_plan_id: StateId | None = None
    status: PlanStatus = "running"
    state: Document = Field(default_factory=dict[str, JsonValue])
    visibility: StateVisibility = None


class PlanChange(Wire):
    """The fields of a plan to change; others stay."""

    status: PlanStatus = "running"
    state: Document = Field(default_factory=dict[str, JsonValue])
    current_state: Label | None = None
    response_event: Label | None = None
    session_id: StateId | None = None
    goal_data: Document = Field(default_factory=dict[str, JsonValue])
    correlation_ids: Correlations = Field(default_factory=list[str])
    expected_version: ExpectedVersion | None = None


class PlanContext(Wire):
    """The plan as its state machine sees it."""

    plan_id: str
    tenant_id: str
    user_id: str
    session_id: str | None = None
    goal_event: str
    goal_data: dict[str, JsonValue]
    response_event: str | None = None
    state: dict[str, JsonValue]
    current_state: str | None = None
    correlation_ids: list[str]
    status: PlanStatus
    visibility: Visibility = "private"
    version: int
    created_at: datetime
    updated_at: datetime


class NewPlanContext(Wire):
    """A plan context to store. A missing plan is created, which needs `goal_event` (`goal` with `context`). In an
    existing plan, the given fields change and others stay.
    """

    plan_id: StateId
    session_id: StateId | None = None
    goal_event: Label | None = None
    goal_data: Document = Field(default_factory=dict[str, JsonValue])
    response_event: Label | None = None
    state: Document = Field(default_factory=dict[str, JsonValue])
    current_state: Label | None = None
    correlation_ids: Correlations = Field(default_factory=list[str])
    context: FreeContext = None
    visibility: StateVisibility = None
    expected_version: ExpectedVersion | None = None

    @model_validator(mode="before")
    @classmethod
    def _spread(cls, given: object) -> object:
        return spread_context(cls, given)


class PlanContextChange(Wire):
    """The fields of a plan context to change; others stay."""

    session_id: StateId | None = None
    goal_event: Label = ""
    goal_data: Document = Field(default_factory=dict[str, JsonValue])
    response_event: Label | None = None
    state: Document = Field(default_factory=dict[str, JsonValue])
    current_state: Label | None = None
    correlation_ids: Correlations = Field(default_factory=list[str])
    expected_version: ExpectedVersion | None = None


class CorrelationId(Wire):
    correlation_id: Id


class PlanQuery(Wire):
    status: PlanFilter | None = None
    session_id: Id | None = None
    parent_plan_id: Id | None = None
    visibility: StateVisibility = None
    limit: Hundred = 20
    cursor: Cursor = None


STORE_PLAN_CONTEXT = Endpoint(
    "store_plan_context",
    "POST",
    "/v1/memory/plan-context",
    "writer",
    "plan contexts",
    PlanContext,
    "Store the state machine of a plan. Creates the plan if it does not exist (201); otherwise, fields "
    "that are not given stay (200).",
    body=NewPlanContext,
    status=201,
    created=lambda answer: answer.version == 1,
)
GET_PLAN_BY_CORRELATION = Endpoint(
    "get_plan_by_correlation",
    "GET",
    "/v1/memory/plan-context/by-correlation/{correlation_id}",
    "reader",
    "plan contexts",
    PlanContext,
    "Return the plan that waits for a correlation id.",
    params=CorrelationId,
)
GET_PLAN_CONTEXT = Endpoint(
    "get_plan_context",
    "GET",
    "/v1/memory/plan-context/{plan_id}",
    "reader",
    "plan contexts",
    PlanContext,
    "Return the state machine of a plan.",
    params=PlanId,
)
UPDATE_PLAN_CONTEXT = Endpoint(
    "update_plan_context",
    "PUT",
    "/v1/memory/plan-context/{plan_id}",
    "writer",
    "plan contexts",
    PlanContext,
    "Change the fields that are given; others stay.",
    params=PlanId,
    body=PlanContextChange,
)
CREATE_PLAN = Endpoint(
    "create_plan", "POST", "/v1/memory/plans", "writer", "plans", Plan, "Create a plan.", body=NewPlan, status=201
)
LIST_PLANS = Endpoint(
    "list_plans",
    "GET",
    "/v1/memory/plans",
    "reader",
    "plans",
    Page[Plan],
    "List plans, newest first; `active` means running or paused. `X-Next-Cursor` has the cursor of the next page.",
    params=PlanQuery,
    bare=True,
)
GET_PLAN = Endpoint(
    "get_plan", "GET", "/v1/memory/plans/{plan_id}", "reader", "plans", Plan, "Return a plan.", params=PlanId
)
UPDATE_PLAN = Endpoint(
    "update_plan",
    "PUT",
    "/v1/memory/plans/{plan_id}",
    "writer",
    "plans",
    Plan,
    "Change the fields that are given; others stay.",
    params=PlanId,
    body=PlanChange,
)
DELETE_PLAN = Endpoint(
    "delete_plan",
    "DELETE",
    "/v1/memory/plans/{plan_id}",
    "writer",
    "plans",
    Deleted,
    "Delete a plan with its sub-plans, task contexts and working memory.",
    params=PlanId,
)

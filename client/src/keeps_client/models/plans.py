"""Plans: one goal's execution, its state machine, and its place in the tree of plans."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from keeps_client.models.common import Wire
from keeps_client.models.memories import Label
from keeps_client.models.tasks import Document
from keeps_client.models.working import ExpectedVersion, StateId

PlanStatus = Literal["pending", "running", "paused", "completed", "failed", "cancelled"]
PlanFilter = Literal["active", "pending", "running", "paused", "completed", "failed", "cancelled"]
Correlations = Annotated[list[StateId], Field(max_length=1_000)]


class Plan(Wire):
    """One goal's execution as it is stored. `sub_plan_ids`: the plans that name it as their parent, oldest first."""

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
    version: int
    created_at: datetime
    updated_at: datetime


class NewPlan(Wire):
    """A plan to create. A session that is not there yet is made; the parent must be there."""

    plan_id: StateId | None = None
    goal_event: Label
    goal_data: Document = Field(default_factory=dict[str, JsonValue])
    response_event: Label | None = None
    session_id: StateId | None = None
    parent_plan_id: StateId | None = None
    status: PlanStatus = "running"
    state: Document = Field(default_factory=dict[str, JsonValue])


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
    version: int
    created_at: datetime
    updated_at: datetime


class NewPlanContext(Wire):
    """A plan context to store; the plan is made where it is not there yet, and replaced in these fields where it is."""

    plan_id: StateId
    session_id: StateId | None = None
    goal_event: Label
    goal_data: Document = Field(default_factory=dict[str, JsonValue])
    response_event: Label | None = None
    state: Document = Field(default_factory=dict[str, JsonValue])
    current_state: Label | None = None
    correlation_ids: Correlations = Field(default_factory=list[str])
    expected_version: ExpectedVersion | None = None


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

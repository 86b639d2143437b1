"""Task contexts: delegated work, stored so that the recipient of the result can continue."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue, model_validator

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Id, Json, Metadata, Wire
from keeps_client.models.free_context import spread_context
from keeps_client.models.memories import Label, Visibility
from keeps_client.models.working import ExpectedVersion, StateId


def _sub_tasks(value: list[JsonValue]) -> list[JsonValue]:
    for item in value:
        wanted = item.get("sub_task_id") if isinstance(item, dict) else item
        if not isinstance(wanted, str) or not 1 <= len(wanted) <= 255:
            raise ValueError("each sub-task is its id (1 to 255 characters) or an object with a sub_task_id")
    return value


Document = Metadata
"""A JSON object of at most 64 KiB."""
FreeContext = Annotated[
    dict[str, JsonValue] | None,
    Field(description="Several fields at once; entries that are not fields go into `state`."),
]
StateVisibility = Annotated[Visibility | None, Field(description="Default: KEEPS_STATE_VISIBILITY, `private`.")]
SubTasks = Annotated[list[Json], Field(max_length=1_000), AfterValidator(_sub_tasks)]


class TaskContext(Wire):
    """Stored delegated work."""

    task_id: str
    tenant_id: str
    user_id: str
    agent_id: str | None = None
    plan_id: str | None = None
    event_type: str
    response_event: str | None = None
    response_topic: str
    data: dict[str, JsonValue]
    sub_tasks: list[JsonValue]
    state: dict[str, JsonValue]
    visibility: Visibility = "private"
    version: int
    created_at: datetime
    updated_at: datetime


class NewTaskContext(Wire):
    """A task context to store; an existing one is replaced. `sub_tasks`: ids, or objects with `sub_task_id`. With
    `context`, the default `event_type` is `task`. `visibility` `tenant`: every user of the tenant may read, change and
    delete it by its id.
    """

    task_id: StateId
    plan_id: StateId | None = None
    user_id: str | None = Field(default=None, description="Ignored: the caller is the owner.")
    event_type: Label
    response_event: Label | None = None
    response_topic: Label = "action-results"
    data: Document = Field(default_factory=dict[str, JsonValue])
    sub_tasks: SubTasks = Field(default_factory=list[JsonValue])
    state: Document = Field(default_factory=dict[str, JsonValue])
    context: FreeContext = None
    visibility: StateVisibility = None
    expected_version: ExpectedVersion | None = None

    @model_validator(mode="before")
    @classmethod
    def _spread(cls, given: object) -> object:
        fields = spread_context(cls, given)
        if isinstance(fields, dict) and fields.get("context") is not None and fields.get("event_type") is None:
            return {**fields, "event_type": "task"}
        return fields


class TaskContextChange(Wire):
    """The fields of a task context to change; others stay."""

    plan_id: StateId | None = None
    event_type: Label = ""
    response_event: Label | None = None
    response_topic: Label = ""
    data: Document = Field(default_factory=dict[str, JsonValue])
    sub_tasks: SubTasks = Field(default_factory=list[JsonValue])
    state: Document = Field(default_factory=dict[str, JsonValue])
    expected_version: ExpectedVersion | None = None


class SubTaskChange(Wire):
    """A change of one sub-task: the named fields are set, its others stay. A new one is added as pending."""

    event_type: Label | None = None
    status: Label | None = None
    data: Document | None = None
    result: Json | None = None


class Deleted(Wire):
    """The result of a deletion: true if something was deleted."""

    success: bool = True
    deleted: bool = True
    message: str

    def __bool__(self) -> bool:
        return self.deleted


Details = Annotated[
    bool, Field(description="`sub_tasks` contains the details of each sub-task; without it, their ids.")
]


class TaskAnswer(Wire):
    details: Details = False


class TaskId(Wire):
    task_id: Id


class TaskQuery(TaskAnswer):
    task_id: Id


class SubTaskQuery(TaskAnswer):
    sub_task_id: Id


class SubTaskOf(Wire):
    task_id: Id
    sub_task_id: Id


STORE_TASK_CONTEXT = Endpoint(
    "store_task_context",
    "POST",
    "/v1/memory/task-context",
    "writer",
    "task contexts",
    TaskContext,
    "Store delegated work (201), or replace it (200). A sub-task given as its id keeps its status and result.",
    params=TaskAnswer,
    body=NewTaskContext,
    status=201,
    created=lambda answer: answer.version == 1,
)
GET_TASK_BY_SUBTASK = Endpoint(
    "get_task_by_subtask",
    "GET",
    "/v1/memory/task-context/by-subtask/{sub_task_id}",
    "reader",
    "task contexts",
    TaskContext,
    "Return the task that waits for a sub-task.",
    params=SubTaskQuery,
)
GET_TASK_CONTEXT = Endpoint(
    "get_task_context",
    "GET",
    "/v1/memory/task-context/{task_id}",
    "reader",
    "task contexts",
    TaskContext,
    "Return a task context.",
    params=TaskQuery,
)
UPDATE_TASK_CONTEXT = Endpoint(
    "update_task_context",
    "PUT",
    "/v1/memory/task-context/{task_id}",
    "writer",
    "task contexts",
    TaskContext,
    "Change the fields that are given; others stay. A sub-task given as its id keeps its status and result.",
    params=TaskQuery,
    body=TaskContextChange,
)
PUT_SUB_TASK = Endpoint(
    "put_sub_task",
    "PUT",
    "/v1/memory/task-context/{task_id}/sub-tasks/{sub_task_id}",
    "writer",
    "task contexts",
    TaskContext,
    "Add a sub-task or record its result, in one transaction: concurrent changes are not lost.",
    params=SubTaskOf,
    body=SubTaskChange,
)
DELETE_TASK_CONTEXT = Endpoint(
    "delete_task_context",
    "DELETE",
    "/v1/memory/task-context/{task_id}",
    "writer",
    "task contexts",
    Deleted,
    "Delete a task context.",
    params=TaskId,
)

"""Working memory: the key-value state of a plan, shared by the agents that work on it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, StringConstraints, model_validator

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Cursor, Id, IdAsText, Json, Limit, Page, Text, Wire

StateId = Annotated[Text, StringConstraints(min_length=1, max_length=255), IdAsText]
"""The id of a plan, task, session or key: 1 to 255 characters."""
ExpectedVersion = Annotated[int, Field(ge=0, le=2_147_483_647, strict=True)]
"""The version that must be stored for a write to go through; 0: nothing may be stored yet."""
MAX_PATH_PARTS = 32


def _short(path: str) -> str:
    if path.count(".") >= MAX_PATH_PARTS:
        raise ValueError(f"has more than {MAX_PATH_PARTS} parts")
    return path


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number, not {type(value).__name__}: write 1, not {value!r}")  # noqa: TRY004
    return value


def _delta(value: object) -> object:
    number = _number(value)
    if isinstance(number, int | float) and abs(number) > 1e15:
        raise ValueError("must be between -1e15 and 1e15")
    return number


Path = Annotated[Text, StringConstraints(min_length=1, max_length=1_000), AfterValidator(_short)]
OfWorkflow = Annotated[
    bool, Field(description="A key created by this belongs to the workflow: clearing the workflow removes it.")
]
Seconds = Annotated[float, Field(gt=0, le=3_153_600_000), BeforeValidator(_number)]


class WorkingItem(Wire):
    """One key of a plan. `version` counts its writes, from 1; `user_id` wrote it last; `workflow`: a WorkflowState
    created it.
    """

    id: str
    tenant_id: str
    plan_id: str
    key: str
    value: JsonValue
    version: int
    user_id: str
    workflow: bool = False
    expires_at: datetime | None = None
    updated_at: datetime


class WorkingValue(Wire):
    """A value to store under a key. `ttl_seconds`: lifetime, unless it is written again."""

    value: Json
    expected_version: ExpectedVersion | None = None
    ttl_seconds: Seconds | None = None
    workflow: OfWorkflow = False


class NewWorkingItem(WorkingValue):
    """A key and its value."""

    key: StateId


class AtomicChange(Wire):
    """The place of a change in one statement.

    `path` is a key, or `key.sub.path` into its JSON; with `whole`, dots are part of the key.
    """

    plan_id: StateId
    path: Path
    whole: bool = False
    workflow: OfWorkflow = False

    @model_validator(mode="after")
    def _fits_a_key(self) -> Self:
        if self.whole and len(self.path) > 255:
            raise ValueError("a key has at most 255 characters")
        return self


class AtomicAppend(AtomicChange):
    """Append `value` to a list. A missing value starts as a list."""

    value: Json


class AtomicExtend(AtomicChange):
    """Append all `values` to a list, next to each other. A missing value starts as a list."""

    values: Annotated[list[Json], Field(max_length=10_000)]


class AtomicMerge(AtomicChange):
    """Set the entries of an object that `changes` names; its others stay. A missing value starts as an object."""

    changes: Annotated[dict[str, Json], Field(max_length=10_000)]


class AtomicIncrement(AtomicChange):
    """Add `delta` to a number. A missing value starts as 0."""

    delta: Annotated[int | float, Field(allow_inf_nan=False), BeforeValidator(_delta)] = 1


class AtomicResult(Wire):
    """The value at `path` after a change, and the version of the whole key."""

    plan_id: str
    path: str
    key: str
    value: JsonValue
    version: int


class WorkingDeleted(Wire):
    """The result of deleting one key."""

    success: bool = True
    deleted: bool
    message: str


class WorkingCleared(Wire):
    """The result of deleting all keys of a plan."""

    success: bool = True
    count_deleted: int
    message: str


class PlanId(Wire):
    plan_id: Id


class PlanKey(Wire):
    plan_id: Id
    key: Id


class PlanClearing(Wire):
    plan_id: Id
    workflow: bool = Field(default=False, description="Only the keys that a WorkflowState created.")


class PlanKeys(Wire):
    plan_id: Id
    values: bool = Field(default=True, description="False: only keys and versions; each `value` is null.")
    limit: Limit = 100
    cursor: Cursor = None


GET_PLAN_STATE = Endpoint(
    "get_plan_state",
    "GET",
    "/v1/memory/working/{plan_id}/{key}",
    "reader",
    "working memory",
    WorkingItem,
    "Return one key, with its version as ETag.",
    params=PlanKey,
)
SET_PLAN_STATE = Endpoint(
    "set_plan_state",
    "PUT",
    "/v1/memory/working/{plan_id}/{key}",
    "writer",
    "working memory",
    WorkingItem,
    "Store a value; with a version, only if that version is stored.",
    params=PlanKey,
    body=WorkingValue,
)
DELETE_PLAN_KEY = Endpoint(
    "delete_plan_key",
    "DELETE",
    "/v1/memory/working/{plan_id}/{key}",
    "writer",
    "working memory",
    WorkingDeleted,
    "Delete a key and its values, also from the log.",
    params=PlanKey,
)
LIST_PLAN_STATE = Endpoint(
    "list_plan_state",
    "GET",
    "/v1/memory/working/{plan_id}",
    "reader",
    "working memory",
    Page[WorkingItem],
    "List the keys of a plan, by key. `X-Next-Cursor` has the cursor of the next page.",
    params=PlanKeys,
    bare=True,
)
ADD_PLAN_STATE = Endpoint(
    "add_plan_state",
    "POST",
    "/v1/memory/working/{plan_id}",
    "writer",
    "working memory",
    WorkingItem,
    "Store a value under the key in the body.",
    params=PlanId,
    body=NewWorkingItem,
    status=201,
)
DELETE_PLAN_STATE = Endpoint(
    "delete_plan_state",
    "DELETE",
    "/v1/memory/working/{plan_id}",
    "writer",
    "working memory",
    WorkingCleared,
    "Delete all keys of a plan, or those that a workflow created, and their values, also from the log.",
    params=PlanClearing,
)
APPEND_TO_LIST = Endpoint(
    "append_to_list",
    "POST",
    "/v1/memory/atomic/append",
    "writer",
    "working memory",
    AtomicResult,
    "Append to a list, in one statement: concurrent changes are not lost.",
    body=AtomicAppend,
)
EXTEND_LIST = Endpoint(
    "extend_list",
    "POST",
    "/v1/memory/atomic/extend",
    "writer",
    "working memory",
    AtomicResult,
    "Append several values to a list, next to each other, in one statement.",
    body=AtomicExtend,
)
UPDATE_OBJECT = Endpoint(
    "update_object",
    "POST",
    "/v1/memory/atomic/merge",
    "writer",
    "working memory",
    AtomicResult,
    "Set entries of an object, in one statement; other entries stay.",
    body=AtomicMerge,
)
INCREMENT = Endpoint(
    "increment",
    "POST",
    "/v1/memory/atomic/increment",
    "writer",
    "working memory",
    AtomicResult,
    "Add to a number, in one statement.",
    body=AtomicIncrement,
)

"""Working memory: the key-value state of a plan, shared by the agents that work on it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, JsonValue, StringConstraints, model_validator

from keeps_client.models.common import Json, Text, Wire

StateId = Annotated[Text, StringConstraints(min_length=1, max_length=255)]
"""The id of a plan, task, session or key: 1 to 255 characters."""
ExpectedVersion = Annotated[int, Field(ge=0, le=2_147_483_647, strict=True)]
"""The version that must be stored for a write to go through; 0: nothing may be there yet."""
MAX_PATH_PARTS = 32


def _short(path: str) -> str:
    if path.count(".") >= MAX_PATH_PARTS:
        raise ValueError(f"has more than {MAX_PATH_PARTS} parts")
    return path


Path = Annotated[Text, StringConstraints(min_length=1, max_length=1_000), AfterValidator(_short)]
Seconds = Annotated[float, Field(gt=0, le=3_153_600_000)]


class WorkingItem(Wire):
    """One key of a plan. `version` counts its writes, from 1; `user_id` wrote it last."""

    id: str
    tenant_id: str
    plan_id: str
    key: str
    value: JsonValue
    version: int
    user_id: str
    expires_at: datetime | None = None
    updated_at: datetime


class WorkingValue(Wire):
    """What to store under a key. `ttl_seconds`: gone after so long, unless written again."""

    value: Json
    expected_version: ExpectedVersion | None = None
    ttl_seconds: Seconds | None = None


class NewWorkingItem(WorkingValue):
    """A key and what to store under it."""

    key: StateId


class AtomicAppend(Wire):
    """Append `value` to the list at `path`: a key, or `key.sub.path` into its JSON. What is not there yet begins as a list."""

    plan_id: StateId
    path: Path
    value: Json


class AtomicIncrement(Wire):
    """Add `delta` to the number at `path`: a key, or `key.sub.path` into its JSON. What is not there yet begins as 0."""

    plan_id: StateId
    path: Path
    delta: Annotated[int | float, Field(allow_inf_nan=False)] = 1

    @model_validator(mode="after")
    def _is_bounded(self) -> Self:
        if abs(self.delta) > 1e15:
            raise ValueError("delta must lie between -1e15 and 1e15")
        return self


class AtomicResult(Wire):
    """What stands at `path` now, and the version of the whole key."""

    plan_id: str
    path: str
    key: str
    value: JsonValue
    version: int


class WorkingDeleted(Wire):
    """What became of a delete of one key."""

    success: bool = True
    deleted: bool
    message: str


class WorkingCleared(Wire):
    """What became of a delete of all keys of a plan."""

    success: bool = True
    count_deleted: int
    message: str


class WorkingItems(Wire):
    """All keys of a plan, by key."""

    plan_id: str
    items: list[WorkingItem]

    def values(self) -> dict[str, Any]:
        return {item.key: item.value for item in self.items}

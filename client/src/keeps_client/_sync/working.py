# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Working memory: the key-value state of plans, shared by the agents of a tenant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from keeps_client._sync.base import Doing
from keeps_client.errors import NotFoundError
from keeps_client.models import Page, WorkingCleared, WorkingDeleted, WorkingItem
from keeps_client.models.working import (
    APPEND_TO_LIST,
    DELETE_PLAN_KEY,
    DELETE_PLAN_STATE,
    EXTEND_LIST,
    GET_PLAN_STATE,
    INCREMENT,
    LIST_PLAN_STATE,
    SET_PLAN_STATE,
    UPDATE_OBJECT,
)


class Working(Doing):
    """Working memory; concurrent writes of agents lose nothing."""

    def store(
        self, key: str, value: object, plan_id: str, *, ttl_seconds: float | None = None, workflow: bool | None = None
    ) -> WorkingItem:
        """Store a value in the working memory of a plan, shared with the agents of the tenant.

        `workflow`: a key that this makes belongs to the plan's WorkflowState, whose `clear` removes it.
        """
        return self._do(
            SET_PLAN_STATE, plan_id=plan_id, key=key, value=value, ttl_seconds=ttl_seconds, workflow=workflow
        )

    def store_if_version_matches(
        self, key: str, value: object, plan_id: str, expected_version: int, *, ttl_seconds: float | None = None
    ) -> WorkingItem:
        """Store a value if the key has this version (0: it does not exist).

        Raises ConflictError with the stored value.
        """
        fields = {"value": value, "expected_version": expected_version, "ttl_seconds": ttl_seconds}
        return self._do(SET_PLAN_STATE, plan_id=plan_id, key=key, **fields)

    def retrieve(self, key: str, plan_id: str) -> Any:
        """Return the value of a key, or None."""
        return (self.retrieve_with_version(key, plan_id))[0]

    def retrieve_with_version(self, key: str, plan_id: str) -> tuple[Any, int]:
        """Return the value and version of a key; (None, 0) if it does not exist."""
        try:
            item = self.get_plan_state(plan_id, key)
        except NotFoundError:
            return None, 0
        return item.value, item.version

    def append_to_list(
        self, key: str, value: object, plan_id: str, *, whole: bool = False, workflow: bool | None = None
    ) -> list[Any]:
        """Append to the list at `key` or `key.sub.path`, atomically; return the new list.

        `whole`: dots in the key are part of it.
        """
        done = self._do(APPEND_TO_LIST, plan_id=plan_id, path=key, value=value, whole=whole, workflow=workflow)
        return cast("list[Any]", done.value)

    def extend_list(
        self, key: str, values: Sequence[object], plan_id: str, *, whole: bool = False, workflow: bool | None = None
    ) -> list[Any]:
        """Append all of `values` to the list at `key`, next to each other, atomically; return the new list."""
        done = self._do(EXTEND_LIST, plan_id=plan_id, path=key, values=values, whole=whole, workflow=workflow)
        return cast("list[Any]", done.value)

    def update_object(
        self,
        key: str,
        changes: Mapping[str, object],
        plan_id: str,
        *,
        whole: bool = False,
        workflow: bool | None = None,
    ) -> dict[str, Any]:
        """Set entries of the object at `key`, keeping its others, atomically; return the new object."""
        done = self._do(UPDATE_OBJECT, plan_id=plan_id, path=key, changes=changes, whole=whole, workflow=workflow)
        return cast("dict[str, Any]", done.value)

    def increment(
        self, key: str, plan_id: str, delta: float = 1, *, whole: bool = False, workflow: bool | None = None
    ) -> float:
        """Add to the number at `key` or `key.sub.path`, atomically; return the new number."""
        done = self._do(INCREMENT, plan_id=plan_id, path=key, delta=delta, whole=whole, workflow=workflow)
        return cast("float", done.value)

    def set_plan_state(self, plan_id: str, key: str, value: object) -> WorkingItem:
        """Store a value, as `store` does."""
        return self.store(key, value, plan_id)

    def get_plan_state(self, plan_id: str, key: str) -> WorkingItem:
        """Return one key with its version. Raises NotFoundError."""
        return self._do(GET_PLAN_STATE, plan_id=plan_id, key=key)

    def list_plan_state(
        self, plan_id: str, *, values: bool = True, limit: int = 100, cursor: str | None = None
    ) -> Page[WorkingItem]:
        """Return the keys of a plan, in order, a page at a time; without `values` each value is None."""
        return self._do(LIST_PLAN_STATE, plan_id=plan_id, values=values, limit=limit, cursor=cursor)

    def delete_plan_state(
        self, plan_id: str, key: str | None = None, *, workflow: bool | None = None
    ) -> WorkingDeleted | WorkingCleared:
        """Delete one key, all keys, or with `workflow` those that a WorkflowState made; immediately, also from the log.

        Raises NotFoundError for a key that does not exist.
        """
        if key is None:
            return self._do(DELETE_PLAN_STATE, plan_id=plan_id, workflow=workflow)
        return self._do(DELETE_PLAN_KEY, plan_id=plan_id, key=key)

# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Plans, and the state machines of planners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keeps_client._sync.base import Doing
from keeps_client.models import Deleted, Page, Plan, PlanContext, PlanFilter, PlanStatus
from keeps_client.models.memories import Visibility
from keeps_client.models.plans import (
    CREATE_PLAN,
    DELETE_PLAN,
    GET_PLAN,
    GET_PLAN_BY_CORRELATION,
    GET_PLAN_CONTEXT,
    LIST_PLANS,
    STORE_PLAN_CONTEXT,
    UPDATE_PLAN,
    UPDATE_PLAN_CONTEXT,
)


class Plans(Doing):
    """Methods for plans."""

    def store_plan_context(
        self,
        plan_id: str,
        session_id: str | None = None,
        context: Mapping[str, object] | None = None,
        *,
        goal_event: str | None = None,
        goal_data: Mapping[str, object] | None = None,
        response_event: str | None = None,
        state: Mapping[str, object] | None = None,
        current_state: str | None = None,
        correlation_ids: Sequence[str] | None = None,
        visibility: Visibility | None = None,
        expected_version: int | None = None,
    ) -> PlanContext:
        """Store the state machine of a plan; create the plan if it does not exist. Fields not given stay.

        `context` holds several of the fields at once; its other entries go into `state`. With `visibility` `tenant`,
        every user of the tenant may read, change and delete it by its id.
        """
        return self._do(
            STORE_PLAN_CONTEXT,
            plan_id=plan_id,
            session_id=session_id,
            context=context,
            goal_event=goal_event,
            goal_data=goal_data,
            response_event=response_event,
            state=state,
            current_state=current_state,
            correlation_ids=correlation_ids,
            visibility=visibility,
            expected_version=expected_version,
        )

    def get_plan_context(self, plan_id: str) -> PlanContext:
        """Return the state machine of a plan. Raises NotFoundError."""
        return self._do(GET_PLAN_CONTEXT, plan_id=plan_id)

    def find_plan_context(self, plan_id: str) -> PlanContext | None:
        """Return the state machine of a plan, or None if there is no plan."""
        return self._find(GET_PLAN_CONTEXT, plan_id=plan_id)

    def update_plan_context(self, plan_id: str, **changes: Any) -> PlanContext:
        """Change the given fields (those of PlanContextChange); with `expected_version`, only if it is stored."""
        return self._do(UPDATE_PLAN_CONTEXT, plan_id=plan_id, body=changes)

    def get_plan_by_correlation(self, correlation_id: str) -> PlanContext:
        """Return the plan that waits for an id; of several, the newest that is not over. Raises NotFoundError."""
        return self._do(GET_PLAN_BY_CORRELATION, correlation_id=correlation_id)

    def find_plan_by_correlation(self, correlation_id: str) -> PlanContext | None:
        """Return the plan that waits for an id, as `get_plan_by_correlation` does, or None if there is none."""
        return self._find(GET_PLAN_BY_CORRELATION, correlation_id=correlation_id)

    def create_plan(
        self,
        goal_event: str,
        goal_data: Mapping[str, object] | None = None,
        response_event: str | None = None,
        *,
        plan_id: str | None = None,
        session_id: str | None = None,
        parent_plan_id: str | None = None,
        status: PlanStatus = "running",
        state: Mapping[str, object] | None = None,
        visibility: Visibility | None = None,
    ) -> Plan:
        """Store a new plan. A missing session is created; a parent must exist.

        With `visibility` `tenant`, every user of the tenant may read, change and delete it by its id.
        """
        return self._do(
            CREATE_PLAN,
            goal_event=goal_event,
            plan_id=plan_id,
            goal_data=goal_data,
            response_event=response_event,
            session_id=session_id,
            parent_plan_id=parent_plan_id,
            status=status,
            state=state,
            visibility=visibility,
        )

    def get_plan(self, plan_id: str) -> Plan:
        """Return a plan. Raises NotFoundError."""
        return self._do(GET_PLAN, plan_id=plan_id)

    def find_plan(self, plan_id: str) -> Plan | None:
        """Return a plan, or None if there is none."""
        return self._find(GET_PLAN, plan_id=plan_id)

    def update_plan(self, plan_id: str, **changes: Any) -> Plan:
        """Change the given fields (those of PlanChange); with `expected_version`, only if it is stored."""
        return self._do(UPDATE_PLAN, plan_id=plan_id, body=changes)

    def delete_plan(self, plan_id: str, *, missing_ok: bool = False) -> Deleted:
        """Delete a plan with its sub-plans, task contexts and working memory.

        Raises NotFoundError; with `missing_ok`, `deleted` is False instead.
        """
        return self._delete(DELETE_PLAN, missing_ok, plan_id=plan_id)

    def list_plans(
        self,
        *,
        status: PlanFilter | None = None,
        session_id: str | None = None,
        parent_plan_id: str | None = None,
        visibility: Visibility | None = None,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page[Plan]:
        """Return your own plans, newest first, a page at a time; with `visibility` `tenant` the shared plans.

        `active` means running or paused.
        """
        return self._do(
            LIST_PLANS,
            status=status,
            session_id=session_id,
            parent_plan_id=parent_plan_id,
            visibility=visibility,
            limit=limit,
            cursor=cursor,
        )

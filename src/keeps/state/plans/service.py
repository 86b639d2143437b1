"""Plans and plan contexts: create, store, get, find, list, update, delete."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from keeps.base.clock import Clock, new_id
from keeps.base.cursors import read_cursor, write_cursor
from keeps.base.scope import Scope, own_or_shared, state_scope, visibility_of
from keeps.state.plans import store
from keeps.state.sessions import store as sessions
from keeps.store.db.answers import Answer, StoredAnswer, plain
from keeps.store.db.session import Database, Tx
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError
from keeps_client.models import (
    Deleted,
    NewPlan,
    NewPlanContext,
    Page,
    Plan,
    PlanChange,
    PlanContext,
    PlanContextChange,
    PlanFilter,
)
from keeps_client.models.memories import Visibility


async def _given(tx: Tx, found: JsonValue) -> Plan:
    held = await store.get(tx, str(found))
    if held is None:
        raise NotFoundError(f"no plan {found!r}")
    return held


PLAN: Answer[Plan] = Answer(lambda plan: StoredAnswer(plan.plan_id, [f"plan:{plan.plan_id}"]), _given)
COUNT = plain(int)
ACTIVE = ("running", "paused")
_NOT_STORED = ("expected_version", "context", "visibility")


class PlanService:
    """The plans of a user, each with its state machine.

    An id names the user's own plan, else one that the tenant shares.
    """

    def __init__(
        self, database: Database, introducer: Introducer, clock: Clock, *, visibility: Visibility = "private"
    ) -> None:
        """`visibility`: the default for new plans."""
        self._database = database
        self._introducer = introducer
        self._clock = clock
        self._visibility = visibility

    async def create(self, scope: Scope, new: NewPlan) -> Plan:
        """Store a new plan. Raises ConflictError if its id is taken, NotFoundError if its parent does not exist."""
        plan_id = new.plan_id or str(new_id())
        scope = self._of(scope, new.visibility)

        write = self._introducer.writing(scope, PLAN)
        async for attempt in write:
            async with attempt as tx:
                if new.parent_plan_id is not None and await store.get(tx, new.parent_plan_id) is None:
                    raise NotFoundError(f"no parent plan {new.parent_plan_id!r}; create it first")
                plan = self._new(scope, plan_id, new.model_dump(exclude={"plan_id", "visibility"}))
                await self._join(tx, plan.session_id)
                if not await store.insert(tx, plan):
                    raise _conflict(await self._held(tx, plan_id), "already exists")
                write.result = plan
        return write.result

    async def store_context(self, scope: Scope, new: NewPlanContext) -> PlanContext:
        """Store the given fields of a plan's context; create the plan if it does not exist.

        Raises:
            ConflictError: The plan's version is not `expected_version`.
            ValidationFailedError: The plan does not exist, and there is no goal event to create it.
        """
        scope = self._of(scope, new.visibility)

        write = self._introducer.writing(scope, PLAN)
        async for attempt in write:
            async with attempt as tx:
                stored = await store.get(tx, new.plan_id)
                _check(stored, new.expected_version, new.plan_id)
                await self._join(tx, new.session_id)
                if stored is None:
                    fields = {**new.model_dump(exclude={"plan_id", *_NOT_STORED}), "goal_event": _goal_event(new)}
                    write.result = self._new(scope, new.plan_id, {"status": "running", **fields})
                    await store.insert(tx, write.result)
                else:
                    names = new.model_fields_set - {"plan_id", *_NOT_STORED}
                    changes = {name: value for name in names if (value := getattr(new, name)) is not None}
                    write.result = await self._replace(tx, stored, changes)
        return context_of(write.result)

    async def get(self, scope: Scope, plan_id: str) -> Plan:
        async def read(scope: Scope) -> Plan:
            async with self._database.scoped(scope) as tx:
                return await self._held(tx, plan_id)

        return await own_or_shared(scope, read)

    async def by_correlation(self, scope: Scope, correlation_id: str) -> Plan:
        """Return the plan that waits for a correlation id. Raises NotFoundError."""

        async def read(scope: Scope) -> Plan:
            async with self._database.scoped(scope) as tx:
                plan = await store.by_correlation(tx, correlation_id)
            if plan is None:
                raise NotFoundError(f"no plan waits for {correlation_id!r}")
            return plan

        return await own_or_shared(scope, read)

    async def page(
        self,
        scope: Scope,
        *,
        status: PlanFilter | None,
        session_id: str | None,
        parent_plan_id: str | None,
        visibility: Visibility | None,
        limit: int,
        cursor: str | None,
    ) -> Page[Plan]:
        """Return one page of the user's own or the shared plans, newest first. `active` means running or paused."""
        scope = self._of(scope, visibility)
        after = read_cursor(cursor) if cursor else None
        statuses = ACTIVE if status == "active" else None if status is None else (status,)
        async with self._database.scoped(scope) as tx:
            plans, more = await store.page(tx, statuses, session_id, parent_plan_id, after, limit)
        last = plans[-1] if more else None
        return Page(items=plans, next_cursor=write_cursor(last.created_at, last.plan_id) if last else None)

    async def context(self, scope: Scope, plan_id: str) -> PlanContext:
        """Return the state machine of a plan. Raises NotFoundError."""
        return context_of(await self.get(scope, plan_id))

    async def context_by_correlation(self, scope: Scope, correlation_id: str) -> PlanContext:
        """Return the state machine of the plan that waits for a correlation id. Raises NotFoundError."""
        return context_of(await self.by_correlation(scope, correlation_id))

    async def update_context(self, scope: Scope, plan_id: str, change: PlanContextChange) -> PlanContext:
        return context_of(await self.update(scope, plan_id, change))

    async def update(self, scope: Scope, plan_id: str, change: PlanChange | PlanContextChange) -> Plan:
        """Change the given fields. Raises ConflictError if the stored version is not `expected_version`."""
        changes = {name: getattr(change, name) for name in change.model_fields_set - {"expected_version"}}

        async def change_plan(scope: Scope) -> Plan:
            write = self._database.writing(scope, PLAN)
            async for attempt in write:
                async with attempt as tx:
                    stored = await self._held(tx, plan_id)
                    _check(stored, change.expected_version, plan_id)
                    await self._join(tx, change.session_id)
                    write.result = await self._replace(tx, stored, changes)
            return write.result

        return await own_or_shared(scope, change_plan)

    async def delete(self, scope: Scope, plan_id: str) -> Deleted:
        """Delete a plan with its sub-plans, task contexts and working memory, and redact their events, immediately."""

        async def delete_plan(scope: Scope) -> int:
            write = self._database.writing(scope, COUNT)
            async for attempt in write:
                async with attempt as tx:
                    await self._held(tx, plan_id)
                    write.result = len(await store.delete(tx, plan_id, self._clock()))
            return write.result

        count = await own_or_shared(scope, delete_plan)
        under = f" with {count - 1} sub-plans" if count > 1 else ""
        return Deleted(message=f"plan {plan_id!r} is deleted{under}, with its task contexts and working memory")

    def _of(self, scope: Scope, visibility: Visibility | None) -> Scope:
        return state_scope(scope, visibility or self._visibility)

    def _new(self, scope: Scope, plan_id: str, given: Mapping[str, object]) -> Plan:
        now = self._clock()
        made: dict[str, object] = {
            "current_state": None,
            "correlation_ids": [],
            "sub_plan_ids": [],
            "parent_plan_id": None,
            "visibility": visibility_of(scope.user_id),
            **given,
        }
        made |= {"plan_id": plan_id, "tenant_id": scope.tenant_id, "user_id": scope.user_id, "agent_id": scope.agent_id}
        return Plan.model_validate({**made, "version": 1, "created_at": now, "updated_at": now})

    async def _replace(self, tx: Tx, held: Plan, given: Mapping[str, object]) -> Plan:
        plan = held.model_copy(update={**given, "version": held.version + 1, "updated_at": self._clock()})
        await store.replace(tx, plan)
        return plan

    async def _join(self, tx: Tx, session_id: str | None) -> None:
        if session_id is not None:
            await sessions.ensure(tx, session_id, self._clock())

    async def _held(self, tx: Tx, plan_id: str) -> Plan:
        held = await store.get(tx, plan_id)
        if held is None:
            raise NotFoundError(f"no plan {plan_id!r}")
        return held


def context_of(plan: Plan) -> PlanContext:
    """Return the state machine of a plan."""
    return PlanContext.model_construct(**{name: getattr(plan, name) for name in PlanContext.model_fields})


def _goal_event(new: NewPlanContext) -> str:
    if new.goal_event is not None:
        return new.goal_event
    if new.context is not None:
        return "goal"
    message = f"goal_event: plan {new.plan_id!r} does not exist; give its goal_event to create it"
    raise ValidationFailedError(message, [{"field": "goal_event", "message": "is required to create the plan"}])


def _check(held: Plan | None, expected: int | None, plan_id: str) -> None:
    version = held.version if held else 0
    if expected not in (None, version):
        if held is None:
            raise ConflictError(f"plan {plan_id!r} does not exist; version {expected} was expected", current_version=0)
        raise _conflict(held, f"has version {version}, not {expected}")


def _conflict(held: Plan, why: str) -> ConflictError:
    return ConflictError(
        f"plan {held.plan_id!r} {why}", current_version=held.version, current=held.model_dump(mode="json")
    )

"""Run the statements on plans."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from keeps.base.clock import new_id
from keeps.base.scope import visibility_of
from keeps.store.db.session import Row, Tx
from keeps.store.db.size_limits import fetch_page
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.models import Plan
from keeps_client.models.events import EventType

QUERIES = Statements("keeps.state.plans")


async def get(tx: Tx, plan_id: str) -> Plan | None:
    row = await tx.fetch_row(QUERIES["plan_get"], tx.scope.tenant_id, tx.scope.user_id, plan_id)
    return None if row is None else plan_from_row(row)


async def by_correlation(tx: Tx, correlation_id: str) -> Plan | None:
    row = await tx.fetch_row(QUERIES["plan_by_correlation"], tx.scope.tenant_id, tx.scope.user_id, correlation_id)
    return None if row is None else plan_from_row(row)


async def page(
    tx: Tx,
    statuses: Sequence[str] | None,
    session_id: str | None,
    parent_plan_id: str | None,
    after: tuple[datetime, str] | None,
    limit: int,
) -> tuple[list[Plan], bool]:
    """Return one page, newest first, and whether there are more."""
    created_at, plan_id = after or (None, None)
    rows, more = await fetch_page(
        tx,
        QUERIES["plan_list"],
        tx.scope.tenant_id,
        tx.scope.user_id,
        None if statuses is None else list(statuses),
        session_id,
        parent_plan_id,
        created_at,
        plan_id,
        limit + 1,
        limit=limit,
        columns=("goal_data", "state"),
    )
    return [plan_from_row(row) for row in rows], more


async def insert(tx: Tx, plan: Plan) -> bool:
    """Store a new plan with its event. Return False if it already exists."""
    image = _image(plan)
    if await tx.fetch_row(QUERIES["plan_insert"], image) is None:
        return False
    await _log(tx, "plan.created", plan, image)
    return True


async def replace(tx: Tx, plan: Plan) -> None:
    image = _image(plan)
    await tx.execute(QUERIES["plan_replace"], image)
    await _log(tx, "plan.updated", plan, image)


async def delete(tx: Tx, plan_id: str, now: datetime) -> list[str]:
    """Delete a plan and its sub-plans with their task contexts and working memory, and redact their events."""
    who = (tx.scope.tenant_id, tx.scope.user_id)
    plans = [row["plan_id"] for row in await tx.fetch(QUERIES["plan_tree"], *who, plan_id)]
    tasks = [row["task_id"] for row in await tx.fetch(QUERIES["plan_tasks"], *who, plans)]
    await tx.execute(QUERIES["plan_delete"], *who, plan_id)
    for row_id in plans:
        await tx.execute(QUERIES["plan_redact"], row_id)
    for row_id in tasks:
        await tx.execute(QUERIES["task_redact"], row_id)
    news = [
        NewEvent(new_id(), "plan.deleted", row_id, now, "private", tx.scope.agent_id, {"plan_id": row_id})
        for row_id in plans
    ]
    await events.append(tx, news)
    return plans


def plan_from_row(row: Row) -> Plan:
    values = dict(row)
    values["goal_data"] = json.loads(values["goal_data"])
    values["state"] = json.loads(values["state"])
    return Plan.model_construct(**values, visibility=visibility_of(row["user_id"]))


def _image(plan: Plan) -> str:
    return plan.model_dump_json(exclude={"sub_plan_ids", "visibility"})


async def _log(tx: Tx, kind: EventType, plan: Plan, image: str) -> None:
    data = {"plan": json.loads(image)}
    await events.append(
        tx, [NewEvent(new_id(), kind, plan.plan_id, plan.updated_at, "private", tx.scope.agent_id, data)]
    )

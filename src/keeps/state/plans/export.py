"""Export of plans."""

from __future__ import annotations

from keeps.state.plans import store
from keeps.store.db.session import Tx
from keeps.store.export import NO_TIME, Export, JsonRow, check_as_new, differ
from keeps_client.models import NewPlanContext, Plan


def _read_plan(row: JsonRow) -> Plan:
    check_as_new(NewPlanContext, row)
    return Plan.model_validate({**row, "sub_plan_ids": []})


async def _add_plan(tx: Tx, plan: Plan) -> bool:
    return await store.get(tx, plan.plan_id) is None and await store.insert(tx, plan)


async def _plan_differs(tx: Tx, plan: Plan) -> bool:
    return differ(
        await store.get(tx, plan.plan_id), plan, NewPlanContext.model_fields.keys() & Plan.model_fields.keys()
    )


EXPORTS = (
    Export(
        "plan",
        store.QUERIES["export_plans"],
        {"created_at": NO_TIME, "plan_id": ""},
        _read_plan,
        _add_plan,
        _plan_differs,
    ),
)

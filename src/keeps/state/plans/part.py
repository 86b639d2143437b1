"""The part of plans and their contexts."""

from __future__ import annotations

from keeps.part import Core, EndpointHandler, Part, serves
from keeps.state.plans.export import EXPORTS
from keeps.state.plans.service import PlanService
from keeps_client.models import plans as api


def make(core: Core) -> None:
    core.add(PlanService(core.database, core.introducer, core.clock, visibility=core.settings.state_visibility))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(PlanService)
    return (
        serves(api.STORE_PLAN_CONTEXT, lambda s, _, b: service.store_context(s, b)),
        serves(api.GET_PLAN_CONTEXT, lambda s, p, _: service.context(s, p.plan_id)),
        serves(api.GET_PLAN_BY_CORRELATION, lambda s, p, _: service.context_by_correlation(s, p.correlation_id)),
        serves(api.UPDATE_PLAN_CONTEXT, lambda s, p, b: service.update_context(s, p.plan_id, b)),
        serves(api.CREATE_PLAN, lambda s, _, b: service.create(s, b)),
        serves(api.GET_PLAN, lambda s, p, _: service.get(s, p.plan_id)),
        serves(api.UPDATE_PLAN, lambda s, p, b: service.update(s, p.plan_id, b)),
        serves(api.DELETE_PLAN, lambda s, p, _: service.delete(s, p.plan_id)),
        serves(
            api.LIST_PLANS,
            lambda s, p, _: service.page(
                s,
                status=p.status,
                session_id=p.session_id,
                parent_plan_id=p.parent_plan_id,
                visibility=p.visibility,
                limit=p.limit,
                cursor=p.cursor,
            ),
        ),
    )


PART = Part("plans", make, endpoints, exports=EXPORTS)

"""The part of plan state."""

from __future__ import annotations

from keeps.base.scope import Scope
from keeps.part import Core, EndpointHandler, Part, serves
from keeps.state.working.export import EXPORTS
from keeps.state.working.service import WorkingService
from keeps_client.models import NewWorkingItem, WorkingItem
from keeps_client.models import working as api


def make(core: Core) -> None:
    core.add(WorkingService(core.database, core.introducer, core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(WorkingService)

    async def put(scope: Scope, key: api.PlanKey, value: api.WorkingValue) -> WorkingItem:
        new = NewWorkingItem.model_construct(
            key=key.key,
            value=value.value,
            expected_version=value.expected_version,
            ttl_seconds=value.ttl_seconds,
            workflow=value.workflow,
        )
        return await service.put(scope, key.plan_id, new)

    return (
        serves(api.GET_PLAN_STATE, lambda s, p, _: service.get(s, p.plan_id, p.key)),
        serves(api.SET_PLAN_STATE, put),
        serves(api.ADD_PLAN_STATE, lambda s, p, b: service.put(s, p.plan_id, b)),
        serves(api.LIST_PLAN_STATE, lambda s, p, _: service.page(s, p.plan_id, p.limit, p.cursor, values=p.values)),
        serves(api.DELETE_PLAN_KEY, lambda s, p, _: service.delete(s, p.plan_id, p.key)),
        serves(api.DELETE_PLAN_STATE, lambda s, p, _: service.clear(s, p.plan_id, workflow=p.workflow)),
        serves(api.APPEND_TO_LIST, lambda s, _, b: service.change(s, b)),
        serves(api.EXTEND_LIST, lambda s, _, b: service.change(s, b)),
        serves(api.UPDATE_OBJECT, lambda s, _, b: service.change(s, b)),
        serves(api.INCREMENT, lambda s, _, b: service.change(s, b)),
    )


PART = Part("working", make, endpoints, exports=EXPORTS)

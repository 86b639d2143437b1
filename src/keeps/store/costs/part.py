"""The part of costs."""

from __future__ import annotations

from keeps.part import Core, EndpointHandler, Part, serves
from keeps.store.costs.service import CostService
from keeps_client.models import costs as api


def make(core: Core) -> None:
    model = None if core.chat is None else core.chat_for("costs")
    core.add(CostService(core.database, core.usage, core.clock, None if model is None else model.model))
    core.erasure_listeners.append(core.usage.drop)


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(CostService)
    return (serves(api.GET_COSTS, lambda s, p, _: service.costs(s, p)),)


PART = Part("costs", make, endpoints)

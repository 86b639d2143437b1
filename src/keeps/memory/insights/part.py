"""The part of statistics."""

from __future__ import annotations

from keeps.memory.insights.service import InsightService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import insights as api


def make(core: Core) -> None:
    core.add(InsightService(core.database, core.usage, core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(InsightService)
    return (
        serves(api.GET_INSIGHTS, lambda s, _, __: service.insights(s)),
        serves(api.AUDIT_JUNK, lambda s, _, __: service.audit_junk(s)),
    )


PART = Part("insights", make, endpoints)

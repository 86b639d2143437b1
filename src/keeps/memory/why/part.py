"""The part of explanations: why a memory is believed, and why a question did not find it."""

from __future__ import annotations

from keeps.memory.context.router import ContextRouter
from keeps.memory.memories.service import MemoryService
from keeps.memory.operations.service import OperationService
from keeps.memory.recall.service import RecallService
from keeps.memory.why.service import WhyService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import why as api


def make(core: Core) -> None:
    core.add(
        WhyService(
            core.database,
            core.get(MemoryService),
            core.get(OperationService),
            core.get(RecallService),
            core.get(ContextRouter),
            core.clock,
        )
    )


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(WhyService)
    return (
        serves(api.WHY, lambda s, p, _: service.why(s, p.memory_id)),
        serves(api.WHY_NOT, lambda s, p, b: service.why_not(s, p.memory_id, b)),
    )


PART = Part("why", make, endpoints)

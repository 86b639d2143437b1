"""The part of tools, which agents may look up."""

from __future__ import annotations

from keeps.memory.memories.service import MemoryService
from keeps.memory.recall.service import RecallService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps.sources.tools.service import ToolService
from keeps_client.models import tools as api


def make(core: Core) -> None:
    core.add(ToolService(core.database, core.get(MemoryService), core.get(RecallService), core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(ToolService)
    return (
        serves(api.ADD_TOOL, lambda s, _, b: service.add(s, b)),
        serves(api.IMPORT_TOOLS, lambda s, _, b: service.import_openapi(s, b)),
        serves(api.LIST_TOOLS, lambda s, p, _: service.list(s, p)),
        serves(api.REMOVE_TOOL, lambda s, p, _: service.remove(s, p.name)),
    )


PART = Part("tools", make, endpoints)

"""The part of contexts: the router and its sources."""

from __future__ import annotations

from keeps.base.scope import Scope
from keeps.memory.context.asking import Asker
from keeps.memory.context.router import ContextRouter
from keeps.memory.context.sources import SourceService
from keeps.memory.conversations.service import ConversationService
from keeps.memory.memories.service import MemoryService
from keeps.memory.providers.service import ProviderService
from keeps.memory.recall.access import AccessBuffer
from keeps.memory.recall.service import RecallService
from keeps.memory.requests.buffer import RequestBuffer
from keeps.models.tokens import choose_counter
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import ContextRequest, ContextResult
from keeps_client.models import context as api


def make(core: Core) -> None:
    sources = core.add(SourceService(core.database, core.get(MemoryService), core.get(RecallService), core.clock))
    providers, conversations = core.get(ProviderService), core.get(ConversationService)
    asker = Asker(core.database, providers, conversations, sources)
    core.erasure_listeners.append(asker.forget)
    access = core.get(AccessBuffer)
    core.open(ContextRouter(asker, choose_counter(), access, core.clock, core.metrics, zone=core.zone))
    core.open(providers)


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    router, sources, requests = core.get(ContextRouter), core.get(SourceService), core.get(RequestBuffer)

    async def build(scope: Scope, _: None, request: ContextRequest) -> ContextResult:
        result = await router.context(scope, request)
        requests.note_context(scope, request, result)
        return result

    return (
        serves(api.BUILD_CONTEXT, build),
        serves(api.ADD_SOURCE, lambda s, _, b: sources.add(s, b)),
        serves(api.LIST_SOURCES, lambda s, _, __: sources.list(s)),
        serves(api.REMOVE_SOURCE, lambda s, p, _: sources.remove(s, p.name)),
    )


PART = Part("context", make, endpoints)

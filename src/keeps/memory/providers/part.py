"""The part of memory providers, and of recall over all of them."""

from __future__ import annotations

from keeps.base.scope import Scope
from keeps.memory.graph.service import GraphService
from keeps.memory.indexing.service import Indexer
from keeps.memory.memories.service import MemoryService
from keeps.memory.providers.builtin import GraphProvider, PostgresProvider, VectorProvider
from keeps.memory.providers.markdown.folders import MarkdownFolders
from keeps.memory.providers.registry import LOCAL, BuiltIn, Registry, installed_factories
from keeps.memory.providers.service import ProviderService
from keeps.memory.providers.shown import ShownEntries
from keeps.memory.providers.working import WorkingShelves
from keeps.memory.recall.service import RecallService
from keeps.memory.requests.buffer import RequestBuffer
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.errors import ValidationFailedError
from keeps_client.models import RecallRequest, RecallResult, recall
from keeps_client.models import providers as api


def make(core: Core) -> None:
    service = core.add(
        ProviderService(
            _registry(core), core.introducer, core.get(RecallService), core.clock, core.provider_timeout_seconds
        )
    )
    core.add(ShownEntries(core.database, service, core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service, requests = core.get(ProviderService), core.get(RequestBuffer)

    async def answer(scope: Scope, _: None, request: RecallRequest) -> RecallResult:
        result = await service.recall(scope, request)
        requests.note_recall(scope, request, result)
        return result

    return (
        serves(recall.RECALL, answer),
        serves(api.LIST_PROVIDERS, lambda s, _, __: service.infos(s)),
        serves(api.WRITE_ENTRY, lambda s, p, b: service.write(s, p.provider_id, p.entry_key, b, p.session_id)),
        serves(api.READ_ENTRY, lambda s, p, _: service.read(s, p.provider_id, p.entry_key, p.session_id)),
        serves(api.DELETE_ENTRY, lambda s, p, _: service.delete(s, p.provider_id, p.entry_key, p.session_id)),
        serves(api.APPEND_MARKDOWN, lambda s, _, b: service.append(s, b.text)),
        serves(api.REBUILD_PROVIDER, lambda s, p, _: service.rebuild(s, p.provider_id)),
    )


def _registry(core: Core) -> Registry:
    """Return the registry of providers. Raises ValidationFailedError for a name that Keeps has itself."""
    memories, recall = core.get(MemoryService), core.get(RecallService)
    indexer, graph = core.get(Indexer), core.get(GraphService)
    builtin: dict[str, BuiltIn] = {
        "postgres": lambda scope: PostgresProvider(scope, memories, recall, indexer),
        "vector": lambda scope: VectorProvider(scope, memories, recall, indexer),
        "graph": lambda scope: GraphProvider(scope, graph),
    }
    factories = {**installed_factories(), **core.providers}
    if taken := set(factories) & {*LOCAL, *builtin}:
        raise ValidationFailedError(f"a provider cannot be named {sorted(taken)[0]!r}: Keeps has one with that name")
    home = core.settings.home
    folder = core.settings.markdown_folder or home / "markdown"
    markdown = MarkdownFolders(folder, core.introducer, core.chat_for("markdown"), core.clock, core.embedder)
    shelves = WorkingShelves(core.clock)
    return Registry(core.database, core.introducer, core.clock, shelves, markdown, builtin, factories, home)


PART = Part("providers", make, endpoints)

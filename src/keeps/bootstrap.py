"""The composition root: from settings to an open engine. No other module chooses parts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Protocol, TypeVar

from keeps.access.keys import KeyService
from keeps.ai.chat import ChatModel
from keeps.ai.counted import CountedChat, CountedEmbedder, CountedReranker
from keeps.ai.embedder import Embedder
from keeps.ai.reranker import Reranker
from keeps.ai.tokens import choose_counter
from keeps.backups.making import ShippedServer
from keeps.cache.redis import RedisCache
from keeps.cells.opening import CellOpener
from keeps.clock import Clock, utc_now
from keeps.context.asking import Asker
from keeps.context.router import ContextRouter
from keeps.context.sources import SourceService
from keeps.conversations.consolidation import SessionConsolidation
from keeps.conversations.service import ConversationService
from keeps.databases.runner import Runner
from keeps.databases.sealing import KeyRing
from keeps.databases.service import DatabaseService
from keeps.databases.targets import Reach
from keeps.db.embedded import EmbeddedPostgres
from keeps.db.pool import lazy_pool, open_pool
from keeps.db.probe import probe
from keeps.db.session import Database
from keeps.documents.service import DocumentService
from keeps.engine import Keeps
from keeps.events.feed import Feed
from keeps.events.service import EventService
from keeps.forgetting import Forgetting
from keeps.graph.reading import Reader
from keeps.graph.service import GraphService
from keeps.handlers import handlers_of
from keeps.indexing.service import Indexer
from keeps.insights.service import InsightService
from keeps.items.service import ItemService
from keeps.jobs.worker import JobQueue, Worker
from keeps.knowledge.service import KnowledgeService
from keeps.lifecycle.service import Lifecycle, UserJob
from keeps.memories.census import Census
from keeps.memories.keys import MemoryKeys
from keeps.memories.service import MemoryService
from keeps.operations.service import OperationService, Run
from keeps.plans.service import PlanService
from keeps.providers.builtin import GraphProvider, PostgresProvider, VectorProvider
from keeps.providers.calls import TIMEOUT_SECONDS
from keeps.providers.contract import ProviderFactory
from keeps.providers.markdown.folders import MarkdownFolders
from keeps.providers.registry import LOCAL, BuiltIn, Registry, installed_factories
from keeps.providers.service import ProviderService
from keeps.providers.shown import ShownEntries
from keeps.providers.working import WorkingShelves
from keeps.recall.access import AccessBuffer
from keeps.recall.service import RecallService
from keeps.scope import Scope
from keeps.sessions.service import SessionService
from keeps.settings import Settings
from keeps.tasks.service import TaskService
from keeps.telemetry.metrics import Metrics
from keeps.tenants.service import Introducer
from keeps.tenants.usage import LlmUsage
from keeps.tools.service import ToolService
from keeps.transcripts.service import TranscriptService
from keeps.transfer.erasure import TenantService
from keeps.transfer.service import TransferService
from keeps.webhooks.service import WebhookService
from keeps.working.service import WorkingService
from keeps_client.errors import ValidationFailedError
from keeps_client.zones import zone_of


class _Closing(Protocol):
    async def close(self) -> None: ...


PartT = TypeVar("PartT", bound=_Closing)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Core:
    """Parts that most services need: database, models, metrics, users."""

    settings: Settings
    stack: AsyncExitStack
    clock: Clock
    database: Database
    server: EmbeddedPostgres | None
    metrics: Metrics
    cache: RedisCache | None
    embedder: CountedEmbedder | None
    reranker: CountedReranker | None
    chat: ChatModel | None
    introducer: Introducer
    usage: LlmUsage

    def opened(self, part: PartT) -> PartT:
        """Return a part that is closed with the rest, before those that were opened before it."""
        self.stack.push_async_callback(part.close)
        return part

    def asking(self, job: str) -> CountedChat | None:
        """Return the LLM, its tokens counted for a job; None without one."""
        return None if self.chat is None else CountedChat(self.chat, self.metrics, job, self.usage.note)


async def open_keeps(
    settings: Settings,
    *,
    clock: Clock = utc_now,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    chat: ChatModel | None = None,
    providers: Mapping[str, ProviderFactory] | None = None,
    provider_timeout_seconds: float = TIMEOUT_SECONDS,
) -> Keeps:
    """Open the database, refuse it unless it keeps tenants apart, and put the engine together.

    `embedder`, `reranker` and `chat` replace those that the settings name. `providers` come beside those of installed
    packages; each answers a recall within `provider_timeout_seconds`, or is left out.
    """
    async with AsyncExitStack() as stack:
        core = await _open_core(settings, stack, clock, embedder, reranker, chat)
        opened, asking = core.opened, core.asking
        database, introducer, metrics, model = core.database, core.introducer, core.metrics, core.embedder
        zone = zone_of(settings.timezone)
        await probe(database.main)
        access = opened(AccessBuffer(database))
        indexer = opened(Indexer(database, model, clock))
        memories = opened(
            MemoryService(
                database,
                introducer,
                model,
                clock,
                notice=indexer.notice,
                max_content_characters=settings.max_content_characters,
                default_ttl_days=settings.default_ttl_days,
            )
        )
        recall = RecallService(database, model, access, clock, core.reranker, settled=indexer.settled, zone=zone)
        graph = GraphService(database, introducer, clock)
        builtin: dict[str, BuiltIn] = {
            "postgres": lambda scope: PostgresProvider(scope, memories, recall, indexer),
            "vector": lambda scope: VectorProvider(scope, memories, recall, indexer),
            "graph": lambda scope: GraphProvider(scope, graph),
        }
        registry = _registry(core, builtin, {**installed_factories(), **(providers or {})})
        asked = ProviderService(registry, introducer, recall, clock, provider_timeout_seconds)
        operations = OperationService(database, clock)
        sessions = SessionService(database, introducer, clock)
        kept = timedelta(hours=settings.session_hours)
        conversations = ConversationService(database, introducer, memories, sessions, core.cache, clock, kept)
        summing = SessionConsolidation(
            database, conversations, memories, asking("sessions"), settings.llm_tokens_per_day
        )
        items = ItemService(database, introducer, model, clock, indexer.notice)
        jobs: dict[str, UserJob] = {"index": partial(_index, indexer), "sessions": summing.consolidate_user}
        cleanup_hours = settings.cleanup_interval_hours
        lifecycle = Lifecycle(database, operations, clock, jobs, metrics, items.sweep_user, cleanup_hours)
        sources = SourceService(database, memories, recall, clock)
        asker = Asker(database, asked, conversations, sources, metrics)
        router = opened(ContextRouter(asker, choose_counter(), access, clock, metrics, zone=zone))
        opened(asked)
        events = opened(EventService(database, Feed(database), clock))
        webhooks = opened(WebhookService(database, clock, metrics, allow_private=settings.webhooks_allow_private))
        worker = opened(Worker(database, lifecycle, clock))
        await events.make_partitions()
        documents = opened(DocumentService(database, introducer, recall, indexer, clock, metrics, model=memories.model))
        databases = opened(_database_service(core, memories, sources))

        def erased(tenant_id: str) -> None:
            recall.forget(tenant_id)
            asker.forget(tenant_id)

        keeps = Keeps(
            database=database,
            metrics=metrics,
            cache=core.cache,
            admin_url=core.server.url("postgres") if core.server else None,
            access=access,
            memories=memories,
            memory_keys=MemoryKeys(database, clock),
            census=Census(database, clock),
            forgetting=Forgetting(database, memories, conversations, graph, asked, erased),
            recall=recall,
            knowledge=KnowledgeService(memories, recall),
            indexer=indexer,
            working=WorkingService(database, introducer, clock),
            sessions=sessions,
            transcripts=TranscriptService(database, introducer, clock),
            items=items,
            plans=PlanService(database, introducer, clock, visibility=settings.state_visibility),
            tasks=TaskService(database, introducer, clock, visibility=settings.state_visibility),
            providers=asked,
            shown=ShownEntries(database, asked, clock),
            graph=graph,
            reader=Reader(database, introducer, asking("graph"), clock),
            documents=documents,
            databases=databases,
            tools=ToolService(database, memories, recall, clock),
            events=events,
            webhooks=webhooks,
            keys=KeyService(database, clock),
            tenants=TenantService(database, asked, core.cache, clock, erased),
            transfer=TransferService(database, introducer, indexer),
            conversations=conversations,
            sources=sources,
            router=router,
            insights=InsightService(database, clock),
            operations=operations,
            lifecycle=lifecycle,
            worker=worker,
            queue=JobQueue(database),
            loop=asyncio.get_running_loop(),
            stack=stack.pop_all(),
        )
        keeps.handlers = handlers_of(keeps)
        return keeps


async def _open_core(
    settings: Settings,
    stack: AsyncExitStack,
    clock: Clock,
    embedder: Embedder | None,
    reranker: Reranker | None,
    chat: ChatModel | None,
) -> _Core:
    """Open the database, the cache and the models."""

    def opened(part: PartT) -> PartT:
        stack.push_async_callback(part.close)
        return part

    url = settings.database_url
    server = opened(await ShippedServer.open(settings.home)).server if url is None else None
    pool = await open_pool(str(url) if server is None else server.app_url, size=settings.pool_size)
    direct = lazy_pool(settings.worker_database_url, size=1) if settings.worker_database_url else None
    standbys = [lazy_pool(each, size=settings.pool_size) for each in settings.read_database_url]
    database = opened(Database(pool, server, opened(CellOpener(settings)), direct=direct, standbys=standbys))
    metrics = Metrics()
    model = embedder or choose_embedder(settings)
    second = reranker or choose_reranker(settings)
    language_model = chat or choose_chat(settings)
    introducer = Introducer(database)
    return _Core(
        settings=settings,
        stack=stack,
        clock=clock,
        database=database,
        server=server,
        metrics=metrics,
        cache=opened(RedisCache(settings.redis_url, metrics)) if settings.redis_url else None,
        embedder=None if model is None else opened(CountedEmbedder(model, metrics)),
        reranker=None if second is None else opened(CountedReranker(second, metrics)),
        chat=None if language_model is None else opened(language_model),
        introducer=introducer,
        usage=LlmUsage(introducer, clock),
    )


def _registry(core: _Core, builtin: Mapping[str, BuiltIn], factories: Mapping[str, ProviderFactory]) -> Registry:
    """Return the registry of providers. Raises ValidationFailedError for a name that Keeps has itself."""
    if taken := set(factories) & {*LOCAL, *builtin}:
        raise ValidationFailedError(f"a provider cannot be called {sorted(taken)[0]!r}: Keeps has one of that name")
    home = core.settings.home
    folder = core.settings.markdown_folder or home / "markdown"
    markdown = MarkdownFolders(folder, core.introducer, core.asking("markdown"), core.clock, core.embedder)
    shelves = WorkingShelves(core.clock)
    return Registry(core.database, core.introducer, core.clock, shelves, markdown, dict(builtin), dict(factories), home)


def _database_service(core: _Core, memories: MemoryService, sources: SourceService) -> DatabaseService:
    return DatabaseService(
        core.database,
        core.introducer,
        memories,
        Runner(core.database, Reach(core.settings.databases_allow)),
        KeyRing(core.settings.secret_keys),
        core.asking("queries"),
        core.embedder,
        core.clock,
        core.metrics,
        sources.add,
        sources.remove,
    )


async def _index(indexer: Indexer, scope: Scope, run: Run) -> None:
    """The job `index`: what waits for a vector gets one."""
    if stored := await indexer.index_user(scope):
        run.counts["indexed"] += stored


def choose_chat(settings: Settings) -> ChatModel | None:
    """The LLM that the settings name; None without one: everything works by rules."""
    if settings.llm_base_url is None:
        return None
    from keeps.ai.chat import OpenAIChat

    return OpenAIChat(settings.llm_model, base_url=settings.llm_base_url, api_key=settings.llm_api_key)


def choose_embedder(settings: Settings) -> Embedder | None:
    """The embedder that the settings name; None for text search only."""
    match settings.embedder:
        case "local":
            from keeps.ai.local import MiniLM

            return MiniLM(settings.model_dir)
        case "openai":
            from keeps.ai.openai import OpenAIEmbedder

            return OpenAIEmbedder(
                settings.embedding_model,
                base_url=settings.embedding_base_url,
                api_key=settings.embedding_api_key,
                dimensions=settings.embedding_dimensions,
            )
        case "none":
            return None
        case named:
            from keeps.ai.local import embedder_of

            return embedder_of(named, settings.home / "models")


def choose_reranker(settings: Settings) -> Reranker | None:
    """The reranker that the settings name; None without one."""
    if settings.reranker == "none":
        return None
    from keeps.ai.cross_encoder import reranker_of

    return reranker_of(settings.reranker)

"""The composition root: from settings to an open engine. No other module chooses parts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any

from keeps.access.keys import KeyService
from keeps.cache.redis import RedisCache
from keeps.clock import Clock, utc_now
from keeps.context.router import ContextRouter
from keeps.db.embedded import EmbeddedPostgres
from keeps.db.pool import open_pool
from keeps.db.probe import probe
from keeps.db.session import Database
from keeps.engine import Keeps
from keeps.events.feed import Feed
from keeps.events.service import EventService
from keeps.exchanges.consolidation import SessionConsolidation
from keeps.exchanges.service import ExchangeService
from keeps.forgetting import Forgetting
from keeps.graph.reading import Reader
from keeps.graph.service import GraphService
from keeps.indexing.service import Indexer
from keeps.insights.service import InsightService
from keeps.jobs.worker import JobQueue, Worker
from keeps.lifecycle.operations import OperationService, Run
from keeps.lifecycle.service import Lifecycle
from keeps.memories.service import MemoryService
from keeps.models.chat import ChatModel
from keeps.models.counted import CountedEmbedder, counted_chat
from keeps.models.embedder import Embedder
from keeps.models.tokens import choose_counter
from keeps.plans.service import PlanService
from keeps.providers.builtin import GraphProvider, PostgresProvider, VectorProvider
from keeps.providers.contract import ProviderFactory
from keeps.providers.markdown.folders import MarkdownFolders
from keeps.providers.registry import LOCAL, BuiltIn, Registry, installed_factories
from keeps.providers.service import TIMEOUT_SECONDS, ProviderService
from keeps.providers.working import WorkingShelves
from keeps.recall.access import AccessBuffer
from keeps.recall.service import RecallService
from keeps.scope import Scope
from keeps.services import Services
from keeps.sessions.service import SessionService
from keeps.settings import Settings
from keeps.tasks.service import TaskService
from keeps.telemetry.metrics import Metrics
from keeps.tenants.service import Introducer
from keeps.transfer.erasure import TenantService
from keeps.transfer.service import TransferService
from keeps.webhooks.service import WebhookService
from keeps.working.service import WorkingService
from keeps_client.errors import ValidationFailedError


async def open_keeps(
    settings: Settings,
    *,
    clock: Clock = utc_now,
    embedder: Embedder | None = None,
    chat: ChatModel | None = None,
    providers: Mapping[str, ProviderFactory] | None = None,
    provider_timeout_seconds: float = TIMEOUT_SECONDS,
) -> Keeps:
    """Open the database, refuse it unless it keeps tenants apart, and put the engine together.

    `embedder` and `chat` replace those that the settings name. `providers` come beside those of installed packages; each answers
    a recall within `provider_timeout_seconds`, or is left out.
    """
    async with AsyncExitStack() as undo:
        url = settings.database_url
        server: EmbeddedPostgres | None = None
        if url is None:
            server = await EmbeddedPostgres.open(settings.home)
            undo.push_async_callback(server.close)
            url = server.app_url
        database = Database(await open_pool(url, size=settings.pool_size), server.revive if server else None)
        undo.push_async_callback(database.close)
        await probe(database)
        metrics = Metrics()
        model = embedder or choose_embedder(settings)
        chosen = None if model is None else CountedEmbedder(model, metrics)
        chat = chat or choose_chat(settings)
        access = AccessBuffer(database)
        indexer = Indexer(database, chosen, clock)
        closing: list[Any] = [part for part in (chosen, chat, database, server) if part is not None]
        introducer = Introducer(database)
        memories = MemoryService(
            database, introducer, chosen, clock, notice=indexer.notice,
            max_content_characters=settings.max_content_characters, default_ttl_days=settings.default_ttl_days,
        )  # fmt: skip
        recall = RecallService(database, chosen, access, clock)
        graph = GraphService(database, introducer, clock)
        builtin: dict[str, BuiltIn] = {
            "postgres": lambda scope: PostgresProvider(scope, memories, recall, indexer),
            "vector": lambda scope: VectorProvider(scope, memories, recall, indexer),
            "graph": lambda scope: GraphProvider(scope, graph),
        }
        factories = {**installed_factories(), **(providers or {})}
        if taken := set(factories) & {*LOCAL, *builtin}:
            raise ValidationFailedError(f"a provider cannot be called {sorted(taken)[0]!r}: Keeps has one of that name")
        markdown = MarkdownFolders(
            settings.markdown_folder or settings.home / "markdown",
            introducer,
            counted_chat(chat, metrics, "markdown"),
            clock,
        )
        cache = RedisCache(settings.redis_url, metrics) if settings.redis_url else None
        closing += [cache] if cache is not None else []
        registry = Registry(
            database, introducer, clock, WorkingShelves(clock), markdown, builtin, factories, settings.home
        )
        asked = ProviderService(registry, introducer, recall, clock, provider_timeout_seconds)
        operations = OperationService(database, clock)
        kept = timedelta(hours=settings.session_hours)
        exchanges = ExchangeService(database, introducer, memories, cache, clock, kept)
        conversations = SessionConsolidation(
            database, exchanges, memories, counted_chat(chat, metrics, "sessions"), settings.llm_tokens_per_day
        )
        lifecycle = Lifecycle(
            database,
            operations,
            clock,
            {"index": partial(_index, indexer), "sessions": conversations.consolidate_user},
            metrics,
            settings.cleanup_interval_hours,
        )
        services = Services(
            memories=memories,
            forgetting=Forgetting(database, memories, exchanges, graph, asked),
            recall=recall,
            providers=asked,
            indexer=indexer,
            working=WorkingService(database, introducer, clock),
            sessions=SessionService(database, introducer, clock),
            plans=PlanService(database, introducer, clock),
            tasks=TaskService(database, introducer, clock),
            graph=graph,
            reader=Reader(database, introducer, counted_chat(chat, metrics, "graph"), clock),
            events=EventService(database, Feed(database), clock),
            webhooks=WebhookService(database, clock, metrics, allow_private=settings.webhooks_allow_private),
            keys=KeyService(database, clock),
            tenants=TenantService(database, asked, cache, clock),
            transfer=TransferService(database, introducer, indexer),
            exchanges=exchanges,
            router=ContextRouter(database, asked, exchanges, choose_counter(), access, clock, metrics),
            insights=InsightService(database, clock),
            operations=operations,
            lifecycle=lifecycle,
            worker=Worker(database, lifecycle, clock),
            queue=JobQueue(database),
        )
        await services.events.make_partitions()
        keeps = Keeps(database, services, access, closing, metrics, server.url("postgres") if server else None, cache)
        undo.pop_all()
        return keeps


async def _index(indexer: Indexer, scope: Scope, run: Run) -> None:
    """The job `index`: what waits for a vector gets one."""
    if stored := await indexer.index_user(scope):
        run.counts["indexed"] += stored


def choose_chat(settings: Settings) -> ChatModel | None:
    """The LLM that the settings name; None without one: everything works by rules."""
    if settings.llm_base_url is None:
        return None
    from keeps.models.chat import OpenAIChat

    return OpenAIChat(settings.llm_model, base_url=settings.llm_base_url, api_key=settings.llm_api_key)


def choose_embedder(settings: Settings) -> Embedder | None:
    """The embedder that the settings name; None for text search only."""
    match settings.embedder:
        case "local":
            from keeps.models.minilm import MiniLM

            return MiniLM(settings.model_dir)
        case "openai":
            from keeps.models.openai import OpenAIEmbedder

            return OpenAIEmbedder(
                settings.embedding_model,
                base_url=settings.embedding_base_url,
                api_key=settings.embedding_api_key,
                dimensions=settings.embedding_dimensions,
            )
        case "none":
            return None

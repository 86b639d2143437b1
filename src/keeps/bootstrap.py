"""The composition root: from settings to an open engine. No other module chooses parts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

from keeps.base.budgets import Prices
from keeps.base.cache.redis import RedisCache
from keeps.base.clock import Clock, utc_now
from keeps.base.settings import Settings
from keeps.base.telemetry.metrics import Metrics
from keeps.engine import Keeps
from keeps.memory.jobs.worker import Worker, declare_jobs
from keeps.memory.lifecycle.service import Lifecycle
from keeps.memory.providers.calls import TIMEOUT_SECONDS
from keeps.memory.spaces.entering import in_spaces
from keeps.memory.spaces.service import SpaceService
from keeps.models.chat import ChatModel
from keeps.models.counted import CountedEmbedder, CountedReranker
from keeps.models.embedder import Embedder
from keeps.models.reranker import Reranker
from keeps.operate.backups.making import ShippedServer
from keeps.operate.cells.opening import CellOpener, ShardOpener
from keeps.operate.freezing.service import FreezeService
from keeps.part import ClosingT, Core
from keeps.parts import PARTS
from keeps.providers.contract import ProviderFactory
from keeps.store.costs.budgets import Budgets
from keeps.store.costs.usage import ModelUsage
from keeps.store.db.pool import lazy_pool, open_pool
from keeps.store.db.probe import probe
from keeps.store.db.session import Database
from keeps.store.events.service import EventService
from keeps.store.tenants.service import Introducer
from keeps_client.zones import zone_of


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
    """Open the database, check that it isolates tenants, and make the parts.

    Args:
        embedder, reranker, chat: Used instead of those that the settings name.
        providers: Factories of memory providers, beside those of installed packages.
        provider_timeout_seconds: Time that a provider has for its part of a recall; then it is left out.

    Raises:
        UnavailableError: The database cannot be used safely; the message says what to do.
    """
    async with AsyncExitStack() as stack:

        def opened(part: ClosingT) -> ClosingT:
            stack.push_async_callback(part.close)
            return part

        jobs = [job for part in PARTS for job in part.jobs]
        periods = {job.name: period for job in jobs if (period := job.period_by(settings)) is not None}
        url = settings.database_url
        server = opened(await ShippedServer.open(settings.home)).server if url is None else None
        if settings.router is None:
            cells, shards = opened(CellOpener(settings, periods)), None
            pool = await open_pool(str(url) if server is None else server.app_url, size=settings.pool_size)
        else:
            cells = opened(ShardOpener(settings, periods))
            shards = await cells.shards()
            pool = shards.main.pool
        direct = lazy_pool(settings.worker_database_url, size=1) if settings.worker_database_url else None
        standbys = [lazy_pool(address, size=settings.pool_size) for address in settings.read_database_url]
        database = opened(Database(pool, server, cells, direct=direct, standbys=standbys, shards=shards))
        metrics, introducer = Metrics(), Introducer(database)
        embedder = embedder or choose_embedder(settings)
        reranker = reranker or choose_reranker(settings)
        chat = chat or choose_chat(settings)
        # Closed after all that asks models, so that their last counts are written.
        budgets = Budgets(settings.budgets, Prices(settings.llm_prices), metrics)
        usage = opened(ModelUsage(database, clock, metrics, budgets))
        core = Core(
            settings=settings,
            stack=stack,
            clock=clock,
            zone=zone_of(settings.timezone),
            database=database,
            server=server,
            metrics=metrics,
            cache=opened(RedisCache(settings.redis_url, metrics)) if settings.redis_url else None,
            embedder=None if embedder is None else opened(CountedEmbedder(embedder, metrics, usage)),
            reranker=None if reranker is None else opened(CountedReranker(reranker, metrics)),
            chat=None if chat is None else opened(chat),
            introducer=introducer,
            usage=usage,
            parts=PARTS,
            providers=providers or {},
            provider_timeout_seconds=provider_timeout_seconds,
        )
        await probe(database.main)
        if shards is not None:
            await shards.check()
        for part in PARTS:
            part.make(core)
        await core.get(EventService).make_partitions()
        await declare_jobs(database.main, periods)
        freezing = core.open(FreezeService(database, settings, lambda: core.get(Lifecycle), clock))
        database.frozen = freezing
        core.get(Worker).beside.append(freezing.run)
        spaces = core.get(SpaceService)
        handlers = {served.endpoint: in_spaces(spaces, served) for part in PARTS for served in part.endpoints(core)}
        core.stack = stack.pop_all()
        return Keeps(core, handlers, asyncio.get_running_loop())


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
            from keeps.models.local import MiniLM

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
        case named:
            from keeps.models.local import embedder_of

            return embedder_of(named, settings.home / "models")


def choose_reranker(settings: Settings) -> Reranker | None:
    """The reranker that the settings name; None without one."""
    if settings.reranker == "none":
        return None
    from keeps.models.cross_encoder import reranker_of

    return reranker_of(settings.reranker)

"""The HTTP service: a Starlette application around an open engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import chain

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from keeps.base.clock import Clock, utc_now
from keeps.base.door import DoorName
from keeps.base.settings import LOOPBACK, AuthMode, Settings
from keeps.base.telemetry.metrics import HttpMetrics, text_of
from keeps.doors.server.byte_budget import ByteBudget
from keeps.doors.server.cached_response import CachedResponse
from keeps.doors.server.concurrency import ConcurrencyLimits
from keeps.doors.server.custom_routes import CUSTOM_ROUTES
from keeps.doors.server.edge import Edge
from keeps.doors.server.gauges import Gauges
from keeps.doors.server.mounts import Mount
from keeps.doors.server.open_streams import OpenStreams
from keeps.doors.server.public_routes import public_routes
from keeps.doors.server.router import Router
from keeps.doors.server.routes import operation_routes
from keeps.engine import Keeps
from keeps.memory.jobs.worker import Worker
from keeps.store.access.identity import Authenticator
from keeps.store.access.keys import KeyService
from keeps.store.access.rates import Rates
from keeps.store.access.tokens import Tokens
from keeps.store.events.service import EventService
from keeps.store.webhooks.service import WebhookService
from keeps_client.errors import ValidationFailedError

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METRICS_SECONDS = 1.0
"""Seconds for which an exposition of the metrics is cached; making one takes tens of milliseconds."""
_RESPONSE_HEADERS = (
    "ETag X-Next-Cursor X-Request-ID RateLimit-Limit RateLimit-Remaining RateLimit-Reset Retry-After"
).split()
"""Headers that pages of allowed origins may read. They may send any: OpenAI's client sends several of its own."""
Opening = Callable[[], AbstractAsyncContextManager[Keeps]]


def auth_of(settings: Settings) -> AuthMode:
    """Return the mode of authentication.

    Raises ValidationFailedError for none on an address other than this machine.
    """
    mode: AuthMode = settings.auth or ("none" if settings.host in LOOPBACK else "keys")
    if mode == "none" and settings.host not in LOOPBACK:
        raise ValidationFailedError(
            f"KEEPS_AUTH=none would let anyone who can reach {settings.host} read every tenant; set KEEPS_AUTH to keys"
            " or jwt, or KEEPS_HOST to 127.0.0.1"
        )
    if mode == "none" and "*" in settings.cors_origins:
        raise ValidationFailedError(
            "KEEPS_CORS_ORIGINS=* with KEEPS_AUTH=none would let any web page read and write every tenant; name the"
            " origins"
        )
    return mode


def create_app(
    settings: Settings,
    opening: Opening,
    *,
    clock: Clock = utc_now,
    work: bool = False,
    webhooks: bool = True,
    mounts: Sequence[Mount] = (),
    door: Callable[[ASGIApp], ASGIApp] | None = None,
    door_name: DoorName = "http",
) -> Starlette:
    """Return the application. `opening` opens the engine when the server starts, and closes it after it has drained.

    Args:
        work: Run background jobs as well.
        webhooks: Send events to webhooks.
        mounts: Other protocols to serve.
        door: Wraps all of it.
        door_name: What the log of requests says of its requests.
    """
    mode = auth_of(settings)
    streams = OpenStreams()
    lifespan = partial(
        _lifespan,
        mode=mode,
        tokens=_tokens_of(settings) if "jwt" in mode else None,
        opening=opening,
        clock=clock,
        work=work,
        webhooks=webhooks,
        mounts=mounts,
        streams=streams,
    )
    app = Starlette(lifespan=lifespan)
    app.state.metrics = HttpMetrics()
    app.state.byte_budget = ByteBudget()
    app.state.door = door_name
    remote = settings.embedder == "openai" or settings.reranker != "none"
    app.state.concurrency = ConcurrencyLimits(remote_models=remote)
    app.state.rates = None if mode == "none" else _rates_of(settings)
    router = Router(chain(operation_routes(), CUSTOM_ROUTES, public_routes()))
    app.add_middleware(Edge, router=router, state=app.state, settings=settings, mounts=mounts, streams=streams)
    if door is not None:
        app.add_middleware(door)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=("*",),
            allow_headers=["*"],
            expose_headers=_RESPONSE_HEADERS,
        )
    return app


def _tokens_of(settings: Settings) -> Tokens:
    issuer, audience = settings.jwt_issuer, settings.jwt_audience
    return Tokens(settings.jwt_secret, settings.jwks_url, issuer=issuer, audience=audience)


def _rates_of(settings: Settings) -> Rates:
    reads, writes = settings.reads_per_minute, settings.writes_per_minute
    return Rates(reads_per_minute=reads, writes_per_minute=writes, redis_url=settings.redis_url)


@asynccontextmanager
async def _lifespan(
    app: Starlette,
    *,
    mode: AuthMode,
    tokens: Tokens | None,
    opening: Opening,
    clock: Clock,
    work: bool,
    webhooks: bool,
    mounts: Sequence[Mount],
    streams: OpenStreams,
) -> AsyncGenerator[None]:
    """Open the engine and run what the server needs, until the server stops."""
    rates: Rates | None = app.state.rates
    async with opening() as keeps:
        authenticator = Authenticator(mode, keeps.database, clock, tokens)
        app.state.keeps, app.state.authenticator = keeps, authenticator
        gauges = Gauges(keeps)
        app.state.exposition = CachedResponse(
            lambda: text_of(keeps.metrics.registry, app.state.metrics.registry),
            METRICS_TYPE,
            seconds=METRICS_SECONDS,
            prepare=gauges.refresh,
        )
        app.state.end_streams = partial(_end_streams, keeps, mounts)
        if rates is not None and keeps.cache is not None:
            rates.breaker = keeps.cache.breaker
        keeps.service(KeyService).listeners.append(authenticator.forget_keys)
        if webhooks:
            keeps.service(WebhookService).start()
        if work:
            keeps.service(Worker).start()
        async with AsyncExitStack() as running:
            await running.enter_async_context(gauges.running())
            await running.enter_async_context(streams.checked(authenticator, keeps.database))
            keeps.core.erasure_listeners.append(streams.end_unchecked)
            running.callback(keeps.core.erasure_listeners.remove, streams.end_unchecked)
            for mount in mounts:
                await running.enter_async_context(mount.running(keeps, rates))
            await running.enter_async_context(_warming(keeps))
            yield
        keeps.service(KeyService).listeners.remove(authenticator.forget_keys)
        await keeps.service(Worker).close()
        await keeps.service(WebhookService).close()
    if rates is not None:
        await rates.close()


@asynccontextmanager
async def _warming(keeps: Keeps) -> AsyncGenerator[None]:
    """Load the models while the server begins to answer."""
    warming = asyncio.create_task(keeps.warm())
    try:
        yield
    finally:
        warming.cancel()
        await asyncio.gather(warming, return_exceptions=True)


def _end_streams(keeps: Keeps, mounts: Sequence[Mount]) -> None:
    keeps.service(EventService).end_subscriptions()
    for mount in mounts:
        mount.end()

"""The HTTP service: routes around an open engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from keeps import __version__
from keeps.access.identity import Authenticator
from keeps.access.keys import KeyService
from keeps.access.rates import Rates
from keeps.access.tokens import Tokens
from keeps.clock import Clock, utc_now
from keeps.engine import Keeps
from keeps.events.service import EventService
from keeps.jobs.worker import Worker
from keeps.server.asgi import App
from keeps.server.docs import mount_docs
from keeps.server.edge import LOOPBACK, Edge
from keeps.server.gauges import Gauges
from keeps.server.held import HeldBytes
from keeps.server.lean import AT_ONCE, AT_ONCE_ALONE, AT_ONCE_BESIDE, AT_ONCE_REMOTE, LeanRoute
from keeps.server.mount import ROUTER
from keeps.server.mounting import Mounted
from keeps.server.open_streams import OpenStreams
from keeps.server.openapi import describe
from keeps.server.problems import encode, problem_of
from keeps.server.public import KeptAnswer
from keeps.server.special import health, router
from keeps.server.turns import USER_ALONE, USER_ALONE_REMOTE, Turns
from keeps.settings import AuthMode, Settings
from keeps.telemetry.metrics import HttpMetrics, text_of
from keeps.turns import FairSlots
from keeps.webhooks.service import WebhookService
from keeps_client.errors import KeepsError, NotFoundError, ValidationFailedError

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METRICS_SECONDS = 1.0
"""Seconds for which an exposition of the metrics is cached; making one takes tens of milliseconds."""
Opening = Callable[[], AbstractAsyncContextManager[Keeps]]


def auth_of(settings: Settings) -> AuthMode:
    """Return the mode of authentication.

    Raises ValidationFailedError for none on an address other than this machine.
    """
    mode: AuthMode = settings.auth or ("none" if settings.host in LOOPBACK else "keys")
    if mode == "none" and settings.host not in LOOPBACK:
        raise ValidationFailedError(
            f"KEEPS_AUTH=none would let anybody who reaches {settings.host} read every tenant; set KEEPS_AUTH to keys"
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
    mounted: Sequence[Mounted] = (),
    door: Callable[[App], App] | None = None,
) -> FastAPI:
    """Return the application. `opening` opens the engine when the server starts, and closes it after it has drained.

    Args:
        work: Run background jobs as well.
        mounted: Other protocols to serve.
        door: Wraps all of it.
    """
    mode = auth_of(settings)
    tokens = (
        Tokens(settings.jwt_secret, settings.jwks_url, issuer=settings.jwt_issuer, audience=settings.jwt_audience)
        if "jwt" in mode
        else None
    )

    streams = OpenStreams()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with opening() as keeps:
            app.state.keeps = keeps
            if app.state.rates is not None and keeps.cache is not None:
                app.state.rates.breaker = keeps.cache.breaker
            app.state.authenticator = Authenticator(mode, keeps.database, clock, tokens)
            forget_keys = app.state.authenticator.forget_keys
            keeps.service(KeyService).listeners.append(forget_keys)
            app.state.exposition = KeptAnswer(
                lambda: text_of(keeps.metrics.registry, app.state.metrics.registry),
                METRICS_TYPE,
                seconds=METRICS_SECONDS,
                prepare=Gauges(keeps).refresh,
            )

            def end_streams() -> None:
                keeps.service(EventService).end_subscriptions()
                for protocol in mounted:
                    protocol.end()

            app.state.end_streams = end_streams
            keeps.service(WebhookService).start()
            if work:
                keeps.service(Worker).start()
            async with AsyncExitStack() as running:
                await running.enter_async_context(streams.checked(app.state.authenticator, keeps.database))
                for protocol in mounted:
                    await running.enter_async_context(protocol.running(keeps, app.state.rates))
                yield
            keeps.service(KeyService).listeners.remove(forget_keys)
            await keeps.service(Worker).close()
            await keeps.service(WebhookService).close()
        if app.state.rates is not None:
            await app.state.rates.close()

    app = FastAPI(
        title="Keeps",
        version=__version__,
        lifespan=lifespan,
        redoc_url=None,
        docs_url=None,
        openapi_url=None,
        summary="Memory for AI agents, isolated by the database.",
        separate_input_output_schemas=False,
        # The framework's own spans hold whole paths, and so the ids in them; ours are made at the edge.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.metrics = HttpMetrics()
    waits = settings.embedder == "openai" or settings.reranker != "none"
    beside = AT_ONCE_REMOTE if waits else AT_ONCE_BESIDE
    app.state.held_bytes = HeldBytes()
    app.state.turns = Turns(
        FairSlots(AT_ONCE, alone=AT_ONCE_ALONE, beside=beside),
        user_alone=USER_ALONE_REMOTE if waits else USER_ALONE,
        user_beside=beside,
    )
    app.state.rates = (
        None
        if mode == "none"
        else Rates(
            reads_per_minute=settings.reads_per_minute,
            writes_per_minute=settings.writes_per_minute,
            redis_url=settings.redis_url,
        )
    )
    routes = [*ROUTER.routes, *router.routes, *health.routes]
    app.router.routes[:0] = routes
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(
        Edge,
        routes=[route for route in routes if isinstance(route, LeanRoute)],
        state=app.state,
        metrics=app.state.metrics,
        max_body_bytes=settings.max_body_bytes,
        traced=settings.otlp_endpoint is not None,
        log_requests=settings.log_level in ("debug", "info"),
        allowed_origins=settings.cors_origins,
        settings=settings,
        mounted=mounted,
        streams=streams,
    )
    if door is not None:
        app.add_middleware(door)  # pyright: ignore[reportArgumentType]
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["*"],
            allow_headers=[
                "Authorization",
                "X-API-Key",
                "X-Tenant-ID",
                "X-User-ID",
                "X-Agent-ID",
                "X-Timezone",
                "X-Request-ID",
                "Idempotency-Key",
                "If-Match",
                "Content-Type",
            ],
            expose_headers=[
                "ETag",
                "X-Next-Cursor",
                "X-Request-ID",
                "RateLimit-Limit",
                "RateLimit-Remaining",
                "RateLimit-Reset",
                "Retry-After",
            ],
        )
    app.openapi = describe(app)
    mount_docs(app)
    return app


def _problem(request: Request, error: KeepsError, status: int | None = None, allow: str | None = None) -> Response:
    problem = problem_of(error, request.scope.get("keeps.request_id", ""))
    code, headers, body = encode({**problem, "status": status or problem["status"]})
    response = Response(body, code)
    response.raw_headers = [*headers, *([(b"allow", allow.encode())] if allow else [])]
    return response


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 404:
        return _problem(request, NotFoundError("no such path, or an id in it is no UUID; see /docs"))
    if error.status_code == 405:
        path = request.scope["path"]
        methods = {
            method
            for route in request.app.routes
            if isinstance(route, APIRoute) and route.path_regex.match(path)
            for method in route.methods or ()
        }
        allow = ", ".join(sorted(methods))
        return _problem(request, ValidationFailedError(f"this path has no {request.method}, but {allow}"), 405, allow)
    return _problem(request, ValidationFailedError("the body cannot be read as JSON"), 422)

"""The outermost layer, plain ASGI: authentication, size limits, counting, errors.

The rest of a request happens inside it, in the same task. A body is never read before its sender is known and its size
is allowed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from uuid import uuid4

from fastapi.middleware.gzip import GZipMiddleware
from opentelemetry import propagate, trace
from prometheus_client import Counter, Histogram
from starlette.datastructures import State
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from keeps.access.identity import Authenticator
from keeps.access.rates import WrongCredentials
from keeps.access.tokens import EndedCredentialError
from keeps.db.session import traced
from keeps.scope import DEFAULT_USER_ID
from keeps.server.answers import Answer
from keeps.server.asgi import App, Receive, Scope, Send
from keeps.server.bodies import few_parts, limited
from keeps.server.docs import FILES
from keeps.server.lean import LeanRoute
from keeps.server.mounting import Mounted
from keeps.server.names import named_user, plain_names
from keeps.server.open_streams import OpenStreams
from keeps.server.origins import check_origin
from keeps.server.problems import internal_problem, problem_of
from keeps.server.proxies import TrustedProxies
from keeps.settings import Settings
from keeps.telemetry.logs import log
from keeps.telemetry.metrics import HttpMetrics
from keeps.telemetry.traces import tracer
from keeps_client.errors import (
    ForbiddenError,
    KeepsError,
    PayloadTooLargeError,
    UnauthenticatedError,
    ValidationFailedError,
)
from keeps_client.models.documents import MAX_FILE_BYTES
from keeps_client.uploads import PATH as UPLOADS

PUBLIC = frozenset({"/health", "/ready", "/metrics", "/docs", "/openapi.json", *(f"/docs/{name}" for name in FILES)})
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
IMPORTS = "/v1/admin/import"
"""Path of the import, whose body has one JSON document a line."""
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
_HOST = re.compile(r"[A-Za-z0-9._\-\[\]:]{1,255}")


class Edge:
    """Wraps the routes of Keeps."""

    def __init__(
        self,
        app: App,
        *,
        routes: Sequence[LeanRoute],
        state: State,
        metrics: HttpMetrics,
        max_body_bytes: int,
        traced: bool,
        log_requests: bool,
        allowed_origins: Sequence[str] = (),
        settings: Settings | None = None,
        mounted: Sequence[Mounted] = (),
        streams: OpenStreams,
    ) -> None:
        self._app = app
        self._routes = routes
        self._state = state
        self._metrics = metrics
        self._max_body_bytes = max_body_bytes
        self._traced = traced
        self._log_requests = log_requests
        self._allowed_origins = frozenset(allowed_origins)
        self._settings = settings
        self._mounted = mounted
        self._streams = streams
        self._wrong = WrongCredentials()
        self._proxies = TrustedProxies(settings.trusted_proxies if settings is not None else ())
        self._in_flight = 0
        metrics.in_flight.set_function(lambda: self._in_flight)
        self._counters: dict[tuple[str, str, int], tuple[list[Counter], list[Histogram]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = {name.decode("latin-1"): _text(value) for name, value in scope["headers"]}
        scope["keeps.doubled"] = _doubled(scope["headers"]) if len(headers) < len(scope["headers"]) else None
        given = headers.get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else str(uuid4())
        scope["keeps.request_id"] = request_id
        answer = Answer(scope, send, request_id, self._streams, self._state.held_bytes)
        self._in_flight += 1
        try:
            if self._traced:
                context = propagate.extract(headers)
                with tracer().start_as_current_span(
                    scope["method"], context, kind=trace.SpanKind.SERVER, record_exception=False
                ) as span:
                    await self._guarded(scope, headers, receive, answer)
                    span.update_name(f"{scope['method']} {_route(scope)}")
                    span.set_attributes({"http.route": _route(scope), "http.response.status_code": answer.status})
            else:
                await self._guarded(scope, headers, receive, answer)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not answer.was_ended or task is None or task.uncancel():
                raise
            await answer.end()
        finally:
            answer.close()
            self._count(scope, answer.status, time.perf_counter() - started, request_id)

    async def _guarded(self, scope: Scope, headers: dict[str, str], receive: Receive, answer: Answer) -> None:
        try:
            await self._run(scope, headers, receive, answer)
        except KeepsError as error:
            await answer.problem(problem_of(error, answer.request_id), self._challenge(scope, headers))
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001  the last resort: a defect is an answer and a line in the log
            # Not the message and not the locals: both may hold what somebody stored.
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            place = f"{where.tb_frame.f_code.co_filename}:{where.tb_lineno}" if where else ""
            log().error("defect", request_id=answer.request_id, error=type(error).__name__, place=place)
            await answer.problem(internal_problem(answer.request_id))

    async def _run(self, scope: Scope, headers: dict[str, str], receive: Receive, answer: Answer) -> None:
        if scope["keeps.doubled"] is not None:
            raise ValidationFailedError(f"the header {scope['keeps.doubled']} may be sent once, with one value")
        plain_names(scope)
        app = self._chosen(scope)
        if "gzip" in headers.get("accept-encoding", ""):
            app = GZipMiddleware(answer.counting(app), minimum_size=1_024, compresslevel=4)
        if scope["path"] in PUBLIC:
            await app(scope, receive, answer.send)
            return
        if scope["method"] == "GET" and (document := self._document(scope, headers)) is not None:
            await answer.json(document)
            return
        authenticator: Authenticator = self._state.authenticator
        if authenticator.mode == "none" and _host(headers.get("host", "")) not in LOOPBACK:
            # Without credentials, a web page that resolves its own name to this machine must not get through.
            raise ForbiddenError(
                "without KEEPS_AUTH only requests to localhost are served; the Host header names another"
            )
        check_origin(headers, self._allowed_origins)
        named_user(scope, headers)
        address = self._proxies.client(scope)
        try:
            other = self._other(scope["path"]) if "keeps.mounted" in scope else None
            some_user = other.some_user if other else None
            if scope["path"].startswith("/v1/admin/"):  # acts on a tenant, whoever the user is
                some_user = DEFAULT_USER_ID
            scope["keeps.asked"] = headers, some_user
            scope["keeps.scope"] = await authenticator.scope_of(
                headers,
                some_user=some_user,
                lookup=partial(self._wrong.lookup, address),
            )
        except EndedCredentialError:
            raise
        except UnauthenticatedError:
            if credential := headers.get("authorization") or headers.get("x-api-key"):
                self._wrong.count(address, credential)
            raise
        if "x-timezone" in headers:
            scope["keeps.scope"] = replace(scope["keeps.scope"], timezone=headers["x-timezone"])
        traceparent = headers.get("traceparent", "")
        with traced(traceparent if _TRACEPARENT.fullmatch(traceparent) else ""):
            await self._admitted(app, scope, headers, receive, answer)

    async def _admitted(
        self, app: App, scope: Scope, headers: dict[str, str], receive: Receive, answer: Answer
    ) -> None:
        uploads = scope["method"] == "POST" and scope["path"] == UPLOADS
        limit = MAX_FILE_BYTES + (1 << 20) if uploads else self._max_body_bytes
        length = headers.get("content-length", "0")
        if len(length) > 20 or (length.isascii() and length.isdecimal() and int(length) > limit):
            raise PayloadTooLargeError(f"a body has at most {limit:,} bytes, this one {length[:20]}")
        if not uploads and scope["path"] != IMPORTS:
            receive = few_parts(receive)
        key = headers.get("idempotency-key")
        if key is not None and not _REQUEST_ID.fullmatch(key):
            raise ValidationFailedError("Idempotency-Key must be 1 to 128 visible ASCII characters")
        await app(scope, limited(receive, limit), answer.send)

    def _chosen(self, scope: Scope) -> App:
        """Return the lean route, or the framework's layers for documentation, health and unknown paths."""
        for route in self._routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                return route.app
        other = self._other(scope["path"])
        if other is not None:
            scope["keeps.mounted"] = other.paths[0]
        return other or self._app

    def _other(self, path: str) -> Mounted | None:
        """Return the mounted protocol that answers a path, or None."""
        for each in self._mounted:
            if any(path == known or (known.endswith("/") and path.startswith(known)) for known in each.paths):
                return each
        return None

    def _document(self, scope: Scope, headers: dict[str, str]) -> object | None:
        """Return a public document of a mounted protocol, or None."""
        if self._settings is not None and scope["path"].startswith("/.well-known/"):
            origin = self._origin(scope, headers)
            for each in self._mounted:
                if (found := each.public(self._settings, origin).get(scope["path"])) is not None:
                    return found
        return None

    def _challenge(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """Return the URL at which a client of another protocol learns how to get credentials, or None."""
        other = self._other(scope["path"])
        return None if other is None or other.challenge is None else self._origin(scope, headers) + other.challenge

    def _origin(self, scope: Scope, headers: dict[str, str]) -> str:
        """Return this server's origin as the client addressed it, or as a trusted proxy reports it."""
        host = headers.get("host", "")
        return f"{self._proxies.scheme(scope)}://{host if _HOST.fullmatch(host) else 'localhost'}"

    def _count(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        route, method = _route(scope), scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._in_flight -= 1
        counters = self._counters.get((method, route, status))
        if counters is None:
            counters = self._counters[method, route, status] = self._counters_of(method, route, status, scope)
        for counter in counters[0]:
            counter.inc()
        for histogram in counters[1]:
            histogram.observe(seconds)
        if self._log_requests:
            caller = scope.get("keeps.scope")
            ids = {} if caller is None else {"tenant_id": caller.tenant_id, "user_id": caller.user_id}
            if caller is not None and caller.agent_id is not None:
                ids["agent_id"] = caller.agent_id
            write = log().debug if scope["path"] in _PROBES and status < 400 else log().info
            write(
                "request",
                request_id=request_id,
                method=method,
                route=route,
                status=status,
                ms=round(seconds * 1e3, 2),
                address=self._proxies.client(scope),
                **ids,
            )

    def _counters_of(self, method: str, route: str, status: int, scope: Scope) -> tuple[list[Counter], list[Histogram]]:
        """Return the counters and histograms that a request with these labels counts in."""
        counters = [self._metrics.requests.labels(method, route, str(status))]
        histograms = [self._metrics.duration.labels(method, route)]
        endpoint = getattr(scope.get("route"), "endpoint", None)
        if route.startswith("/v1/") and endpoint is not None:
            success = "true" if status < 400 else "false"
            counters.append(self._metrics.operations.labels(endpoint.__name__, _kind(route), success))
            if route in _QUESTIONS:
                histograms.append(self._metrics.retrieval)
        return counters, histograms


_SINGLE = frozenset(
    {
        b"authorization",
        b"x-api-key",
        b"x-tenant-id",
        b"x-user-id",
        b"x-agent-id",
        b"host",
        b"origin",
        b"content-length",
        b"content-type",
        b"idempotency-key",
        b"if-match",
    }
)
_PROBES = frozenset({"/health", "/ready", "/metrics"})
"""Paths that machines ask for every few seconds; successful requests are logged at `debug`."""
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})


_QUESTIONS = frozenset(
    {
        "/v1/recall",
        "/v1/memory/semantic/query",
        "/v1/memory/semantic/search",
        "/v1/memory/episodic/search",
        "/v1/memory/procedural/context",
    }
)
_KINDS = {"atomic": "working", "task-context": "task", "plan-context": "plan", "plans": "plan", "sessions": "session"}


def _kind(route: str) -> str:
    """Return what an operation is about: a CoALA kind, a kind of state, `memory` for any of them, or `admin`."""
    _, _, first, *rest = route.split("/")
    part = rest[0] if first == "memory" and rest else first
    return _KINDS.get(part, "memory" if part in ("memories", "recall") else part)


def _route(scope: Scope) -> str:
    """Return the route's template, so that metrics have few labels."""
    route = scope.get("route")
    return (
        getattr(route, "path_format", "")
        or scope.get("keeps.mounted", "")
        or ("unknown" if scope["path"] not in PUBLIC else scope["path"])
    )


def _doubled(headers: Sequence[tuple[bytes, bytes]]) -> str | None:
    """Return the name of a header that may occur only once but is repeated, or None."""
    names = [name for name, _ in headers if name in _SINGLE]
    return next((name.decode() for name in names if names.count(name) > 1), None)


def _host(value: str) -> str:
    """Return the host of a Host header, without its port."""
    return value.rpartition("]")[0].lstrip("[") if value.startswith("[") else value.rpartition(":")[0] or value


def _text(value: bytes) -> str:
    """Decode a header as UTF-8 if it is, since ids may be."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")

"""The outermost layer, plain ASGI: authentication, size limits, errors, and the choice of a route.

The rest of a request happens inside it, in the same task. A body is never read before its sender is known and its size
is allowed.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from uuid import uuid4

from starlette.datastructures import State
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from keeps.base.door import through
from keeps.base.scope import DEFAULT_USER_ID
from keeps.base.settings import LOOPBACK, Settings
from keeps.base.telemetry.logs import log
from keeps.doors.server.bodies import limit_json_parts, limit_size
from keeps.doors.server.custom_routes import IMPORT_DATA
from keeps.doors.server.mounts import Mount
from keeps.doors.server.open_streams import OpenStreams
from keeps.doors.server.origins import check_origin
from keeps.doors.server.problems import internal_problem, problem_of
from keeps.doors.server.proxies import TrustedProxies
from keeps.doors.server.public_routes import PUBLIC_PATHS
from keeps.doors.server.request_metrics import RequestMetrics, route_label
from keeps.doors.server.responses import ResponseWriter
from keeps.doors.server.router import Route, Router
from keeps.doors.server.urls import check_query, normalize_url
from keeps.store.access.identity import Authenticator
from keeps.store.access.rates import WrongCredentials
from keeps.store.access.tokens import EndedCredentialError
from keeps.store.db.session import traced
from keeps_client.errors import (
    ForbiddenError,
    KeepsError,
    PayloadTooLargeError,
    UnauthenticatedError,
    ValidationFailedError,
)
from keeps_client.models.documents import MAX_FILE_BYTES
from keeps_client.uploads import PATH as UPLOADS

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
_HOST = re.compile(r"[A-Za-z0-9._\-\[\]:]{1,255}")
_SINGLE = frozenset(
    b"authorization x-api-key x-tenant-id x-user-id x-agent-id x-space-id host origin content-length content-type"
    b" idempotency-key if-match".split()
)
"""Headers that may occur only once."""

_FORWARDING = re.compile(
    r"x-forwarded|forwarded$|via$|x-real-ip$|x-client-ip$|true-client-ip$|cf-|x-envoy-|x-amzn-|cdn-loop$|tailscale-"
)
"""Names of headers that proxies add."""


class Edge:
    """Answers every request. The wrapped app gets only what is no request, such as the lifespan of the server."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        router: Router,
        state: State,
        settings: Settings,
        mounts: Sequence[Mount],
        streams: OpenStreams,
    ) -> None:
        self._app = app
        self._router = router
        self._state = state
        self._settings = settings
        self._allowed_origins = frozenset(settings.cors_origins)
        self._traced = settings.otlp_endpoint is not None
        self._mounts = mounts
        self._streams = streams
        self._wrong = WrongCredentials()
        self._proxies = TrustedProxies(settings.trusted_proxies)
        self._requests = RequestMetrics(state.metrics, self._proxies.client)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        headers = {name.decode("latin-1"): _decode(value) for name, value in scope["headers"]}
        request_id = headers.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = str(uuid4())
        scope["keeps.request_id"] = request_id
        writer = ResponseWriter(scope, send, request_id, self._streams, self._state.byte_budget)
        self._requests.begin()
        try:
            with through(self._state.door):
                if self._traced:
                    await self._run_in_span(scope, headers, receive, writer)
                else:
                    await self._run(scope, headers, receive, writer)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not writer.was_ended or task is None or task.uncancel():
                raise
            await writer.end()
        finally:
            writer.close()
            self._requests.end(scope, writer.status, time.perf_counter() - started)

    async def _run_in_span(
        self, scope: Scope, headers: dict[str, str], receive: Receive, writer: ResponseWriter
    ) -> None:
        from opentelemetry import propagate, trace  # Of the extra otel.

        context = propagate.extract(headers)
        with trace.get_tracer("keeps").start_as_current_span(
            scope["method"], context, kind=trace.SpanKind.SERVER, record_exception=False
        ) as span:
            await self._run(scope, headers, receive, writer)
            span.update_name(f"{scope['method']} {route_label(scope)}")
            span.set_attributes({"http.route": route_label(scope), "http.response.status_code": writer.status})

    async def _run(self, scope: Scope, headers: dict[str, str], receive: Receive, writer: ResponseWriter) -> None:
        """Handle a request, and answer an error as a problem."""
        try:
            await self._handle(scope, headers, receive, writer)
        except KeepsError as error:
            await writer.problem(problem_of(error, writer.request_id), self._challenge(scope, headers))
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001  the last resort: a defect is a response and a line in the log
            # Not the message and not the locals: both may hold what somebody stored.
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            place = f"{where.tb_frame.f_code.co_filename}:{where.tb_lineno}" if where else ""
            route, kind = route_label(scope), type(error).__name__
            log().error("defect", request_id=writer.request_id, route=route, error=kind, place=place)
            await writer.problem(internal_problem(writer.request_id))

    async def _handle(self, scope: Scope, headers: dict[str, str], receive: Receive, writer: ResponseWriter) -> None:
        if len(headers) < len(scope["headers"]):
            _check_single(scope)
        normalize_url(scope)
        mount = self._choose_route(scope)
        route: Route | None = scope.get("route")
        app: ASGIApp = mount or (self._router.reject if route is None else route.app)
        if "gzip" in headers.get("accept-encoding", ""):
            app = GZipMiddleware(writer.counting(app), minimum_size=1_024, compresslevel=4)
        if scope["path"] in PUBLIC_PATHS:
            await app(scope, receive, writer.send)
            return
        if scope["method"] == "GET" and (document := self._public_document(scope, headers)) is not None:
            await JSONResponse(document)(scope, receive, writer.send)
            return
        authenticator: Authenticator = self._state.authenticator
        if authenticator.mode == "none":
            self._check_local(scope, headers)
        check_origin(headers, self._allowed_origins)
        if route is not None and route.query_names is not None:
            check_query(scope, headers, route.query_names)
        if "x-space-id" in headers:
            if scope["path"].startswith("/v1/admin/"):
                raise ValidationFailedError("X-Space-ID does not apply to administration: leave it out")
            if mount is not None and not mount.in_spaces:
                raise ValidationFailedError("X-Space-ID does not apply to this protocol, whose calls name users")
        await self._authenticate(scope, headers, None if mount is None else mount.some_user)
        traceparent = headers.get("traceparent", "")
        with traced(traceparent if _TRACEPARENT.fullmatch(traceparent) else ""):
            await app(scope, self._limit(scope, headers, receive), writer.send)

    def _choose_route(self, scope: Scope) -> Mount | None:
        """Put the route of a request into its scope, or return the mount that answers it."""
        match = self._router.find(scope["method"], scope["path"])
        if match is not None:
            scope["route"], scope["path_params"] = match
            return None
        mount = self._mount_at(scope["path"])
        if mount is not None:
            scope["keeps.mount"] = mount.paths[0]
        return mount

    def _check_local(self, scope: Scope, headers: dict[str, str]) -> None:
        """Raise ForbiddenError for a request that did not begin on this machine. For servers without credentials."""
        if _host(headers.get("host", "")) not in LOOPBACK:
            # A web page that resolves its own name to this machine must not get through.
            raise ForbiddenError(
                "without KEEPS_AUTH, only requests to localhost are served; the Host header names another host"
            )
        if self._settings.proxy_without_auth:
            return
        sign = next(filter(_FORWARDING.match, headers), None)
        if sign is None and scope["http_version"] == "1.0":  # nginx adds no header unless it is configured to
            sign = "HTTP/1.0"
        if sign is not None:
            raise ForbiddenError(
                f"this request came through a proxy ({sign}), and KEEPS_AUTH=none would let anyone who can reach the"
                " proxy read every tenant; set KEEPS_AUTH=keys, or KEEPS_PROXY_WITHOUT_AUTH=true if the proxy admits"
                " only trusted callers"
            )

    async def _authenticate(self, scope: Scope, headers: dict[str, str], some_user: str | None) -> None:
        """Put the caller into the scope. Raises UnauthenticatedError, ForbiddenError."""
        address = self._proxies.client(scope)
        if scope["path"].startswith("/v1/admin/"):  # acts on a tenant, whoever the user is
            some_user = DEFAULT_USER_ID
        scope["keeps.credentials"] = headers, some_user
        lookup = partial(self._wrong.lookup, address)
        authenticator: Authenticator = self._state.authenticator
        try:
            caller = await authenticator.scope_of(headers, some_user=some_user, lookup=lookup)
        except EndedCredentialError as error:
            scope["keeps.key_id"] = error.key_id
            raise
        except UnauthenticatedError:
            if credential := headers.get("authorization") or headers.get("x-api-key"):
                self._wrong.count(address, credential)
            raise
        scope["keeps.key_id"] = caller.key_id
        scope["keeps.scope"] = replace(caller, timezone=headers["x-timezone"]) if "x-timezone" in headers else caller

    def _limit(self, scope: Scope, headers: dict[str, str], receive: Receive) -> Receive:
        """Return a `receive` with limits on the body. Raises PayloadTooLargeError, ValidationFailedError."""
        uploads = scope["method"] == "POST" and scope["path"] == UPLOADS
        limit = MAX_FILE_BYTES + (1 << 20) if uploads else self._settings.max_body_bytes
        length = headers.get("content-length", "0")
        if len(length) > 20 or (length.isascii() and length.isdecimal() and int(length) > limit):
            raise PayloadTooLargeError(f"a body has at most {limit:,} bytes; this one has {length[:20]}")
        if not uploads and scope["path"] != IMPORT_DATA.path:  # of an import, each line is a JSON document
            receive = limit_json_parts(receive)
        key = headers.get("idempotency-key")
        if key is not None and not _REQUEST_ID.fullmatch(key):
            raise ValidationFailedError("Idempotency-Key must be 1 to 128 visible ASCII characters")
        return limit_size(receive, limit)

    def _mount_at(self, path: str) -> Mount | None:
        """Return the mount that answers a path, or None."""
        for mount in self._mounts:
            if any(path == known or (known.endswith("/") and path.startswith(known)) for known in mount.paths):
                return mount
        return None

    def _public_document(self, scope: Scope, headers: dict[str, str]) -> object | None:
        """Return a public document of a mount, or None."""
        if scope["path"].startswith("/.well-known/"):
            origin = self._origin(scope, headers)
            for mount in self._mounts:
                if (document := mount.public(self._settings, origin).get(scope["path"])) is not None:
                    return document
        return None

    def _challenge(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """Return the URL at which a client of a mount learns how to get credentials, or None."""
        mount = self._mount_at(scope["path"])
        return None if mount is None or mount.challenge is None else self._origin(scope, headers) + mount.challenge

    def _origin(self, scope: Scope, headers: dict[str, str]) -> str:
        """Return this server's origin as the client addressed it, or as a trusted proxy reports it."""
        host = headers.get("host", "")
        return f"{self._proxies.scheme(scope)}://{host if _HOST.fullmatch(host) else 'localhost'}"


def _check_single(scope: Scope) -> None:
    """Raise ValidationFailedError for a header that may occur only once but is repeated."""
    counts = Counter(name for name, _ in scope["headers"] if name in _SINGLE)
    for name, count in counts.items():
        if count > 1:
            raise ValidationFailedError(f"the header {name.decode()} may be sent once, with one value")


def _host(value: str) -> str:
    """Return the host of a Host header, without its port."""
    return value.rpartition("]")[0].lstrip("[") if value.startswith("[") else value.rpartition(":")[0] or value


def _decode(value: bytes) -> str:
    """Decode a header as UTF-8 if it is, since ids may be."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")

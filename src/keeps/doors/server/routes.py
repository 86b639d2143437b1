"""Serves the endpoints of the SDK and of the server's own list as routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from keeps.base.scope import Scope as CallerScope
from keeps.doors.server.admission import admit_request
from keeps.doors.server.bodies import buffered_body, check_json, message_at_hand
from keeps.doors.server.concurrency import ConcurrencyLimits
from keeps.doors.server.idempotency import repeatable_request
from keeps.doors.server.parameters import (
    Finding,
    read_body,
    read_parameters,
    read_version,
    set_version,
    validation_error,
)
from keeps.doors.server.router import Route
from keeps.engine import Keeps
from keeps.store.db.repeats import repeatable
from keeps_client.endpoint import VERSION, Endpoint
from keeps_client.endpoints import ENDPOINTS


@dataclass(frozen=True, slots=True)
class Call:
    """An admitted request with its parameters and its body."""

    endpoint: Endpoint[Any, Any, Any]
    request: Request
    scope: CallerScope
    params: Any
    body: Any = None

    @property
    def keeps(self) -> Keeps:
        return self.request.app.state.keeps


Respond = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Operation:
    """An app that admits the caller, reads the request of an endpoint, and responds.

    `reads_body`: `respond` reads a long body as it arrives; no slot is held for it meanwhile.
    """

    endpoint: Endpoint[Any, Any, Any]
    respond: Respond
    reads_body: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._response(Request(scope, receive, send))
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        endpoint = self.endpoint
        caller = await admit_request(request, endpoint.role)
        findings: list[Finding] = []
        params = read_parameters(endpoint, request, findings)
        if_match = read_version(request, findings) if endpoint.takes_version else None
        if self.reads_body:
            if findings:
                raise validation_error(findings)
            return await self.respond(Call(endpoint, request, caller, params))
        if endpoint.body is not None:
            check_json(request)
        limits: ConcurrencyLimits = request.app.state.concurrency
        # Read before a slot is taken: whoever sends slowly waits for themselves.
        async with (
            buffered_body(request, getattr(endpoint.body, "MOST_BYTES", None)) as content,
            limits.slot(caller, writes=endpoint.role != "reader") as waited,
        ):
            if waited and _has_disconnected(request):
                raise ClientDisconnect  # nobody waits for the response any more
            with repeatable(repeatable_request(request, content)):
                body = None if endpoint.body is None else await read_body(endpoint.body, content, findings)
                if findings:
                    raise validation_error(findings)
                if if_match is not None:
                    params, body = set_version(if_match, params, body)
                return await self.respond(Call(endpoint, request, caller, params, body))


def _has_disconnected(request: Request) -> bool:
    """Return whether the client of a request, whose body has been read, is gone."""
    message = message_at_hand(request.receive)
    return message is not None and message["type"] == "http.disconnect"


def operation_routes() -> Iterator[Route]:
    """Yield a route for each endpoint of the SDK."""
    return (route_of(Operation(endpoint, _run)) for endpoint in ENDPOINTS)


def route_of(operation: Operation) -> Route:
    endpoint = operation.endpoint
    fields = {} if endpoint.params is None else endpoint.params.model_fields
    return Route(
        path=endpoint.path,
        methods=(endpoint.verb,),
        app=operation,
        endpoint=endpoint,
        uuid_names=frozenset(name for name in endpoint.path_names if fields[name].annotation is UUID),
        query_names=frozenset(fields) - {*endpoint.path_names, VERSION},
    )


async def _run(call: Call) -> Response:
    result = await call.keeps.handlers[call.endpoint](call.scope, call.params, call.body)
    return response_of(call.endpoint, result)


def response_of(endpoint: Endpoint[Any, Any, Any], result: Any) -> Response:
    """Serialize the result of a handler once, without validating it again."""
    status = endpoint.status if endpoint.created is None or endpoint.created(result) else 200
    headers: dict[str, str] = {}
    if endpoint.bare:
        if result.next_cursor:
            headers["X-Next-Cursor"] = result.next_cursor
        content = endpoint.items.dump_json(result.items)
    elif isinstance(result, BaseModel):
        content = result.__pydantic_serializer__.to_json(result)
    else:
        content = endpoint.adapter.dump_json(result)
    if endpoint.has_version:
        headers["ETag"] = f'"{getattr(result, "version")}"'  # noqa: B009
    return Response(content, status, headers, "application/json")

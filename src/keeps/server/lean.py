"""Routes without the framework's dependency solver.

FastAPI reads a route's signature and documents it; its dependency solver costs more than the work of a small request.
This route analyses the same signature once, at start: the role, the path, query and headers, and the body, which is
validated straight from its bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

from fastapi._compat import ModelField
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from keeps.db.repeats import repeatable
from keeps.server.bodies import held_body
from keeps.server.keyed import keyed
from keeps.server.turns import Turns
from keeps_client.checked import message_of
from keeps_client.errors import ValidationFailedError

AT_ONCE, AT_ONCE_ALONE, AT_ONCE_BESIDE = 256, 64, 2
"""Concurrent requests: in all, of a tenant alone, and of a tenant while others wait.

Each request takes its share of the one processor that runs the event loop, so a tenant that sends a hundred waits only
for its own.
"""
AT_ONCE_REMOTE = 16
"""The last of these when another machine embeds, or a reranker reads: then requests mostly wait for that."""
MOST_ON_THE_LOOP = 1 << 16
"""Bytes up to which a body is validated on the event loop."""
MOST_FINDINGS, MOST_READ = 100, 1_000
"""Validation errors in an answer, and errors that are read at all: pydantic makes an object of each at once."""

EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])
Taken = Callable[[Request], Any]


class LeanRoute(APIRoute):
    """A route whose handler returns a Response, and takes one caller (keeps.server.deps), parameters and one body."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        handler = _handler(self)
        self.query_names = frozenset(field.alias for field in self.dependant.query_params)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            response = await handler(Request(scope, receive, send))
            await response(scope, receive, send)

        self.app = app


def reads_its_body(endpoint: EndpointT) -> EndpointT:
    """Mark an endpoint that reads a long body as it arrives; no place is held for it meanwhile."""
    endpoint.reads_its_body = True  # type: ignore[attr-defined]
    return endpoint


def _handler(route: APIRoute) -> Callable[[Request], Awaitable[Response]]:
    dependant = route.dependant
    callers = [(each.name, each.call) for each in dependant.dependencies if each.name and each.call]
    takers = [
        _taker(where, field) for where in ("path", "query", "header") for field in getattr(dependant, f"{where}_params")
    ]
    body_name, body, most = None, None, None
    if dependant.body_params:
        (field,) = dependant.body_params
        annotation: Any = field.field_info.annotation
        body_name, body, most = field.name, TypeAdapter(annotation), getattr(annotation, "MOST_BYTES", None)
    request_name = dependant.request_param_name
    endpoint: Any = route.endpoint

    async def handle(request: Request) -> Response:
        values: dict[str, Any] = {}
        for name, admit in callers:
            values[name] = await admit(request)  # pyright: ignore[reportGeneralTypeIssues]
        errors: list[Any] = []
        for name, take in takers:
            try:
                values[name] = take(request)
            except ValidationError as error:
                findings = error.errors(include_url=False, include_input=False)
                errors += [{**finding, "loc": (name,)} for finding in findings]
        if getattr(endpoint, "reads_its_body", False):
            return await act(request, values, errors, b"")
        if body is not None:
            check_json(request)
        # Read before a place is taken: whoever sends slowly waits for themselves.
        async with held_body(request, most) as content:
            turns: Turns = request.app.state.turns
            async with turns.taken(request.scope["keeps.scope"]) as waited:
                if waited and await request.is_disconnected():
                    raise ClientDisconnect  # nobody waits for the answer any more
                with repeatable(keyed(request, content)):
                    return await act(request, values, errors, content)

    async def act(
        request: Request, values: dict[str, object], errors: list[Mapping[str, Any]], content: bytes
    ) -> Response:
        if body is not None and body_name is not None:
            try:
                # Validators in Python take up to half a second of a long body; in a thread others come in between.
                long = len(content) > MOST_ON_THE_LOOP
                values[body_name] = (
                    await asyncio.to_thread(body.validate_json, content) if long else body.validate_json(content)
                )
            except ValidationError as error:
                errors += _findings(error)
        if errors:
            raise _refusal(errors)
        if request_name is not None:
            values[request_name] = request
        return await endpoint(**values)

    return handle


def check_json(request: Request) -> None:
    """Raise unless the body is declared as JSON: a page of another site cannot send that without a preflight."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise ValidationFailedError("the body must be JSON, with the header Content-Type: application/json")


def _findings(error: ValidationError) -> list[Mapping[str, Any]]:
    if (count := error.error_count()) > MOST_READ:
        return [{"loc": (), "type": "too_many", "msg": f"{count:,} values do not fit; look at one of them", "ctx": {}}]
    return [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False, include_input=False)]


def _refusal(errors: list[Mapping[str, Any]]) -> ValidationFailedError:
    """Return an error with pydantic's findings, without the values, which may have been sent by mistake.

    Of thousands of findings it has the first.
    """
    findings = [
        {
            "field": ".".join(str(part) for part in each["loc"] if part != "body") or "body",
            "message": message_of(each),
        }
        for each in errors[:MOST_FINDINGS]
    ]
    told = "; ".join(f"{each['field']}: {each['message']}" for each in findings)
    left = len(errors) - len(findings)
    return ValidationFailedError(f"{told}; and {left:,} more" if left else told, findings)


def _taker(where: str, field: ModelField) -> tuple[str, Taken]:
    adapter: TypeAdapter[Any] = _adapter(field.field_info)
    name, alias, default = field.name, field.alias, field.field_info.default

    def take(request: Request) -> Any:
        value: Any
        if where == "path":
            value = request.path_params[alias]
        elif where == "query":
            value = request.query_params.get(alias)
        else:
            value = request.headers.get(alias)
        if value is None:
            if default is not PydanticUndefined:
                return default
            raise ValidationError.from_exception_data("parameter", [{"type": "missing", "loc": (), "input": None}])
        return adapter.validate_python(value)

    return name, take


def _adapter(info: FieldInfo) -> TypeAdapter[Any]:
    """Return an adapter for the parameter's type with its constraints."""
    kind: Any = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
    return TypeAdapter(kind)

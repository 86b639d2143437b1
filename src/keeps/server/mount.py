"""Routes generated from the SDK's endpoints, with their own types."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Header, Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator
from pydantic.fields import FieldInfo
from starlette.responses import Response

from keeps.server.deps import ADMITTING, Caller
from keeps.server.lean import LeanRoute
from keeps.server.names import SLASH
from keeps_client.endpoint import VERSION, Endpoint
from keeps_client.endpoints import ENDPOINTS
from keeps_client.errors import ConflictError, ValidationFailedError

MOST_JSON = 20_000
"""Maximum characters of JSON in a query."""
IfMatch = Annotated[
    str | None,
    Header(description="The version that must be stored, as its ETag", pattern=r'^(W/)?"?[0-9]{1,10}"?$'),
]


def _mounted() -> APIRouter:
    """Return a router with every operation, in the order of the list."""
    router = APIRouter(route_class=LeanRoute)
    for endpoint in ENDPOINTS:
        router.add_api_route(
            _route_path(endpoint),
            _serving(endpoint),
            methods=[endpoint.verb],
            name=endpoint.name,
            description=endpoint.doc,
            tags=[endpoint.tag],
            status_code=endpoint.status,
            response_model=_field(endpoint.answer, "items").annotation if endpoint.bare else endpoint.answer,
        )
    return router


def _serving(endpoint: Endpoint[Any, Any, Any]) -> Callable[..., Awaitable[Response]]:
    """Return a route function whose signature tells the framework the role and the parameters."""

    async def serve(caller: Caller, body: Any = None, if_match: str | None = None, **given: Any) -> Response:
        if endpoint.takes_version and if_match is not None:
            if endpoint.params is not None and VERSION in endpoint.params.model_fields:
                given[VERSION] = version_of(if_match, None)
            else:
                body = body.model_copy(update={"expected_version": version_of(if_match, body.expected_version)})
        params = None if endpoint.params is None else endpoint.params.model_construct(**given)
        found = await caller.keeps.handlers[endpoint](caller.scope, params, body)
        return answered(endpoint, found)

    parameters = [_parameter("caller", Annotated[Caller, Depends(ADMITTING[endpoint.role])])]
    if endpoint.params is not None:
        for name, field in endpoint.params.model_fields.items():
            if name in endpoint.path_names:
                parameters.append(_parameter(name, _in_path(field)))
            elif name != VERSION:
                default = inspect.Parameter.empty if field.is_required() else field.default
                parameters.append(_parameter(name, _in_query(field), default))
    if endpoint.body is not None:
        parameters.append(_parameter("body", Annotated[endpoint.body, Body()]))
    if endpoint.takes_version:
        parameters.append(_parameter("if_match", IfMatch, None))
    serve.__name__ = endpoint.name
    serve.__doc__ = endpoint.doc
    serve.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return serve


def answered(endpoint: Endpoint[Any, Any, Any], found: Any) -> Response:
    """Serialize the result of a handler once, without validating it again."""
    status = endpoint.status if endpoint.created is None or endpoint.created(found) else 200
    headers: dict[str, str] = {}
    if endpoint.bare:
        if found.next_cursor:
            headers["X-Next-Cursor"] = found.next_cursor
        content = endpoint.items.dump_json(found.items)
    elif isinstance(found, BaseModel):
        content = found.__pydantic_serializer__.to_json(found)
    else:
        content = endpoint.adapter.dump_json(found)
    if endpoint.has_version:
        headers["ETag"] = f'"{getattr(found, "version")}"'  # noqa: B009
    return Response(content, status, headers, "application/json")


def version_of(if_match: str, expected: int | None) -> int | None:
    """Return the version of the If-Match header or of the body. Raises if they differ."""
    text = if_match.strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdecimal()) or int(text) > 2_147_483_647:
        raise ValidationFailedError('If-Match must be a version, such as "3"')
    if expected not in (None, int(text)):
        raise ConflictError("If-Match and expected_version say different versions")
    return int(text)


def _route_path(endpoint: Endpoint[Any, Any, Any]) -> str:
    path = endpoint.path
    for name in endpoint.path_names:
        if endpoint.params is not None and endpoint.params.model_fields[name].annotation is UUID:
            path = path.replace("{" + name + "}", "{" + name + ":uuid}")
    return path


def _parameter(name: str, annotation: object, default: object = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _field(model: type[BaseModel], name: str) -> FieldInfo:
    return model.model_fields[name]


def _kind(field: FieldInfo) -> object:
    """Return the type of a field with its constraints."""
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _in_path(field: FieldInfo) -> object:
    if field.annotation is UUID:
        return Annotated[UUID, Path()]
    return Annotated[_kind(field), Path(), AfterValidator(lambda text: text.replace(SLASH, "/"))]


def _in_query(field: FieldInfo) -> object:
    for each in field.metadata:
        if isinstance(each, BeforeValidator):  # JSON, which is text here
            wanted = Query(description=field.description, max_length=MOST_JSON)
            return Annotated[str | None, wanted, AfterValidator(each.func)]
    kind = _kind(field)
    return Annotated[kind, Query(description=field.description)] if field.description else Annotated[kind, Query()]


ROUTER = _mounted()
"""Created once, since it takes a tenth of a second."""

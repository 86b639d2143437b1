"""/mem0 in `keeps serve`: the paths of mem0's platform and of its self-hosted server."""

from __future__ import annotations

import ast
import json
import warnings
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json
from starlette.requests import Request

from keeps.base.scope import Scope, as_user
from keeps.engine import Keeps
from keeps.integrations.mem0.calls import Calls
from keeps.integrations.mem0.filters import users_named
from keeps.integrations.mem0.shapes import (
    NAMES,
    Adding,
    Asking,
    Batch,
    Changing,
    Mem0NotSupportedError,
    Searching,
    added,
)
from keeps.integrations.product_api import ProductMount, path_below, read_body, read_number, shown_call
from keeps_client.checked import validation_failed
from keeps_client.errors import ValidationFailedError
from keeps_client.models.common import MAX_LIMIT

PATH = "/mem0/"
PAGE = 100
_BY_ID = (["v1", "memories"], ["memories"], ["v1", "event"])
_SEARCH = (["v3", "memories", "search"], ["v2", "memories", "search"], ["v1", "memories", "search"], ["search"])
_LIST = (["v3", "memories"], ["v2", "memories"])
"""v1 and v2 are the addresses of mem0ai before 2.0."""
_READING = (*_SEARCH, *_LIST)


class Mem0Mount(ProductMount):
    """Serves `mem0.MemoryClient(api_key=…, host="…/mem0")` and clients of mem0's self-hosted server."""

    paths = (PATH,)

    invalid_status = 400

    def reads(self, method: str, path: list[str]) -> bool:
        return method == "GET" or (method == "POST" and path in _READING)

    def payer(self, caller: Scope, path: list[str]) -> Scope | None:
        del path
        return None if caller.any_user else caller

    def payer_of_body(self, caller: Scope, request: Request, path: list[str], body: bytes) -> Scope:
        return _payer(caller, request, path, body)

    async def answer(self, keeps: Keeps, caller: Scope, request: Request, path: list[str], body: bytes) -> object:
        return await _done(Calls(keeps, caller), request, request.method, path, body)


def _payer(caller: Scope, request: Request, path: list[str], given: bytes) -> Scope:
    """Return the caller whose rate a call uses up.

    For credentials of any user, it is the one user that the call names, unless an id determines the memory.
    """
    by_id = path[:-1] in _BY_ID and path not in _SEARCH
    if not caller.any_user or by_id or path[-1] in ("batch", "history"):
        return caller
    try:
        body = TypeAdapter(Asking).validate_json(given or b"{}")
        users = users_named(body.conditions()) or [request.query_params.get("user_id", caller.user_id)]
    except (ValidationError, ValidationFailedError):
        return caller
    return as_user(caller, users[0]) if len(users) == 1 else caller


async def _done(calls: Calls, request: Request, method: str, path: list[str], given: bytes) -> object:
    match method, path:
        case "GET", ["v1", "ping"]:
            tenant = request.scope["keeps.scope"].tenant_id
            return {"status": "ok", "org_id": tenant, "project_id": tenant, "user_email": None}
        case "POST", ["v3", "memories", "add"]:
            body = read_body(Adding, given)
            return (
                await calls.queue(body)
                if body.infer
                else {"results": [added(receipt) for receipt in await calls.add(body)]}
            )
        case "POST", _ if path in _LIST:
            return await _page(calls, request, read_body(Asking, given or b"{}"))
        case "POST", _ if path in _SEARCH:
            return {"results": await calls.search(read_body(Searching, given))}
        case "GET", ["v1", "event", event_id]:
            return await calls.event(event_id)
        case "GET", ["v1", "entities"]:
            entities = await calls.entities()
            if not request.query_params.keys() & {"page", "page_size"}:
                return {"count": len(entities), "next": None, "previous": None, "results": entities}
            start, size = _place(request)
            return _paged(request, len(entities), entities[start : start + size])
        case "DELETE", ["v2", "entities", kind, name]:
            await calls.delete_entity(kind, name)
            return {"message": "Entity deleted successfully!"}
        case "PUT", ["v1", "batch"]:
            return {"message": f"Successfully updated {await calls.update_all(read_body(Batch, given))} memories"}
        case "DELETE", ["v1", "batch"]:
            return {"message": f"Successfully deleted {await calls.delete_all(read_body(Batch, given))} memories"}
        case "POST", ["memories"] | ["v1", "memories"]:
            return {"results": [added(receipt) for receipt in await calls.add(read_body(Adding, given))]}
        case "GET", ["memories"] | ["v1", "memories"]:
            _, memories = await calls.page(
                _asked(request), 0, read_number(request, ("top_k", "limit"), PAGE, MAX_LIMIT)
            )
            return {"results": memories}
        case "DELETE", ["v1", "memories"] | ["memories"]:
            await calls.clear(_asked(request))
            return {"message": "Memories deleted successfully!"}
        case _, ["v1", "memories", memory_id, *rest] | ["memories", memory_id, *rest]:
            return await _one(calls, request, method, memory_id, rest, given)
        case _:
            raise Mem0NotSupportedError(shown_call(method, path))


async def _one(calls: Calls, request: Request, method: str, memory_id: str, rest: list[str], given: bytes) -> object:
    match method, rest:
        case "GET", []:
            return await calls.get(memory_id)
        case "GET", ["history"]:
            return await calls.history(memory_id)
        case "PUT", []:
            told = await calls.update(memory_id, read_body(Changing, given))
            return {**told, "text": told["memory"], "message": "Memory updated successfully!"}
        case "DELETE", []:
            await calls.delete(memory_id, linked=request.query_params.get("delete_linked", "").lower() == "true")
            return {"message": "Memory deleted successfully!"}
        case _:
            raise Mem0NotSupportedError(shown_call(method, path_below(PATH, request)))


async def _page(calls: Calls, request: Request, body: Asking) -> dict[str, object]:
    start, size = _place(request)
    total, found = await calls.page(body, start, size)
    return _paged(request, total, found)


def _place(request: Request) -> tuple[int, int]:
    """Return the number of entries before the requested page, and its size."""
    size = read_number(request, ("page_size",), PAGE, MAX_LIMIT)
    return (read_number(request, ("page",), 1, 1_000_000) - 1) * size, size


def _paged(request: Request, total: int, found: list[dict[str, Any]]) -> dict[str, object]:
    start, size = _place(request)
    page = start // size + 1

    def address(number: int) -> str:
        return str(request.url.replace(query=f"page={number}&page_size={size}"))

    return {
        "count": total,
        "next": address(page + 1) if page * size < total else None,
        "previous": address(page - 1) if page > 1 else None,
        "results": found,
    }


def _asked(request: Request) -> Asking:
    """Return the selection of a query string. mem0's own client writes filters as Python literals."""
    query: dict[str, Any] = {name: value for name, value in request.query_params.items() if name in NAMES}
    if (filters := request.query_params.get("filters")) is not None:
        query["filters"] = _written(filters)
    try:
        return Asking.model_validate(query)
    except ValidationError as error:
        raise validation_failed(error) from None


def _written(filters: str) -> object:
    if len(filters) > 10_000:
        raise ValidationFailedError("filters: must have at most 10,000 characters")
    for written in (lambda: filters, lambda: json.dumps(ast.literal_eval(filters))):
        with (
            suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError),
            warnings.catch_warnings(action="ignore"),  # one for each `1or` that the compiler reads
        ):
            return from_json(written())
    raise ValidationFailedError("filters: must be JSON")

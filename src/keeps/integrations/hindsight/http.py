"""/hindsight in `keeps serve`: the paths of Hindsight's API that its clients and integrations call."""

from __future__ import annotations

from typing import get_args
from urllib.parse import unquote_to_bytes

from starlette.requests import Request

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.hindsight.calls import Calls, list_banks
from keeps.integrations.hindsight.shapes import (
    BankRequest,
    ConfigRequest,
    FactType,
    HindsightNotSupportedError,
    RecallRequest,
    ReflectRequest,
    RetainRequest,
    TagsMatch,
    filter_of_tags,
    kinds_of,
)
from keeps.integrations.product_api import ProductMount, acting_as, read_body, read_number, shown_call
from keeps.integrations.storable import storable
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Filters
from keeps_client.models.common import MAX_LIMIT

PATH = "/hindsight/"
API_VERSION = "1.1.0"
"""The version of Hindsight's API whose client is tested."""
PAGE = 100
MOST_OFFSET = 100_000_000
_BANKS = ["v1", "default", "banks"]
_READING = (["memories", "recall"], ["reflect"])
_FEATURES = (
    "observations",
    "mcp",
    "worker",
    "bank_config_api",
    "bank_llm_health",
    "file_upload_api",
    "document_export_api",
    "document_import_api",
    "audit_log",
    "llm_trace",
    "store_document_text",
)
_HAS = ("bank_config_api", "store_document_text")
_NOT_FILTERED = ("entity_id", "time_field", "start_date", "end_date", "consolidation_state")


class HindsightMount(ProductMount):
    """Serves `Hindsight(base_url="…/hindsight", api_key="keeps_…")`. A bank is the memory of the user of its name."""

    paths = (PATH,)

    def reads(self, method: str, path: list[str]) -> bool:
        return method == "GET" or (method == "POST" and path[4:] in _READING)

    def payer(self, caller: Scope, path: list[str]) -> Scope | None:
        return acting_as(caller, _bank_in(path))

    async def answer(self, keeps: Keeps, caller: Scope, request: Request, path: list[str], body: bytes) -> object:
        _check_path(request)
        method = request.method
        bank_id = _bank_in(path)
        match method, path:
            case "GET", ["version"]:
                return {"api_version": API_VERSION, "features": {name: name in _HAS for name in _FEATURES}}
            case "GET", ["health"]:
                await keeps.memory(caller).get_item(("hindsight",), "health")  # fails while the database is away
                return {"status": "healthy", "database": "connected"}
            case "GET", ["v1", "default", "banks"]:
                return await list_banks(keeps, caller, *_place(request))
            case _ if bank_id is not None:
                return await _done(Calls(keeps, acting_as(caller, bank_id)), request, method, path, body)
            case _:
                raise HindsightNotSupportedError(shown_call(method, path))


async def _done(calls: Calls, request: Request, method: str, path: list[str], body: bytes) -> object:
    match method, path[4:]:
        case "PUT" | "PATCH", []:
            return await calls.change_profile(read_body(BankRequest, body).changes())
        case "DELETE", []:
            return await calls.delete()
        case "GET", ["profile"]:
            return await calls.profile()
        case "GET", ["config"]:
            return await calls.config()
        case "PATCH", ["config"]:
            return await calls.change_config(read_body(ConfigRequest, body).updates)
        case "DELETE", ["config"]:
            return await calls.clear_config()
        case "POST", ["memories"]:
            return await calls.retain(read_body(RetainRequest, body))
        case "DELETE", ["memories"]:
            return await calls.clear(_types(request))
        case "GET", ["memories", "list"]:
            return await calls.page(_filters(request), *_place(request))
        case "POST", ["memories", "recall"]:
            return await calls.recall(read_body(RecallRequest, body))
        case "POST", ["reflect"]:
            return await calls.reflect(read_body(ReflectRequest, body))
        case _:
            raise HindsightNotSupportedError(shown_call(method, path))


def _check_path(request: Request) -> None:
    """Raise ValidationFailedError for bytes that are not UTF-8: banks of different names would become the same one."""
    try:
        unquote_to_bytes(request.scope.get("raw_path") or b"").decode()
    except UnicodeDecodeError:
        raise ValidationFailedError("the path is not valid UTF-8 after percent-decoding") from None


def _bank_in(path: list[str]) -> str | None:
    return path[3] if path[:3] == _BANKS and len(path) > 3 else None


def _place(request: Request) -> tuple[int, int]:
    """Return the offset and the size of a page."""
    offset = read_number(request, ("offset",), 0, MOST_OFFSET, least=0)
    return offset, read_number(request, ("limit",), PAGE, MAX_LIMIT)


def _types(request: Request) -> list[FactType] | None:
    wanted = request.query_params.get("type")
    if wanted is None:
        return None
    for fact_type in get_args(FactType):
        if wanted == fact_type:
            return [fact_type]
    raise ValidationFailedError(f"type: must be one of {', '.join(get_args(FactType))}")


def _filters(request: Request) -> Filters | None:
    """Return the filter that the query parameters of a list say."""
    query = request.query_params
    for name in _NOT_FILTERED:
        if query.get(name):
            raise HindsightNotSupportedError(f"`{name}` in a list")
    if query.get("state", "valid") != "valid":
        raise HindsightNotSupportedError("`state` in a list")
    conditions: list[Filters] = []
    if types := _types(request):
        conditions.append({"kind": {"in": list(kinds_of(types) or ())}})  # pyright: ignore[reportArgumentType]
    if text := query.get("q"):
        conditions.append({"content": {"isubstring": storable(text)}})
    if document_id := query.get("document_id"):
        conditions.append({"session_id": {"eq": storable(document_id)}})
    if tags := filter_of_tags(query.getlist("tags"), _match(query.get("tags_match", "any"))):
        conditions.append(tags)
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else {"AND": list(conditions)}


def _match(wanted: str) -> TagsMatch:
    for known in get_args(TagsMatch):
        if wanted == known:
            return known
    raise ValidationFailedError(f"tags_match: must be one of {', '.join(get_args(TagsMatch))}")

"""Items: JSON values that agents store by namespace and key, such as those of LangGraph's store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from urllib.parse import urlencode

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.console.views import readable
from keeps_client.errors import NotFoundError, ValidationFailedError

PAGE = 100
MOST_CHARACTERS = 50_000
"""Number of characters of a value that are shown."""


async def items(call: Call) -> Response:
    """List the namespaces, or the keys in one and below it."""
    namespace = call.chosen("ns")
    if not namespace:
        offset = call.number("offset") or 0
        namespaces = await call.memory.list_namespaces(limit=PAGE + 1, offset=offset)
        more = call.more(str(offset + PAGE), "offset") if len(namespaces) > PAGE else None
        return call.page("items.html", namespaces=namespaces[:PAGE], address=address, more=more)
    keys = await call.memory.list_keys(namespace, after=_after(call.asked("after")), limit=PAGE + 1)
    last = keys[PAGE - 1] if len(keys) > PAGE else None
    place = None if last is None else json.dumps([last.namespace, last.key])
    return call.page(
        "keys.html", namespace=namespace, items=keys[:PAGE], address=address, more=call.more(place, "after")
    )


async def item(call: Call) -> Response:
    """Show one item. Its time to live goes on."""
    key = call.request.query_params.get("key", "")  # with the space around it
    stored = await call.memory.get_item(call.chosen("ns") or (), key)
    if stored is None:
        raise NotFoundError(f"no item {key!r} in this namespace, or its time to live is over")
    text = await asyncio.to_thread(readable, stored.value, MOST_CHARACTERS)
    return call.page("item.html", item=stored, text=text, address=address)


def address(namespace: Sequence[str], key: str | None = None) -> str:
    """Return the address of a namespace, or of an item in it. A label or a key may have any characters."""
    fields = [("ns", label) for label in namespace]
    return f"/ui/items?{urlencode(fields)}" if key is None else f"/ui/items/one?{urlencode([*fields, ('key', key)])}"


def _after(text: str) -> tuple[tuple[str, ...], str] | None:
    """Read the place after which a page begins. Raises ValidationFailedError."""
    if not text:
        return None
    try:
        match json.loads(text):
            case [[*labels], str(key)] if all(isinstance(label, str) for label in labels):
                return tuple(labels), key
            case _:
                pass
    except (ValueError, RecursionError):
        pass
    raise ValidationFailedError("after: take the link to the next page")


PAGES = {"GET /ui/items": items, "GET /ui/items/one": item}

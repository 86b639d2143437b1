"""/v1/memories and /v1/recall."""

from __future__ import annotations

import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field, TypeAdapter
from starlette.responses import Response

from keeps.server.deps import Cursor, Limit, Reader, Writer, answer, answers, versioned
from keeps.server.lean import LeanRoute
from keeps.server.routes.working import IfMatch, version_of
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Event, Memory, MemoryChange, NewMemory, Page, RecallRequest, RecallResult, Receipt
from keeps_client.models.common import MAX_BATCH_ITEMS, UtcTime, Wire
from keeps_client.models.memories import IndexWhen, MemoryOrder

router = APIRouter(prefix="/v1", tags=["memories"], route_class=LeanRoute)
RECEIPTS, EVENTS = TypeAdapter(list[Receipt]), TypeAdapter(list[Event])


class NewMemories(Wire):
    """A batch: stored whole, or not at all."""

    items: Annotated[list[NewMemory], Field(max_length=MAX_BATCH_ITEMS)]
    index: IndexWhen = "later"


@router.post("/memories", status_code=201, response_model=Receipt)
async def remember(new: NewMemory, memory: Writer, index: IndexWhen = "now") -> Response:
    """Store one memory: 201 where it is new, 200 where it was known or changed."""
    receipt = await memory.remember_new(new, index=index)
    return answer(receipt, 201 if receipt.status == "created" else 200)


@router.get("/memories", response_model=Page[Memory])
async def list_memories(
    memory: Reader,
    filters: Annotated[str | None, Query(description="Filters as JSON", max_length=20_000)] = None,
    namespace: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    key: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    order: Annotated[
        MemoryOrder,
        Query(
            description="created: newest first · importance: highest first · recency: last changed first · name: by namespace and key, what has no key last"
        ),
    ] = "created",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """One page: newest first, or by importance, recency (last changed first) or name (namespace and key). With `namespace` and `key`, only the current memory of that key."""
    if (namespace is None) != (key is None):
        raise ValidationFailedError("namespace and key go together: the two name a memory")
    if namespace is not None and key is not None:
        found = await memory.find(namespace, key)
        return answer(Page[Memory].model_construct(items=[found] if found else [], next_cursor=None))
    return answer(await memory.list(filters=_filters(filters), order=order, limit=limit, cursor=cursor))


@router.post("/memories/batch", status_code=201, response_model=list[Receipt])
async def remember_many(new: NewMemories, memory: Writer) -> Response:
    """Store up to 1,000 memories in one transaction; one receipt for each, in order."""
    found = await memory.remember_many(new.items, index=new.index)
    return Response(RECEIPTS.dump_json(found), 201, media_type="application/json")


@router.get("/memories/{memory_id:uuid}", response_model=Memory)
async def get_memory(
    memory_id: UUID, memory: Reader, as_of: Annotated[UtcTime | None, Query(description="As it was known then")] = None
) -> Response:
    """One memory, also a forgotten or superseded one."""
    found = await memory.get(memory_id, as_of=as_of)
    return versioned(found, found.version)


@router.patch("/memories/{memory_id:uuid}", response_model=Receipt)
async def update_memory(
    memory_id: UUID, change: MemoryChange, memory: Writer, if_match: IfMatch = None, index: IndexWhen = "now"
) -> Response:
    """Change the fields that are given. New content supersedes the old, which stays readable."""
    return answer(await memory.change(memory_id, change, if_version=version_of(if_match, None), index=index))


@router.delete("/memories/{memory_id:uuid}", response_model=Receipt)
async def forget_memory(memory_id: UUID, memory: Writer, hard: bool = False) -> Response:
    """Forget: restorable for 30 days, or with `hard` gone now, also from the log."""
    return answer(await memory.forget(memory_id, hard=hard))


@router.delete("/memories", response_model=Receipt)
async def forget_key(
    memory: Writer,
    namespace: Annotated[str, Query(min_length=1, max_length=100)],
    key: Annotated[str, Query(min_length=1, max_length=255)],
    hard: bool = False,
) -> Response:
    """Forget what is stored under a key."""
    return answer(await memory.forget(namespace=namespace, key=key, hard=hard))


@router.post("/memories/{memory_id:uuid}/restore", response_model=Receipt)
async def restore_memory(memory_id: UUID, memory: Writer) -> Response:
    """Bring back what was forgotten less than 30 days ago."""
    return answer(await memory.restore(memory_id))


@router.get("/memories/{memory_id:uuid}/history", response_model=list[Event])
async def get_history(memory_id: UUID, memory: Reader) -> Response:
    """Everything that happened to a memory, oldest first."""
    return answers(EVENTS, await memory.history(memory_id))


@router.post("/recall", response_model=RecallResult)
async def recall(request: RecallRequest, memory: Reader) -> Response:
    """The memories that best answer, best first."""
    return answer(await memory.ask(request))


def _filters(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValidationFailedError("filters is not JSON") from None
    if not isinstance(found, dict):
        raise ValidationFailedError("filters must be a JSON object")
    return found

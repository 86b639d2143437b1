"""/v1/memory/working and /v1/memory/atomic: the key-value state of plans."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from pydantic import TypeAdapter
from starlette.responses import Response

from keeps.server.deps import Cursor, Limit, Reader, Segment, Writer, answer, paged, versioned
from keeps.server.lean import LeanRoute
from keeps_client.errors import ConflictError, ValidationFailedError
from keeps_client.models import (
    AtomicAppend,
    AtomicExtend,
    AtomicIncrement,
    AtomicMerge,
    AtomicResult,
    NewWorkingItem,
    WorkingCleared,
    WorkingDeleted,
    WorkingItem,
    WorkingValue,
)

router = APIRouter(prefix="/v1/memory", tags=["working memory"], route_class=LeanRoute)
ITEMS = TypeAdapter(list[WorkingItem])
IfMatch = Annotated[
    str | None,
    Header(description="The version that must be stored, as its ETag", pattern=r'^(W/)?"?[0-9]{1,10}"?$'),
]


def version_of(if_match: str | None, expected: int | None) -> int | None:
    """The version of an If-Match header and of the body, which must agree."""
    if if_match is None:
        return expected
    text = if_match.strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdecimal()) or int(text) > 2_147_483_647:
        raise ValidationFailedError('If-Match must be a version, such as "3"')
    if expected not in (None, int(text)):
        raise ConflictError("If-Match and expected_version say different versions")
    return int(text)


@router.get("/working/{plan_id}/{key}", response_model=WorkingItem)
async def get_plan_state(plan_id: Segment, key: Segment, memory: Reader) -> Response:
    """One key, with its version as ETag."""
    item = await memory.get_plan_state(plan_id, key)
    return versioned(item, item.version)


@router.put("/working/{plan_id}/{key}", response_model=WorkingItem)
async def set_plan_state(
    plan_id: Segment, key: Segment, new: WorkingValue, memory: Writer, if_match: IfMatch = None
) -> Response:
    """Store a value; with a version, only if it is stored."""
    return await _put(memory, plan_id, key, new, if_match)


@router.delete("/working/{plan_id}/{key}", response_model=WorkingDeleted)
async def delete_plan_key(plan_id: Segment, key: Segment, memory: Writer) -> Response:
    """Remove a key and its values, also from the log."""
    return answer(await memory.delete_plan_state(plan_id, key))


@router.get("/working/{plan_id}", response_model=list[WorkingItem])
async def list_plan_state(plan_id: Segment, memory: Reader, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The keys of a plan, by key. `X-Next-Cursor` leads to the next page."""
    return paged(ITEMS, await memory.list_plan_state(plan_id, limit=limit, cursor=cursor))


@router.post("/working/{plan_id}", status_code=201, response_model=WorkingItem)
async def add_plan_state(plan_id: Segment, new: NewWorkingItem, memory: Writer, if_match: IfMatch = None) -> Response:
    """Store a value under the key that the body names."""
    return await _put(memory, plan_id, new.key, new, if_match, 201)


@router.delete("/working/{plan_id}", response_model=WorkingCleared)
async def delete_plan_state(plan_id: Segment, memory: Writer) -> Response:
    """Remove all keys of a plan and their values, also from the log."""
    return answer(await memory.delete_plan_state(plan_id))


@router.post("/atomic/append", response_model=AtomicResult)
async def append_to_list(new: AtomicAppend, memory: Writer) -> Response:
    """Append to a list, in one statement: nothing is lost when others do the same at once."""
    return answer(await memory.services.working.change(memory.scope, new))


@router.post("/atomic/extend", response_model=AtomicResult)
async def extend_list(new: AtomicExtend, memory: Writer) -> Response:
    """Append several values to a list, next to each other, in one statement."""
    return answer(await memory.services.working.change(memory.scope, new))


@router.post("/atomic/merge", response_model=AtomicResult)
async def update_object(new: AtomicMerge, memory: Writer) -> Response:
    """Set entries of an object, whose others stay, in one statement."""
    return answer(await memory.services.working.change(memory.scope, new))


@router.post("/atomic/increment", response_model=AtomicResult)
async def increment(new: AtomicIncrement, memory: Writer) -> Response:
    """Add to a number, in one statement."""
    return answer(await memory.services.working.change(memory.scope, new))


async def _put(
    memory: Writer, plan_id: str, key: str, new: WorkingValue, if_match: str | None, status: int = 200
) -> Response:
    expected = version_of(if_match, new.expected_version)
    wanted = NewWorkingItem.model_construct(
        key=key, value=new.value, expected_version=expected, ttl_seconds=new.ttl_seconds
    )
    item = await memory.services.working.put(memory.scope, plan_id, wanted)
    return versioned(item, item.version, status)

"""One memory: its content, visibility, fading and earlier versions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from starlette.responses import Response

from keeps.base.clock import utc_now
from keeps.base.scope import space_of
from keeps.doors.console.mount import Call
from keeps.doors.console.views import curve, word_diff
from keeps.doors.server.authorized_memory import AuthorizedMemory
from keeps.memory.memories.retention import ARCHIVED_UNDER, retention
from keeps_client.errors import KeepsError, NotFoundError
from keeps_client.models import Event, Memory, MemoryCost

POINTS, VERSIONS = 60, 50


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a memory after a change."""

    event: Event
    number: object
    diff: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Fading:
    """A curve of fading.

    - `points`: the curve from `begins` to `ends`.
    - `read`: the same, if the memory were recalled now.
    - `now` and `archived`: distances from the left and from the top.
    """

    points: str
    read: str
    begins: datetime
    ends: datetime
    now: float
    archived: float


async def memory(call: Call) -> Response:
    memory_id = call.given("memory_id")
    history = await call.memory.history(memory_id)
    owner = _owner_by(call, history)
    try:
        stored = await owner.get(memory_id)
    except NotFoundError:
        stored = None
        if not history:
            raise
    readers = await owner.list_readers(memory_id) if stored is not None else []
    mentions = await call.memory.get_mentions(memory_id=memory_id, limit=20) if stored is not None else []
    entities = []
    for each in mentions:
        try:
            entities.append(await call.memory.get_entity(each.entity_id))
        except KeepsError:
            continue
    return call.page(
        "memory.html",
        memory=stored,
        memory_id=memory_id,
        versions=await asyncio.to_thread(_versions, history[-VERSIONS:]),
        older=max(0, len(history) - VERSIONS),
        fading=None if stored is None else _fading(stored),
        entities=entities,
        belief=None if stored is None else await call.memory.why(memory_id),
        readers=readers,
        space_id=None if stored is None else space_of(stored.user_id),
        cost=None if stored is None else MemoryCost.of(stored.metadata),
    )


async def change(call: Call) -> Response:
    memory_id = call.given("memory_id")
    form = await call.form()
    changes: dict[str, Any] = {}
    if form.get("content"):
        changes["content"] = str(form["content"]).replace("\r\n", "\n")
    if form.get("importance"):
        changes["importance"] = str(form["importance"])
    if "tags" in form:
        changes["tags"] = [each for each in str(form["tags"]).split(",") if each.strip()]
    if form.get("visibility"):
        changes["visibility"] = str(form["visibility"])
    version = str(form.get("version", ""))
    receipt = await (await _owner(call, memory_id)).update(
        memory_id, if_version=int(version) if version.isdecimal() and len(version) < 10 else None, **changes
    )
    return call.go(f"/ui/memories/{memory_id}", receipt.status)


async def forget(call: Call) -> Response:
    memory_id = call.given("memory_id")
    receipt = await (await _owner(call, memory_id)).forget(memory_id)
    return call.go(f"/ui/memories/{memory_id}", receipt.status)


async def restore(call: Call) -> Response:
    memory_id = call.given("memory_id")
    receipt = await (await _owner(call, memory_id)).restore(memory_id)
    return call.go(f"/ui/memories/{memory_id}", receipt.status)


async def remove(call: Call) -> Response:
    """Erase a memory permanently: show what would go, then erase it."""
    memory_id = call.given("memory_id")
    form = await call.form()
    if not form.get("sure"):
        history = await call.memory.history(memory_id)
        mentions = []
        try:
            mentions = await call.memory.get_mentions(memory_id=memory_id)
        except NotFoundError:
            pass
        return call.page("remove.html", memory_id=memory_id, events=len(history), mentions=len(mentions))
    await (await _owner(call, memory_id)).forget(memory_id, hard=True)
    return call.go("/ui/memories", "permanently deleted")


async def _owner(call: Call, memory_id: str) -> AuthorizedMemory:
    """Return the memory of the space that owns this one, or the caller's own. Raises NotFoundError."""
    return _owner_by(call, await call.memory.history(memory_id))


def _owner_by(call: Call, history: list[Event]) -> AuthorizedMemory:
    space_id = space_of(history[-1].userid) if history else None
    return call.memory if space_id is None else call.memory.for_space(space_id)


def _versions(history: list[Event]) -> list[Version]:
    versions: list[Version] = []
    before: str | None = None
    for event in history:
        image = event.data.get("memory")
        content = image.get("content") if isinstance(image, dict) else None
        changed = isinstance(content, str) and before is not None and content != before
        versions.append(
            Version(
                event,
                image.get("version") if isinstance(image, dict) else None,
                word_diff(before or "", content) if changed and isinstance(content, str) else [],
            )
        )
        before = content if isinstance(content, str) else before
    return versions[::-1]


def _fading(found: Memory) -> Fading | None:
    """Return the retention since the last use until it has faded, unless it is used before."""
    life = found.life
    if life is None or life.fades_at is None:
        return None
    used = max(found.updated_at, life.last_accessed_at or found.updated_at)
    now = utc_now()
    ends = max(life.fades_at, now) + (life.fades_at - used) / 4
    span = max(ends - used, timedelta(hours=1))
    times = [used + span * place / (POINTS - 1) for place in range(POINTS)]
    values = [retention(found.importance, life.access_count, used, each) for each in times]
    read = [retention(found.importance, life.access_count + 1, now, each) for each in times]
    return Fading(
        curve(values, top=1.0),
        curve(read, top=1.0),
        used,
        used + span,
        600 * ((now - used) / span),
        120 * (1 - ARCHIVED_UNDER),
    )


PAGES = {
    "GET /ui/memories/{memory_id:uuid}": memory,
    "POST /ui/memories/{memory_id:uuid}": change,
    "POST /ui/memories/{memory_id:uuid}/forget": forget,
    "POST /ui/memories/{memory_id:uuid}/restore": restore,
    "POST /ui/memories/{memory_id:uuid}/remove": remove,
}

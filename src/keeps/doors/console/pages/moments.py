"""Time: the state at a moment in answers, in the list and in the graph, and the changes between two moments."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from pydantic import JsonValue
from starlette.responses import Response

from keeps.base.clock import utc_now
from keeps.doors.console.mount import Call
from keeps.store.events.service import EventService
from keeps_client.errors import NotFoundError
from keeps_client.models import Event, Memory

MOST, SHOWN, LISTED, EDGES = 1_000, 200, 10, 40
_LIVES = ("deleted_at", "superseded_by")


async def time(call: Call) -> Response:
    now = utc_now()
    until = call.moment("until") or now
    since = call.moment("since") or until - timedelta(days=1)
    query = call.asked("q")
    then = await call.memory.recall(query, limit=10, as_of=until) if query else None
    today = await call.memory.recall(query, limit=10) if query else None
    recalled_ids = {hit.memory.memory_id for hit in then.hits} if then is not None else set()
    current = {hit.memory.memory_id for hit in today.hits} if today is not None else set()
    changes = await _between(call, since, until)
    name = call.asked("entity")
    return call.page(
        "time.html",
        since=since,
        until=until,
        then=then,
        today=today,
        known=recalled_ids,
        current=current,
        listed=await _listed(call, until),
        edges=[await _edges(call, name, until), await _edges(call, name, None)] if name else None,
        changes=changes[:SHOWN],
        left_out=max(0, len(changes) - SHOWN),
    )


async def _listed(call: Call, until: datetime) -> list[Memory]:
    """Return the newest memories of that moment as they were, even if changed, superseded or forgotten since."""
    made: JsonValue = {"created_at": {"lte": until.isoformat()}}
    whatever: JsonValue = {"OR": [{field: {"exists": there}} for field in _LIVES for there in (True, False)]}
    page = await call.memory.list(filters={"AND": [made, whatever]}, limit=LISTED * 2)
    memories: list[Memory] = []
    for each in page.items:
        with suppress(NotFoundError):  # forgotten by then, or made earlier than it is said to be
            then = await call.memory.get(each.memory_id, as_of=until)
            if then.deleted_at is None and then.superseded_by is None:
                memories.append(then)
    return memories[:LISTED]


async def _edges(call: Call, name: str, as_of: datetime | None) -> list[tuple[str, str, str]] | None:
    """Return the links of an entity of this name, by names; None if there was no such entity."""
    entities = (await call.memory.list_entities(name=name, limit=1)).items
    if not entities:
        return None
    try:
        entity = await call.memory.get_entity(entities[0].entity_id, as_of=as_of)
    except NotFoundError:
        return None
    relations = await call.memory.get_relations(entity.entity_id, as_of=as_of)
    around = await call.memory.traverse(entity.entity_id, depth=1, direction="both", limit=EDGES)
    names = {each.entity_id: each.name for each in [entity, *around.entities]}
    return [
        (names.get(edge.source_id, "?"), edge.relation_type, names.get(edge.target_id, "?"))
        for edge in relations[:EDGES]
    ]


async def _between(call: Call, since: object, until: object) -> list[Event]:
    """Return the newest events between two moments, among the last MOST of the log."""
    last = await call.keeps.service(EventService).last_sequence(call.scope)
    events = await call.memory.events(after=max(0, last - MOST), limit=200)
    between: list[Event] = []
    while events:
        between += [event for event in events if since <= event.time <= until]  # pyright: ignore[reportOperatorIssue]
        events = await call.memory.events(after=events[-1].sequence, limit=200)
    return between[::-1]


PAGES = {"GET /ui/time": time}

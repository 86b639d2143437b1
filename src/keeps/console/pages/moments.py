"""Time: what was known at a moment, and what changed between two."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import Response

from keeps.clock import utc_now
from keeps.console.mount import Call
from keeps_client.models import Event

MOST, SHOWN = 1_000, 200


async def time(call: Call) -> Response:
    now = utc_now()
    until = call.moment("until") or now
    since = call.moment("since") or until - timedelta(days=1)
    query = call.asked("q")
    then = await call.memory.recall(query, limit=10, as_of=until) if query else None
    today = await call.memory.recall(query, limit=10) if query else None
    known = {hit.memory.memory_id for hit in then.hits} if then is not None else set()
    current = {hit.memory.memory_id for hit in today.hits} if today is not None else set()
    changes = await _between(call, since, until)
    return call.page(
        "time.html",
        since=since,
        until=until,
        then=then,
        today=today,
        known=known,
        current=current,
        changes=changes[:SHOWN],
        left_out=max(0, len(changes) - SHOWN),
    )


async def _between(call: Call, since: object, until: object) -> list[Event]:
    """The newest events between two moments, of the last MOST of the log."""
    last = await call.keeps.events.last_sequence(call.scope)
    events = await call.memory.events(after=max(0, last - MOST), limit=200)
    found: list[Event] = []
    while events:
        found += [each for each in events if since <= each.time <= until]  # pyright: ignore[reportOperatorIssue]
        events = await call.memory.events(after=events[-1].sequence, limit=200)
    return found[::-1]


PAGES = {"GET /ui/time": time}

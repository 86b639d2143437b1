"""Events: the live log, a single event, and verification of the rows against the log."""

from __future__ import annotations

from starlette.responses import Response

from keeps.doors.console.mount import Call, read_number
from keeps.store.events.service import EventService
from keeps_client.errors import NotFoundError

LOOKED_AT, SHOWN = 200, 200


async def events(call: Call) -> Response:
    """Return the newest events first. `before`: those before a number · `after`: only newer ones."""
    types, after, before = call.chosen("type"), call.number("after"), call.number("before")
    if after is not None:
        new = await call.memory.events(after=after, types=types, limit=SHOWN)
        newest = max([after, *(event.sequence for event in new)])
        return call.page("event_rows.html", items=new[::-1], newest=newest, older=None, live=True)
    last = await call.keeps.service(EventService).last_sequence(call.scope)
    before = last + 1 if before is None else before
    start = max(0, before - 1 - LOOKED_AT)
    loaded = page = await call.memory.events(after=start, types=types, limit=SHOWN)
    while page and page[-1].sequence < before - 1:  # a page ends early where its events hold much
        page = await call.memory.events(after=page[-1].sequence, types=types, limit=SHOWN)
        loaded = [*loaded, *page]
    items = [event for event in loaded if event.sequence < before][::-1]
    older = call.more(str(start + 1), "before") if start > 0 else None
    template = "event_rows.html" if call.request.headers.get("hx-request") else "events.html"
    return call.page(template, items=items, newest=last, older=older, live=not call.asked("before"))


async def event(call: Call) -> Response:
    number = read_number(call.given("sequence"), "an event") or 0
    found = await call.memory.events(after=number - 1, limit=1) if number > 0 else []
    if not found or found[0].sequence != number:
        raise NotFoundError("no such event")
    return call.page("event.html", event=found[0])


async def verify(call: Call) -> Response:
    return call.page("verified.html", done=await call.admin.verify_events())


PAGES = {
    "GET /ui/events": events,
    "GET /ui/events/{sequence}": event,
    "POST /ui/events/verify": verify,
}

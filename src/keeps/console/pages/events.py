"""Events: the log as it grows, one event whole, and whether the rows are what the log says."""

from __future__ import annotations

from starlette.responses import Response

from keeps.console.mount import Call
from keeps_client.errors import NotFoundError, ValidationFailedError

LOOKED_AT, SHOWN = 200, 200


async def events(call: Call) -> Response:
    """The newest at the top. `before`: those before a number · `after`: only what came since."""
    last = await call.keeps.events.last_sequence(call.scope)
    types = call.chosen("type")
    if call.asked("after"):
        new = await call.memory.events(after=_number(call, "after"), types=types, limit=SHOWN)
        newest = max([_number(call, "after"), *(each.sequence for each in new)])
        return call.page("event_rows.html", items=new[::-1], newest=newest, older=None, live=True)
    before = _number(call, "before") if call.asked("before") else last + 1
    start = max(0, before - 1 - LOOKED_AT)
    found = await call.memory.events(after=start, types=types, limit=SHOWN)
    items = [each for each in found if each.sequence < before][::-1]
    older = call.more(str(start + 1), "before") if start > 0 else None
    template = "event_rows.html" if call.request.headers.get("hx-request") else "events.html"
    return call.page(template, items=items, newest=last, older=older, live=not call.asked("before"))


async def event(call: Call) -> Response:
    number = int(call.given("sequence"))
    found = await call.memory.events(after=number - 1, limit=1) if number > 0 else []
    if not found or found[0].sequence != number:
        raise NotFoundError("no such event")
    return call.page("event.html", event=found[0])


async def verify(call: Call) -> Response:
    return call.page("verified.html", done=await call.admin.verify_events())


def _number(call: Call, name: str) -> int:
    text = call.asked(name)
    if not text.isdecimal() or len(text) > 18:
        raise ValidationFailedError(f"{name} is the number of an event")
    return int(text)


PAGES = {
    "GET /ui/events": events,
    "GET /ui/events/{sequence:int}": event,
    "POST /ui/events/verify": verify,
}

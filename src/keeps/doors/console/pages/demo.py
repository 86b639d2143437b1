"""Demo data: three months of two tenants, loaded and removed with one click, where nobody signs in."""

from __future__ import annotations

from itertools import groupby

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.demo.extras import add_extras
from keeps.doors.demo.story import read_story, story_tenants
from keeps_client.errors import ForbiddenError, NotFoundError


async def load(call: Call) -> Response:
    _check(call)
    turns = list(read_story())
    for (scope, session_id), group in groupby(turns, key=lambda turn: (turn.scope, str(turn.memory["session_id"]))):
        memory = call.keeps.memory(scope)
        if await memory.session_notes(session_id) is None:  # Loading again stores nothing twice.
            await memory.store_exchange([turn.message for turn in group], session_id=session_id)
    await add_extras(call.keeps, turns)
    owners = list(dict.fromkeys((turn.scope.tenant_id, turn.scope.user_id) for turn in turns))
    return call.page("demo.html", owners=owners, turns=len(turns), removed=False)


async def remove(call: Call) -> Response:
    _check(call)
    for tenant in sorted(story_tenants()):
        try:
            await call.admin.erase_tenant(tenant)
        except NotFoundError:
            continue
    return call.page("demo.html", owners=[], turns=0, removed=True)


def _check(call: Call) -> None:
    if not call.open_to_all:
        raise ForbiddenError("the demonstration needs a server without KEEPS_AUTH on your own machine")


PAGES = {"POST /ui/demo": load, "POST /ui/demo/remove": remove}

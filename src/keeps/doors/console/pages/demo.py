"""Demo data: three months of two tenants, loaded and removed with one click, where nobody signs in."""

from __future__ import annotations

from itertools import groupby

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.demo.extras import add_extras, is_marked, mark
from keeps.doors.demo.story import read_story
from keeps_client.errors import ConflictError, ForbiddenError, NotFoundError


async def load(call: Call) -> Response:
    _check(call)
    turns = list(read_story())
    scopes = list(dict.fromkeys(turn.scope for turn in turns))
    for scope in scopes:
        if await call.admin.list_users(scope.tenant_id, limit=1) and not await is_marked(call.keeps, scope):
            raise ConflictError(
                f"the tenant {scope.tenant_id} has memories of its own, so the demonstration cannot use its name"
            )
    await mark(call.keeps, scopes)
    for (scope, session_id), group in groupby(turns, key=lambda turn: (turn.scope, str(turn.memory["session_id"]))):
        memory = call.keeps.memory(scope)
        if await memory.session_notes(session_id) is None:  # Loading again stores nothing twice.
            await memory.store_exchange([turn.message for turn in group], session_id=session_id)
    await add_extras(call.keeps, turns)
    owners = [(scope.tenant_id, scope.user_id) for scope in scopes]
    return call.page("demo.html", owners=owners, turns=len(turns), removed=False)


async def remove(call: Call) -> Response:
    _check(call)
    scopes = dict.fromkeys(turn.scope for turn in read_story())
    marked = [scope.tenant_id for scope in scopes if await is_marked(call.keeps, scope)]
    if not marked:
        raise NotFoundError("no demonstration is loaded; `keeps tenants erase` erases tenants of your own")
    for tenant in dict.fromkeys(marked):
        await call.admin.erase_tenant(tenant)
    return call.page("demo.html", owners=[], turns=0, removed=True)


def _check(call: Call) -> None:
    if not call.open_to_all:
        raise ForbiddenError("the demonstration needs a server without KEEPS_AUTH on your own machine")


PAGES = {"POST /ui/demo": load, "POST /ui/demo/remove": remove}

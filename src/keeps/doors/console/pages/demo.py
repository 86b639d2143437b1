"""Demo data: three months of two tenants, loaded and removed with one click, where nobody signs in."""

from __future__ import annotations

from itertools import groupby

from starlette.responses import Response

from keeps.base.scope import Scope
from keeps.doors.console.mount import Call
from keeps.doors.demo.extras import add_extras
from keeps.doors.demo.story import read_story, story_tenants
from keeps_client.errors import ConflictError, ForbiddenError, NotFoundError

MARK = ("keeps", "demonstration")
"""Namespace of the item that marks a tenant of the demonstration: tenants of these names may be somebody's own."""


async def load(call: Call) -> Response:
    _check(call)
    for tenant in sorted(story_tenants()):
        if await call.admin.list_users(tenant, limit=1) and not await _is_demonstration(call, tenant):
            raise ConflictError(
                f"the tenant {tenant} has memories of its own, so the demonstration cannot use its name"
            )
    turns = list(read_story())
    for tenant in sorted(story_tenants()):
        await call.keeps.memory(Scope(tenant)).put_item(MARK, "loaded", {"is": True}, index=False)
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
        if not await _is_demonstration(call, tenant):
            continue
        try:
            await call.admin.erase_tenant(tenant)
        except NotFoundError:
            continue
    return call.page("demo.html", owners=[], turns=0, removed=True)


async def _is_demonstration(call: Call, tenant: str) -> bool:
    return await call.keeps.memory(Scope(tenant)).get_item(MARK, "loaded") is not None


def _check(call: Call) -> None:
    if not call.open_to_all:
        raise ForbiddenError("the demonstration needs a server without KEEPS_AUTH on your own machine")


PAGES = {"POST /ui/demo": load, "POST /ui/demo/remove": remove}

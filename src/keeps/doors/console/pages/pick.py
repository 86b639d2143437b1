"""The list of tenants and users in the menu of every page: those whose id begins with what is typed."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from keeps.base.scope import check_id
from keeps.doors.console.mount import Call
from keeps.memory.transfer.erasure import TenantService
from keeps_client.errors import ForbiddenError

SHOWN = 20


async def users(call: Call) -> Response:
    """Return users of the caller's tenant, for its administrators; where nobody signs in, of any tenant."""
    if not (call.open_to_all or call.may("admin")):
        raise ForbiddenError("listing users needs the role admin")
    scope = call.scope
    if call.open_to_all and call.asked("tenant"):
        scope = replace(scope, tenant_id=check_id("tenant_id", call.asked("tenant")))
    names = await call.keeps.service(TenantService).find_users(scope, call.asked("user"), SHOWN + 1)
    template = "pick_options.html" if call.asked("as") == "options" else "pick_users.html"
    return call.page(template, names=names[:SHOWN], cut=len(names) > SHOWN, typed=call.asked("user"))


async def tenants(call: Call) -> Response:
    """Return tenants where nobody signs in; a key is one tenant's, and lists that one only."""
    if call.open_to_all:
        names = await call.keeps.service(TenantService).find_tenants(call.asked("tenant"), SHOWN)
    else:
        names = [call.scope.tenant_id]
    return call.page("pick_options.html", names=names)


PAGES = {"GET /ui/pick/users": users, "GET /ui/pick/tenants": tenants}

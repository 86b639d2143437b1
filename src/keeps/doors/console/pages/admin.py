"""Admin: keys, webhooks, tenants with their quotas, erasure, and the state of the installation."""

from __future__ import annotations

from starlette.responses import Response

from keeps.base.clock import utc_now
from keeps.doors.console.mount import Call, read_number
from keeps.store.db.probe import probe


async def admin(call: Call) -> Response:
    return call.page(
        "admin.html",
        keys=await call.admin.list_keys(),
        webhooks=await call.admin.list_webhooks(),
        tenants=await call.admin.list_tenants(after=call.asked("after"), limit=100) if call.may("operator") else [],
        status=await call.keeps.status() if call.may("operator") else None,
        server=await call.keeps.server_version() if call.may("operator") else "",
    )


async def prove(call: Call) -> Response:
    """Check tenant isolation in the database, as the serving role."""
    await call.admit("operator")
    for cell in await call.keeps.database.cells.all():
        await probe(cell)
    return call.page("proven.html", at=utc_now(), server=await call.keeps.server_version())


async def make_key(call: Call) -> Response:
    form = await call.form("admin")
    roles = [str(each) for each in form.getlist("role")] or ["writer"]
    user = str(form.get("user_id", "")).strip() or None
    made = await call.admin.make_key(str(form.get("name", "")).strip(), roles=roles, user_id=user)  # pyright: ignore[reportArgumentType]
    return call.page("made.html", key=made, hook=None)


async def revoke_key(call: Call) -> Response:
    await call.admin.revoke_key(call.given("key_id"))
    return call.go("/ui/admin", "the key is revoked")


async def add_webhook(call: Call) -> Response:
    form = await call.form("admin")
    types = [each for each in str(form.get("types", "*")).replace(",", " ").split() if each] or ["*"]
    made = await call.admin.add_webhook(str(form.get("url", "")).strip(), types=types)
    return call.page("made.html", key=None, hook=made)


async def webhook(call: Call) -> Response:
    webhook_id = call.given("webhook_id")
    found = next((each for each in await call.admin.list_webhooks() if each.webhook_id == webhook_id), None)
    return call.page("webhook.html", webhook=found, failures=await call.admin.list_webhook_failures(webhook_id))


async def remove_webhook(call: Call) -> Response:
    await call.admin.remove_webhook(call.given("webhook_id"))
    return call.go("/ui/admin", "the webhook is removed")


async def retry_webhook(call: Call) -> Response:
    await call.admin.retry_webhook(call.given("webhook_id"))
    return call.go("/ui/admin", "the webhook is retried")


async def set_quota(call: Call) -> Response:
    form = await call.form("operator")
    limits: dict[str, int | None] = {}
    for name in ("max_memories", "max_bytes"):
        limits[name] = read_number(str(form.get(name, "")).strip().replace(",", ""), name)
    await call.admin.set_quota(str(form.get("tenant_id", "")), **limits)
    return call.go("/ui/admin", "the quota is set")


async def erase(call: Call) -> Response:
    """Erase a user permanently: the name is entered twice, then the data is counted."""
    form = await call.form("admin")
    user, again = str(form.get("user_id", "")).strip(), str(form.get("again", "")).strip()
    if not user or user != again:
        return call.page("erase.html", user=user, wrong=bool(again))
    return call.page("erased.html", done=await call.admin.erase_user(user), space_id=None)


PAGES = {
    "GET /ui/admin": admin,
    "POST /ui/admin/prove": prove,
    "POST /ui/admin/keys": make_key,
    "POST /ui/admin/keys/{key_id:uuid}/revoke": revoke_key,
    "POST /ui/admin/webhooks": add_webhook,
    "GET /ui/admin/webhooks/{webhook_id:uuid}": webhook,
    "POST /ui/admin/webhooks/{webhook_id:uuid}/remove": remove_webhook,
    "POST /ui/admin/webhooks/{webhook_id:uuid}/retry": retry_webhook,
    "POST /ui/admin/quota": set_quota,
    "POST /ui/admin/erase": erase,
}

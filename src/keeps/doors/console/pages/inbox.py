"""The inbox: memories that wait for a decision, and the sources whose memories do not."""

from __future__ import annotations

from starlette.responses import HTMLResponse, Response

from keeps.base.text.fences import one_line
from keeps.doors.console.mount import Call
from keeps_client.errors import ValidationFailedError

PAGE, SHOWN = 50, 1_000
REASONS = {
    "instructions": "Gives instructions to a model",
    "hidden_text": "Hides text",
    "flood": "One of very many",
    "contradiction": "Contradicts a more trusted memory",
}


async def inbox(call: Call) -> Response:
    reason = call.asked("reason") if call.asked("reason") in REASONS else None
    page = await call.memory.inbox(
        reason=reason,  # pyright: ignore[reportArgumentType]
        limit=PAGE,
        cursor=call.asked("cursor") or None,
    )
    items = [(each, one_line(each.memory.content)[:SHOWN]) for each in page.items]
    return call.page(
        "inbox.html",
        items=items,
        more=call.more(page.next_cursor),
        reasons=REASONS,
        reason=reason,
        sources=await call.memory.trusted_sources(),
    )


async def count(call: Call) -> Response:
    """Return the number for the menu; empty if nothing waits."""
    waiting = (await call.memory.inbox_count()).waiting
    return HTMLResponse(f'<span class="count">{waiting:,}</span>' if waiting else "")


async def decide(call: Call) -> Response:
    """Approve or drop the chosen memories, or trust a source."""
    form = await call.form()
    ids = [str(value) for value in form.getlist("id")]
    if source := str(form.get("source", "")):
        done = await call.memory.trust_source(source)
    elif not ids:
        raise ValidationFailedError("select memories first")
    elif form.get("decision") == "approve":
        done = await call.memory.approve_held(ids)
    elif form.get("decision") == "drop":
        done = await call.memory.drop_held(ids)
    else:
        raise ValidationFailedError("decision must be approve or drop")
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in done.counts.items())
    return call.go(f"/ui/operations/{done.operation_id}", counts or "nothing to do")


async def distrust(call: Call) -> Response:
    form = await call.form()
    gone = await call.memory.distrust_source(str(form.get("source", "")))
    return call.go("/ui/inbox", f"{gone.source} is trusted no longer")


PAGES = {
    "GET /ui/inbox": inbox,
    "GET /ui/inbox/count": count,
    "POST /ui/inbox": decide,
    "POST /ui/inbox/sources": distrust,
}

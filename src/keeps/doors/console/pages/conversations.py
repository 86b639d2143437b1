"""Conversations: their turns, their notes, and the memories extracted from each turn."""

from __future__ import annotations

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.console.views import quoted
from keeps_client.errors import NotFoundError
from keeps_client.models import Memory

PAGE, TURNS, FACTS = 30, 100, 100


async def conversations(call: Call) -> Response:
    if call.asked("open"):
        return call.go(f"/ui/conversations/{quoted(call.asked('open'))}")
    page = await call.memory.list_sessions(limit=PAGE, cursor=call.asked("cursor") or None)
    return call.page("conversations.html", items=page.items, more=call.more(page.next_cursor))


async def conversation(call: Call) -> Response:
    session_id = call.given("session_id")
    turns = await call.memory.list(
        filters={"AND": [{"session_id": {"eq": session_id}}, {"kind": {"eq": "episodic"}}]},
        limit=TURNS,
        cursor=call.asked("cursor") or None,
    )
    facts = await call.memory.list(
        filters={"AND": [{"session_id": {"eq": session_id}}, {"kind": {"eq": "semantic"}}]}, limit=FACTS
    )
    try:
        session = await call.memory.get_session(session_id)
    except NotFoundError:
        session = None
        if not turns.items and not facts.items:
            raise
    by_turn: dict[str, list[Memory]] = {}
    for fact in facts.items:
        by_turn.setdefault(str(fact.metadata.get("turn") or fact.metadata.get("source_memory_id") or ""), []).append(
            fact
        )
    return call.page(
        "conversation.html",
        session=session,
        session_id=session_id,
        turns=sorted(turns.items, key=lambda each: (each.valid_from, each.memory_id)),
        notes=await call.memory.session_notes(session_id) if session is not None else None,
        facts=facts.items,
        by_turn=by_turn,
        more=call.more(turns.next_cursor),
    )


async def end(call: Call) -> Response:
    session_id = call.given("session_id")
    receipt = await call.memory.end_session(session_id)
    return call.go(f"/ui/conversations/{quoted(session_id)}", receipt.status)


PAGES = {
    "GET /ui/conversations": conversations,
    "GET /ui/conversations/{session_id}": conversation,
    "POST /ui/conversations/{session_id}/end": end,
}

"""Context: the prompt for a message, and what was left out of it."""

from __future__ import annotations

from uuid import UUID

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.console.views import stacked
from keeps.engine import LocalMemory
from keeps_client.models import ContextResult

REASONS = {
    "budget": "no room in the budget",
    "duplicate": "duplicate of another memory",
    "in_session": "already in the conversation",
    "not_relevant": "does not answer the message",
}


async def context(call: Call) -> Response:
    query, budget = call.asked("q"), call.number("budget") or 4_000
    assembled: ContextResult | None = None
    parts: list[tuple[str, int]] = []
    if query:
        assembled = await call.memory.context(
            query, session_id=call.asked("session_id") or None, budget_tokens=budget, explain=True
        )
        parts = [("for every message", assembled.stable_tokens), ("for this message", assembled.volatile_tokens)]
    texts = {} if assembled is None else await left_out_texts(call.memory, assembled)
    return call.page(
        "context.html",
        found=assembled,
        parts=parts,
        stretches=stacked(parts, budget),
        budget=budget,
        texts=texts,
        reasons=REASONS,
    )


async def left_out_texts(memory: LocalMemory, context: ContextResult) -> dict[UUID, str]:
    """Return the texts of the memories that were left out of a context."""
    ids = list(dict.fromkeys(item.memory_id for item in context.left_out if item.memory_id is not None))
    if not ids:
        return {}
    page = await memory.list(filters={"memory_id": {"in": [str(each) for each in ids]}}, limit=len(ids))
    return {item.memory_id: item.content for item in page}


PAGES = {"GET /ui/context": context}

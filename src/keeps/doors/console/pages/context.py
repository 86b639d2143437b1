"""Context: the prompt for a message, and what was left out of it."""

from __future__ import annotations

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.console.views import stacked


async def context(call: Call) -> Response:
    query, budget = call.asked("q"), call.number("budget") or 4_000
    assembled, bar = None, []
    if query:
        assembled = await call.memory.context(
            query, session_id=call.asked("session_id") or None, budget_tokens=budget, explain=True
        )
        bar = stacked([(each.title, each.tokens) for each in assembled.sections], assembled.budget_tokens)
    return call.page("context.html", found=assembled, stretches=bar, budget=budget)


PAGES = {"GET /ui/context": context}

"""Context: the prompt that would go out for a message, and what was left out of it."""

from __future__ import annotations

from starlette.responses import Response

from keeps.console.mount import Call
from keeps.console.views import stacked


async def context(call: Call) -> Response:
    query, budget = call.asked("q"), call.number("budget") or 4_000
    found, bar = None, []
    if query:
        found = await call.memory.context(
            query, session_id=call.asked("session_id") or None, budget_tokens=budget, explain=True
        )
        bar = stacked([(each.title, each.tokens) for each in found.sections], found.budget_tokens)
    return call.page("context.html", found=found, stretches=bar, budget=budget)


PAGES = {"GET /ui/context": context}

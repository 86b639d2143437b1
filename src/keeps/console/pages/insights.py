"""Insights: growth, kinds and layers, what will fade, how much of it is junk."""

from __future__ import annotations

from starlette.responses import Response

from keeps.console.mount import Call
from keeps.console.views import curve


async def insights(call: Call) -> Response:
    """The page at once; its numbers, for which all memories are counted, when they are there."""
    return call.page("insights.html", found=None)


async def numbers(call: Call) -> Response:
    found = await call.memory.insights()
    return call.page(
        "insight_numbers.html" if call.request.headers.get("hx-request") else "insights.html",
        found=found,
        growth=curve([each.memories for each in found.growth]),
        storage=curve([each.bytes for each in found.storage]),
        tokens=[(job, f"{count:,}") for job, count in found.llm_tokens.items()],
        most=max([1, *found.by_kind.values(), *found.by_layer.values(), *found.common_tags.values()]),
    )


async def junk(call: Call) -> Response:
    return call.page("junk.html", found=await call.memory.audit_junk())


PAGES = {"GET /ui/insights": insights, "GET /ui/insights/numbers": numbers, "GET /ui/insights/junk": junk}

"""Insights: growth, kinds and layers, memories about to fade, and the share of junk."""

from __future__ import annotations

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.console.views import curve


async def insights(call: Call) -> Response:
    """Return the page at once; its numbers, which count all memories, follow."""
    return call.page("insights.html", found=None)


async def numbers(call: Call) -> Response:
    report = await call.memory.insights()
    return call.page(
        "insight_numbers.html" if call.request.headers.get("hx-request") else "insights.html",
        found=report,
        growth=curve([day.memories for day in report.growth]),
        storage=curve([day.bytes for day in report.storage]),
        tokens=[(job, f"{count:,}") for job, count in report.llm_tokens.items()],
        most=max([1, *report.by_kind.values(), *report.by_layer.values(), *report.common_tags.values()]),
    )


async def junk(call: Call) -> Response:
    return call.page("junk.html", found=await call.memory.audit_junk())


PAGES = {"GET /ui/insights": insights, "GET /ui/insights/numbers": numbers, "GET /ui/insights/junk": junk}

"""Overview: cards, requests over time, growth, kinds and layers, memories about to fade, and the share of junk."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import Response

from keeps.doors.console.charts import request_charts
from keeps.doors.console.mount import Call
from keeps.doors.console.views import bars
from keeps.memory.requests.buffer import MAX_PER_USER
from keeps.memory.requests.service import RequestService

LATEST = 10
"""Number of runs of jobs that are listed at most."""


async def insights(call: Call) -> Response:
    """Return the page at once; its numbers, which count all memories, follow."""
    return call.page("insights.html", found=None)


async def numbers(call: Call) -> Response:
    report = await call.memory.insights()
    since = call.keeps.core.clock() - timedelta(days=1)
    operations = (await call.memory.operations(limit=LATEST)).items
    days = call.keeps.core.settings.logged_days
    requests = await call.keeps.service(RequestService).activity(call.scope, days) if days else None
    return call.page(
        "insight_numbers.html" if call.request.headers.get("hx-request") else "insights.html",
        found=report,
        operations=[each for each in operations if each.started_at >= since],
        days=days,
        requests=requests,
        charts=() if requests is None else request_charts(requests),
        most_logged=MAX_PER_USER,
        growth=bars([(str(week.week), week.memories) for week in report.growth]),
        storage=bars([(str(day.day), day.bytes) for day in report.storage]),
        tokens=[(job, f"{count:,}") for job, count in report.llm_tokens.items()],
        most=max([1, *report.by_kind.values(), *report.by_layer.values(), *report.common_tags.values()]),
    )


async def junk(call: Call) -> Response:
    return call.page("junk.html", found=await call.memory.audit_junk())


PAGES = {"GET /ui/insights": insights, "GET /ui/insights/numbers": numbers, "GET /ui/insights/junk": junk}

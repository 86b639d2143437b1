"""Costs: calls, tokens and seconds of models by day, job, model or tenant, and the budgets."""

from __future__ import annotations

from datetime import timedelta
from typing import get_args

from starlette.responses import Response

from keeps.doors.console.mount import Call
from keeps.doors.console.views import bars
from keeps_client.models import CostGrouping

DAYS = (7, 30, 90, 365)


async def costs(call: Call) -> Response:
    groupings: tuple[CostGrouping, ...] = get_args(CostGrouping)
    by: CostGrouping = "job"
    for name in groupings:
        if name == call.asked("by"):
            by = name
    days = next((days for days in DAYS if str(days) == call.asked("days")), 30)
    since = call.keeps.core.clock().date() - timedelta(days=days - 1)
    whole = call.may("operator") and (by == "tenant" or call.asked("all") == "1")
    report = await call.admin.costs(by="job" if by == "tenant" and not whole else by, since=since, all_tenants=whole)
    daily = await call.admin.costs(by="day", since=since, all_tenants=whole)
    tokens = [(line.name, line.prompt_tokens + line.completion_tokens) for line in daily.lines]
    return call.page(
        "costs.html",
        costs=report,
        days=days,
        all_days=DAYS,
        whole=whole,
        groupings=[name for name in groupings if name != "tenant" or call.may("operator")],
        chart=bars(tokens),
        daily=tokens,
    )


PAGES = {"GET /ui/costs": costs}

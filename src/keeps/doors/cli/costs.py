"""costs: the costs of models, and the budgets."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from keeps.base.clock import utc_now
from keeps.doors.cli.command import Answer, command, print_table
from keeps.doors.cli.context import Target, out
from keeps_client.models import CostGrouping, Costs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from keeps_client.models import BudgetState, CostLine

app = typer.Typer()
NO_LLM = "No LLM is configured: memory costs no tokens."


@command(app)
async def costs(
    target: Target,
    by: Annotated[CostGrouping, typer.Option(help="Lines by day, job, model or tenant.")] = "job",
    days: Annotated[int, typer.Option(help="Days until today (UTC).", min=1, max=400)] = 30,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", help="All tenants together, for operators.")] = False,
) -> Answer:
    """Show what models cost, and the budgets.

    Calls, tokens, seconds and money of the tenant (--tenant), or of all.
    """
    tenant_id, target = target.by_path()
    whole = all_tenants or by == "tenant"
    since = utc_now().astimezone(UTC).date() - timedelta(days=days - 1)
    async with target.memory() as memory:
        report = await memory.admin.costs(by=by, since=since, tenant_id=None if whole else tenant_id, all_tenants=whole)
    return Answer(report, lambda: _print(report))


def _print(report: Costs) -> None:
    if report.lines:
        columns = [report.by, "calls", "failed", "tokens in", "tokens out", "seconds", "cost"]
        print_table(columns, [*map(_cells, report.lines), *([_cells(report.total)] if len(report.lines) > 1 else [])])
    elif report.llm is None:
        out.print(NO_LLM)
    else:
        out.print(f"No model was asked from {report.since} to {report.until}. The LLM is {escape(report.llm)}.")
    if report.unpriced:
        names = ", ".join(name or "(unknown)" for name in report.unpriced)
        out.print(f"[dim]without a price in KEEPS_LLM_PRICES: {escape(names)}[/]")
    if report.lines or report.llm is not None:
        for state in report.budgets:
            out.print(_budget(state))


def _cells(line: CostLine) -> Iterable[object]:
    return (
        line.name or "(unknown)",
        f"{line.calls:,}",
        f"{line.failed:,}",
        f"{line.prompt_tokens:,}",
        f"{line.completion_tokens:,}",
        f"{line.seconds:,.1f}",
        None if line.cost is None else money(line.cost),
    )


def money(amount: float) -> str:
    """Return an amount with two digits at least, also of a small one."""
    return f"{amount:,.2f}" if amount >= 1 or amount == 0 else f"{amount:.2g}"


def _budget(state: BudgetState) -> str:
    share = f"budget {state.budget}: {state.used:,.10g} of {state.amount:,.10g} ({state.used / state.amount:.0%})"
    match state.level:
        case "reached":
            return f"[red]{share}, used up until {state.resets_on}[/]"
        case "warned":
            return f"[yellow]{share}[/]"
        case "within":
            return share

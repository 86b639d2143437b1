"""Report the costs of a tenant, or of all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, timedelta

from keeps.base.budgets import Prices
from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.store.access.part import scope_of_tenant
from keeps.store.access.roles import require
from keeps.store.costs import store
from keeps.store.costs.budgets import BudgetUse
from keeps.store.costs.usage import ModelUsage
from keeps.store.db.session import Database, Row
from keeps_client.errors import ValidationFailedError
from keeps_client.models import BudgetState, CostLine, Costs
from keeps_client.models.costs import CostsQuery

DAYS, MOST_DAYS = 30, 400
MOST_LINES = 1_000


class CostService:
    """Reports costs. Reading first writes what this process has counted of the tenant."""

    def __init__(self, database: Database, usage: ModelUsage, clock: Clock, llm: str | None) -> None:
        self._database = database
        self._usage = usage
        self._clock = clock
        self._llm = llm

    async def costs(self, scope: Scope, query: CostsQuery) -> Costs:
        """Return the costs of a tenant, or of all.

        Raises ForbiddenError for all tenants unless an operator asks, and NotFoundError for another tenant.
        """
        today = self._clock().astimezone(UTC).date()
        since, until = _days(query, today)
        if query.all_tenants or query.by == "tenant":
            require(scope, "operator")
            if query.tenant_id is not None:
                raise ValidationFailedError("tenant_id: all tenants together are of no single one; leave it out")
            await self._usage.flush()
            tenant_id = None
            by_cell = await self._database.cells.everywhere(store.QUERIES["usage_of_all"], since, until, query.by)
            rows = [row for of_cell in by_cell.values() for row in of_cell]
            uses = await self._usage.budgets.of_all(self._database, today)
        else:
            tenant_id = query.tenant_id or scope.tenant_id
            owner = scope_of_tenant(scope, tenant_id)
            await self._usage.flush(tenant_id)
            async with self._database.scoped(owner) as tx:
                rows = await tx.fetch(store.QUERIES["usage_of_tenant"], since, until, query.by)
                uses = await self._usage.budgets.of_tenant(tx, today)
        prices = self._usage.budgets.prices
        lines = lines_of(rows, prices)
        most = lines if query.by == "day" else sorted(lines, key=lambda line: -line.prompt_tokens)[:MOST_LINES]
        models = {row["model"] for row in rows if row["prompt_tokens"] + row["completion_tokens"]}
        return Costs(
            tenant_id=tenant_id,
            since=since,
            until=until,
            by=query.by,
            lines=tuple(most),
            total=_line("total", rows, prices),
            budgets=tuple(_state(use, today) for use in uses),
            unpriced=tuple(sorted(model for model in models if model not in prices)) if prices else (),
            llm=self._llm,
        )


def lines_of(rows: Iterable[Row], prices: Prices) -> list[CostLine]:
    """Return one line for each name, whose rows have different models. Pure."""
    by_name: Mapping[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_name[row["name"]].append(row)
    return [_line(name, by_name[name], prices) for name in sorted(by_name)]


def _line(name: str, rows: Sequence[Row], prices: Prices) -> CostLine:
    costs = [prices.cost(row["model"], row["prompt_tokens"], row["completion_tokens"]) for row in rows]
    priced = [cost for cost in costs if cost is not None]
    return CostLine(
        name=name,
        calls=sum(row["calls"] for row in rows),
        failed=sum(row["failed"] for row in rows),
        prompt_tokens=sum(row["prompt_tokens"] for row in rows),
        completion_tokens=sum(row["completion_tokens"] for row in rows),
        seconds=round(sum(row["seconds"] for row in rows), 3),
        cost=round(sum(priced), 6) if priced else None,
    )


def _state(use: BudgetUse, today: date) -> BudgetState:
    budget = use.budget
    return BudgetState(
        budget=budget.name,
        used=round(use.used, 6),
        amount=budget.amount,
        level=use.level,
        starts_on=budget.starts_on(today),
        resets_on=budget.resets_on(today),
    )


def _days(query: CostsQuery, today: date) -> tuple[date, date]:
    """Return the first and the last day. Raises ValidationFailedError if they are in the wrong order, or far apart."""
    until = query.until or today
    since = query.since or date.fromordinal(max(1, until.toordinal() - DAYS + 1))
    if since > until:
        raise ValidationFailedError(f"since: {since} is after the last day, {until}")
    if until - since >= timedelta(days=MOST_DAYS):
        raise ValidationFailedError(f"since: at most {MOST_DAYS} days can be asked for at once")
    return since, until

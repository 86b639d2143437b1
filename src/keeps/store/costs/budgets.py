"""Budgets of tenants and of the installation: what is used of them, and who is told."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from keeps.base.budgets import Budget, Level, Prices, Tokens
from keeps.base.clock import new_id
from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import Metrics
from keeps.store.costs import store
from keeps.store.db.session import Database, Tx
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.models.events import EventType

TOTAL_SECONDS = 10.0
"""Seconds for which a process uses what it read of all tenants."""
EVENTS: dict[Level, EventType] = {"warned": "budget.warned", "reached": "budget.reached"}


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """The used amount of a budget in its current period."""

    budget: Budget
    used: float

    @property
    def level(self) -> Level:
        return self.budget.level(self.used)


@dataclass(frozen=True, slots=True)
class Alert:
    """A tenant is told of a budget."""

    use: BudgetUse
    level: Level


class Budgets:
    """The budgets of the settings, with the prices that those of money need."""

    def __init__(self, budgets: Sequence[Budget], prices: Prices, metrics: Metrics) -> None:
        self.prices = prices
        self._tenant = [budget for budget in budgets if budget.whom == "tenant"]
        self._all = [budget for budget in budgets if budget.whom == "installation"]
        self._metrics = metrics
        self._reported: set[tuple[str, date, Level]] = set()
        self._total: tuple[float, date, list[BudgetUse]] | None = None

    def __bool__(self) -> bool:
        return bool(self._tenant or self._all)

    async def of_tenant(self, tx: Tx, today: date) -> list[BudgetUse]:
        """Return what the transaction's tenant used of its budgets."""
        if not self._tenant:
            return []
        used = await store.used_tokens(tx, _since(self._tenant, today), today)
        return [BudgetUse(budget, self.prices.used(budget, today, used.llm, used.models)) for budget in self._tenant]

    def reads_all(self, today: date) -> bool:
        """Return whether `of_all` reads the counts of all tenants now, so that those of this process belong there."""
        if not self._all:
            return False
        return self._total is None or self._total[1] != today or time.monotonic() >= self._total[0] + TOTAL_SECONDS

    async def of_all(self, database: Database, today: date) -> list[BudgetUse]:
        """Return what all tenants used of the installation's budgets, at most ten seconds old."""
        if not self._all:
            return []
        if self._total is not None and not self.reads_all(today):
            return self._total[2]
        now = time.monotonic()
        states: list[BudgetUse] = []
        for budget in self._all:
            by_cell = await database.cells.everywhere(
                store.QUERIES["usage_of_all"], budget.starts_on(today), today, "model"
            )
            rows = [row for of_cell in by_cell.values() for row in of_cell]
            llm = [(today, row["prompt_tokens"] + row["completion_tokens"]) for row in rows if row["kind"] == "llm"]
            models = [Tokens(today, row["model"], row["prompt_tokens"], row["completion_tokens"]) for row in rows]
            states.append(BudgetUse(budget, self.prices.used(budget, today, llm, models)))
        self._total = now, today, states
        return states

    async def alert_tenant(self, tx: Tx, today: date, now: datetime) -> list[Alert]:
        """Tell the transaction's tenant of budgets that are nearly or completely used, once in each period."""
        alerts: list[Alert] = []
        for use in await self.of_tenant(tx, today):
            starts_on = use.budget.starts_on(today)
            if use.level != "within" and await store.alert(tx, use.budget.name, starts_on, use.level):
                alerts.append(Alert(use, use.level))
        await events.append(tx, [_event(alert, today, now) for alert in alerts]) if alerts else None
        return alerts

    def report(self, alert: Alert, tenant_id: str | None = None) -> None:
        """Log and count an alert. Without a tenant, it is of the installation."""
        budget = alert.use.budget
        self._metrics.costs.alerts.labels(budget.name, alert.level).inc()
        whose = {} if tenant_id is None else {"tenant_id": tenant_id}
        log().warning(
            EVENTS[alert.level], budget=budget.name, used=round(alert.use.used, 6), amount=budget.amount, **whose
        )

    def report_all(self, uses: Sequence[BudgetUse], today: date) -> None:
        """Set the metrics of the installation's budgets, and log each level once in a period and process."""
        for use in uses:
            self._metrics.costs.used.labels(use.budget.name).set(use.used / use.budget.amount)
            key = (use.budget.name, use.budget.starts_on(today), use.level)
            if use.level != "within" and key not in self._reported:
                self._reported.add(key)
                self.report(Alert(use, use.level))


def _event(alert: Alert, today: date, now: datetime) -> NewEvent:
    budget = alert.use.budget
    return NewEvent(
        event_id=new_id(),
        type=EVENTS[alert.level],
        subject=f"budget/{budget.whom}/{budget.period}/{budget.unit}",
        time=now,
        visibility="private",
        agent_id=None,
        data={
            "budget": budget.name,
            "used": round(alert.use.used, 6),
            "amount": budget.amount,
            "starts_on": budget.starts_on(today).isoformat(),
            "resets_on": budget.resets_on(today).isoformat(),
        },
    )


def _since(budgets: Sequence[Budget], today: date) -> date:
    return min(budget.starts_on(today) for budget in budgets)

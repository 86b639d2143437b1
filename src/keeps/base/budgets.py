"""Budgets of LLMs and prices of models, as settings write them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from keeps_client.errors import ValidationFailedError

Whom = Literal["tenant", "installation"]
Period = Literal["day", "month"]
Unit = Literal["tokens", "money"]
Level = Literal["within", "warned", "reached"]
WARNED_SHARE = 0.8
MILLION = 1_000_000
_BUDGET = re.compile(r"(tenant|installation)/(day|month) ?= ?(\d{1,15}(?:\.\d{1,6})?)( tokens)?")
_PRICE = re.compile(r"(\S{1,100})=(\d{1,9}(?:\.\d{1,6})?)(?:/(\d{1,9}(?:\.\d{1,6})?))?")


@dataclass(frozen=True, slots=True)
class Budget:
    """The amount that a tenant, or all tenants together, may use in a day or month (UTC)."""

    whom: Whom
    period: Period
    unit: Unit
    amount: float

    @property
    def name(self) -> str:
        return f"{self.whom}/{self.period} {self.unit}"

    def starts_on(self, day: date) -> date:
        """Return the first day of the period that a day is in."""
        return day if self.period == "day" else day.replace(day=1)

    def resets_on(self, day: date) -> date:
        """Return the first day of the next period."""
        start = self.starts_on(day)
        return start + timedelta(days=1) if self.period == "day" else (start + timedelta(days=31)).replace(day=1)

    def level(self, used: float) -> Level:
        if used >= self.amount:
            return "reached"
        return "warned" if used >= WARNED_SHARE * self.amount else "within"


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens of a model: those that are sent, and those that it answers."""

    model: str
    prompt: float
    completion: float


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a model on a day."""

    day: date
    model: str
    prompt: int
    completion: int


def parse_budgets(name: str, value: str) -> tuple[Budget, ...]:
    """Return the budgets of `tenant/day=500000 tokens, installation/month=40.00`. Raises ValidationFailedError."""
    budgets: dict[str, Budget] = {}
    for part in filter(None, (text.strip() for text in value.split(","))):
        match = _BUDGET.fullmatch(part)
        if match is None or not float(match[3]):
            raise ValidationFailedError(
                f"{name} names {part!r}, which is not a budget; write tenant/day=500000 tokens, or an amount of money:"
                " installation/month=40.00"
            )
        whom: Whom = "tenant" if match[1] == "tenant" else "installation"
        period: Period = "day" if match[2] == "day" else "month"
        budget = Budget(whom, period, "tokens" if match[4] else "money", float(match[3]))
        if budget.name in budgets:
            raise ValidationFailedError(f"{name} names the budget {budget.name} twice; write it once")
        budgets[budget.name] = budget
    return tuple(budgets.values())


def parse_prices(name: str, value: str) -> tuple[Price, ...]:
    """Return the prices of `gpt-4o-mini=0.15/0.60, other=1`. Raises ValidationFailedError."""
    prices: list[Price] = []
    for part in filter(None, (text.strip() for text in value.split(","))):
        match = _PRICE.fullmatch(part)
        if match is None:
            raise ValidationFailedError(
                f"{name} names {part!r}, which is not a price; write MODEL=IN/OUT, the price of a million tokens that"
                " are sent and of a million that are answered"
            )
        prices.append(Price(match[1], float(match[2]), float(match[3] or match[2])))
    return tuple(prices)


class Prices:
    """The price of each model that has one."""

    def __init__(self, prices: Iterable[Price] = ()) -> None:
        self._prices = {price.model: price for price in prices}

    def __bool__(self) -> bool:
        return bool(self._prices)

    def __contains__(self, model: str) -> bool:
        return model in self._prices

    def cost(self, model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
        """Return what tokens of a model cost; None without a price."""
        price = self._prices.get(model)
        if price is None:
            return None
        return (prompt_tokens * price.prompt + completion_tokens * price.completion) / MILLION

    def used(self, budget: Budget, day: date, llm_tokens: Iterable[tuple[date, int]], used: Iterable[Tokens]) -> float:
        """Return what was used of a budget in its period: tokens of LLMs, or the cost of all models."""
        start, end = budget.starts_on(day), budget.resets_on(day)
        if budget.unit == "tokens":
            return float(sum(tokens for on, tokens in llm_tokens if start <= on < end))
        return sum(self.cost(one.model, one.prompt, one.completion) or 0.0 for one in used if start <= one.day < end)

"""Costs of models: calls, tokens, seconds and money, by day, job, model or tenant, and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Id, Wire

CostGrouping = Literal["day", "job", "model", "tenant"]


class CostLine(Wire):
    """The use of models on a day, for a job, by a model or for a tenant.

    `failed` calls are among `calls`, with those that were sent again. `model` is "" where an earlier release counted
    tokens alone. `cost`: by the prices of the settings; None if no model has one.
    """

    name: str
    calls: int
    failed: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cost: float | None = None


class BudgetState(Wire):
    """A budget, what is used of it since `starts_on`, and the day on which it begins anew.

    `amount` and `used` are tokens, or money in the currency of the prices.
    """

    budget: str
    used: float
    amount: float
    level: Literal["within", "warned", "reached"]
    starts_on: date
    resets_on: date


class Costs(Wire):
    """The costs of models from the day `since` to the day `until` (UTC).

    `tenant_id`: None for all tenants. `llm`: the model of the LLM, None without one. `unpriced`: models whose tokens
    have no price, so that no `cost` has them. `budgets`: those of the tenant, or of the installation; they have periods
    of their own.
    """

    tenant_id: str | None
    since: date
    until: date
    by: CostGrouping
    lines: tuple[CostLine, ...]
    total: CostLine
    budgets: tuple[BudgetState, ...]
    unpriced: tuple[str, ...]
    llm: str | None


class MemoryCost(Wire):
    """The use of an LLM by the call that made a memory, with `memories` made by the same call."""

    job: str
    model: str
    calls: int
    tokens: int
    memories: int

    @property
    def text(self) -> str:
        """Return it in words."""
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        made = "this memory" if self.memories == 1 else f"{self.memories} memories"
        return f"{calls} of {self.model} by the job {self.job}, {self.tokens:,} tokens for {made}"

    @classmethod
    def of(cls, metadata: Mapping[str, JsonValue]) -> MemoryCost | None:
        """Return what the metadata of a memory says; None if no LLM made it, or it is not known."""
        try:
            return cls.model_validate(metadata["llm"]) if "llm" in metadata else None
        except ValidationError:
            return None


class CostsQuery(Wire):
    since: Annotated[date | None, Field(description="The first day; 30 days until the last one if not given")] = None
    until: Annotated[date | None, Field(description="The last day; today if not given")] = None
    by: CostGrouping = "day"
    tenant_id: Annotated[Id | None, Field(description="Another tenant than your own, for operators")] = None
    all_tenants: Annotated[bool, Field(description="All tenants together, for operators")] = False


GET_COSTS = Endpoint(
    "get_costs",
    "GET",
    "/v1/admin/costs",
    "admin",
    "administration",
    Costs,
    "Return what models cost the tenant, by day, job or model: calls, tokens, seconds, money, and its budgets."
    " Operators can ask for another tenant, or for all, also by tenant.",
    params=CostsQuery,
)

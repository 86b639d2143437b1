"""Statements on costs of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from keeps.base.budgets import Tokens
from keeps.store.costs.spend import Spend
from keeps.store.db.session import Tx
from keeps.store.db.statements import Statements

QUERIES = Statements("keeps.store.costs")
ModelKind = Literal["llm", "embedding"]


@dataclass(frozen=True, slots=True)
class UsageKey:
    """The fields by which the counts of a tenant are summed up."""

    day: date
    job: str
    model: str
    kind: ModelKind


@dataclass(frozen=True, slots=True)
class UsedTokens:
    """Tokens of a tenant, or of all: those of LLMs by day, and those of each model by day."""

    llm: tuple[tuple[date, int], ...]
    models: tuple[Tokens, ...]


async def add(tx: Tx, usage: Mapping[UsageKey, Spend]) -> None:
    """Add counts to those of the transaction's tenant."""
    spends = list(usage.values())
    await tx.execute(
        QUERIES["usage_add"],
        tx.scope.tenant_id,
        [key.day for key in usage],
        [key.job for key in usage],
        [key.model for key in usage],
        [key.kind for key in usage],
        [spend.calls for spend in spends],
        [spend.failed for spend in spends],
        [spend.prompt_tokens for spend in spends],
        [spend.completion_tokens for spend in spends],
        [spend.seconds for spend in spends],
    )


async def used_tokens(tx: Tx, since: date, until: date) -> UsedTokens:
    """Return the tokens that the transaction's tenant used from one day to another."""
    rows = await tx.fetch(QUERIES["usage_of_days"], since, until)
    return UsedTokens(
        tuple((row["day"], row["prompt_tokens"] + row["completion_tokens"]) for row in rows if row["kind"] == "llm"),
        tuple(Tokens(row["day"], row["model"], row["prompt_tokens"], row["completion_tokens"]) for row in rows),
    )


async def alert(tx: Tx, budget: str, starts_on: date, level: str) -> bool:
    """Note that the transaction's tenant is told of a budget; return False if it was before."""
    row = await tx.fetch_row(QUERIES["alert_add"], tx.scope.tenant_id, budget, starts_on, level)
    return row is not None

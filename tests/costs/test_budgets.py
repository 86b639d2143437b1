"""Budgets: told once, the LLM stops in the background, rules go on, and the next day begins anew."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import openai  # noqa: F401  loaded before the loop runs: it takes a third of a second
import pytest

from keeps.base.budgets import Budget, Price, Prices, Tokens, parse_budgets, parse_prices
from keeps.base.scope import Scope
from keeps.base.settings import Settings, load_settings
from keeps.engine import Keeps
from keeps.memory.lifecycle.service import Lifecycle
from keeps.store.costs import budgets as costs_budgets
from keeps.store.costs.spend import Spend
from keeps.store.events import store as events
from keeps_client.errors import ValidationFailedError
from tests.costs.test_counts import SAID, admin_of, opener, read_graph
from tests.lifecycle.conftest import MovingClock
from tests.scripted_llm import Script

TWO_CALLS = Budget("tenant", "day", "tokens", 200)


@pytest.fixture
def make(app_url: str, shared: Any, tmp_path: Path, script: Script, clock: MovingClock) -> Any:
    return opener(app_url, shared, tmp_path, script, clock)


def value(keeps: Keeps, name: str, **labels: str) -> float:
    return keeps.metrics.registry.get_sample_value(name, labels) or 0.0


async def told(keeps: Keeps, tenant: str) -> list[tuple[str, Any, Any]]:
    """The events of budgets, as a webhook gets them."""
    await keeps.core.usage.flush()
    async with keeps.database.scoped(Scope(tenant, "keeps.webhooks")) as tx:
        found, _ = await events.of_all_users(tx, 0, 1_000)
    return [(each.type, each.data["budget"], each.data["used"]) for each in found if each.type.startswith("budget.")]


async def test_llm_stops_at_the_budget_and_rules_go_on(make: Any, script: Script, tenant: str) -> None:
    async with make(llm_budgets=(TWO_CALLS,)) as keeps:
        for user in ("alice", "bob", "carol"):
            await read_graph(keeps, tenant, user)
        assert len(script.asked) == 2
        carol = keeps.memory(Scope(tenant, "carol"))
        assert "Lisbon" in {each.name for each in (await carol.list_entities()).items}
        (state,) = (await admin_of(keeps, tenant).costs()).budgets
        assert (state.budget, state.used, state.amount, state.level) == ("tenant/day tokens", 200, 200, "reached")


async def test_another_tenant_goes_on(make: Any, script: Script, tenant: str) -> None:
    async with make(llm_budgets=(TWO_CALLS,)) as keeps:
        for user in ("alice", "bob", "carol"):
            await read_graph(keeps, tenant, user)
        await read_graph(keeps, f"{tenant}-other")
        assert len(script.asked) == 3


async def test_next_day_begins_anew(make: Any, script: Script, clock: MovingClock, tenant: str) -> None:
    async with make(llm_budgets=(TWO_CALLS,)) as keeps:
        for user in ("alice", "bob", "carol"):
            await read_graph(keeps, tenant, user)
        clock.forward(hours=24)
        await read_graph(keeps, tenant, "dave")
        assert len(script.asked) == 3


async def test_conversation_waits_for_the_next_month(
    make: Any, script: Script, clock: MovingClock, tenant: str
) -> None:
    async with make(llm_budgets=(Budget("tenant", "month", "tokens", 100),)) as keeps:
        await read_graph(keeps, tenant)
        alice = keeps.memory(Scope(tenant, "alice"))
        clock.forward(hours=24 * days_left(clock()))
        await alice.store_exchange(SAID, session_id="s1")
        await alice.end_session("s1")
        clock.forward(hours=2)
        done = await keeps.service(Lifecycle).run(tenant, "sessions")
        assert done is not None
        assert done.counts["over_llm_budget"] == 1
        assert len(script.asked) == 1
        clock.forward(hours=24)
        await keeps.service(Lifecycle).run(tenant, "sessions")
        assert len(script.asked) == 2


def days_left(now: datetime) -> int:
    """Days until the last one of the month, which the next hours do not leave."""
    budget = Budget("tenant", "month", "tokens", 1)
    return (budget.resets_on(now.date()) - now.date()).days - 1


async def test_tenant_is_told_once_in_a_period(make: Any, script: Script, clock: MovingClock, tenant: str) -> None:
    daily = Budget("tenant", "day", "tokens", 240)
    warned, reached = ("budget.warned", daily.name, 200), ("budget.reached", daily.name, 300)
    async with make(llm_budgets=(daily,)) as keeps:
        await read_graph(keeps, tenant, "alice")
        assert await told(keeps, tenant) == []
        await read_graph(keeps, tenant, "bob")
        assert await told(keeps, tenant) == [warned]
        await read_graph(keeps, tenant, "carol")
        assert await told(keeps, tenant) == [warned, reached]
        keeps.core.usage.note(tenant, "queries", "m", "llm", Spend(1, 0, 100, 0))
        assert await told(keeps, tenant) == [warned, reached]
        assert value(keeps, "keeps_budget_alerts_total", budget=daily.name, level="reached") == 1
    async with make(llm_budgets=(daily,)) as keeps:
        keeps.core.usage.note(tenant, "queries", "m", "llm", Spend(1, 0, 1, 0))
        assert await told(keeps, tenant) == [warned, reached], "another process tells it again"
        clock.forward(hours=24)
        for user in ("dave", "erin", "frank"):
            await read_graph(keeps, tenant, user)
        assert [each[0] for each in await told(keeps, tenant)] == [warned[0], reached[0], warned[0], reached[0]]
        log = await admin_of(keeps, tenant).verify_events()
        assert log.equal


async def test_money_is_limited_by_prices(make: Any, script: Script, tenant: str) -> None:
    dear = {"llm_prices": (Price("m", 1000.0, 1000.0),), "llm_budgets": (Budget("tenant", "day", "money", 0.15),)}
    async with make(**dear) as keeps:
        for user in ("alice", "bob", "carol"):
            await read_graph(keeps, tenant, user)
        assert len(script.asked) == 2
        assert (await told(keeps, tenant))[-1] == ("budget.reached", "tenant/day money", 0.2)


async def test_installation_has_a_budget_of_its_own(
    make: Any, script: Script, clock: MovingClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs_budgets, "TOTAL_SECONDS", 0.0)
    clock.forward(hours=24 * 400)  # No other test has used anything on these days.
    whole = Budget("installation", "day", "tokens", 200)
    async with make(llm_budgets=(whole,)) as keeps:
        for number in range(3):
            await read_graph(keeps, f"{tenant}-{number}")
        assert len(script.asked) == 2
        await keeps.core.usage._check_installation()
        assert value(keeps, "keeps_budget_used_ratio", budget=whole.name) == 1
        assert value(keeps, "keeps_budget_alerts_total", budget=whole.name, level="reached") == 1
        assert whole.name not in {each.budget for each in (await admin_of(keeps, tenant).costs()).budgets}
        everything = await admin_of(keeps, tenant, "operator").costs(all_tenants=True)
        assert [(each.budget, each.level) for each in everything.budgets] == [(whole.name, "reached")]
        clock.forward(hours=24)
        await read_graph(keeps, f"{tenant}-4")
        assert len(script.asked) == 3


async def test_questions_are_answered_beyond_the_budget(make: Any, script: Script, tenant: str) -> None:
    """A caller waits for them, and no rule can take their place."""
    async with make(llm_budgets=(TWO_CALLS,)) as keeps:
        for user in ("alice", "bob"):
            await read_graph(keeps, tenant, user)
        chat = keeps.core.chat_for("queries")
        assert chat is not None
        assert await chat.blocked_until(Scope(tenant, "alice")) is None
        graph = keeps.core.chat_for("graph")
        assert graph is not None
        until = await graph.blocked_until(Scope(tenant, "alice"))
        assert until is not None
        assert until > keeps.core.clock()


def test_periods_begin_and_end() -> None:
    month, day = Budget("tenant", "month", "money", 1), Budget("tenant", "day", "money", 1)
    assert month.starts_on(date(2026, 12, 31)) == date(2026, 12, 1)
    assert month.resets_on(date(2026, 12, 1)) == date(2027, 1, 1)
    assert month.resets_on(date(2026, 1, 31)) == date(2026, 2, 1)
    assert day.resets_on(date(2026, 12, 31)) == date(2027, 1, 1)


@pytest.mark.parametrize(("used", "level"), [(79.9, "within"), (80, "warned"), (99.9, "warned"), (100, "reached")])
def test_level_of_a_budget(used: float, level: str) -> None:
    assert Budget("tenant", "day", "tokens", 100).level(used) == level


def test_only_the_period_counts() -> None:
    prices = Prices([Price("m", 1.0, 2.0)])
    used = [Tokens(date(2026, 3, day), "m", 1_000_000, 500_000) for day in (1, 2, 3)]
    used += [Tokens(date(2026, 3, 2), "free", 9, 9)]
    assert prices.used(Budget("tenant", "day", "money", 1), date(2026, 3, 2), [], used) == 2.0
    assert prices.used(Budget("tenant", "month", "money", 1), date(2026, 3, 2), [], used) == 6.0
    llm = [(date(2026, 2, 28), 5), (date(2026, 3, 2), 7)]
    assert prices.used(Budget("tenant", "month", "tokens", 1), date(2026, 3, 2), llm, used) == 7


def test_settings_name_budgets_and_prices() -> None:
    assert parse_budgets("X", "tenant/day=500000 tokens, installation/month=40.50") == (
        Budget("tenant", "day", "tokens", 500_000),
        Budget("installation", "month", "money", 40.5),
    )
    assert parse_prices("X", "a=b/c:1=0.15/0.6, e=0.02") == (Price("a=b/c:1", 0.15, 0.6), Price("e", 0.02, 0.02))
    chosen = Settings(home=Path("x"), llm_budgets=(TWO_CALLS,))
    assert chosen.budgets == (TWO_CALLS,), "it takes the place of KEEPS_LLM_TOKENS_PER_DAY"
    assert Settings(home=Path("x")).budgets == (Budget("tenant", "day", "tokens", 1_000_000),)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("LLM_BUDGETS", "tenant/week=5"),
        ("LLM_BUDGETS", "tenant/day=0"),
        ("LLM_BUDGETS", "tenant/day=5, tenant/day=6"),
        ("LLM_BUDGETS", "tenant/day=-5"),
        ("LLM_BUDGETS", "tenant/day=5"),
        ("LLM_PRICES", "m=cheap"),
        ("LLM_PRICES", "m"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, variable: str, text: str) -> None:
    environment = {"KEEPS_LLM_BASE_URL": "http://localhost/v1", f"KEEPS_{variable}": text}
    with pytest.raises(ValidationFailedError, match=f"KEEPS_{variable}"):
        load_settings(environment, home=tmp_path)

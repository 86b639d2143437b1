"""The plan that balances cells: few moves, large tenants first, nothing moves twice, and it says what prevents it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keeps.operate.cells.balance import WITHIN, BalancePlan, TenantAmount, plan_moves

AMOUNTS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1_000)), max_size=60)
WEIGHTS = st.fixed_dictionaries({"a": st.integers(0, 4), "b": st.integers(0, 4), "c": st.integers(1, 4)})


def tenants(**cells: list[int]) -> list[TenantAmount]:
    return [
        TenantAmount(f"{cell}-{number}", cell, amount)
        for cell, amounts in cells.items()
        for number, amount in enumerate(amounts)
    ]


def moved(plan: BalancePlan) -> list[tuple[str, str]]:
    return [(move.tenant_id, move.target) for move in plan.moves]


def test_the_largest_tenant_that_fits_moves_first() -> None:
    plan = plan_moves({"a": 1, "b": 1}, tenants(a=[10, 80, 40, 70], b=[]), "size")
    assert moved(plan) == [("a-1", "b"), ("a-0", "b")]
    assert plan.balanced
    assert [(cell.amount, cell.amount_after) for cell in plan.cells] == [(200, 110), (0, 90)]


def test_a_tenant_a_little_larger_than_the_room_moves_if_nothing_else_fits() -> None:
    plan = plan_moves({"a": 1, "b": 1, "c": 1}, tenants(a=[70, 60], b=[10], c=[10]), "size")
    assert moved(plan) == [("a-1", "c"), ("c-0", "b")]
    assert not plan.balanced


def test_cells_get_their_share_by_weight() -> None:
    plan = plan_moves({"a": 1, "b": 3, "drained": 0}, tenants(a=[10] * 40, drained=[500]), "size")
    assert plan.balanced
    assert {cell.name: cell.share for cell in plan.cells} == {"a": 100, "b": 300}
    assert all(move.source == "a" for move in plan.moves)


def test_balanced_cells_need_no_move() -> None:
    plan = plan_moves({"a": 1, "b": 1}, tenants(a=[105], b=[95]), "size")
    assert (plan.moves, plan.reason) == ((), "")
    assert plan_moves({"a": 1, "b": 1}, [], "size").balanced


def test_a_huge_tenant_is_named() -> None:
    plan = plan_moves({"a": 1, "b": 1}, tenants(a=[1_000, 5], b=[10]), "size")
    assert moved(plan) == [("a-1", "b")], "what can move does"
    assert "tenant a-0 alone is more than the share of the cell a" in plan.reason


def test_a_limit_cuts_the_plan() -> None:
    plan = plan_moves({"a": 1, "b": 1}, tenants(a=[10] * 40), "size", at_most=3)
    assert len(plan.moves) == 3
    assert "--at-most" in plan.reason
    whole = plan_moves({"a": 1, "b": 1}, tenants(a=[10] * 40), "size", at_most=18)
    assert (len(whole.moves), whole.reason) == (18, "")


@given(WEIGHTS, AMOUNTS)
def test_moves_only_bring_cells_closer(weights: dict[str, int], held: list[tuple[str, int]]) -> None:
    population = [TenantAmount(str(number), cell, amount) for number, (cell, amount) in enumerate(held)]
    plan = plan_moves(weights, population, "load")
    assert len({move.tenant_id for move in plan.moves}) == len(plan.moves), "nothing moves twice"
    cells = {cell.name: cell for cell in plan.cells}
    assert set(cells) == {name for name, weight in weights.items() if weight}
    amounts = {cell.name: cell.amount for cell in plan.cells}
    shares = {name: sum(amounts.values()) * weights[name] / sum(weights.values()) for name in amounts}
    for move in plan.moves:
        for name, change in ((move.source, -move.amount), (move.target, move.amount)):
            assert abs(amounts[name] + change - shares[name]) < abs(amounts[name] - shares[name])
            amounts[name] += change
    assert amounts == {cell.name: cell.amount_after for cell in plan.cells}
    assert plan.balanced == all(abs(amounts[name] - share) <= WITHIN * share for name, share in shares.items())

"""Plan the moves after which each cell holds its share of all tenants, by weight.

A cell's share is its weight's part of the total of all cells that take new tenants. The plan moves the largest tenant
that fits from the cell that is most over its share to the one that is most under it, until every cell is within 10 % of
its share. Each tenant moves at most once, and only if both cells come closer to their shares.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

By = Literal["size", "load"]
WITHIN = 0.1
"""Part of its share by which a cell may differ from it."""


@dataclass(frozen=True, slots=True)
class TenantAmount:
    """A tenant, its cell, and its size in bytes or its load in requests."""

    tenant_id: str
    cell: str
    amount: int


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A tenant that moves, and its size or load."""

    tenant_id: str
    source: str
    target: str
    amount: int


@dataclass(frozen=True, slots=True)
class CellBalance:
    """A cell before and after a plan. `share`: what it should hold; `deviation`: how far it is off, 0.1 for 10 %."""

    name: str
    weight: int
    tenants: int
    amount: int
    share: int
    tenants_after: int
    amount_after: int

    @property
    def deviation(self) -> float:
        return deviation(self.amount, self.share)

    @property
    def deviation_after(self) -> float:
        return deviation(self.amount_after, self.share)


@dataclass(frozen=True, slots=True)
class BalancePlan:
    """Moves in their order. `reason`: why the cells are not within 10 % after them; empty if they are."""

    by: By
    cells: tuple[CellBalance, ...]
    moves: tuple[PlannedMove, ...]
    reason: str

    @property
    def balanced(self) -> bool:
        """True if the cells are within 10 % after the moves."""
        return not self.reason


def deviation(amount: float, share: float) -> float:
    """Return how far an amount is off its share, as a part of the share."""
    if not share:
        return 1.0 if amount else 0.0
    return amount / share - 1.0


class _Planner:
    """The state of a plan in progress."""

    def __init__(self, weights: Mapping[str, int], tenants: Iterable[TenantAmount]) -> None:
        self.weights = {name: weight for name, weight in weights.items() if weight}
        self.held: dict[str, list[TenantAmount]] = {name: [] for name in self.weights}
        for tenant in tenants:
            if tenant.cell in self.held:
                self.held[tenant.cell].append(tenant)
        for of_cell in self.held.values():
            of_cell.sort(key=lambda tenant: (tenant.amount, tenant.tenant_id))
        self.amounts = {name: sum(tenant.amount for tenant in of_cell) for name, of_cell in self.held.items()}
        self.counts = {name: len(of_cell) for name, of_cell in self.held.items()}
        total, parts = sum(self.amounts.values()), sum(self.weights.values())
        self.shares = {name: total * weight / parts for name, weight in self.weights.items()}

    def over(self, name: str) -> float:
        """Return by how much a cell is over its share; negative if it is under it."""
        return self.amounts[name] - self.shares[name]

    def is_off(self, name: str) -> bool:
        return abs(self.over(name)) > WITHIN * self.shares[name]

    def next_move(self) -> PlannedMove | None:
        """Return the next move, and take it into account; None if no move helps, or none is needed."""
        by_excess = sorted(self.weights, key=self.over, reverse=True)
        for source in by_excess:
            for target in reversed(by_excess):
                room = min(self.over(source), -self.over(target))
                if room > 0 and (self.is_off(source) or self.is_off(target)):
                    move = self._largest(source, target, room)
                    if move is not None:
                        return move
        return None

    def _largest(self, source: str, target: str, room: float) -> PlannedMove | None:
        """Return the move of the largest tenant that fits into `room`, or else of the smallest that still helps."""
        of_cell = self.held[source]
        place = bisect_right(of_cell, room, key=lambda tenant: tenant.amount)
        if place and of_cell[place - 1].amount > 0:
            place -= 1
        elif place == len(of_cell) or of_cell[place].amount >= 2 * room:
            return None
        tenant = of_cell.pop(place)
        for name, change in ((source, -1), (target, 1)):
            self.amounts[name] += change * tenant.amount
            self.counts[name] += change
        return PlannedMove(tenant.tenant_id, source, target, tenant.amount)

    def reason(self, *, limited: bool) -> str:
        """Return why the cells are not within 10 %; empty if they are."""
        off = [name for name in self.weights if self.is_off(name)]
        if not off:
            return ""
        if limited and self.next_move() is not None:
            return "more moves are needed than --at-most allows"
        fullest = max(off, key=self.over)
        largest = max(self.held[fullest], key=lambda tenant: tenant.amount, default=None)
        if largest is not None and largest.amount > self.shares[fullest]:
            return (
                f"tenant {largest.tenant_id} alone is more than the share of the cell {fullest}, and a tenant is in"
                f" one cell: give that cell a larger weight (`keeps cells weight {fullest} N`)"
            )
        return f"no tenant of the cell {max(self.weights, key=self.over)} is small enough to move"


def plan_moves(
    weights: Mapping[str, int], tenants: Iterable[TenantAmount], by: By, *, at_most: int | None = None
) -> BalancePlan:
    """Plan the moves between cells.

    Args:
        weights: Weights of the cells by name. Those of weight 0 neither lose nor get tenants.
        at_most: Maximum number of moves.
    """
    planner = _Planner(weights, tenants)
    before, counts = dict(planner.amounts), dict(planner.counts)
    moves: list[PlannedMove] = []
    while (at_most is None or len(moves) < at_most) and (move := planner.next_move()) is not None:
        moves.append(move)
    cells = tuple(
        CellBalance(
            name=name,
            weight=weight,
            tenants=counts[name],
            amount=before[name],
            share=round(planner.shares[name]),
            tenants_after=planner.counts[name],
            amount_after=planner.amounts[name],
        )
        for name, weight in planner.weights.items()
    )
    return BalancePlan(by, cells, tuple(moves), planner.reason(limited=len(moves) == at_most))

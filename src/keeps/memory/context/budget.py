"""Divide the token budget between sections. Pure.

Each section first takes its best items within its share; the remaining tokens go to the items of highest value in any
section, the shorter first among equals. Value divided by length was measured, too: applied fully it loses 4 of 100
questions of LoCoMo, since the answer is seldom the shortest item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from keeps_client.models.context import SectionName

SHARES: dict[SectionName, int] = {
    "session": 500,
    "long_term": 800,
    "temporal": 600,
    "skills": 300,
    "activity": 400,
    "knowledge": 200,
    "conversations": 1_200,
    "documents": 1_000,
}
"""Tokens of each section in a budget of 4,000, by priority; other budgets are divided in proportion.

Unused tokens go to other sections. Documents appear only if requested.
"""
WHOLE = 4_000


@dataclass(frozen=True, slots=True)
class Offer:
    """One item that a section could show, identified by its position.

    `value`: worth of the item, comparable between sections.
    `tokens`: tokens as rendered.
    """

    section: SectionName
    position: int
    tokens: int
    value: float
    memory_id: UUID | None = None


def shares(budget_tokens: int) -> dict[SectionName, int]:
    """Return the tokens that each section may take at first."""
    return {name: share * budget_tokens // WHOLE for name, share in SHARES.items()}


def allocate(offers: Sequence[Offer], budget_tokens: int, titles: Mapping[SectionName, int]) -> list[Offer]:
    """Return the offers that fit, in order of section and position.

    `titles`: tokens of each section's heading.
    The chosen offers and the headings of their sections never exceed `budget_tokens` together.
    """
    limits = shares(budget_tokens)
    chosen: dict[int, Offer] = {}
    taken = dict.fromkeys(SHARES, 0)
    left = budget_tokens

    def fits(offer: Offer) -> bool:
        return offer.tokens + (0 if taken[offer.section] else titles.get(offer.section, 0)) <= left

    def take(offer: Offer) -> None:
        nonlocal left
        cost = offer.tokens + (0 if taken[offer.section] else titles.get(offer.section, 0))
        left -= cost
        taken[offer.section] += cost
        chosen[offer.position] = offer

    by_section: dict[SectionName, list[Offer]] = {name: [] for name in SHARES}
    for offer in sorted(offers, key=lambda candidate: candidate.position):
        by_section[offer.section].append(offer)
    for name, mine in by_section.items():
        for offer in sorted(mine, key=lambda candidate: (-candidate.value, candidate.position)):
            heading = 0 if taken[name] else titles.get(name, 0)
            if taken[name] + heading + offer.tokens <= limits[name] and fits(offer):
                take(offer)
    rest = [candidate for candidate in offers if candidate.position not in chosen]
    order = list(SHARES)
    rest.sort(
        key=lambda candidate: (-candidate.value, candidate.tokens, order.index(candidate.section), candidate.position)
    )
    for offer in rest:
        if fits(offer):
            take(offer)
    return sorted(chosen.values(), key=lambda candidate: (order.index(candidate.section), candidate.position))

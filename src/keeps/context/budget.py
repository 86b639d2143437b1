"""Who gets how many tokens. Pure.

Each section first takes its best items within its share; what is left over flows to the items
that are worth most, of whatever section, the shorter first among equals. Worth divided by length was measured, too: in
full it loses 4 of 100 questions of LoCoMo, since what answers is seldom what is shortest.
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
"""Of 4,000 tokens, by section in order of priority; of another budget in proportion. What a section does not need is
given on; documents are only there when asked for."""
WHOLE = 4_000


@dataclass(frozen=True, slots=True)
class Offer:
    """One item that a section could show, known by its position. `value`: how much it is worth, between sections too;
    `tokens` as rendered."""

    section: SectionName
    position: int
    tokens: int
    value: float
    memory_id: UUID | None = None


def shares(budget_tokens: int) -> dict[SectionName, int]:
    """What each section may take at first."""
    return {name: share * budget_tokens // WHOLE for name, share in SHARES.items()}


def allocate(offers: Sequence[Offer], budget_tokens: int, titles: Mapping[SectionName, int]) -> list[Offer]:
    """The offers that fit, in order of section and position. `titles`: the tokens that a section's heading takes.

    The chosen ones and the headings of their sections together never take more than `budget_tokens`.
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
    for offer in sorted(offers, key=lambda each: each.position):
        by_section[offer.section].append(offer)
    for name, mine in by_section.items():
        for offer in sorted(mine, key=lambda each: (-each.value, each.position)):
            heading = 0 if taken[name] else titles.get(name, 0)
            if taken[name] + heading + offer.tokens <= limits[name] and fits(offer):
                take(offer)
    rest = [each for each in offers if each.position not in chosen]
    order = list(SHARES)
    rest.sort(key=lambda each: (-each.value, each.tokens, order.index(each.section), each.position))
    for offer in rest:
        if fits(offer):
            take(offer)
    return sorted(chosen.values(), key=lambda each: (order.index(each.section), each.position))

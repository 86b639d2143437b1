"""Token budgets of answers to models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from keeps.models.tokens import choose_counter

MOST_TOKENS = 1_500
LEAST_TOKENS, MOST_ALLOWED = 200, 8_000
LEFT_FOR_THE_FRAME = 100
SHOWN_CHARACTERS = 600
"""Characters of a memory in a list; its id gives the whole text."""
_counter = choose_counter()
_counter.count(["loaded"])  # now: loading the vocabulary during the first request would block the event loop


def tokens(value: object) -> int:
    """Return the approximate number of tokens of an answer."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _counter.count([text])[0]


def fitting(values: Sequence[dict[str, Any]], budget: int) -> int:
    """Return the number of values that fit into an answer: at least one."""
    left = budget - LEFT_FOR_THE_FRAME
    for count, value in enumerate(values):
        left -= tokens(value)
        if left < 0 and count:
            return count
    return len(values)


def start_of(text: str, budget: int) -> str:
    """Return the start of a text that fits into an answer."""
    room = budget - LEFT_FOR_THE_FRAME
    cut = text[: room * 6]
    while (count := tokens(cut)) > room:
        cut = cut[: max(1, len(cut) * room // count - 8)]
    return cut

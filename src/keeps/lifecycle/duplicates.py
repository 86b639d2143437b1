"""When two facts say the same with almost the same words. Pure.

Nearness of meaning is not enough: "the budget is $50" and "the budget is $60" are almost one text. So numbers,
names and negations must be the same in both.
"""

from __future__ import annotations

import re

LEAST_SIMILARITY = 0.92
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'’-]+")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|without|cannot|no longer|stopped|dis\w+|un\w+|\w+n['’]t)\b", re.IGNORECASE
)
_OPPOSITES = re.compile(
    r"\b(?:before|after|more|less|increase\w*|decrease\w*|left|right|above|below|first|last|morning|evening|hot|cold|love\w*|hate\w*|likes?|allow\w*|deny|denied|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    re.IGNORECASE,
)  # fmt: skip


def same_fact(one: str, other: str, similarity: float) -> bool:
    """Whether one of the two is enough."""
    if similarity < LEAST_SIMILARITY:
        return False
    return all(
        sorted({each.lower() for each in pattern.findall(one)})
        == sorted({each.lower() for each in pattern.findall(other)})
        for pattern in (_NUMBER, _NAME, _NEGATION, _OPPOSITES)
    )


def richer(one: str, other: str) -> bool:
    """Whether the first says at least as much as the second."""
    return len(one) >= len(other)

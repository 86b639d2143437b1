"""How important a memory is when nobody says. Pure, and only a guess: give `importance` where you know better.

Half by default. What binds or defines a person (health, obligations, names, preferences, decisions, dates) raises
it; greetings, thanks and very short replies lower it. The result stays between 0.1 and 0.9: only a caller may say
that something is worth nothing or everything.
"""

from __future__ import annotations

import re

_RAISES: tuple[tuple[re.Pattern[str], float], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), points)
    for pattern, points in (
        (r"\b(allerg\w*|medication|diagnos\w*|emergency|pregnan\w*|disease|insulin)\b", 0.30),
        (r"\b(must(n't)?|never|always|deadline|due|required|important|critical|do not|don't ever)\b", 0.15),
        (r"\b(prefer\w*|favou?rite|love[sd]?|hate[sd]?|dislike\w*|wants?|goal|plan(s|ned|ning)?)\b", 0.10),
        (r"\b(decided|decision|agreed|approved|promised|signed|moved|married|hired|quit|bought)\b", 0.10),
        (
            r"\b(my|our|his|her|their) (name|birthday|address|wife|husband|partner|son|daughter|mother|father|team|boss)\b",
            0.10,
        ),
        (
            r"\b\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b|\b(january|february|march|april|june|july|august|september|october|november|december)\b",
            0.05,
        ),
    )
)
_CHATTER = re.compile(
    r"^\W*(ok(ay)?|thanks?( you| a lot)?|thx|hi|hello|hey|bye|good(bye| morning| night)|lol|haha+|yes|yeah|yep|no|nope|sure|cool|great|nice|wow)"
    r"(\W+\w+){0,2}\W*$",
    re.IGNORECASE,
)


def estimate_importance(content: str) -> float:
    """An importance between 0.1 and 0.9 for `content`, to two decimals."""
    if _CHATTER.match(content):
        return 0.2
    points = 0.5 + sum(gain for pattern, gain in _RAISES if pattern.search(content[:2_000]))
    if len(content) < 20:
        points -= 0.1
    return round(min(0.9, max(0.1, points)), 2)

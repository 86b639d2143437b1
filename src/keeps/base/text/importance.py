"""Estimate the importance of a memory without a given `importance`. Pure; give `importance` if you know better.

The default is a half. Content that binds or defines a person (health, obligations, preferences, decisions, their
people and belongings) and concrete content (names, dates, numbers) raise it. Greetings, praise, questions and very
short replies lower it, and so does an agent as the speaker. The result stays between 0.1 and 0.9: only a caller may
set 0 or 1.

The weights are rounded from a model that separates the turns that LoCoMo's questions need from its other turns (area
under the curve 0.81; 0.55 for the cues of meaning alone); English only.
"""

from __future__ import annotations

import re

from keeps.base.text.cues import Cue, fold
from keeps.base.text.lasting import lasting_kind
from keeps.base.text.names import DAYS, MONTHS
from keeps.base.text.sentences import split_sentences

_MONTHS = "|".join(month for month, *_ in MONTHS if month != "may")
_DAYS = "|".join(day for day, *_ in DAYS)
_CUES: tuple[tuple[Cue, float], ...] = tuple(
    (Cue(pattern), points)
    for pattern, points in (
        (r"\b(allerg\w*|medication|diagnos\w*|emergency|pregnan\w*|disease|insulin)\b", 0.40),
        (r"\b(surgery|hospital|doctor|therapy|illness|accident)\b", 0.10),
        (r"\b(must(n't)?|never|deadline|due|required|critical|do not|don't ever)\b", 0.12),
        (r"\b(prefer\w*|favou?rite|love[sd]?|hate[sd]?|dislike\w*|goal)\b", 0.06),
        (
            r"\b(decided|decision|agreed|approved|promised|signed|moved|married|hired|quit|bought|joined|started|launched|adopted|accepted|enrolled"
            r"|won|finished|completed|passed|booked|planning)\b",
            0.08,
        ),
        (
            r"\b(?:my|our|his|her|their)"
            r" (?:name|birthday|address|wife|husband|partner|girlfriend|boyfriend|son|daughter|kids?|children|mother|father|mom|dad|sister"
            r"|brother|family|friend|team|boss|dog|cat|car|house|job|budget)\b",
            0.08,
        ),
        (
            (
                rf"\b(?:{_MONTHS}|{_DAYS}|yesterday|tomorrow|tonight|(?:last|next)"
                r" (?:week|month|year|night|summer|weekend)|ago)\b|\b\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b"
            ),
            0.11,
        ),
    )
)
LASTING = 0.8
"""Minimum importance of lasting statements, see `lasting.py`: they are kept long from the start."""
_NUMBER = Cue(r"\b\d+\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|twice|dozen|hundred)\b")
_NAME = re.compile(r"[A-Z](?<!\w[A-Z])(?<![.!?:,]\s[A-Z])(?<!^[A-Z])[a-z]{2,}")
"""Begins with a letter, which is found fast; what must not precede it is checked afterwards."""
_FIRST_PERSON = re.compile(r"\b(?:I|I['’](?:m|ve|d|ll)|[Ww]e|[Ww]e['’]ve|[Mm]y|[Oo]ur)\b")
_SECOND_PERSON = re.compile(r"\b(?:you|your|you['’]re|you['’]ve)\b")
_REPLY = re.compile(
    r"^\W*(?:wow|that['’]?s|that is|congrat\w*|sounds|thanks?|thank you|yeah|yes|great|glad|no"
    r" problem|awesome|cool|nice|aw+|oh|absolutely|definitely"
    r"|for sure|hey|hi|hello|you['’]re|totally|so true|good|agreed|i['’]m glad|happy to)\b",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"^\W*(ok(ay)?|thanks?( you| a lot)?|thx|hi|hello|hey|bye|good(bye| morning|"
    r" night)|lol|haha+|yes|yeah|yep|no|nope|sure|cool|great|nice|wow)"
    r"(\W+\w+){0,2}\W*$",
    re.IGNORECASE,
)


_AFTER_MARKS = "\"'” \n"


def estimate_importance(content: str, role: str | None = None) -> float:
    """Return an importance between 0.1 and 0.9 for `content`, to two decimals. `role`: the speaker, if any."""
    if is_chatter(content):
        return 0.2
    text = content[:2_000]
    words = len(text.split())
    folded = fold(text)
    first, second = len(_FIRST_PERSON.findall(text)), len(_SECOND_PERSON.findall(folded))
    points = 0.45 + sum(gain for cue, gain in _CUES if cue.search(folded))
    points += 0.06 * _NUMBER.search(folded) + 0.06 * min(2, len(_NAME.findall(text)))
    points += 0.03 * bool(first) + 0.02 * (first >= 3) + 0.03 * (words > 40)
    points -= 0.08 * (second > first) + 0.06 * bool(_REPLY.match(text))
    if role is not None:  # Short utterances say little; facts are naturally short.
        points -= 0.06 * (words < 8) + 0.05 * (words < 16)
    if asks_only(text):
        points -= 0.2
    if role in ("assistant", "system", "tool"):
        points -= 0.12
    if role in (None, "user") and lasting_kind(text) is not None:
        points = max(points, LASTING)
    return round(min(0.9, max(0.1, points)), 2)


def is_chatter(content: str) -> bool:
    """Return whether a text is only a greeting, thanks or assent."""
    return _CHATTER.match(content) is not None


def asks_only(content: str) -> bool:
    """Return whether every sentence of a text is a question."""
    if not content.rstrip().rstrip(_AFTER_MARKS).endswith("?"):
        return False
    return all(each.rstrip(_AFTER_MARKS).endswith("?") for each in split_sentences(content) if each.strip())

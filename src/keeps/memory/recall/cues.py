"""Read cues in a question besides its words: names, dates, and requests for advice. Pure.

Advice depends on stated preferences, which may share no words with the question: "how should I get to Spain?" and "I
never fly". Such a question is therefore also searched as the preference that would answer it.
"""

from __future__ import annotations

import re
from datetime import datetime

from keeps.base.text.languages import ENGLISH, stop_words
from keeps.base.text.names import ENGLISH_MONTHS, one_of
from keeps.base.text.sentences import split_sentences
from keeps.base.text.words import words_of

_MONTH = one_of(ENGLISH_MONTHS)
_DAY_MONTH = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\b{_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)",
    re.IGNORECASE,
)
_MONTH_ONLY = re.compile(
    rf"\b(?:in|of|during|since|until|by|last|this|early|late|mid)[ -]{_MONTH}\b|\b{_MONTH},? ?(?:19|20)\d\d\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(19\d\d|20\d\d)\b")
_ISO = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")


_PERSONAL = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|ich|mir|mich|mein\w{0,2}|wir|uns|unser\w{0,2}|yo|mi|mis|mí|nos|nuestr\w{1,2}|je|j|moi|mon|ma|mes|nous|notre|nos)\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:recommend|suggest|advi[cs]e|suggestions?|recommendations?|ideas?|tips|options|sh(?:ould|all)"
    r" (?:i|we)|(?:can|could|would|might) i\b"
    r"|how (?:can|do|should|could|would|might|shall) (?:i|we)|what are some|best|good|must-\w+)\b",
    re.IGNORECASE,
)
_IDLE_WORDS = frozenset(stop_words(ENGLISH)) | frozenset(
    "recommend recommends recommended suggest suggestion suggestions recommendation recommendations advise advice idea"
    " ideas tip tips option options best good great some any please help find looking need want like give tell me know"
    " think know must way ways".split()
)
_STATED = re.compile(
    r"\b(?:i|i'm|i am|i've) (?:\w+"
    r" ){0,2}?(?:prefer|like|love|hate|dislike|avoid|despise|detest|loathe|enjoy|adore|refuse|need|want|require"
    r"|value|insist|believe|thrive|only|exclusively|never|always|can't|cannot|don't|do not|won't|would"
    r" rather|allergic|sensitive|intolerant"
    r"|vegan|vegetarian|not|against|afraid|passionate|committed|uncomfortable|find|follow|learn best|no interest|steer"
    r" clear"
    r"|prioriti[sz]e|adhere|stick to)\b"
    r"|\bi(?:'m| am| have) (?:\w+"
    r" ){0,4}?(?:preference|aversion|dislike|disdain|allergy|phobia|fear|intolerance|sensitivity|condition|policy"
    r"|objection|distaste|fan)\b|\bmy (?:\w+ )?(?:favou?rite|preference|preferred|diet|allergy)",
    re.IGNORECASE,
)


def is_personal(query: str) -> bool:
    """Return whether a question mentions its author, in the first person."""
    return _PERSONAL.search(query) is not None


def preferences_behind(query: str) -> tuple[str, ...]:
    """Return the two preferences that would answer a request for advice; empty for other questions."""
    if not _ADVICE.search(query):
        return ()
    topic = " ".join(word for word in words_of(query) if word not in _IDLE_WORDS)
    return (f"I prefer {topic}", f"I dislike {topic}") if topic else ()


def states_preference(opening: str, role: str | None) -> bool:
    """Return whether the first three sentences of a memory state a like, a need, an aversion or a rule."""
    if role in ("assistant", "system", "tool"):
        return False
    sentences = split_sentences(opening.replace("\u2019", "'"))[:3]
    return any(_STATED.search(sentence) for sentence in sentences if not sentence.rstrip().endswith("?"))


def dates_in(query: str) -> list[tuple[int | None, int | None, int | None]]:
    """Return the dates that a question mentions as (year, month, day), with None for missing parts."""
    dates: list[tuple[int | None, int | None, int | None]] = []
    years = [int(year) for year in _YEAR.findall(query)]
    year = years[0] if len(years) == 1 else None
    for whole_year, month, day in _ISO.findall(query):
        if 1 <= int(month) <= 12:
            dates.append((int(whole_year), int(month), int(day) if day else None))
    for day, month, other_month, other_day in _DAY_MONTH.findall(query):
        dates.append((year, ENGLISH_MONTHS[(month or other_month).lower()], int(day or other_day)))
    if not dates:
        dates.extend(
            (year, ENGLISH_MONTHS[(first or second).lower()], None) for first, second in _MONTH_ONLY.findall(query)
        )
    if not dates and year is not None:
        dates.append((year, None, None))
    return dates


def date_match(dates: list[tuple[int | None, int | None, int | None]], moment: datetime) -> float:
    """Return 1 if a time matches a mentioned date in all its parts, 0.5 if only year and month match, else 0."""
    best = 0.0
    for year, month, day in dates:
        if (year is None or year == moment.year) and (month is None or month == moment.month):
            best = max(best, 1.0 if day is None or day == moment.day else 0.5)
    return best

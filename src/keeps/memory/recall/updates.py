"""Rank later statements about the same subject first. Pure.

Two memories may both fit a question while only the later one is still true. If a text makes the same statement with
another value ("The deadline of Apollo is | May", "… is | June"), the later text precedes the earlier, whatever their
scores. If a question asks for a present value, a message that announces a change of such a value precedes the older
messages on the subject. Nothing is hidden: only the order among the best changes.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import permutations
from uuid import UUID

from keeps.base.text.sentences import split_sentences
from keeps.base.text.words import terms_of
from keeps_client.models import Memory

OPENING = 400
"""Number of characters of a memory that are compared."""
STATEMENTS, ANNOUNCED, OUTDATED = 30, 10, 3
LEAST_SHARED = 3
"""Minimum number of equal words at the start of two statements."""
SIMILARITY = 0.5
COVERAGE = 0.3

_LINKS = frozenset("is are was were by of in to with for at from on as".split())
_COPULAS = frozenset(("is", "are", "was", "were"))
_ARTICLES = frozenset(("the", "a", "an"))
_PRONOUNS = frozenset(
    "i it he she they we you this that these those there here what which who everything something one some all both and"
    " but so if when because also".split()
)
_NOWADAYS = re.compile(r"\b(?:now|currently|still|actually|these days|nowadays)\s+", re.IGNORECASE)
_WORD = re.compile(r"[^\s,;:!\"“”()]+")
MOST_WORDS, MOST_VALUE_WORDS = 30, 8

_ASKS = re.compile(
    r"^(?:(?:by|on|at|in|for|until)\s+)?"
    r"(?:what|which|when|where|who|how\s+(?:many|much|long|often|old|big|large|far))\b",
    re.IGNORECASE,
)
_ASKS_OF_THE_PAST = re.compile(
    r"\b(?:was|were|had|used to|initially|originally|previous(?:ly)?|before|earlier|ago|history|over"
    r" time)\b|^(?:when|where|who|why|how|what)\s+did\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:updat|increas|decreas|reduc|rais|lower|improv|adjust|chang|mov|switch|re-?schedul|postpon|extend|shorten"
    r"|expand|reach|upgrad|revis|shift"
    r"|delay|bump)(?:e?d|ing)\b|\b(?:grew|grown|push(?:ed|ing) back|cut to|(?:down|up) (?:to|from))\b",
    re.IGNORECASE,
)
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_NUMBER = (
    r"\b\d[\d,.]*|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty"
    r"|fifty|hundred)\b"
)
_KINDS: tuple[tuple[str, str, str], ...] = (
    (
        "money",
        r"\b(?:budget|cost|price|salary|spen[dt]|pay|fees?|rent|amount|allocated|income|savings?)\b",
        r"[$€£]\s?\d[\d,.]{0,20}|\d[\d,.]{0,20}\s?(?:dollars|euros|usd)",
    ),
    ("percent", r"\b(?:percent(?:age)?|rate|accuracy|coverage|share)\b", r"\d[\d.]{0,20}\s?(?:%|percent)"),
    ("time", r"\bwhat time\b", r"\b\d{1,2}(?::\d\d)?\s?[ap]\.?m\b|\b\d{1,2}:\d\d\b"),
    (
        "date",
        r"^when\b|\b(?:date|deadline|day)\b",
        (
            rf"\b{_MONTH}\.? \d{{1,2}}\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of"
            rf" )?{_MONTH}\b|\b\d{{4}}-\d\d-\d\d\b|\b\d{{1,2}}/\d{{1,2}}\b"
        ),
    ),
    (
        "number",
        (
            r"\bhow"
            r" (?:many|much|long|often|old|far|big|large)\b"
            r"|\b(?:number|count|quota|target|goal|average|total|limit|size|score|duration|length)\b"
        ),
        _NUMBER,
    ),
)
_ASKED = {name: re.compile(asked, re.IGNORECASE) for name, asked, _ in _KINDS}
_VALUES = {name: re.compile(value, re.IGNORECASE) for name, _, value in _KINDS}


@dataclass(frozen=True, slots=True)
class Statement:
    """The properties of a candidate that matter here: opening of its text, author, and start of validity."""

    memory_id: UUID
    opening: str
    role: str | None
    speaker: str | None
    valid_from: datetime


def statement_in(memory: Memory) -> Statement:
    """Return what matters here of a memory."""
    speaker = memory.metadata.get("speaker")
    name = speaker if isinstance(speaker, str) or speaker is None else json.dumps(speaker)
    return Statement(memory.memory_id, memory.content[:OPENING], memory.role, name, memory.valid_from)


def latest_first(
    order: Sequence[int],
    told: Mapping[int, Statement],
    question: str,
    weights: Mapping[str, float],
    similarity: Callable[[int, int], float],
) -> list[int]:
    """Return positions of candidates, best first, with later statements before earlier ones on the same subject.

    `told`: at least the candidates that `involved` returns.
    `weights`: rarity of each word of the question.
    `similarity`: similarity of two candidates by meaning.
    """
    best = _by_statement(list(order[:STATEMENTS]), told, frozenset(terms_of(question))) + list(order[STATEMENTS:])
    kinds = asked_kinds(question)
    if kinds:
        best = _by_announcement(best[:ANNOUNCED], told, kinds, question, weights, similarity) + best[ANNOUNCED:]
    return best


def involved(order: Sequence[int], statements: Callable[[Sequence[int]], list[int]], question: str) -> list[int]:
    """Return the positions whose texts `latest_first` compares, and may move.

    `statements`: the `statement_key` of some candidates.
    """
    best = order[:STATEMENTS]
    keys = statements(best)
    alike = Counter(keys)
    positions = [position for position, key in zip(best, keys, strict=True) if key and alike[key] > 1]
    first = order[: ANNOUNCED + len(positions)] if asked_kinds(question) else ()
    return list(dict.fromkeys([*positions, *first]))


def same_statement(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether two statements give different values for the same subject.

    They have equal words up to a link such as `is` or `of`, then something short and different.
    """
    shared = 0
    for left, right in zip(first, second, strict=False):
        if left.lower() != right.lower():
            break
        shared += 1
    rests = first[shared:], second[shared:]
    if not all(rests) or any(
        len(rest) > MOST_VALUE_WORDS or _COPULAS.intersection(map(str.lower, rest)) for rest in rests
    ):
        return False
    head = [word.lower() for word in first[: shared - _name_begun(first[:shared], rests)]]
    while head and head[-1] in _ARTICLES:
        head.pop()
    return len(head) >= LEAST_SHARED and head[-1] in _LINKS and not _LINKS.union(_ARTICLES).issuperset(head)


def _name_begun(shared: Sequence[str], rests: Sequence[Sequence[str]]) -> int:
    """Return the number of words of a name with which two values begin alike, after a link.

    `Charles` in `is Charles Dickens` and `is Charles Darwin`. 0 in `the mayor of New York plays`: not all that follows
    is a name.
    """
    count = next((count for count, word in enumerate(reversed(shared)) if word.lower() in _LINKS), 0)
    names = [*shared[len(shared) - count :], *(word for rest in rests for word in rest)]
    return count if all(word[0].isupper() for word in names) else 0


def asks_of_the_past(question: str) -> bool:
    """Return whether a question may be about what was true once."""
    return _ASKS_OF_THE_PAST.search(question) is not None


def asked_kinds(question: str) -> list[str]:
    """Return the kinds of value that a question about the present asks for; empty for other questions."""
    text = question.strip()
    if not _ASKS.search(text) or asks_of_the_past(text):
        return []
    found = [name for name, pattern in _ASKED.items() if pattern.search(text)]
    return [name for name in found if name != "number"] if {"money", "percent", "time"} & set(found) else found


def announces_change(opening: str) -> bool:
    """Return whether one of the first three sentences announces a change and contains a number."""
    return any(
        _CHANGE.search(each) and re.search(_NUMBER, each, re.IGNORECASE) for each in split_sentences(opening)[:3]
    )


def values_in(opening: str, kinds: Sequence[str]) -> set[str]:
    """Return the values of some kinds in a text, normalised for comparison."""
    return {re.sub(r"[,$\s]|[.]$", "", value.lower()) for kind in kinds for value in _VALUES[kind].findall(opening)}


def _by_statement(best: list[int], told: Mapping[int, Statement], asked: frozenset[str]) -> list[int]:
    """Put later statements first, but not before the one whose own value the question names."""
    result = list(best)
    alike: dict[tuple[str, ...], dict[int, list[str]]] = defaultdict(dict)
    for position in best:
        if position in told and (words := statement_of(told[position].opening)) is not None:
            alike[tuple(word.lower() for word in words[:LEAST_SHARED])][position] = words
    for statements in alike.values():
        for newer, older in permutations(statements, 2):
            if (
                _is_later(told[newer], told[older])
                and result.index(older) < result.index(newer)
                and same_statement(statements[newer], statements[older])
                and not _names(asked, statements[older], statements[newer])
            ):
                result.remove(newer)
                result.insert(result.index(older), newer)
    return result


def _names(asked: frozenset[str], one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether a question contains words of one statement that the other lacks, and none the other way round."""
    own, foreign = (frozenset(terms_of(" ".join(words))) for words in (one, other))
    return bool(asked & (own - foreign)) and not asked & (foreign - own)


def _by_announcement(
    best: list[int],
    told: Mapping[int, Statement],
    kinds: list[str],
    question: str,
    weights: Mapping[str, float],
    similarity: Callable[[int, int], float],
) -> list[int]:
    result = list(best)
    for newer in best[1:]:
        if newer not in told:
            continue
        told_newer = told[newer]
        if told_newer.role == "assistant" or not announces_change(told_newer.opening):
            continue
        if _coverage(question, told_newer.opening, weights) < COVERAGE:
            continue
        newer_values = values_in(told_newer.opening, kinds)
        for older in result[: min(OUTDATED, result.index(newer))]:
            if older not in told:
                continue
            told_older = told[older]
            older_values = values_in(told_older.opening, kinds)
            if (
                told_older.role != "assistant"
                and (told_older.role, told_older.speaker) == (told_newer.role, told_newer.speaker)
                and told_older.valid_from < told_newer.valid_from
                and older_values
                and newer_values - older_values
                and similarity(newer, older) >= SIMILARITY
            ):
                result.remove(newer)
                result.insert(result.index(older), newer)
                break
    return result


def _coverage(question: str, opening: str, weights: Mapping[str, float]) -> float:
    """Return the share of a question's words, by rarity, that a text contains, from 0 to 1."""
    asked = set(terms_of(question))
    total = sum(weights.get(term, 0.0) for term in asked)
    return sum(weights.get(term, 0.0) for term in asked & set(terms_of(opening))) / total if total else 0.0


def statement_key(text: str) -> int:
    """Return a number that is equal for texts whose short statement begins alike; 0 for other texts."""
    words = statement_of(text)
    return 0 if words is None else hash(tuple(word.lower() for word in words[:LEAST_SHARED])) or 1


def statement_of(text: str) -> list[str] | None:
    """Return the words of a text that is one short statement; None for other texts."""
    if len(text) > 300 or "?" in text or "\n" in text.strip():
        return None
    words = _WORD.findall(_NOWADAYS.sub("", text.strip().rstrip(".!")))
    if not 4 <= len(words) <= MOST_WORDS or words[0].lower().split("'")[0].split("’")[0] in _PRONOUNS:
        return None
    return words


def _is_later(one: Statement, other: Statement) -> bool:
    """Return whether `one` is later. Ids grow with time, so they order what was stored at the same moment."""
    return (one.valid_from, one.memory_id) > (other.valid_from, other.memory_id)

"""Find entities in text by rules, without an LLM. Pure.

Known names and aliases are found anywhere, longest first; those of several words in any case. New names are recognised
by their spelling: capitalised words within a sentence, runs of capitalised words (possibly with small words between
them, as in "Bank of Ireland"), quoted titles, and @handles. Days, months and other words that are often capitalised
are not names. Dates are not entities: recall treats them as times. docs/graph.md describes what this finds and misses,
with measurements.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

IdT = TypeVar("IdT")
_TOKEN = re.compile(r"@[\w.]{2,}|[^\W_]+(?:['’.&-][^\W_]+)*")
_ENDS_SENTENCE, _BEGINS_LINE = frozenset('.!?:;"“”('), frozenset("-–—*•")
_LOOKED_BACK = 60
_QUOTED = re.compile(r"[\"“”]([^\"“”\n]{2,60})[\"“”]")
_JOINING = frozenset("of the de da del van von der la le du al bin &".split())
_NO_NAMES = frozenset(
    """i i'm i'll i've i'd monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december mr mrs ms dr ok okay yes no oh hey hi hello thanks thank wow haha lol yeah sure well also but and so
    what when where who why how the a an this that these those my your our their his her its it he she they we you if then there here today
    tomorrow yesterday am pm tv dvd cd usa uk eu id url api sql json http https ai llm ceo cto hr faq diy xmas christmas easter halloween
    english god sorry please maybe just let's that's it's don't can't not all some any one two three good great nice congrats absolutely
    mondays tuesdays wednesdays thursdays fridays saturdays sundays with from did do does is are was were be been have has had can could
    would shall should might must to in on at by for of as after before since until during between near under over about into through
    without against only because while although once both each every most more much many now later soon still even never always sometimes
    perhaps however anyway instead let come go take make see look tell give ask remember me us them him""".split()
)


class KnownNames(dict[tuple[str, ...], IdT]):
    """Maps names, as lower-case words, to ids.

    `longest`: length of the longest name that begins with each word.
    `rejected`: texts that are not names.
    """

    def __init__(self) -> None:
        super().__init__()
        self.longest: dict[str, int] = {}
        self.rejected: set[tuple[str, ...]] = set()

    def add(self, name: str, identity: IdT) -> None:
        words = words_of_name(name)
        if words and words not in self:
            self[words] = identity
            self.longest[words[0]] = max(self.longest.get(words[0], 0), len(words))


def words_of_name(name: str) -> tuple[str, ...]:
    """Return a name in the form in which names are compared: lower-case words without possessive endings."""
    return tuple(_plain(each.group()) for each in _TOKEN.finditer(name))


def find_known(text: str, known: KnownNames[IdT]) -> list[IdT]:
    """Return the ids whose names occur in the text, in order, without repeats.

    A name of one word counts only if it is capitalised, or if nothing in the text is.
    """
    tokens = [token.group() for token in _TOKEN.finditer(text)]
    words = [_plain(token) for token in tokens]
    ids: dict[IdT, None] = {}
    place = 0
    while place < len(words):
        length = min(known.longest.get(words[place], 0), len(words) - place)
        while length and tuple(words[place : place + length]) not in known:
            length -= 1
        if length > 1 or (
            length == 1 and (tokens[place][:1].isupper() or not tokens[place][:1].isalpha() or text.islower())
        ):
            ids[known[tuple(words[place : place + length])]] = None
        place += max(length, 1)
    return list(ids)


def find_names(text: str) -> list[str]:
    """Return words that are spelled like names, in order, without repeats."""
    names: dict[str, None] = {}
    for match in _QUOTED.finditer(text):
        title = match.group(1).strip(" ,.!?")
        if title[:1].isupper() and 1 <= len(title.split()) <= 6 and _is_name(title):
            names[title] = None
    span: list[re.Match[str]] = []
    for token in [*_TOKEN.finditer(text), None]:
        if token is not None and token.group().startswith("@"):
            names[token.group().rstrip(".")] = None
            continue
        if (
            token is not None
            and span
            and _adjacent(text, span[-1], token)
            and (_capitalised(token.group()) or token.group().lower() in _JOINING)
        ):
            span.append(token)
            continue
        if span:
            _take(text, span, names)
            span = []
        if token is not None and _capitalised(token.group()):
            span = [token]
    return list(names)


def _take(text: str, span: list[re.Match[str]], found: dict[str, None]) -> None:
    while span and not _capitalised(span[-1].group()):
        span.pop()
    begins = _begins_sentence(text, span[0].start())
    # Any word at the beginning of a sentence is capitalised; it is dropped from the span if it is not a name by itself.
    while span and (span[0].group().lower().replace("’", "'") in _NO_NAMES):
        span.pop(0)
        begins = False
    while span and span[-1].group().lower() in _NO_NAMES:
        span.pop()
    if not span or (begins and len(span) == 1):
        return
    name = re.sub(r"['’]s$", "", text[span[0].start() : span[-1].end()])
    if _is_name(name):
        found[name] = None


def _begins_sentence(text: str, place: int) -> bool:
    """Return whether a sentence or line begins at `place`."""
    before = text[max(0, place - _LOOKED_BACK) : place]
    preceding = before.rstrip()
    if not preceding or "\n" in before[len(preceding) :] or preceding[-1] in _ENDS_SENTENCE:
        return True
    return preceding[-1] in _BEGINS_LINE and len(preceding) < len(before)


def new_names(
    names: Iterable[str], known: Mapping[tuple[str, ...], object], rejected: set[tuple[str, ...]]
) -> list[str]:
    """Return the names that are neither known nor rejected, without repeats."""
    unknown: dict[tuple[str, ...], str] = {}
    for name in names:
        words = words_of_name(name)
        if words and words not in known and words not in rejected:
            unknown.setdefault(words, name)
    return list(unknown.values())


def _plain(token: str) -> str:
    return re.sub(r"['’]s?$", "", token.replace("’", "'")).rstrip(".").casefold()


def _capitalised(token: str) -> bool:
    return token[:1].isupper()


def _adjacent(text: str, one: re.Match[str], other: re.Match[str]) -> bool:
    return text[one.end() : other.start()] in (" ", "  ", " & ")


def _is_name(name: str) -> bool:
    words = words_of_name(name)
    return 2 <= len(name) <= 100 and bool(words) and not all(word in _NO_NAMES or len(word) < 2 for word in words)

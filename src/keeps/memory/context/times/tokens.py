"""Read a message into language-independent tokens: (kind, value) pairs such as ("weekday", 4).

The language is the one with the most words in the message. Words for times that it lacks are looked up in the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Literal, NamedTuple

from keeps.memory.context.times import english, french, german, spanish
from keeps.memory.context.times.table import Table, Value

Mood = Literal["past", "future", "present", ""]
_WORDS = re.compile(
    r"(?P<quoted>[\"“„«][^\"“”„«»]{1,40}[\"”“»])"
    r"|(?P<iso>(?<![\d.-])\d{4}-\d\d(?:-\d\d)?(?![\d-])(?:t\d\d:\d\d(?::\d\d)?(?:\.\d{1,6})?z?)?)"
    r"|(?P<dashed>(?<![\d-])\d{1,2}-\d{1,2}-\d{4}(?![\d-]))"
    r"|(?P<figures>\d+(?:[./:,]\d+)+\.?)"
    r"|(?P<number>\d+(?:[^\W\d_]{1,4})?\.?(?!\d))"
    r"|(?P<word>[^\W\d_]+)"
    r"|(?P<sign>[^\s\w])"
)
_DATE = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4}|\d{2})\.?")
_DAY_MONTH = re.compile(r"(\d{1,2})(?:\.(\d{1,2})\.|/(\d{1,2}))")
_NUMBER = re.compile(r"(\d{1,9})(\D*)")
_ORDINALS = frozenset(("st", "nd", "rd", "th", "er", "ère", "re", "º", "ª", "."))
_DECADES = frozenset(("s", "er", "ern"))
_FOREIGN_KINDS = frozenset(("day_back", "weekday", "month", "last_night", "holiday"))
"""Kinds that are also read in words of languages other than the message's."""
NAMING_KINDS = frozenset(
    "day_back last_night tonight half_today half_yesterday weekday weak_weekday weekday_half month weak_month"
    " month_week month_half unit units iso date weak_date day_month decade season weak_season holiday recent digits"
    " nth weekdays calendar_week half".split()
)
"""Kinds that can name a time; a message without any of them names no time."""
_DASHES = "-–—"
MOST_ELIDED = 2
"""Maximum letters before an apostrophe that replaces a vowel, as in "d'octobre"."""
_GUARD_REACH = 6
"""Number of tokens after a word such as "version" within which a dotted figure is not a date."""


class Token(NamedTuple):
    kind: str
    value: Value
    text: str


_MOODLESS = frozenset(
    "half half_today half_yesterday day_back weekday month unit this next before_last recent ago_pre ordinal holiday"
    " season by until".split()
)
"""Kinds of words without tense: German "morgen" may mean the morning."""
END = Token("end", 0, "")


@dataclass(frozen=True)
class Language:
    """The words of a language: phrases by their first word, longest first."""

    name: str
    phrases: Mapping[str, tuple[tuple[tuple[str, ...], Token], ...]]
    function: frozenset[str]
    past: frozenset[str]
    future: frozenset[str]
    no_past: frozenset[str]
    present: frozenset[str]
    past_shape: re.Pattern[str]
    weak_past_shape: re.Pattern[str]
    future_shape: re.Pattern[str]
    questions: frozenset[str]
    auxiliaries: frozenset[str]
    """Auxiliaries of a language whose participles end the sentence."""
    future_pairs: Mapping[str, tuple[tuple[str, ...], ...]]
    evidence: frozenset[str]
    """Words that indicate that a text is in this language."""

    def ends_in_participle(self, verbs: list[str]) -> bool:
        """Return whether an auxiliary and a last word make a perfect tense: "hast du … empfohlen"."""
        return not self.auxiliaries.isdisjoint(verbs) and verbs[-1].endswith("en") and verbs[-1] not in self.auxiliaries


@dataclass(frozen=True, slots=True)
class Tokens:
    """A message as tokens. `mood`: whether its verbs refer to the past, the future or the present."""

    items: list[Token] = field(default_factory=list[Token])
    mood: Mood = ""
    language: str = "english"

    def at(self, position: int) -> Token:
        return self.items[position] if 0 <= position < len(self.items) else END


def _language(module: ModuleType, table: Table) -> Language:
    phrases: dict[str, list[tuple[tuple[str, ...], Token]]] = {}
    for kind, values in table.items():
        for value, forms in values.items():
            for form in forms.split(","):
                words = tuple(_pieces(form.strip()))
                if words:
                    phrases.setdefault(words[0], []).append((words, Token(kind, value, form.strip())))
    return Language(
        module.__name__.rpartition(".")[2],
        {first: tuple(sorted(forms, key=lambda each: -len(each[0]))) for first, forms in phrases.items()},
        frozenset(module.FUNCTION.split()),
        frozenset(module.PAST.split()),
        frozenset(module.FUTURE.split()),
        frozenset(module.NO_PAST.split()),
        frozenset(module.PRESENT.split()),
        re.compile(module.PAST_SHAPE),
        re.compile(module.WEAK_PAST_SHAPE),
        re.compile(module.FUTURE_SHAPE),
        frozenset(module.QUESTIONS.split()),
        frozenset(module.AUXILIARIES.split()),
        _by_first(tuple(pair.replace("'", " ").split()) for pair in module.FUTURE_PAIRS.split(", ")),
        frozenset(module.FUNCTION.split())
        | {first for first, forms in phrases.items() if any(len(words) == 1 for words, _ in forms)},
    )


def _by_first(phrases: Iterable[tuple[str, ...]]) -> dict[str, tuple[tuple[str, ...], ...]]:
    grouped: dict[str, tuple[tuple[str, ...], ...]] = {}
    for phrase in phrases:
        grouped[phrase[0]] = (*grouped.get(phrase[0], ()), phrase)
    return grouped


def _pieces(text: str) -> list[str]:
    return [found[0] for found in _WORDS.finditer(text)]


def _languages() -> tuple[Language, ...]:
    return (
        _language(english, english.ENGLISH),
        _language(german, german.GERMAN),
        _language(spanish, spanish.SPANISH),
        _language(french, french.FRENCH),
    )


LANGUAGES = _languages()
_NAMING_WORDS = frozenset(
    max(words, key=len)
    for language in LANGUAGES
    for forms in language.phrases.values()
    for words, token in forms
    if token.kind in NAMING_KINDS
)
"""The longest word of each phrase that can name a time."""
_SIGNS = "?!.,;:()"


def read_tokens(text: str) -> Tokens:
    """Return the tokens of a message."""
    pieces = [(found.lastgroup or "", found[0]) for found in _WORDS.finditer(text.lower().replace("’", "'"))]
    words = [piece for _, piece in pieces]
    if _NAMING_WORDS.isdisjoint(words) and all(group in ("word", "sign", "quoted") for group, _ in pieces):
        return Tokens()
    language, *others = _by_evidence(words)
    items: list[Token] = []
    position = 0
    guarded = 0
    verbs: list[str] = []
    first = next((piece for group, piece in pieces if group == "word"), "")
    while position < len(pieces):
        group, piece = pieces[position]
        if group == "word":
            token, length = _phrase(language, words, position)
            if token is None and piece not in language.function:
                token, length = _foreign(others, words, position)
            if token is None:
                token, length = Token("function" if piece in language.function else "word", 0, piece), 1
            if token.kind == "guard":
                guarded = len(items) + _GUARD_REACH
            verbs += [] if token.kind in _MOODLESS else words[position : position + length]
            items.append(token)
            position += length
            if token.kind == "weak_month" and len(token.text) <= 4 and words[position : position + 1] == ["."]:
                position += 1
            continue
        if piece == "'" and position and len(words[position - 1]) <= MOST_ELIDED:
            position += 1
            continue
        items.append(_figure(group, piece, guarded=len(items) < guarded))
        if items[-1].kind == "nth" and piece.endswith(".") and language.name != "german":
            items[-1:] = [Token("digits", items[-1].value, piece[:-1]), Token("stop", 0, ".")]
        position += 1
    return Tokens(items, _mood(language, verbs, first), language.name)


def _by_evidence(words: list[str]) -> list[Language]:
    known = set(words)
    scores = [len(known & language.evidence) + len(known & language.function) for language in LANGUAGES]
    return [LANGUAGES[index] for index in sorted(range(len(LANGUAGES)), key=lambda index: (-scores[index], index))]


def _phrase(language: Language, words: list[str], position: int) -> tuple[Token | None, int]:
    for phrase, token in language.phrases.get(words[position], ()):
        if len(phrase) == 1 or tuple(words[position : position + len(phrase)]) == phrase:
            return token, len(phrase)
    return None, 1


def _foreign(others: list[Language], words: list[str], position: int) -> tuple[Token | None, int]:
    for language in others:
        token, length = _phrase(language, words, position)
        if token is not None and token.kind in _FOREIGN_KINDS:
            return token, length
    return None, 1


def _figure(group: str, piece: str, *, guarded: bool) -> Token:
    """Return the token of a figure or sign. `guarded`: dotted figures are versions or chapters here, not dates."""
    if group == "quoted":
        return Token("quoted", 0, piece)
    if group == "iso":
        return Token("iso", piece, piece)
    if group == "dashed" and not guarded:
        return Token("date", "-".join(reversed(piece.split("-"))), piece)
    if group == "number":
        return _number(piece)
    if group == "figures":
        if not guarded:
            if match := _DATE.fullmatch(piece):
                year = int(match[4]) + (2000 if len(match[4]) == 2 else 0)
                kind = "date" if len(match[4]) == 4 or match[2] == "/" else "weak_date"
                return Token(kind, f"{year}-{match[3]}-{match[1]}", piece)
            if match := _DAY_MONTH.fullmatch(piece):
                return Token("day_month", (int(match[1]), int(match[2] or match[3])), piece)
        return Token("stop" if piece.endswith(".") else "figure", 0, piece)
    if piece in _DASHES:
        return Token("dash", 0, piece)
    if piece == "'":
        return Token("apostrophe", 0, piece)
    return Token("stop" if piece in "?!.;:()" else "comma" if piece == "," else "sign", 0, piece)


def _number(piece: str) -> Token:
    match = _NUMBER.fullmatch(piece)
    if match is None:
        return Token("figure", 0, piece)
    number, suffix = int(match[1]), match[2]
    if suffix in _ORDINALS and len(match[1]) <= 2 and not (suffix == "er" and number >= 20):
        return Token("nth", number, piece)
    if suffix.rstrip(".") in _DECADES and number % 10 == 0 and len(match[1]) in (2, 4):
        return Token("decade", number if number > 99 else 1900 + number if number >= 30 else 2000 + number, piece)
    if suffix in ("", "."):
        return Token("digits", number, piece) if len(match[1]) <= 4 else Token("figure", 0, piece)
    return Token("figure", number, piece)


def _mood(language: Language, verbs: list[str], first: str) -> Mood:
    if not language.past.isdisjoint(verbs) or _any_of_shape(language, language.past_shape, verbs):
        return "past"
    if not language.future.isdisjoint(verbs) or any(map(language.future_shape.fullmatch, verbs)):
        return "future"
    for position, word in enumerate(verbs):
        for pair in language.future_pairs.get(word, ()):
            if tuple(verbs[position : position + len(pair)]) == pair:
                return "future"
    if _any_of_shape(language, language.weak_past_shape, verbs) or language.ends_in_participle(verbs):
        return "past"
    present = first in language.questions or not language.present.isdisjoint(verbs)
    return "present" if present and "there" not in verbs else ""


def _any_of_shape(language: Language, shape: re.Pattern[str], words: list[str]) -> bool:
    return any(shape.fullmatch(word) and word not in language.no_past and word not in language.future for word in words)

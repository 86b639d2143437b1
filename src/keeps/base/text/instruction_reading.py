"""Read a sentence as words with senses, and find the verbs that are orders. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from keeps.base.text import instruction_patterns as patterns
from keeps.base.text.instruction_words import Sense, sense_of, senses_without_spaces


@dataclass(slots=True)
class Reading:
    """One sentence: its words, what they may mean, and those of its verbs that are orders."""

    text: str
    words: list[str]
    senses: list[int]
    all: int
    ordered: int = Sense.NONE
    spaceless: bool = False

    def has(self, *senses: int) -> bool:
        return all(self.all & sense for sense in senses)

    def orders(self, sense: int) -> bool:
        return bool(self.ordered & sense)

    def speaks_to(self, person: frozenset[str]) -> bool:
        """Return whether a sentence has one of the pronouns."""
        return not person.isdisjoint(self.words)

    @property
    def is_addressed(self) -> bool:
        """Return whether a sentence begins with a name for the model, as "Assistant, …" does."""
        return len(self.words) > 2 and bool(self.senses[0] & Sense.MODEL) and self.words[1] in (",", ":")

    def near(self, one: int, other: int, apart: int) -> bool:
        """Return whether words of two senses stand within some words of each other."""
        if self.spaceless:
            return self.has(one, other)
        ones = [place for place, sense in enumerate(self.senses) if sense & one]
        others = [place for place, sense in enumerate(self.senses) if sense & other]
        return any(0 < abs(first - second) <= apart for first in ones for second in others)

    def follows(self, one: int, other: int, apart: int) -> bool:
        """Return whether a word of the second sense follows one of the first within some words."""
        if self.spaceless:
            return self.has(one, other)
        ones = [place for place, sense in enumerate(self.senses) if sense & one]
        return any(sense & other for place in ones for sense in self.senses[place + 1 : place + 1 + apart])


def read_sentence(sentence: str) -> Reading:
    """Return a sentence as the rules see it, without what it only quotes."""
    # A small i is "and" in other languages.
    plain = patterns.SMALL_I.sub(" ", sentence).casefold().replace("’", "'")
    rest = patterns.QUOTED.sub(" ", plain)
    if rest != plain and len(patterns.WORD.findall(rest)) >= 3 and patterns.REPORTS.search(rest) is not None:
        plain = rest
    words = patterns.WORD.findall(plain)
    senses = [sense_of(word) for word in words]
    anywhere = senses_without_spaces(plain)
    if patterns.THE_USER.search(plain) is not None:
        anywhere |= Sense.USER
    reading = Reading(plain, words, senses, reduce(or_, senses, anywhere), spaceless=bool(anywhere & ~Sense.USER))
    reading.ordered = _ordered(words, senses) | (anywhere & patterns.IMPERATIVES)
    return reading


def _ordered(words: Sequence[str], senses: Sequence[int]) -> int:
    """Return the senses of the verbs that are orders: at the start of a clause, after "please", "you must", "and"."""
    ordered = Sense.NONE
    for place, sense in enumerate(senses):
        if not sense & patterns.IMPERATIVES:
            continue
        before = words[place - 1] if place else ""
        named = place < 3 and bool(senses[place - 1] & Sense.MODEL)
        if (
            place
            and before not in patterns.OPENERS
            and not before.endswith("ly")
            and not named
            and not senses[place - 1] & Sense.NOT
        ):
            continue
        if before == "to" and (
            place < 2 or words[place - 2] not in ("are", "is", "need", "have", "required", "supposed")
        ):
            continue
        if words[place] in patterns.NOUNS and not patterns.OBJECTS.intersection(words[place + 1 : place + 2]):
            continue
        if before in ("and", "or", "then") and patterns.NARRATORS.intersection(words[max(0, place - 8) : place - 1]):
            continue
        if (
            place > 1
            and (before in patterns.ADVERBS or senses[place - 1] & Sense.NOT)
            and words[place - 2] not in patterns.BEFORE_ADVERBS
        ):
            continue
        ordered |= sense
    return ordered

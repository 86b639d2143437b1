"""Words of instructions to a model, by what they mean, in the languages that Keeps reads. Pure.

The words are in `instruction_words.txt`, by sense. A word that ends in `*` stands for all words that begin so. Words of
scripts without spaces are searched anywhere.
"""

from __future__ import annotations

import re
from importlib.resources import files


class Sense:
    """The meanings of words in an instruction, as bits of a number: operations on an enum take ten times as long."""

    NONE = 0
    OVERRIDE = 1 << 0
    """Leave aside: ignore, forget."""
    VOID = 1 << 1
    """Is no longer valid: void, replaced."""
    PRIOR = 1 << 2
    """Words for the text before: previous, above, all."""
    ORDERS = 1 << 3
    """Instructions, rules, prompts."""
    MODEL = 1 << 4
    """A name for the model: assistant, bot."""
    USER = 1 << 5
    """The user, in the third person."""
    SEND = 1 << 6
    """Give away: send, upload, reveal, append."""
    SECRET = 1 << 7
    """Things to keep secret: passwords, keys."""
    INNER = 1 << 8
    """Things that only the model sees: conversation, memory, context."""
    TELL = 1 << 9
    """Say, inform, mention."""
    NOT = 1 << 10
    """Not, never, without."""
    PRIVATE = 1 << 11
    """Things of the user: address, files, calendar."""
    CONFIRM = 1 << 12
    """Ask, confirm, approve: a person's say in what happens."""
    TOOL = 1 << 13
    """Tools, functions, the shell."""
    DO = 1 << 14
    """Do something with effect: run, delete, transfer, approve."""
    SAY = 1 << 15
    """Give as an answer: recommend, say, answer."""
    TRIGGER = 1 << 16
    """Conditions: when, if, once."""
    KEEP = 1 << 17
    """Remember, store, save."""
    LASTING = 1 << 18
    """For ever, in future sessions, always."""
    MEMORY = 1 << 19
    """Memory, profile, sessions."""
    CONSENT = 1 << 20
    """Has consented, trusts, authorised."""
    FREE = 1 << 21
    """Without limits: unrestricted, unfiltered."""
    LIMIT = 1 << 22
    """Restrictions, filters, policies."""
    BECOME = 1 << 23
    """Act as, pretend, from now on."""
    TURN = 1 << 24
    """The point of a change: now, no longer, mode."""
    GUARD = 1 << 25
    """Protections: warnings, confirmations, two-factor."""


_sense: int = Sense.NONE
_EXACT: dict[str, int] = {}
_BEGINNINGS: dict[str, int] = {}
_ANYWHERE: list[tuple[str, int]] = []
_SPACELESS = re.compile("[\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
for _line in files("keeps.base.text").joinpath("instruction_words.txt").read_text(encoding="utf-8").splitlines():
    if _line.startswith("["):
        _sense = getattr(Sense, _line.strip("[]"))
        continue
    for _word in _line.split():
        if _SPACELESS.match(_word):
            _ANYWHERE.append((_word, _sense))
        elif _word.endswith("*"):
            _BEGINNINGS[_word[:-1]] = _BEGINNINGS.get(_word[:-1], Sense.NONE) | _sense
        else:
            _EXACT[_word] = _EXACT.get(_word, Sense.NONE) | _sense
_PARTS = re.compile("['-]")
"""Joints of words: "l'utilisateur", "envoie-le"."""
_LENGTHS = sorted({len(_beginning) for _beginning in _BEGINNINGS})
_MOST_CACHED = 20_000
_cached: dict[str, int] = {}


def sense_of(word: str) -> int:
    """Return what a word in lower case may mean."""
    sense = _cached.get(word)
    if sense is None:
        sense = _EXACT.get(word, Sense.NONE)
        for part in _PARTS.split(word)[:4] if _PARTS.search(word) else ():
            sense |= _EXACT.get(part, Sense.NONE)
        for length in _LENGTHS:
            if length > len(word):
                break
            sense |= _BEGINNINGS.get(word[:length], Sense.NONE)
        if len(_cached) >= _MOST_CACHED:
            _cached.clear()
        _cached[word] = sense
    return sense


def senses_without_spaces(sentence: str) -> int:
    """Return what the words of a sentence may mean in scripts that are searched anywhere."""
    senses = Sense.NONE
    if _SPACELESS.search(sentence) is not None:
        for word, sense in _ANYWHERE:
            if word in sentence:
                senses |= sense
    return senses

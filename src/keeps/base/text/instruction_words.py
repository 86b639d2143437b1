"""Words of instructions to a model, by what they mean, in the languages that Keeps reads. Pure.

The words are in `instruction_words.txt`, by sense. A word that ends in `*` stands for all words that begin so. Words of
scripts without spaces are searched anywhere.
"""

from __future__ import annotations

import re
from enum import Flag, auto
from importlib.resources import files


class Sense(Flag):
    """A meaning of a word in an instruction."""

    NONE = 0
    OVERRIDE = auto()
    """Leave aside: ignore, forget."""
    VOID = auto()
    """Is no longer valid: void, replaced."""
    PRIOR = auto()
    """What came before: previous, above, all."""
    ORDERS = auto()
    """Instructions, rules, prompts."""
    MODEL = auto()
    """A name for the model: assistant, bot."""
    USER = auto()
    """The user, in the third person."""
    SEND = auto()
    """Give away: send, upload, reveal, append."""
    SECRET = auto()
    """What must not be given away: passwords, keys."""
    INNER = auto()
    """What only the model sees: conversation, memory, context."""
    TELL = auto()
    """Say, inform, mention."""
    NOT = auto()
    """Not, never, without."""
    PRIVATE = auto()
    """What belongs to the user: address, files, calendar."""
    CONFIRM = auto()
    """Ask, confirm, approve: a person's say in what happens."""
    TOOL = auto()
    """Tools, functions, the shell."""
    DO = auto()
    """Do something with effect: run, delete, transfer, approve."""
    SAY = auto()
    """Give as an answer: recommend, say, answer."""
    TRIGGER = auto()
    """When, if, once."""
    KEEP = auto()
    """Remember, store, save."""
    LASTING = auto()
    """For ever, in future sessions, always."""
    MEMORY = auto()
    """Memory, profile, sessions."""
    CONSENT = auto()
    """Has consented, trusts, authorised."""
    FREE = auto()
    """Without limits: unrestricted, unfiltered."""
    LIMIT = auto()
    """Restrictions, filters, policies."""
    BECOME = auto()
    """Act as, pretend, from now on."""
    TURN = auto()
    """The point of a change: now, no longer, mode."""
    GUARD = auto()
    """What protects: warnings, confirmations, two-factor."""


_sense = Sense.NONE
_EXACT: dict[str, Sense] = {}
_BEGINNINGS: dict[str, Sense] = {}
_ANYWHERE: list[tuple[str, Sense]] = []
_SPACELESS = re.compile("[\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
for _line in files("keeps.base.text").joinpath("instruction_words.txt").read_text(encoding="utf-8").splitlines():
    if _line.startswith("["):
        _sense = Sense[_line.strip("[]")]
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
_cached: dict[str, Sense] = {}


def sense_of(word: str) -> Sense:
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


def senses_without_spaces(sentence: str) -> Sense:
    """Return what the words of a sentence may mean in scripts that are searched anywhere."""
    senses = Sense.NONE
    if _SPACELESS.search(sentence) is not None:
        for word, sense in _ANYWHERE:
            if word in sentence:
                senses |= sense
    return senses

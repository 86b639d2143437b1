"""Find text that readers do not see, and words that mix alphabets to look like others. Pure, in linear time."""

from __future__ import annotations

import re
import unicodedata

_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")
"""A flag such as Scotland's: the one lawful use of tag characters."""
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_OVERRIDES = re.compile("[\u202d\u202e]")
"""Characters that make the text after them run in the other direction; isolates and embeddings do not reverse it."""
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3}")
_INVISIBLE = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0"
_RUN = re.compile("[\u200b\u2060-\u2064\ufeff]{3}")
_INSIDE_A_WORD = re.compile(f"[A-Za-z](?=[{_INVISIBLE}]{{1,4}}[A-Za-z])")
_TORN = 4
"""Number of places in Latin words with invisible characters from which they are torn, not hyphenated."""
_REMOVED = re.compile(f"[{_INVISIBLE}\u202a-\u202e\u2066-\u2069\ufe00-\ufe0f\U000e0000-\U000e01ef]")
_NOT_LATIN = re.compile("[\u0370-\u052f]")
_WORD = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u052f]+")
_LOOKALIKES = str.maketrans(
    "аԁеһіјӏԛосрѕԝхуАВЕНІЈКМОРЅТХСοανρικτυεωΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "adehijlqocpswxyABEHIJKMOPSTXCoavpiktuewABEZHIKMNOPTYX"
)
"""Cyrillic and Greek letters that look like Latin ones."""
_LIKE_LATIN = frozenset(map(chr, _LOOKALIKES))
LEAST_LETTERS = 4


def hides_text(text: str) -> bool:
    """Return whether a text has parts that readers do not see, or words of letters from two alphabets."""
    if text.isascii():
        return False
    plain = _FLAG.sub("", text)
    return (
        _TAGS.search(plain) is not None
        or _OVERRIDES.search(plain) is not None
        or _SELECTORS.search(plain) is not None
        or _RUN.search(plain) is not None
        or len(_INSIDE_A_WORD.findall(plain)) >= _TORN
        or any(_is_mixed(word) for word in _mixable(plain))
    )


def seen_text(text: str) -> str:
    """Return the text as it is meant: without invisible characters, with Latin letters in place of lookalikes."""
    if text.isascii():
        return text
    tags = "".join(chr(ord(each) - 0xE0000) for each in _TAGS.findall(text) if 0x20 <= ord(each) - 0xE0000 < 0x7F)
    plain = unicodedata.normalize("NFKC", _REMOVED.sub("", text))
    if _NOT_LATIN.search(plain) is not None:
        plain = _WORD.sub(lambda word: word[0].translate(_LOOKALIKES) if _is_mixed(word[0]) else word[0], plain)
    return f"{plain}\n{tags}" if tags else plain


def is_reversed(text: str) -> bool:
    """Return whether a text has characters that reverse what follows."""
    return not text.isascii() and _OVERRIDES.search(text) is not None


def _mixable(text: str) -> list[str]:
    return _WORD.findall(text) if _NOT_LATIN.search(text) is not None else []


def _is_mixed(word: str) -> bool:
    """Return whether Latin letters of a word stand beside letters that only look like Latin ones."""
    if len(word) < LEAST_LETTERS or word.isascii():
        return False
    foreign = [letter for letter in word if "\u0370" <= letter <= "\u052f"]
    return 0 < len(foreign) < len(word) and all(letter in _LIKE_LATIN for letter in foreign)

"""Turn text into search terms: folded, stemmed, and split where a language writes no spaces. Pure.

Snowball stems words in the language of their text (`languages.py`), and the commonest words are dropped. In a text
that is not English, the English stem of each word is also a term: names are searched in other languages, and short
texts do not always reveal their language. In scripts without spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer,
Burmese) each character with its marks is a term, and each pair of neighbours: the usual way to search such text
without a dictionary.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import Stemmer

from keeps.base.text.forms import EMOJI, INVISIBLE
from keeps.base.text.languages import ENGLISH, latin_language, plain, stop_words

_MARKS = "".join(
    chr(code)
    for first, last in ((0x300, 0x1E00), (0xA800, 0xAC00))
    for code in range(first, last)
    if unicodedata.category(chr(code))[0] == "M"
)
"""Vowel signs and similar marks, which belong to the letter before them."""
_RARE_MARKS = "".join(
    chr(code)
    for first, last in (
        (0x20D0, 0x2100),
        (0x2CEF, 0x3100),
        (0xFB1E, 0xFB1F),
        (0xFE00, 0xFE30),
        (0x101FD, 0x12000),
        (0x16AF0, 0x17000),
        (0x1BC9D, 0x1BC9F),
        (0x1CF00, 0x1D250),
        (0x1DA00, 0x1E950),
        (0xE0100, 0xE01F0),
    )
    for code in range(first, last)
    if unicodedata.category(chr(code))[0] == "M"
)
"""Other marks, which no living script needs in its words."""
_WORD = re.compile(rf"[\w{_MARKS}]+|{EMOJI}", re.UNICODE)
_ASCII_WORD = re.compile(r"[^\W_]+")
_BROKEN = re.compile(r"(?<![^\W\d_])([^\W\d_]{2,40})-[ \t]{0,4}\r?\n[ \t]{0,4}([^\W\d_]{2,40})")
"""A word broken at the end of a line, or two words joined by a hyphen; in both cases the parts are words, too."""
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_SPACELESS = f"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff{_CJK}"
_RUNS = re.compile(f"[{_SPACELESS}]+|[^{_SPACELESS}_]+")
_SPACELESS_CHARACTER = re.compile(f"[{_SPACELESS}]")
_WITH_MARKS = re.compile(rf".[{_MARKS}]*")
MOST_MARKS = 30
"""Maximum number of marks on one letter, as in Unicode's stream-safe text: sorting more takes quadratic time."""
_PILED = re.compile(rf"([{_MARKS}{_RARE_MARKS}]{{{MOST_MARKS}}})[{_MARKS}{_RARE_MARKS}]+")
_BEYOND_LATIN_1 = re.compile("[\u0100-\U0010ffff]")
"""Matches what texts with marks on their letters have: this one range is found 100 times as fast as all marks."""
_MOST_OF_A_CHARACTER = 8
"""Maximum length of a letter with its marks, in a script without spaces."""
_SCRIPTS = (
    ("\u024f", "latin"),
    ("\u03ff", "greek"),
    ("\u052f", "russian"),
    ("\u058f", "armenian"),
    ("\u05ff", ""),
    ("\u06ff", "arabic"),
    ("\u08ff", ""),
    ("\u097f", "hindi"),
    ("\u0b7f", ""),
    ("\u0bff", "tamil"),
    ("\u1dff", ""),
    ("\u1eff", "latin"),
    ("\u1fff", "greek"),
)
"""The last character of each Unicode range, and the stemmer of words that begin in it."""
_PERSIAN = frozenset("پچژگیک")
MAX_WORD_CHARACTERS = 64
_GROWERS = {0xFDFA: " ", 0xFDFB: " "}
_SHAPING = {**_GROWERS, **INVISIBLE, 0x0640: None, 0x0130: "i"}
"""Invisible characters and the stroke that lengthens Arabic words, to remove; İ, which lower case would split."""
_stemmers = threading.local()


def words_of(text: str) -> list[str]:
    """Return all words in order, folded (case, width, accents) but not stemmed: `Zoë's CAFÉ` gives zoe, s, cafe."""
    return [folded for word in _split(text) if (folded := plain(word.casefold()))]


def language_of(text: str) -> str:
    """Return the language by which the words of a text in Latin letters are stemmed."""
    return latin_language(word.casefold() for word in _split(text))


def terms_of(text: str, language: str | None = None) -> list[str]:
    """Return the search terms of a text, in order, with repeats. `language`: the language, if known."""
    return [term for _, terms in terms_by_word(text, language) for term in terms]


def terms_by_word(text: str, language: str | None = None) -> list[tuple[str, list[str]]]:
    """Return each word, folded, with its search terms; stop words have none."""
    words = [word.casefold() for word in _split(text)]
    language = language or latin_language(words)
    stops = stop_words(language)
    bare = [plain(word) for word in words]
    return [(word, _terms(word, language) if word not in stops else []) for word in bare]


def count_terms(text: str) -> Counter[str]:
    """Return the number of occurrences of each term."""
    return Counter(terms_of(text))


@lru_cache(maxsize=50_000)
def stem(word: str, language: str) -> str:
    """Return the stem that `word`, in lower case without accents, shares with its inflections: running, runs → run."""
    stemmer = "" if word.isdigit() else _stemmer_of(word, language)
    return _stemmed(word, stemmer) if stemmer else word


def without_growers(text: str) -> str:
    """Return the text without the two ligatures that normalisation expands to up to 18 characters."""
    return text.translate(_GROWERS)


def without_piles(text: str) -> str:
    """Return a text with at most MOST_MARKS marks on each letter, so that it can be normalised in linear time."""
    return text if _BEYOND_LATIN_1.search(text) is None else _PILED.sub(r"\1", text)


def is_spaceless(character: str) -> bool:
    """Return whether a character belongs to a script that writes no spaces between words."""
    return character > "\u0dff" and _SPACELESS_CHARACTER.match(character) is not None


def _split(text: str) -> Iterator[str]:
    """Yield all words in order, unfolded."""
    whole = text
    if text.isascii():
        yield from _ASCII_WORD.findall(text)
    else:
        whole = without_piles(text.replace("\u00ad\n", "-\n").translate(_SHAPING))
        whole = unicodedata.normalize("NFKC", whole)
        for word in _WORD.findall(whole):
            yield from _RUNS.findall(word)
    if "-" in whole and "\n" in whole:
        yield from map("".join, _BROKEN.findall(whole))


def _terms(word: str, language: str) -> list[str]:
    if not word:
        return []
    if is_spaceless(word[0]):
        characters = [each[:_MOST_OF_A_CHARACTER] for each in _WITH_MARKS.findall(word)]
        return [*characters, *(one + other for one, other in pairwise(characters))]
    if len(word) > MAX_WORD_CHARACTERS or (len(word) == 1 and word.isalpha() and word.isascii()):
        return []
    found = stem(word, language)
    other = found if language == ENGLISH else stem(word, ENGLISH)
    return [found] if other == found else [found, other]


def _stemmer_of(word: str, language: str) -> str:
    for last, stemmer in _SCRIPTS:
        if word[0] <= last:
            if stemmer == "arabic" and not _PERSIAN.isdisjoint(word):
                return "persian"
            return language if stemmer == "latin" else stemmer
    return ""


def _stemmed(word: str, language: str) -> str:
    stemmer = getattr(_stemmers, language, None)
    if stemmer is None:
        stemmer = Stemmer.Stemmer(language, 0)
        setattr(_stemmers, language, stemmer)
    return stemmer.stemWord(word)

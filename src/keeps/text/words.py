"""From text to search terms: folded, stemmed, and split where a language writes no spaces. Pure.

English words are stemmed (Snowball) and the commonest dropped. Chinese, Japanese and Korean runs give each character
and each pair of neighbours, the usual way to search text without spaces. Other scripts give whole folded words.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from functools import lru_cache

import Stemmer

STOP_WORDS = frozenset(
    "a an and are as at be been being but by can could did do does for from had has have he her hers him his how i if"
    " in into is it its me my of on or our ours she should so than that the their them then there these they this those"
    " to us was we were what when where which who whom whose why will with would you your yours am not no".split()
)
_WORD = re.compile(r"\w+", re.UNICODE)
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_RUNS = re.compile(f"[{_CJK}]+|[^{_CJK}_]+")
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
MAX_WORD_CHARACTERS = 64
_GROWERS = {0xFDFA: " ", 0xFDFB: " "}
_stemmers = threading.local()


def words_of(text: str) -> list[str]:
    """All words in order, folded (case, width, accents) but not stemmed: `Zoë's CAFÉ` gives zoe, s, cafe."""
    return [run for word in _WORD.findall(_folded(text)) for run in _RUNS.findall(word)]


def terms_of(text: str) -> list[str]:
    """The search terms of a text, in order, with repeats."""
    terms: list[str] = []
    for run in words_of(text):
        if is_cjk(run[0]):
            terms.extend(run)
            terms.extend(run[index : index + 2] for index in range(len(run) - 1))
        elif (
            run not in STOP_WORDS
            and len(run) <= MAX_WORD_CHARACTERS
            and not (len(run) == 1 and run.isalpha() and run.isascii())
        ):
            terms.append(stem(run))
    return terms


def count_terms(text: str) -> Counter[str]:
    """How often each term occurs."""
    return Counter(terms_of(text))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The stem that `word` shares with its inflections: running, runs → run. Only for words in ASCII letters."""
    if not word.isascii() or word.isdigit():
        return word
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        stemmer = _stemmers.english = Stemmer.Stemmer("english", 0)
    return stemmer.stemWord(word)


def without_growers(text: str) -> str:
    """The text without the two ligatures that stand for whole phrases: normalised, each becomes up to 18 characters."""
    return text.translate(_GROWERS)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", without_growers(text).casefold())
    kept = "".join(character for character in decomposed if not "\u0300" <= character <= "\u036f")
    return unicodedata.normalize("NFC", kept)


def is_cjk(character: str) -> bool:
    """Whether a character is of a script that writes no spaces: Chinese, Japanese, Korean."""
    return character > "\u3000" and _CJK_CHARACTER.match(character) is not None

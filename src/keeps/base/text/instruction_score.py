"""Score how much a text reads like instructions to a model. Pure, in linear time.

A linear model over two sentences at a time. Its features are words, pairs of words, beginnings and other parts of
words, and the signs of `instruction_signs.txt`: who is addressed, what is asked for, what is concealed. Its weights are
in `instruction_weights.npz`; `tools/train_instruction_score.py` makes them from written texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from zlib import crc32

import numpy as np
import numpy.typing as npt

from keeps.base.text import instruction_patterns as patterns

BUCKETS = 1 << 16
"""Number of weights that words and parts of words share."""
RULES_MOST = 1.6
"""Weight of the rules above which more makes no difference."""
_MOST_CACHED = 20_000
_MOST_WORDS = 120
"""Words that are read of one sentence."""
_NEAR = 6
"""Words of two signs that stand so close count as a pair in their order."""
_SHORT, _LONG = 8, 25
_TOKEN = re.compile(r"[^\W_]{1,40}|[^\w\s]")
_SPACELESS = re.compile("[\u0600-\u06ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MARKS = tuple(
    re.compile(pattern)
    for pattern in (
        r"https?://|www\.",
        r"[\w.+-]{1,64}@[\w-]{1,63}\.\w\w",
        r"\b[a-z]{2}\d\d(?: ?[\da-z]{4}){2}|\+\d[\d ]{7}|\bbc1|0x[0-9a-f]{6}",
        r"\brm -rf?|\bcurl\b|\bwget\b|\| ?(?:ba|z)?sh\b|~/\.|sudo |\.env\b|authorized_keys",
        r"<\|?/?\w{1,30}\|?>|\[/?\w{1,30}\]|<!--|\{\s{0,4}\"",
        r"(?:^|[\n.>] ?)[^\w\n]{0,4}(?:system|assistant|user|admin|human|ai)\b[^\n:]{0,20}:",
        r"[\"“”«»„「」`][^\"“”«»„「」`\n]{3,200}[\"“”«»„「」`]",
        r"\d",
        r"[?？]",
        r"[!！]",
        r"[=(){};_]\S",
    )
)


def _read_signs() -> tuple[list[str], dict[str, int], dict[str, int], list[tuple[str, int]]]:
    names: list[str] = []
    exact: dict[str, int] = {}
    beginnings: dict[str, int] = {}
    anywhere: list[tuple[str, int]] = []
    for line in files("keeps.base.text").joinpath("instruction_signs.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            names.append(line.strip("[]"))
            continue
        sign = 1 << (len(names) - 1)
        for word in line.split():
            if _SPACELESS.match(word):
                anywhere.append((word, sign))
            elif word.endswith("*"):
                beginnings[word[:-1]] = beginnings.get(word[:-1], 0) | sign
            else:
                exact[word] = exact.get(word, 0) | sign
    return names, exact, beginnings, anywhere


_NAMES, _EXACT, _BEGINNINGS, _ANYWHERE = _read_signs()
_LENGTHS = sorted({len(beginning) for beginning in _BEGINNINGS})
SIGNS = len(_NAMES)
_ORDERED = SIGNS * SIGNS
SIGN_FEATURES = 2 * _ORDERED + 2 * SIGNS + len(_MARKS) + 2
"""Pairs of signs in any order, pairs in their order, signs, first signs of a clause, marks, and the length."""
_CLAUSE = frozenset([*".!?:;,(", "and", "please", "then", "bitte", "und", "et", "y", "e", "и"])


@dataclass(frozen=True, slots=True)
class Parts:
    """The features of one sentence.

    `words`: buckets of words and pairs of words.
    `pieces`: buckets of parts of words.
    `signs`, `first`: signs of all words, and of the first words of clauses, as bits.
    `after`: for each sign, the signs that follow it closely.
    `marks`: marks such as addresses, as bits.
    """

    words: list[int]
    pieces: list[int]
    signs: int
    first: int
    after: dict[int, int]
    marks: int


def sentence_parts(sentence: str) -> Parts:
    """Return the features of one sentence."""
    plain = sentence.casefold().replace("’", "'")
    tokens = _TOKEN.findall(plain)[:_MOST_WORDS]
    words: list[int] = []
    pieces: list[int] = []
    signs = first = 0
    after: dict[int, int] = {}
    recent: list[int] = []
    before, starts = "", True
    for token in tokens:
        word, token_pieces, sign = _token(token)
        words.append(word)
        words.append(crc32(f"{before} {token}".encode()) % BUCKETS)
        pieces += token_pieces
        if sign:
            signs |= sign
            if starts:
                first |= sign
            for other in recent:
                while other:
                    bit = other & -other
                    after[bit] = after.get(bit, 0) | sign
                    other ^= bit
        recent.append(sign)
        if len(recent) > _NEAR:
            del recent[0]
        starts = token in _CLAUSE
        before = token
    if _SPACELESS.search(plain) is not None:
        for word, sign in _ANYWHERE:
            if word in plain:
                signs |= sign
    marks = 0
    for number, mark in enumerate(_MARKS):
        if mark.search(plain) is not None:
            marks |= 1 << number
    return Parts(words, pieces, signs, first, after, marks)


_tokens: dict[str, tuple[int, list[int], int]] = {}


def _token(token: str) -> tuple[int, list[int], int]:
    """Return the bucket of a token, the buckets of its parts, and its signs."""
    entry = _tokens.get(token)
    if entry is None:
        edged = f" {token} "
        pieces = [
            crc32(b"\0" + edged[start : start + length].encode()) % BUCKETS
            for length in (2, 3, 4)
            for start in range(max(len(edged) - length + 1, 0))
        ]
        sign = _EXACT.get(token, 0)
        for length in _LENGTHS:
            if length > len(token):
                break
            sign |= _BEGINNINGS.get(token[:length], 0)
        if len(_tokens) >= _MOST_CACHED:
            _tokens.clear()
        entry = _tokens[token] = crc32(token.encode()) % BUCKETS, pieces, sign
    return entry


def sign_features(one: Parts, other: Parts | None) -> list[int]:
    """Return the numbers of the features of two sentences that are no words."""
    signs, first, marks = one.signs, one.first, one.marks
    afters = [one.after]
    length = len(one.words)
    if other is not None:
        signs, first, marks = signs | other.signs, first | other.first, marks | other.marks
        afters.append(other.after)
        length += len(other.words)
    present = list(_bits(signs))
    features = [low * SIGNS + high for place, low in enumerate(present) for high in present[place + 1 :]]
    ordered = {
        _ORDERED + bit.bit_length() * SIGNS - SIGNS + sign
        for after in afters
        for bit, followers in after.items()
        for sign in _bits(followers)
    }
    features += sorted(ordered)
    base = 2 * _ORDERED
    features += [base + sign for sign in present]
    features += [base + SIGNS + sign for sign in _bits(first)]
    base += 2 * SIGNS
    features += [base + mark for mark in _bits(marks)]
    base += len(_MARKS)
    if length < 2 * _SHORT:
        features.append(base)
    if length > 2 * _LONG:
        features.append(base + 1)
    return features


def _bits(number: int) -> Iterator[int]:
    while number:
        bit = number & -number
        yield bit.bit_length() - 1
        number ^= bit


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text, those that are too long in parts."""
    for sentence in patterns.GAP.split(text):
        for start in range(0, len(sentence), patterns.LONGEST):
            part = sentence[start : start + patterns.LONGEST].strip()
            if len(part) >= 4:
                yield part


class Model:
    """The weights of the linear model.

    `words`, `pieces`: (BUCKETS,). `signs`: (SIGN_FEATURES,). `rules`: weight of what the rules say. `bias`: the rest.
    """

    def __init__(
        self,
        words: npt.NDArray[np.float32],
        pieces: npt.NDArray[np.float32],
        signs: npt.NDArray[np.float32],
        rules: float,
        bias: float,
    ) -> None:
        # Lists: looking one number up in an array takes three times as long.
        self._words: list[float] = words.tolist()
        self._pieces: list[float] = pieces.tolist()
        self._signs: list[float] = signs.tolist()
        self._rules = rules
        self._bias = bias

    def score(self, text: str, rules: float) -> float:
        """Return the greatest score of two sentences in a row; above 0 is rather an instruction than not.

        Args:
            text: The text as a reader sees it.
            rules: The weight that the rules give the text.
        """
        best = -math.inf
        before: tuple[Parts, float, float] | None = None
        for sentence in sentences_of(text):
            parts = sentence_parts(sentence)
            words, pieces = self._words, self._pieces
            of_words = math.fsum(words[number] for number in parts.words)
            of_pieces = math.fsum(pieces[number] for number in parts.pieces)
            now = parts, of_words, of_pieces
            if before is not None:
                best = max(best, self._of_two(before, now))
            elif best == -math.inf:
                best = self._of_two(now, None)
            before = now
        return best + self._rules * min(rules, RULES_MOST) + self._bias

    def _of_two(self, one: tuple[Parts, float, float], other: tuple[Parts, float, float] | None) -> float:
        parts, of_words, of_pieces = one
        number_words, number_pieces = len(parts.words), len(parts.pieces)
        second = None
        if other is not None:
            second, more_words, more_pieces = other
            of_words, of_pieces = of_words + more_words, of_pieces + more_pieces
            number_words, number_pieces = number_words + len(second.words), number_pieces + len(second.pieces)
        signs = self._signs
        features = sign_features(parts, second)
        of_signs = sum(signs[feature] for feature in features)
        return (
            of_words / math.sqrt(number_words or 1)
            + of_pieces / math.sqrt(number_pieces or 1)
            + of_signs / math.sqrt(len(features) or 1)
        )


@cache
def model() -> Model:
    """Return the weights that Keeps is installed with."""
    with files("keeps.base.text").joinpath("instruction_weights.npz").open("rb") as opened:
        stored = np.load(opened)
        scale = stored["scale"]
        words, pieces, signs = (
            stored[name].astype(np.float32) * scale[place] for place, name in enumerate(("words", "pieces", "signs"))
        )
        return Model(words, pieces, signs, float(scale[3]), float(scale[4]))

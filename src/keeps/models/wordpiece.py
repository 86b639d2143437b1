"""The tokenizer of uncased BERT models: the same pieces and places as the package `tokenizers`, without it.

That package brings eight others and 38 MB. A test compares both for every character and for random texts. They differ
in characters that Unicode added after version 9, all of which are outside the vocabulary of such models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from unicodedata import category, normalize

CACHED_CHUNKS = 30_000
_CHUNK = re.compile("[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_REMOVED = frozenset(("Cc", "Cf", "Co", "Cs"))
_IDEOGRAPHS = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\U0002f800-\U0002fa1f]"
)
_NORMALIZER = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
_PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}

Piece = tuple[int, int, int]
"""The number of a piece, and its first and last place in the text."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a text: their numbers, and the characters of the text that each stands for."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class WordPiece:
    """The tokenizer of one vocabulary. Threads may share it."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        model = config["model"]
        self.vocabulary: dict[str, int] = model["vocab"]
        self.padding = int((config["padding"] or {}).get("pad_id", 0))
        self.start, self.end = _ends(config["post_processor"])
        self._special = {token["content"]: int(token["id"]) for token in config["added_tokens"]}
        names = "|".join(map(re.escape, sorted(self._special, key=len, reverse=True)))
        self._special_pattern = re.compile(names or "(?!)")
        self._chunks = _Chunks(self.vocabulary, self.vocabulary[model["unk_token"]], model["max_input_chars_per_word"])

    def encode(self, texts: list[str]) -> list[Pieces]:
        """Return the pieces of each text, without those around it."""
        return [self._encode(text) for text in texts]

    def _encode(self, text: str) -> Pieces:
        pieces = Pieces([], [])
        start = 0
        for special in self._special_pattern.finditer(text):
            self._append(pieces, text, start, special.start())
            pieces.ids.append(self._special[special[0]])
            pieces.offsets.append(special.span())
            start = special.end()
        self._append(pieces, text, start, len(text))
        return pieces

    def _append(self, pieces: Pieces, text: str, start: int, end: int) -> None:
        for chunk in _CHUNK.finditer(text, start, end):
            before = chunk.start()
            for number, first, last in self._chunks[chunk[0]]:
                pieces.ids.append(number)
                pieces.offsets.append((before + first, before + last))


def read_wordpiece(tokenizer: str) -> WordPiece | None:
    """Return the tokenizer that a tokenizer.json describes; None if it is of another kind."""
    config = json.loads(tokenizer)
    is_wordpiece = (
        config["model"].get("type") == "WordPiece"
        and config["model"]["continuing_subword_prefix"] == "##"
        and config["normalizer"] == _NORMALIZER
        and config["pre_tokenizer"] == {"type": "BertPreTokenizer"}
        and (config["post_processor"] or {}).get("type") == "TemplateProcessing"
        and all(token.items() >= _PLAIN.items() for token in config["added_tokens"])
    )
    return WordPiece(config) if is_wordpiece else None


class _Chunks(dict[str, tuple[Piece, ...]]):
    """The pieces of chunks without white space. Only words of the vocabulary are cached, so no user's text stays."""

    def __init__(self, vocabulary: Mapping[str, int], unknown: int, most_characters: int) -> None:
        super().__init__()
        self._heads = vocabulary
        self._tails = {piece[2:]: number for piece, number in vocabulary.items() if piece.startswith("##")}
        self._longest = max(map(len, vocabulary))
        self._unknown, self._most_characters = unknown, most_characters

    def __missing__(self, chunk: str) -> tuple[Piece, ...]:
        pieces = tuple(self._read_ascii(chunk) if chunk.isascii() and chunk.isprintable() else self._read(chunk))
        if len(pieces) == 1 and pieces[0][0] != self._unknown:
            if len(self) >= CACHED_CHUNKS:
                self.clear()
            self[chunk] = pieces
        return pieces

    def _read_ascii(self, chunk: str) -> Iterator[Piece]:
        for word in _ASCII_WORD.finditer(chunk.lower()):
            before = word.start()
            for number, first, last in self._match(word[0]):
                yield number, before + first, before + last

    def _read(self, chunk: str) -> Iterator[Piece]:
        for word, places in _words(chunk):
            for number, first, last in self._match(word):
                yield number, places[first], places[last - 1] + 1

    def _match(self, word: str) -> list[Piece]:
        """Return the longest pieces of a word, from its start; the unknown piece if it does not consist of pieces."""
        unknown = [(self._unknown, 0, len(word))]
        if len(word) > self._most_characters:
            return unknown
        pieces: list[Piece] = []
        numbers, start = self._heads, 0
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                if (number := numbers.get(word[start:end])) is not None:
                    break
            else:
                return unknown
            pieces.append((number, start, end))
            numbers, start = self._tails, end
        return pieces


def _words(chunk: str) -> Iterator[tuple[str, list[int]]]:
    """Yield the normalized words of a chunk, with the place in the chunk of each of their characters."""
    word: list[str] = []
    places: list[int] = []
    for place, original in enumerate(chunk):
        for character in _normalized(original):
            is_space, is_alone = character == " ", _is_punctuation(character)
            if (is_space or is_alone) and word:
                yield "".join(word), places
                word, places = [], []
            if is_alone:
                yield character, [place]
            elif not is_space:
                word.append(character)
                places.append(place)
    if word:
        yield "".join(word), places


@lru_cache(20_000)
def _normalized(character: str) -> str:
    """Return a character in lower case without its accents, an ideograph between spaces, a control character as ""."""
    if character in "\0\ufffd" or category(character) in _REMOVED:
        return ""
    spaced = f" {character} " if _IDEOGRAPHS.match(character) else character
    return "".join(part.lower() for part in normalize("NFD", spaced) if category(part) != "Mn")


@lru_cache(20_000)
def _is_punctuation(character: str) -> bool:
    return character in _ASCII_PUNCTUATION or category(character).startswith("P")


def _ends(processor: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Return the pieces before and after a text."""
    start: list[int] = []
    end: list[int] = []
    side = start
    for part in processor["single"]:
        if "Sequence" in part:
            side = end
        else:
            side += processor["special_tokens"][part["SpecialToken"]["id"]]["ids"]
    return start, end

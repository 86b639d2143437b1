"""Count tokens: by an estimate that ships with Keeps, by tiktoken with ranks on disk, or by the embedder's
tokenizer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any, Protocol

from cachetools import LRUCache

from keeps.base.telemetry.logs import log
from keeps.models.o200k import LongestMatchCounter
from keeps.models.tokenizer import Tokenizer, open_tokenizer

MOST_REMEMBERED = 200_000
CHARACTERS_A_PIECE = 3
_LONG = re.compile(r"[^\W_]{100,}")
"""WordPiece counts a word of more than 100 characters as one piece; an LLM reads every character of it."""


class TokenCounter(Protocol):
    """Counts tokens by the tokenizer called `name`."""

    @property
    def name(self) -> str: ...

    @property
    def adds_up(self) -> bool:
        """True if a text has as many tokens as its lines, counted one by one without their line breaks."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, in order. Fast enough for the event loop."""
        ...


class WordPieceCounter:
    """The tokenizer of the local embedding model.

    It knows 30,522 English pieces, so it says little about an LLM's count: a word of another script is one piece.
    """

    name = "wordpiece"
    adds_up = True  # No piece crosses white space.

    def __init__(self) -> None:
        self._tokenizer: Tokenizer | None = None

    def count(self, texts: Sequence[str]) -> list[int]:
        if self._tokenizer is None:
            from keeps.models.artifacts import read_tokenizer

            self._tokenizer = open_tokenizer(read_tokenizer(), self.name)
        return [
            len(pieces.ids) + sum(len(run) // CHARACTERS_A_PIECE for run in _LONG.findall(text))
            for pieces, text in zip(self._tokenizer.encode(list(texts)), texts, strict=True)
        ]


class TiktokenCounter:
    """OpenAI's tokenizer, from a folder that already has its ranks (TIKTOKEN_CACHE_DIR): nothing is downloaded."""

    name = "o200k_base"
    adds_up = False

    def __init__(self) -> None:
        import tiktoken  # pyright: ignore[reportMissingImports]

        self._encoding: Any = tiktoken.get_encoding("o200k_base")

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(each) for each in self._encoding.encode_ordinary_batch(list(texts), num_threads=1)]


class RememberedCounts:
    """Caches the counts of texts, by a hash of each. Threads may share it."""

    def __init__(self, inner: TokenCounter) -> None:
        self._inner = inner
        self._known: LRUCache[bytes, int] = LRUCache(MOST_REMEMBERED)
        self._lock = Lock()
        self.name, self.adds_up = inner.name, inner.adds_up

    def count(self, texts: Sequence[str]) -> list[int]:
        marks = [blake2b(each.encode("utf-8", "replace"), digest_size=16).digest() for each in texts]
        with self._lock:
            counts = {mark: self._known[mark] for mark in marks if mark in self._known}
        new = {mark: text for mark, text in zip(marks, texts, strict=True) if mark not in counts}
        if new:
            counted = dict(zip(new, self._inner.count(list(new.values())), strict=True))
            counts |= counted
            with self._lock:
                self._known.update(counted)
        return [counts[mark] for mark in marks]


def choose_counter() -> TokenCounter:
    """Return tiktoken if it is installed and has its ranks on disk, else the vocabulary that ships with Keeps."""
    return RememberedCounts(_chosen())


def _chosen() -> TokenCounter:
    if not os.environ.get("TIKTOKEN_CACHE_DIR"):
        return LongestMatchCounter()
    try:
        return TiktokenCounter()
    except Exception as error:  # noqa: BLE001  not installed, or its ranks are not there: any failure means the same
        log().warning("tiktoken is not used", error=type(error).__name__)
        return LongestMatchCounter()

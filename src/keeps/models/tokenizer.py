"""Tokenizers of encoders."""

from __future__ import annotations

from typing import Any, Protocol

from keeps.models.wordpiece import Pieces, read_wordpiece
from keeps_client.errors import NotConfiguredError


class Tokenizer(Protocol):
    """Splits texts into the pieces of a vocabulary."""

    @property
    def vocabulary(self) -> dict[str, int]: ...

    @property
    def padding(self) -> int:
        """The number of the piece that fills a batch."""
        ...

    @property
    def start(self) -> list[int]:
        """The pieces before each text."""
        ...

    @property
    def end(self) -> list[int]:
        """The pieces after each text."""
        ...

    def encode(self, texts: list[str]) -> list[Pieces]:
        """Return the pieces of each text, without those around it."""
        ...


class LibraryTokenizer:
    """A tokenizer of the package `tokenizers`."""

    def __init__(self, tokenizer: str) -> None:
        read: Any = library().from_str(tokenizer)
        read.no_truncation()
        self.padding = int((read.padding or {}).get("pad_id", 0))
        read.no_padding()
        ends = read.encode("").ids
        self.start, self.end = (ends[:1], ends[1:]) if len(ends) > 1 else ([], ends)
        self._read = read

    @property
    def vocabulary(self) -> dict[str, int]:
        return self._read.get_vocab()

    def encode(self, texts: list[str]) -> list[Pieces]:
        """Return the pieces of each text, without those around it."""
        return [Pieces(entry.ids, entry.offsets) for entry in self._read.encode_batch(texts, add_special_tokens=False)]


def open_tokenizer(tokenizer: str, name: str) -> Tokenizer:
    """Return the tokenizer that a tokenizer.json describes.

    Raises NotConfiguredError if it cannot be read. `name`: the model in its message.
    """
    try:
        return read_wordpiece(tokenizer) or LibraryTokenizer(tokenizer)
    except NotConfiguredError:
        raise
    except Exception as error:
        raise NotConfiguredError(f"the tokenizer of {name} cannot be read: {error}") from None


def library() -> Any:
    """Return the class of the package `tokenizers`. Raises NotConfiguredError if it is not installed."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise NotConfiguredError(
            "the tokenizer of this model needs the package tokenizers: pip install 'keeps[hub]'"
        ) from None
    return Tokenizer

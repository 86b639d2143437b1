"""The own tokenizer gives the pieces and places of the package `tokenizers`."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any
from unicodedata import category, ucd_3_2_0

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from keeps.models.artifacts import read_tokenizer
from keeps.models.tokenizer import LibraryTokenizer, open_tokenizer
from keeps.models.wordpiece import CACHED_CHUNKS, Pieces, WordPiece, read_wordpiece
from keeps_client.errors import NotConfiguredError
from tests.ai import paragraphs


@cache
def own() -> WordPiece:
    read = read_wordpiece(read_tokenizer())
    assert read is not None
    return read


@cache
def library() -> Any:
    read = Tokenizer.from_str(read_tokenizer())
    read.no_truncation()
    read.no_padding()
    return read


def pieces_of_library(texts: list[str]) -> list[Pieces]:
    encodings = library().encode_batch(texts, add_special_tokens=False)
    return [Pieces(encoding.ids, encoding.offsets) for encoding in encodings]


def is_stable(character: str) -> bool:
    """Return whether the class of a character is the same in all versions of Unicode."""
    return "Cn" != category(character) == ucd_3_2_0.category(character) != "Cs"


def test_each_character_is_read_alike() -> None:
    codes = [*range(0x3000), *range(0x3000, 0x110000, 23)]
    characters = [character for character in map(chr, codes) if is_stable(character) and category(character) != "Co"]
    vocabulary = {character for piece in own().vocabulary for character in piece}
    texts = [f"{character} a{character}b" for character in [*vocabulary, *characters]]
    assert len(texts) > 10_000
    assert own().encode(texts) == pieces_of_library(texts)


def test_paragraphs_in_40_languages_are_read_alike() -> None:
    values = [value for value in vars(paragraphs).values() if isinstance(value, dict)]
    texts = [str(text) for value in values for text in value.values()]
    assert len(texts) > 40
    assert own().encode(texts) == pieces_of_library(texts)


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["[CLS]", "[SEP]", "[MASK]", "[cls]", "un", "É", "e\u0301", "각", "漢字", "\u200b"]),
            st.text(max_size=8),
            st.text("aeiouàéñöşßłİıΣς ,.'-\t\n\u00a0\u0300\u0327\u3099", max_size=12),
        ),
        max_size=20,
    )
)
def test_random_texts_are_read_alike(parts: list[str]) -> None:
    text = "".join(character for character in "".join(parts) if is_stable(character))
    assert own().encode([text, text]) == pieces_of_library([text, text])


def test_long_words_are_one_piece() -> None:
    texts = ["a" * 100, "a" * 101, "é" * 101, "x" * 10_000, "漢" * 1_000]
    assert own().encode(texts) == pieces_of_library(texts)


def test_the_cache_is_bounded() -> None:
    read = read_wordpiece(read_tokenizer())
    assert read is not None
    words = [word for word in read.vocabulary if word.isalpha()]
    read.encode([" ".join(map(change, words)) for change in (str.lower, str.title, str.upper)])
    assert 1_000 < len(read._chunks) <= CACHED_CHUNKS  # pyright: ignore[reportPrivateUsage]


def test_the_cache_has_no_words_of_users() -> None:
    read = read_wordpiece(read_tokenizer())
    assert read is not None
    read.encode(["The password is hunter2-Blue!9, said Zbigniew."])
    assert {"The", "is"} <= read._chunks.keys() <= {"The", "password", "is", "said"}  # pyright: ignore[reportPrivateUsage]


def test_ends_and_padding_are_those_of_the_library() -> None:
    wanted = LibraryTokenizer(read_tokenizer())
    assert (own().start, own().end, own().padding) == (wanted.start, wanted.end, wanted.padding)
    assert own().vocabulary == wanted.vocabulary


@pytest.mark.parametrize(
    "change",
    [
        {
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "lowercase": False,
            }
        },
        {"pre_tokenizer": {"type": "Whitespace"}},
    ],
)
def test_other_tokenizers_are_read_by_the_library(change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    other = json.dumps(json.loads(read_tokenizer()) | change)
    assert isinstance(open_tokenizer(other, "other"), LibraryTokenizer)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert isinstance(open_tokenizer(read_tokenizer(), "MiniLM"), WordPiece)
    with pytest.raises(NotConfiguredError, match=r"pip install 'keeps\[hub\]'"):
        open_tokenizer(other, "other")

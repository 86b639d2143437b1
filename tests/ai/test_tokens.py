"""Token counts: near those of GPT-4o's tokenizer in every script, and bounded for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.models import o200k
from keeps.models.o200k import LongestMatchCounter
from keeps.models.tokens import choose_counter
from keeps_client.errors import NotConfiguredError
from tests.ai.paragraphs import PARAGRAPHS

COUNTER = LongestMatchCounter()


@pytest.mark.parametrize("name", PARAGRAPHS)
def test_paragraph_counts_as_many_tokens_as_in_gpt_4o(name: str) -> None:
    tokens, text = PARAGRAPHS[name]
    assert 0.94 * tokens <= COUNTER.count([text])[0] <= 1.05 * tokens


@pytest.mark.parametrize("name", ["English", "Code", "Chinese", "Arabic", "Amharic", "Emoji"])
def test_common_languages_count_exactly(name: str) -> None:
    tokens, text = PARAGRAPHS[name]
    assert COUNTER.count([text]) == [tokens]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" ", 1),
        ("hello", 1),
        ("Hello, world!\n", 4),
        ("don't", 1),
        ("fooBarHTML2024", 5),
        ("a  b", 3),
        ("        indented", 3),
        ("line.\n\nline", 3),
        ("tab\there\r\n", 4),
        ("\ud800", 1),
    ],
)
def test_short_texts(text: str, tokens: int) -> None:
    assert COUNTER.count([text]) == [tokens]


@pytest.mark.parametrize("letter", ["a", "A", "ก", "龘", "ቤ", "🎂", " ", "\n", "7", "===-", "Aก", "\U000f0000", "a "])
def test_long_run_of_one_letter_is_counted(letter: str) -> None:
    text = letter * (200_000 // len(letter))
    (tokens,) = COUNTER.count([text])
    assert len(text) / 130 <= tokens <= len(text.encode())


@given(st.text(max_size=300))
def test_tokens_are_at_most_bytes(text: str) -> None:
    (tokens,) = LongestMatchCounter.count(COUNTER, [text])
    assert bool(text) <= tokens <= len(text.encode("utf-8", "replace"))


@given(st.lists(st.text("aä漢ก 1.\n", max_size=60), max_size=5))
def test_known_words_count_as_new_ones_do(texts: list[str]) -> None:
    first = COUNTER.count(texts)
    assert COUNTER.count(texts) == first == [COUNTER.count([text])[0] for text in texts]


def test_remembered_words_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(o200k, "CACHED_WORDS", 10)
    o200k.tokens_of_words().clear()
    text = " ".join(f"word{number}" for number in range(200))
    assert COUNTER.count([text]) == COUNTER.count([text])
    assert len(o200k.tokens_of_words()) <= 10


def test_counter_needs_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    assert choose_counter().name == "o200k_longest_match"


def test_counter_without_tiktoken_is_the_one_that_ships(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "/nowhere")
    monkeypatch.setitem(__import__("sys").modules, "tiktoken", None)
    assert choose_counter().name == "o200k_longest_match"


def test_damaged_vocabulary_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(o200k, "VOCABULARY_SHA256", "0" * 64)
    o200k.tokens_of_words.cache_clear()
    with pytest.raises(NotConfiguredError, match="reinstall"):
        LongestMatchCounter().count(["a"])

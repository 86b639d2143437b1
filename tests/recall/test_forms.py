"""Forms of texts: length stays with width, and cuts leave letters and emoji whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.text.forms import cut_at, known_form, plain_width
from keeps.base.text.words import words_of

CLUSTERS = [
    "👨‍👩‍👧‍👦",
    "👍🏽",
    "🇯🇵",
    "e\u0301",
    "✈️",
    "1️⃣",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "नि",
    "x",
]


@given(st.text(max_size=60))
def test_width_folding_keeps_offsets(text: str) -> None:
    assert len(plain_width(text)) == len(text)
    assert plain_width(plain_width(text)) == plain_width(text)


@given(st.lists(st.sampled_from(CLUSTERS), max_size=12), st.integers(0, 40))
def test_cut_keeps_grapheme_clusters_whole(clusters: list[str], most: int) -> None:
    text = "".join(clusters)
    whole = {len("".join(clusters[:count])) for count in range(len(clusters) + 1)}
    cut = cut_at(text, most)
    assert text.startswith(cut)
    assert len(cut) <= max(most, 0)
    assert len(cut) in whole or all(end > most for end in whole if end)


@given(st.text(max_size=60))
def test_known_form_is_idempotent(text: str) -> None:
    assert known_form(known_form(text)) == known_form(text)


@pytest.mark.parametrize("text", ["insur-\nance", "insur-\r\n  ance", "insur\u00ad\nance", "insur\u00adance"])
def test_word_broken_across_lines_is_found(text: str) -> None:
    assert "insurance" in words_of(f"The {text} is due.")


def test_hyphenated_words_stay_words() -> None:
    assert {"well", "known", "wellknown"} <= set(words_of("well-\nknown"))

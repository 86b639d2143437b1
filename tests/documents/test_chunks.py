"""Passages: every one a stretch of the text, none too long, and together with the gaps all of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from keeps.models.tokens import WordPieceCounter
from keeps.sources.documents import chunks
from keeps.sources.documents.parsers import Block, Kind

COUNTER = WordPieceCounter()
KINDS: list[Kind] = ["text", "heading", "item", "row", "code"]
WORDS = st.text("ab .!?é漢🔑\u200b", min_size=1, max_size=120).filter(lambda text: text.strip())
HEADINGS = st.sampled_from([(), ("A",), ("A", "B")])
BLOCKS = st.lists(st.builds(Block, WORDS, st.sampled_from(KINDS), HEADINGS, st.sampled_from([None, 1, 2])), max_size=30)


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def passages(blocks: Sequence[Block], limit: int = 12) -> tuple[str, list[chunks.Chunk]]:
    text, starts = chunks.joined(blocks)
    return text, chunks.cut(text, blocks, starts, "", words, limit)


@given(BLOCKS)
def test_passages_keep_text_and_order(blocks: list[Block]) -> None:
    text, found = passages(blocks)
    _, starts = chunks.joined(blocks)
    covered = set[int]()
    for each in found:
        assert 0 <= each.start < each.end <= len(text)
        covered |= set(range(each.start, each.end))
    assert [each.start for each in found] == sorted(each.start for each in found)
    for block, start in zip(blocks, starts, strict=True):
        inside = set(range(start, start + len(block.text)))
        if block.kind == "heading":
            assert not inside & covered, "a heading is said beside a passage, not in it"
        else:
            left = "".join(text[at] for at in sorted(inside - covered))
            assert not left.strip(), f"{left!r} is in no passage"


@given(BLOCKS)
def test_a_passage_stays_below_one_heading(blocks: list[Block]) -> None:
    text, found = passages(blocks)
    for each in found:
        assert "\n\n" not in text[each.start : each.end] or len(text[each.start : each.end].split()) <= 12


def test_rows_and_lines_of_code_are_not_cut() -> None:
    rows = [Block(f"name: n{number} | place: the town of number {number}", "row") for number in range(40)]
    text, found = passages(rows)
    lines = {row.text for row in rows}
    for each in found:
        assert set(text[each.start : each.end].split("\n")) <= lines


def test_long_paragraph_is_cut_at_sentences() -> None:
    sentences = [f"Sentence number {number} is here." for number in range(60)]
    text, starts = chunks.joined([Block(" ".join(sentences))])
    found = chunks.cut(text, [Block(text)], starts, "", words, 60)
    assert len(found) > 4
    for before, after in pairwise(found):
        assert text[after.start : after.end].startswith("Sentence number")
        assert before.end > after.start, "the last sentences come again"
        assert len(text[after.start : after.end].split()) <= 60


def test_text_without_spaces_is_cut() -> None:
    text, starts = chunks.joined([Block("x" * 10_000)])
    found = chunks.cut(text, [Block(text)], starts, "", lambda texts: [len(each) for each in texts], 256)
    assert "".join(text[each.start : each.end] for each in found) == text
    assert max(each.end - each.start for each in found) <= 256


@given(st.lists(st.text("ab. é漢🔑\n", max_size=60), max_size=8))
def test_words_counted_once_add_up(texts: list[str]) -> None:
    assert chunks.by_words(COUNTER.count)(texts) == COUNTER.count(texts)


def test_passage_ends_at_page_and_sentence_end() -> None:
    ended, going_on = ("word " * 69 + "end.", "word " * 69 + "and")
    for first, expected in ((ended, [1, 2]), (going_on, [1])):
        text, found = passages([Block(first, page=1), Block(ended, page=2)], limit=200)
        assert [each.page for each in found] == expected
        assert found[-1].end == len(text)
    _, found = passages([Block("Short.", page=1), Block(ended, page=2)], limit=200)
    assert [each.page for each in found] == [1], "what is too short to stand alone goes with the next page"

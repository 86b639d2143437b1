"""The page of a citation, from the sentence that answers and the page breaks inside the passage."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.memory.recall.passages import sentence_with_terms, sentences_of
from keeps.sources.documents import chunks
from keeps.sources.documents.citing import cited
from keeps.sources.documents.parsers import Block
from keeps.sources.documents.store import Around
from keeps_client.models import Citation

BEFORE = 700
"""Characters of the document before the passage."""


def place(content: str, *breaks: int, page: int | None = 4) -> Around:
    citation = Citation(
        document_id=UUID(int=1), title="Report", page=page, start=BEFORE, end=BEFORE + len(content), source=None
    )
    return Around(citation, None, None, tuple(BEFORE + each for each in breaks))


def page_of(content: str, quote: str, *breaks: int) -> int | None:
    start = content.index(quote)
    return cited(place(content, *breaks), content, (start, start + len(quote))).page


def break_at(content: str, quote: str) -> int:
    return content.index(quote)


def test_sentence_counts_from_the_page_it_begins_on() -> None:
    content = "One is here.\n\nTwo is here. Three is here.\n\nFour is here."
    breaks = break_at(content, "Two"), break_at(content, "Four")
    expected = {"One": 4, "Two": 5, "Three": 5, "Four": 6}
    assert {quote: page_of(content, quote, *breaks) for quote in expected} == expected


def test_blank_page_is_counted() -> None:
    content = "One is here.\n\nThree is here."
    at = break_at(content, "Three")
    assert page_of(content, "Three", at, at) == 6


@pytest.mark.parametrize(
    ("first", "second", "page"),
    [
        ("The key hangs", "behind the door.", 4),
        ("The key hangs behind the", "door. It is red.", 4),
        ("钥匙挂在", "门后面。", 4),
        ("The key hangs there.", "behind the door.", 5),
        ("Chapter one", "The key hangs there.", 5),
        ("Internal use", "The key hangs there.", 5),
        ("12", "the key hangs there.", 5),
        ("Price list:", "the key costs nine euros.", 5),
        ("The key (see below.)", "hangs behind the door.", 5),
    ],
)
def test_sentence_over_a_page_break(first: str, second: str, page: int) -> None:
    content = f"All is well. {first}\n\n{second}"
    at = len(content) - len(second)
    assert page_of(content, second[:4], at) == page


def test_sentence_over_three_pages_begins_on_the_first() -> None:
    content = "All is well. The key hangs\n\nbehind the blue\n\ncupboard there."
    assert page_of(content, "cupboard", break_at(content, "behind"), break_at(content, "cupboard")) == 4


def test_citation_falls_back_to_page_of_passage() -> None:
    content = "One is here.\n\nTwo is here."
    assert page_of(content, "Two") == 4
    assert cited(place(content, 14), content, None).page == 4
    assert cited(place(content, page=None), content, (14, 20)).page is None


def test_sentence_by_shared_words() -> None:
    text = "The barn is red.\n\nThe silo holds barley.\nThe barn and the silo were built in May."
    idf = {"silo": 2.0, "barley": 3.0, "barn": 1.0}
    found = sentence_with_terms(text, idf, "english")
    assert found is not None
    assert text[slice(*found)] == "The silo holds barley."
    assert sentence_with_terms(text, {"tractor": 2.0}, "english") is None


@given(st.text("ab .!?\n。漢", max_size=200))
def test_sentences_hold_all_that_is_written(text: str) -> None:
    spans = sentences_of(text)
    assert spans == sorted(spans)
    covered = {at for start, end in spans for at in range(start, end)}
    assert all(at in covered or character.isspace() for at, character in enumerate(text))


def test_lines_of_a_long_list_stand_for_themselves() -> None:
    lines = [f"item {number} of the list without a full stop" for number in range(40)]
    text = "\n".join(lines)
    assert [text[start:end] for start, end in sentences_of(text)] == lines


BLOCKS = st.lists(
    st.tuples(st.text("ab .", min_size=1, max_size=80).filter(str.strip), st.integers(0, 2)), min_size=1, max_size=20
)


@given(BLOCKS)
def test_page_breaks_give_the_page_of_each_character(parts: list[tuple[str, int]]) -> None:
    page, blocks = 1, list[Block]()
    for text, more in parts:
        page += more
        blocks.append(Block(text, page=page))
    text, starts = chunks.joined(blocks)
    found = chunks.cut(text, blocks, starts, "", lambda texts: [len(each.split()) for each in texts], 12)
    for block, start in zip(blocks, starts, strict=True):
        for chunk in found:
            if chunk.start <= start < chunk.end:
                assert chunk.page is not None
                assert chunk.page + sum(offset <= start for offset in chunk.page_breaks) == block.page

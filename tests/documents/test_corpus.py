"""The corpus: what a reader sees is read, what nobody sees is left out and counted."""

from __future__ import annotations

import re

import pytest

from keeps.sources.documents.parsers import parse
from tests.documents import corpus_docx, corpus_hiding, corpus_html, corpus_pdf, corpus_tables, corpus_text
from tests.documents.corpus import Case

CASES = (
    *corpus_html.CASES,
    *corpus_hiding.CASES,
    *corpus_docx.CASES,
    *corpus_tables.CASES,
    *corpus_text.CASES,
    *corpus_pdf.CASES,
)


def test_corpus_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 120


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reader_sees(case: Case) -> None:
    reading = parse(case.form, case.data, case.file)
    blocks = [" ".join(block.text.split()) for block in reading.blocks]
    text = "\n".join(blocks)
    notes = "\n".join(reading.notes)
    for shown in case.shown:
        assert any(shown in block for block in blocks), f"{shown!r} is not in {blocks}"
    for absent in case.absent:
        assert absent not in text, f"{absent!r} is in {blocks}"
    for once in case.once:
        assert len(re.findall(re.escape(once), text)) == 1, f"{once!r} is not once in {blocks}"
    for note in case.notes:
        assert note in notes, f"{note!r} is not in {reading.notes}"
    for note in case.unnoted:
        assert note not in notes, f"{note!r} is in {reading.notes}"
    assert (reading.hidden > 0) == case.hidden, reading.hidden

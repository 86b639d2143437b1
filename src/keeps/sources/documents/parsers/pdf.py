"""PDF: text by page, headings from the outline. Scanned pages have no text, and are reported.

Uses pypdfium2, or pypdf on machines without it.
"""

from __future__ import annotations

from typing import Protocol

from keeps.sources.documents.parsers import MAX_PAGES, NOTHING_READ, Reading, RefusedError
from keeps.sources.documents.parsers.hyphens import without_hyphens
from keeps.sources.documents.parsers.text import paragraphs

try:
    from keeps.sources.documents.parsers import pdf_by_pdfium as library
except ImportError:
    from keeps.sources.documents.parsers import pdf_by_pypdf as library

MAX_HEADINGS, OUTLINE_LEVELS = 5_000, 6
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "”", '"', ")")


class Pages(Protocol):
    """An open PDF, by either library."""

    pages_not_looked_at: int

    def __len__(self) -> int: ...

    @property
    def title(self) -> str | None: ...

    def outline(self, most: int, levels: int) -> dict[int, list[tuple[int, str]]]:
        """Return headings with their levels from 1, by the page index from 0 that they lead to."""
        ...

    def text(self, number: int) -> tuple[str, int]:
        """Return the text of a page, and the number of its invisible characters."""
        ...


def parse(data: bytes, reading: Reading) -> None:
    if b"%PDF-" not in data[:1_024]:
        raise RefusedError("its name says PDF, but it is not a PDF")
    document: Pages = library.opened(data)
    if len(document) > MAX_PAGES:
        raise RefusedError(f"it has {len(document):,} pages; the maximum is {MAX_PAGES:,}. Split it")
    reading.pages = len(document)
    reading.title = " ".join((document.title or "").split())[:500] or None
    outline = document.outline(MAX_HEADINGS, OUTLINE_LEVELS)
    pages: list[str] = []
    for number in range(len(document)):
        text, hidden = document.text(number)
        reading.hide(hidden)
        pages.append(text.replace("\r\n", "\n").replace("\r", "\n"))
    if document.pages_not_looked_at:
        reading.notes.append(f"some text may be hidden: {document.pages_not_looked_at:,} pages were not checked")
    reading.empty_pages = sum(not text.strip() for text in pages)
    for number, text in enumerate(without_hyphens(pages)):
        for level, said in outline.get(number, ()):
            reading.heading(level, said, number + 1)
        for paragraph in paragraphs(_broken(text)):
            reading.add(paragraph, page=number + 1)
    if reading.empty_pages == reading.pages and not reading.hidden:
        reading.notes.append(
            f"{NOTHING_READ}: none of its pages has text: it is a scan. Only its title and metadata are stored"
        )
    elif 0 < reading.empty_pages < reading.pages:
        reading.notes.append(f"{reading.empty_pages} of its {reading.pages} pages have no text: they are scans")


def _broken(text: str) -> str:
    """Split lines into paragraphs: one ends at a line much shorter than the longest that ends a sentence."""
    lines = text.split("\n")
    longest = max(map(len, lines), default=0)
    return "\n".join(
        f"{line}\n" if len(line) < 0.75 * longest and line.rstrip().endswith(_SENTENCE_ENDS) else line for line in lines
    )

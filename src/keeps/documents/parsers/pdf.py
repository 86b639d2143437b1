"""PDF: text by page, headings from the outline. What was scanned has no text, and is said to have none."""

from __future__ import annotations

import pypdfium2 as pdfium

from keeps.documents.parsers import MAX_PAGES, Reading, RefusedError
from keeps.documents.parsers.text import paragraphs

_SENTENCE_ENDS = (".", "!", "?", ":", ";", "”", '"', ")")


def parse(data: bytes, reading: Reading) -> None:
    if b"%PDF-" not in data[:1_024]:
        raise RefusedError("it is called a PDF, but is none")
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if "assword" in str(error):
            raise RefusedError("it is encrypted; save it without a password") from None
        raise RefusedError("it is a damaged PDF") from None
    if len(document) > MAX_PAGES:
        raise RefusedError(f"it has {len(document):,} pages; at most {MAX_PAGES:,} are read. Split it")
    reading.pages = len(document)
    reading.title = " ".join((document.get_metadata_value("Title") or "").split())[:500] or None
    outline = _outline(document)
    for number in range(len(document)):
        page = document[number]
        textpage = page.get_textpage()
        text = textpage.get_text_range().replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "-\n")
        for level, said in outline.get(number, ()):
            reading.heading(level, said, number + 1)
        if text.strip():
            for paragraph in paragraphs(_broken(text)):
                reading.add(paragraph, page=number + 1)
        else:
            reading.empty_pages += 1
        textpage.close()
        page.close()
    if reading.empty_pages == reading.pages:
        reading.notes.append("none of its pages has text: it was scanned. Only its title and metadata are stored")
    elif reading.empty_pages:
        reading.notes.append(f"{reading.empty_pages} of its {reading.pages} pages have no text: they were scanned")


def _outline(document: pdfium.PdfDocument) -> dict[int, list[tuple[int, str]]]:
    """Headings by the page that they lead to."""
    found: dict[int, list[tuple[int, str]]] = {}
    for count, item in enumerate(document.get_toc(max_depth=6)):
        if count > 5_000:
            break
        leads = item.get_dest()
        page = leads.get_index() if leads is not None else None
        title = " ".join((item.get_title() or "").split())
        if page is not None and title:
            found.setdefault(page, []).append((item.level + 1, title))
    return found


def _broken(text: str) -> str:
    """A PDF has lines, not paragraphs: one ends where a line is much shorter than the longest and ends a sentence."""
    lines = text.split("\n")
    longest = max(map(len, lines), default=0)
    return "\n".join(
        f"{line}\n" if len(line) < 0.75 * longest and line.rstrip().endswith(_SENTENCE_ENDS) else line for line in lines
    )

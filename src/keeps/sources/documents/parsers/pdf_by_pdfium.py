"""PDF by pypdfium2, Chromium's reader, about five times as fast as pypdf."""

from __future__ import annotations

from time import process_time

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from keeps.sources.documents.parsers import RefusedError
from keeps.sources.documents.parsers.pdf_hidden import visible_text
from keeps.sources.documents.parsers.pdf_seen import needs_picture, read_what_is_drawn

_MOST_SECONDS_OF_LOOKING = 10.0
"""Limit of processor time for visibility checks in one document."""


def opened(data: bytes) -> Pdf:
    try:
        return Pdf(pdfium.PdfDocument(data))
    except pdfium.PdfiumError as error:
        if "assword" in str(error):
            raise RefusedError("it is encrypted; save it without a password") from None
        raise RefusedError("it is a damaged PDF") from None


class Pdf:
    def __init__(self, document: pdfium.PdfDocument) -> None:
        self._document = document
        self._seconds_of_looking = 0.0
        self.pages_not_looked_at = 0

    def __len__(self) -> int:
        return len(self._document)

    @property
    def title(self) -> str | None:
        return self._document.get_metadata_value("Title")

    def outline(self, most: int, levels: int) -> dict[int, list[tuple[int, str]]]:
        headings: dict[int, list[tuple[int, str]]] = {}
        for count, item in enumerate(self._document.get_toc(max_depth=levels)):
            if count > most:
                break
            leads = item.get_dest()
            page = leads.get_index() if leads is not None else None
            title = " ".join((item.get_title() or "").split())
            if page is not None and title:
                headings.setdefault(page, []).append((item.level + 1, title))
        return headings

    def text(self, number: int) -> tuple[str, int]:
        page = self._document[number]
        if raw.FPDFPage_GetAnnotCount(page) > 0:
            _remove_unseen_notes(page)
            raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)  # Values of form fields become text.
            page.close()
            page = self._document[number]
        read_what_is_drawn(page)
        textpage = page.get_textpage()
        look = needs_picture(page)
        if look and self._seconds_of_looking > _MOST_SECONDS_OF_LOOKING:
            look = False
            self.pages_not_looked_at += 1
        before = process_time()
        text, hidden = visible_text(page, textpage, look=look)
        self._seconds_of_looking += process_time() - before
        textpage.close()
        page.close()
        return text.replace("\ufffe", "-\n"), hidden  # A word continues on the next line.


def _remove_unseen_notes(page: pdfium.PdfPage) -> None:
    """Remove hidden annotations, since flattening a page would show some of them."""
    for at in range(raw.FPDFPage_GetAnnotCount(page) - 1, -1, -1):
        note = raw.FPDFPage_GetAnnot(page, at)
        if not note:
            continue
        flags = raw.FPDFAnnot_GetFlags(note)
        raw.FPDFPage_CloseAnnot(note)
        if flags & (raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW):
            raw.FPDFPage_RemoveAnnot(page, at)

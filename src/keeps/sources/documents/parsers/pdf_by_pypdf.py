"""PDF by pypdf, in pure Python, for machines without a wheel of pypdfium2."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pypdf
from pypdf.errors import PyPdfError

from keeps.sources.documents.parsers import RefusedError


def opened(data: bytes) -> Pdf:
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            raise RefusedError("it is encrypted; save it without a password")
        return Pdf(reader)
    except (PyPdfError, ValueError, TypeError, KeyError, AttributeError):  # pypdf raises all of these for broken files.
        raise RefusedError("it is a damaged PDF") from None


class Pdf:
    def __init__(self, reader: pypdf.PdfReader) -> None:
        self._reader = reader
        self.pages_not_looked_at = 0
        self._pages = list(reader.pages)

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def title(self) -> str | None:
        told = self._reader.metadata
        return told.title if told is not None else None

    def outline(self, most: int, levels: int) -> dict[int, list[tuple[int, str]]]:
        headings: dict[int, list[tuple[int, str]]] = {}
        for count, (level, item) in enumerate(_flat(self._reader.outline, 1, levels)):
            if count > most:
                break
            page = self._reader.get_destination_page_number(item)
            title = " ".join(str(item.title or "").split())
            if page is not None and title:
                headings.setdefault(page, []).append((level, title))
        return headings

    def text(self, number: int) -> tuple[str, int]:
        return self._pages[number].extract_text(), 0  # pypdf does not report which text is visible.


def _flat(items: list[Any], level: int, levels: int) -> Iterator[tuple[int, Any]]:
    """Flatten an outline. pypdf gives the entries below a heading as a list after it."""
    for item in items:
        if not isinstance(item, list):
            yield level, item
        elif level < levels:
            yield from _flat(item, level + 1, levels)  # pyright: ignore[reportUnknownArgumentType]

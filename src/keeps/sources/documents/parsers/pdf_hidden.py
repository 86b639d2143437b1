"""Invisible text of a PDF: white on white, transparent, too small, off the page, or not drawn."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from keeps.sources.documents.parsers.pdf_seen import unseen_objects

_UNREADABLE_POINTS, _WHITE, _TRANSPARENT = 1.5, 250, 5
_INVISIBLE = 3
_OUTLINED = (1, 2, 5, 6)
_LEAST_COVERED = 0.5
_MOST_COMPARED = 2_000_000
_MOST_NESTED = 8
_LEAST_OF_A_SCAN = 0.4
"""Minimum share of the page covered by a scanned picture, whose recognised text lies over it invisibly."""
_PAINTED = (raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_SHADING)
Box = tuple[float, float, float, float]


def visible_text(page: pdfium.PdfPage, textpage: pdfium.PdfTextPage, *, look: bool) -> tuple[str, int]:
    """Return the visible text of a page, and the number of invisible characters.

    `look`: also check a rendered picture of the page.
    """
    hidden, recognised = _hidden_objects(page)
    if look:
        hidden |= unseen_objects(page, textpage) - recognised
    if not hidden:
        return textpage.get_text_range(), 0
    parts: list[str] = []
    start, count, left_out = 0, textpage.count_chars(), 0
    for at in range(count + 1):
        if at < count and not _is_of(textpage, at, hidden):
            continue
        if at > start:
            parts.append(textpage.get_text_range(start, at - start))
        start = at + 1
        left_out += at < count and bool(textpage.get_text_range(at, 1).strip())
    return "".join(parts), left_out


def _is_of(textpage: pdfium.PdfTextPage, at: int, objects: set[int]) -> bool:
    handle = raw.FPDFText_GetTextObject(textpage, at)
    return bool(handle) and ctypes.addressof(handle.contents) in objects


def _hidden_objects(page: pdfium.PdfPage) -> tuple[set[int], set[int]]:
    """Return the addresses of invisible text objects, and of text recognised in a scan."""
    box: Box = page.get_bbox()
    hidden: set[int] = set()
    white: list[Any] = []
    invisible: dict[int, Any] = {}
    seen = 0
    for text in page.get_objects(filter=(raw.FPDF_PAGEOBJ_TEXT,), max_depth=_MOST_NESTED):
        address = ctypes.addressof(text.raw.contents)
        colour = _fill(text)
        if raw.FPDFTextObj_GetTextRenderMode(text) == _INVISIBLE:
            invisible[address] = text
        elif (colour and colour[3] < _TRANSPARENT) or _is_tiny(text) or (text.level == 0 and _is_outside(text, box)):
            hidden.add(address)
        elif colour and min(colour[:3]) >= _WHITE and not _is_outlined(text):
            white.append(text)
        else:
            seen += 1
    if white:
        painted = list(_painted(page, box))
        if len(painted) * len(white) <= _MOST_COMPARED:
            hidden |= {ctypes.addressof(text.raw.contents) for text in white if not _is_on(text, painted)}
        seen += len(white) - sum(ctypes.addressof(text.raw.contents) in hidden for text in white)
    if not invisible:
        return hidden, set()
    scans = _scans(page, box)
    recognised = {address for address, text in invisible.items() if not seen or _is_over(text, scans)}
    return hidden | (invisible.keys() - recognised), recognised


def _is_outlined(text: Any) -> bool:
    return raw.FPDFTextObj_GetTextRenderMode(text) in _OUTLINED


def _fill(item: Any) -> tuple[int, int, int, int] | None:
    """Return red, green, blue and alpha, each from 0 to 255; None for patterns."""
    values = [ctypes.c_uint() for _ in range(4)]
    if not raw.FPDFPageObj_GetFillColor(item, *values):
        return None
    red, green, blue, alpha = (value.value for value in values)
    return red, green, blue, alpha


def _is_tiny(text: Any) -> bool:
    size = ctypes.c_float()
    if not raw.FPDFTextObj_GetFontSize(text, size):
        return False
    matrix = text.get_matrix()
    scale = max(abs(matrix.c) + abs(matrix.d), abs(matrix.a) + abs(matrix.b))
    return abs(size.value) * scale < _UNREADABLE_POINTS and text.level == 0


def _is_outside(text: Any, box: Box) -> bool:
    left, bottom, right, top = text.get_bounds()
    return right <= box[0] or left >= box[2] or top <= box[1] or bottom >= box[3]


def _painted(page: pdfium.PdfPage, box: Box) -> Iterator[Box]:
    """Return the areas of the page that are not white. Contents of a form may lie anywhere on it."""
    for item in page.get_objects(filter=_PAINTED, max_depth=_MOST_NESTED):
        if raw.FPDFPageObj_GetType(item) == raw.FPDF_PAGEOBJ_PATH:
            mode, stroke = ctypes.c_int(), ctypes.c_int()
            raw.FPDFPath_GetDrawMode(item, mode, stroke)
            colour = _fill(item)
            if not mode.value or (colour and (min(colour[:3]) >= _WHITE or colour[3] < _TRANSPARENT)):
                continue
        yield item.get_bounds() if item.level == 0 else box


def _is_on(text: Any, boxes: list[Box]) -> bool:
    if text.level:
        return bool(boxes)
    left, bottom, right, top = text.get_bounds()
    covered = sum(
        max(min(right, box[2]) - max(left, box[0]), 0) * max(min(top, box[3]) - max(bottom, box[1]), 0) for box in boxes
    )
    return covered >= _LEAST_COVERED * (right - left) * (top - bottom)


def _is_over(text: Any, boxes: list[Box]) -> bool:
    left, bottom, right, top = _on_page(text)
    x, y = (left + right) / 2, (bottom + top) / 2
    return any(box[0] <= x <= box[2] and box[1] <= y <= box[3] for box in boxes)


def _scans(page: pdfium.PdfPage, box: Box) -> list[Box]:
    """Return the areas of pictures that cover much of a page."""
    area = max((box[2] - box[0]) * (box[3] - box[1]), 1.0)
    scans: list[Box] = []
    for image in page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE,), max_depth=_MOST_NESTED):
        left, bottom, right, top = _on_page(image)
        width, height = min(right, box[2]) - max(left, box[0]), min(top, box[3]) - max(bottom, box[1])
        scans.append((left, bottom, right, top) if width > 0 and height > 0 else (0, 0, 0, 0))
        area -= max(width, 0) * max(height, 0) / _LEAST_OF_A_SCAN
    return scans if area <= 0 else []


def _on_page(item: Any) -> Box:
    """Return the position of an object on its page, through the forms that contain it."""
    left, bottom, right, top = item.get_bounds()
    corners = [(left, bottom), (left, top), (right, bottom), (right, top)]
    container = item.container
    while container is not None:
        matrix = container.get_matrix()
        corners = [matrix.on_point(*corner) for corner in corners]
        container = container.container
    across, up = [corner[0] for corner in corners], [corner[1] for corner in corners]
    return min(across), min(up), max(across), max(up)

"""PDF text that the rendered page does not show: covered, clipped, switched off, or the colour of its background."""

from __future__ import annotations

import ctypes
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

_MOST_PIXELS, _LEAST_SCALE = 4_000_000, 0.5
_FLAT = 8
"""Difference, of 255 steps, below which parts of a picture look the same."""
_LEAST_SIDE, _FEW_LETTERS = 4, 2
_PALE = 230
_NARROW_POINTS, _LEAST_HEIGHT, _LEAST_WIDTH = 1.0, 0.8, 0.2
_LATIN, _SIGNS = 0x250, range(0x2000, 0x2070)
_LONG_ACTUAL_TEXT = 3
Box = tuple[float, float, float, float]


def read_what_is_drawn(page: pdfium.PdfPage) -> None:
    """Remove replacement texts of drawings, except single letters and hyphens."""
    for text in page.get_objects(filter=(raw.FPDF_PAGEOBJ_TEXT,), max_depth=8):
        for at in range(max(raw.FPDFPageObj_CountMarks(text), 0)):
            mark = raw.FPDFPageObj_GetMark(text, at)
            length = ctypes.c_ulong()
            if raw.FPDFPageObjMark_GetParamStringValue(mark, b"ActualText", None, 0, length) and length.value > 2 * (
                _LONG_ACTUAL_TEXT + 1
            ):
                raw.FPDFPageObjMark_RemoveParam(text, mark, b"ActualText")


def needs_picture(page: pdfium.PdfPage) -> bool:
    """Return whether a page contains anything that could hide text."""
    for item in page.get_objects(max_depth=1):
        if raw.FPDFPageObj_GetType(item) != raw.FPDF_PAGEOBJ_TEXT:
            return True
        if raw.FPDFTextObj_GetTextRenderMode(item) != raw.FPDF_TEXTRENDERMODE_FILL:
            return True
        left, _, right, _ = item.get_bounds()
        if right - left < _NARROW_POINTS or _is_pale(item):
            return True
        clip = raw.FPDFPageObj_GetClipPath(item)
        if raw.FPDFPageObj_CountMarks(item) > 0 or (clip and raw.FPDFClipPath_CountPaths(clip) > 0):
            return True
    return False


def _is_pale(text: Any) -> bool:
    values = [ctypes.c_uint() for _ in range(4)]
    if not raw.FPDFPageObj_GetFillColor(text, *values):
        return True
    return min(value.value for value in values[:3]) >= _PALE or values[3].value <= 255 - _PALE


def unseen_objects(page: pdfium.PdfPage, textpage: pdfium.PdfTextPage) -> set[int]:
    """Return the addresses of text objects where the rendered page has a single colour."""
    width, height = page.get_size()
    scale = min(1.0, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
    if scale < _LEAST_SCALE:
        return set()
    boxes = _boxes(textpage)
    if not boxes:
        return set()
    bitmap = page.render(scale=scale, rev_byteorder=True, may_draw_forms=False)  # pyright: ignore[reportArgumentType]
    try:
        picture = _Picture(bitmap)
        return {
            address
            for address, (box, letters) in boxes.items()
            if _is_tiny(box, letters) or picture.is_flat(_place(page, picture, box), letters <= _FEW_LETTERS)
        }
    finally:
        bitmap.close()


def _is_tiny(box: Box, letters: int) -> bool:
    """Return whether several letters are too low or too narrow to read."""
    low, narrow = box[3] - box[1], (box[2] - box[0]) / max(letters, 1)
    return letters > _FEW_LETTERS and (low < _LEAST_HEIGHT or narrow < _LEAST_WIDTH)


def _boxes(textpage: pdfium.PdfTextPage) -> dict[int, tuple[Box, int]]:
    """Return the position of each text object on the page, and its number of letters and digits.

    Objects with letters that fonts on this machine may lack are left out.
    """
    boxes: dict[int, tuple[Box, int]] = {}
    foreign: set[int] = set()
    values = [ctypes.c_double() for _ in range(4)]
    for at in range(textpage.count_chars()):
        letter = raw.FPDFText_GetUnicode(textpage, at)
        handle = raw.FPDFText_GetTextObject(textpage, at)
        if not handle or letter <= 32 or letter == 0xA0:
            continue
        address = ctypes.addressof(handle.contents)
        if (
            letter >= _LATIN
            and letter not in _SIGNS
            and not raw.FPDFFont_GetIsEmbedded(raw.FPDFTextObj_GetFont(handle))
        ):
            foreign.add(address)
        if not raw.FPDFText_GetCharBox(textpage, at, *values):
            continue
        left, right, bottom, top = (value.value for value in values)
        box, count = boxes.get(address, ((left, bottom, right, top), 0))
        joined = (min(box[0], left), min(box[1], bottom), max(box[2], right), max(box[3], top))
        boxes[address] = (joined, count + chr(letter).isalnum())
    return {address: found for address, found in boxes.items() if address not in foreign}


def _place(page: pdfium.PdfPage, picture: _Picture, box: Box) -> tuple[int, int, int, int]:
    """Return the corners of a box in the rendered page."""
    x, y = ctypes.c_int(), ctypes.c_int()
    places: list[tuple[int, int]] = []
    for corner in ((box[0], box[1]), (box[2], box[3])):
        raw.FPDF_PageToDevice(page, 0, 0, picture.width, picture.height, 0, *corner, x, y)
        places.append((x.value, y.value))
    (left, top), (right, bottom) = places
    return min(left, right), min(top, bottom), max(left, right) + 1, max(top, bottom) + 1


class _Picture:
    def __init__(self, bitmap: Any) -> None:
        self.width: int = bitmap.width
        self.height: int = bitmap.height
        self._stride: int = bitmap.stride
        self._channels: int = bitmap.n_channels
        self._pixels = bytes(bitmap.buffer)

    def is_flat(self, place: tuple[int, int, int, int], few: bool) -> bool:
        """Return whether a part has a single colour; for few or thin letters, including its surroundings."""
        left, top, right, bottom = place
        around = 1 if few or min(right - left, bottom - top) < _LEAST_SIDE else 0
        left, top = max(left - around, 0), max(top - around, 0)
        right, bottom = min(right + around, self.width), min(bottom + around, self.height)
        if left >= right or top >= bottom:
            return True
        least, most = [255] * 3, [0] * 3
        for row in range(top, bottom):
            start = row * self._stride
            line = self._pixels[start + left * self._channels : start + right * self._channels]
            for channel in range(min(self._channels, 3)):
                part = line[channel :: self._channels]
                least[channel] = min(least[channel], min(part))
                most[channel] = max(most[channel], max(part))
                if most[channel] - least[channel] > _FLAT:
                    return False
        return True

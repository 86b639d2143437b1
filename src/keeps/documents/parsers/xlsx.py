"""Excel: each sheet a heading, each row with the names of its columns, values as their cells show them."""

from __future__ import annotations

import io
import posixpath
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import openpyxl
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from openpyxl.formula.translate import Translator
from openpyxl.utils import coordinate_to_tuple

from keeps.documents.parsers import Reading, RefusedError
from keeps.documents.parsers.cell_formats import shown
from keeps.documents.parsers.office import checked
from keeps.documents.parsers.sheets import SheetReader, Value

MAX_EMPTY_ROWS, MAX_HIDDEN_COLUMNS = 1_000, 16_384
"""A sheet may declare a million rows and hold none: it ends after this many empty ones."""
_WHITE = "FFFFFF"
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SHAPE = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}sp"


@dataclass(slots=True)
class _Marks:
    """Properties of a sheet that openpyxl does not report: hidden rows and columns, formulas without a value."""

    rows: set[int] = field(default_factory=set[int])
    columns: set[int] = field(default_factory=set[int])
    formulas: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])


@dataclass(frozen=True, slots=True)
class _Look:
    number_format: str
    bold: bool
    hidden: bool


def parse(data: bytes, reading: Reading) -> None:
    file = checked(data, "xl/workbook.xml", "an Excel file")
    warnings.simplefilter("ignore")
    try:
        book: Any = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except (ValueError, KeyError, OSError) as error:
        raise RefusedError(f"it is a damaged Excel file ({type(error).__name__})") from None
    reading.title = " ".join((book.properties.title or "").split())[:500] or None
    archive = zipfile.ZipFile(io.BytesIO(data))
    hidden: list[str] = []
    formulas = 0
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            hidden.append(sheet.title)
            sheet.reset_dimensions()
            reading.hide(sum(len(str(value)) for row in sheet.values for value in row if value is not None))
            continue
        formulas += _sheet(sheet, archive, reading)
    book.close()
    if hidden:
        reading.notes.append(f"hidden sheets were not read: {', '.join(hidden[:10])}")
    if formulas:
        reading.notes.append(
            f"{formulas:,} formulas have no value in the file: each formula is stored as it is written;"
            " save the file in a spreadsheet program to store values"
        )
    names = archive.namelist()
    reading.leave_out("charts", sum(name.startswith("xl/charts/chart") for name in names))
    reading.leave_out("pictures", sum(name.startswith("xl/media/") for name in names))
    for name in names:
        if name.startswith("xl/comments") and name.endswith(".xml"):
            reading.leave_out("comments", sum(1 for _ in _tree(archive, name).iter(f"{_SHEET}comment")))


def _sheet(sheet: Any, archive: zipfile.ZipFile, reading: Reading) -> int:
    """Read a sheet. Return the number of formulas without a value."""
    path: str = sheet._worksheet_path
    marks = _marks(archive, path)
    before = len(reading.blocks)
    reading.heading(1, sheet.title)
    sheet.reset_dimensions()  # some programs write a wrong one, and what lies outside of it would be left out
    SheetReader(reading, first_row_names=False).read(_rows(sheet, marks, reading))
    for paragraph in _shapes(archive, path):
        reading.add(paragraph)
    if len(reading.blocks) == before + 1:
        reading.blocks.pop()  # the name of an empty sheet
    return len(marks.formulas)


def _rows(sheet: Any, marks: _Marks, reading: Reading) -> Iterator[list[Value]]:
    looks: dict[int, _Look] = {}
    empty = 0
    for number, row in enumerate(sheet.iter_rows(), 1):
        values: list[Value] = []
        for column, cell in enumerate(row, 1):
            value = cell.value
            is_text = isinstance(value, str)
            if value is None and marks.formulas:
                value = marks.formulas.get((number, column))
            if value is None or value == "":
                values.append(Value())
                continue
            style = cell._style_id if hasattr(cell, "_style_id") else 0
            look = looks.get(style)
            if look is None:
                look = looks[style] = _look(cell)
            text = shown(value, look.number_format)
            if look.hidden or text is None or number in marks.rows or column in marks.columns:
                reading.hide(len(str(value)))
                values.append(Value())
            else:
                values.append(Value(" ".join(text.split()), is_text=is_text, bold=look.bold))
        empty = 0 if any(value.text for value in values) else empty + 1
        if empty > MAX_EMPTY_ROWS:
            return
        if number not in marks.rows:
            yield values


def _look(cell: Any) -> _Look:
    font, fill = cell.font, cell.fill
    behind = _WHITE if fill.fill_type is None else _rgb(fill.fgColor) if fill.fill_type == "solid" else None
    hidden = behind is not None and font is not None and _rgb(font.color) == behind
    return _Look(cell.number_format or "General", bool(font and font.b), hidden)


def _rgb(colour: Any) -> str | None:
    """Return a colour in hexadecimal; None if only the theme of the file defines it."""
    if colour is None:
        return None
    if colour.type == "theme":
        return _WHITE if colour.theme == 0 and not colour.tint else None  # the first one is the paper's
    return colour.rgb[-6:].upper() if isinstance(colour.rgb, str) else None


def _marks(archive: zipfile.ZipFile, path: str) -> _Marks:
    marks = _Marks()
    content = archive.read(path)
    if b"hidden=" not in content and b"<f" not in content:
        return marks
    shared: dict[str, tuple[str, str]] = {}
    tags = (f"{_SHEET}col", f"{_SHEET}row", f"{_SHEET}c")
    row = 0
    # A row without a number is the one after the row before.
    for event, element in etree.iterparse(
        io.BytesIO(content), events=("start", "end"), tag=tags, resolve_entities=False, no_network=True
    ):
        tag = element.tag
        if event == "start":
            if tag == f"{_SHEET}row":
                row = int(element.get("r") or row + 1)
                if element.get("hidden") in ("1", "true"):
                    marks.rows.add(row)
        elif tag == f"{_SHEET}col":
            if element.get("hidden") in ("1", "true"):
                last = min(int(element.get("max", "0")), MAX_HIDDEN_COLUMNS)
                marks.columns.update(range(int(element.get("min", "1")), last + 1))
        elif tag == f"{_SHEET}c":
            _formula(element, marks, shared)
        else:
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
    return marks


def _formula(cell: Any, marks: _Marks, shared: dict[str, tuple[str, str]]) -> None:
    """Store a formula whose value is not in the file."""
    formula = cell.find(f"{_SHEET}f")
    place = cell.get("r")
    if formula is None or not place:
        return
    text = formula.text or ""
    group = formula.get("si")
    if group is not None and text:
        shared[group] = (text, place)
    value = cell.find(f"{_SHEET}v")
    if cell.get("t") == "str" or (value is not None and value.text):
        return
    if not text and group in shared:
        first, origin = shared[group]
        text = Translator(f"={first}", origin=origin).translate_formula(place)
    if text:
        marks.formulas[coordinate_to_tuple(place)] = f"={text.removeprefix('=')}"


def _shapes(archive: zipfile.ZipFile, path: str) -> Iterator[str]:
    """Return the paragraphs of the boxes drawn on a sheet."""
    folder, name = posixpath.split(path)
    relations = f"{folder}/_rels/{name}.rels"
    if relations not in archive.namelist():
        return
    for relation in _tree(archive, relations):
        if relation.get("Type", "").endswith("/drawing"):
            target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", "")))[1:]
            if target in archive.namelist():
                for shape in _tree(archive, target).iter(_SHAPE):
                    for paragraph in shape.iter(f"{_DRAWING}p"):
                        yield "".join(paragraph.itertext(f"{_DRAWING}t"))


def _tree(archive: zipfile.ZipFile, name: str) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    return etree.fromstring(archive.read(name), parser)

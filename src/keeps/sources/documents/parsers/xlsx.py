"""Excel: a heading for each sheet, rows with column names, values as their cells display them."""

from __future__ import annotations

import io
import posixpath
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from typing import Any

import openpyxl
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.worksheet._reader import WorkSheetParser

from keeps.sources.documents.parsers import Reading, RefusedError
from keeps.sources.documents.parsers.cell_formats import colour_name, shown
from keeps.sources.documents.parsers.office import checked
from keeps.sources.documents.parsers.sheets import SheetReader, Value
from keeps.sources.documents.parsers.xlsx_looks import Look, Palette, is_tiny, named
from keeps.sources.documents.parsers.xlsx_marks import Covered, Marks, marks

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SHAPE = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}sp"
_IN_DOUBT = "some text may be hidden"


def parse(data: bytes, reading: Reading) -> None:
    file = checked(data, "xl/workbook.xml", "an Excel file")
    warnings.simplefilter("ignore")
    try:
        book: Any = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False, rich_text=True)
    except (ValueError, KeyError, OSError) as error:
        raise RefusedError(f"it is a damaged Excel file ({type(error).__name__})") from None
    reading.title = " ".join((book.properties.title or "").split())[:500] or None
    archive = zipfile.ZipFile(io.BytesIO(data))
    hidden: list[str] = []
    formulas = 0
    palette = Palette(book)
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            hidden.append(sheet.title)
            sheet.reset_dimensions()
            reading.hide(sum(len(str(value)) for row in sheet.values for value in row if value is not None))
            continue
        formulas += _sheet(sheet, archive, palette, reading)
    book.close()
    if hidden:
        reading.notes.append(f"hidden sheets were not read: {', '.join(hidden[:10])}")
    if formulas:
        reading.notes.append(
            f"{formulas:,} formulas have no value in the file: the formula itself is stored; save the file in a"
            " spreadsheet program to store values"
        )
    names = archive.namelist()
    reading.leave_out("charts", sum(name.startswith("xl/charts/chart") for name in names))
    reading.leave_out("pictures", sum(name.startswith("xl/media/") for name in names))
    for name in names:
        if name.startswith("xl/comments") and name.endswith(".xml"):
            reading.leave_out("comments", sum(1 for _ in _tree(archive, name).iter(f"{_SHEET}comment")))


def _sheet(sheet: Any, archive: zipfile.ZipFile, palette: Palette, reading: Reading) -> int:
    """Read a sheet. Return the number of formulas without a value."""
    path: str = sheet._worksheet_path
    marked = marks(archive, path)
    if marked.has_conditions:
        _doubt(reading, "conditional formats were not applied")
    before = len(reading.blocks)
    reading.heading(1, sheet.title)
    rows = _SheetRows(sheet, marked, palette, reading)
    SheetReader(reading, first_row_names=False).read(rows.shown())
    for paragraph in _shapes(archive, path):
        reading.add(paragraph)
    if len(reading.blocks) == before + 1:
        reading.blocks.pop()  # The name of an empty sheet.
    return len(marked.formulas)


class _SheetRows:
    """The rows of a sheet as displayed, with one empty row in place of any gap."""

    def __init__(self, sheet: Any, marked: Marks, palette: Palette, reading: Reading) -> None:
        self._sheet = sheet
        self._marks = marked
        self._palette = palette
        self._reading = reading
        self._places = marked.places()
        self._width = max(self._places.values(), default=-1) + 1
        self._covered = Covered(marked.merged)
        self._looks: dict[int, Look] = {}

    def shown(self) -> Iterator[list[Value]]:
        before = 0
        with self._sheet._get_source() as source:
            for number, cells in self._rows(source):
                if number > before + 1:
                    yield []
                before = number
                self._covered.move(number)
                values = [Value()] * self._width
                for cell in cells:
                    if cell["column"] in self._places:
                        values[self._places[cell["column"]]] = self._value(number, cell)
                if number not in self._marks.rows:
                    yield values

    def _rows(self, source: Any) -> Iterable[tuple[int, list[dict[str, Any]]]]:
        book = self._sheet.parent
        parser = WorkSheetParser(
            source,
            self._sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
            rich_text=True,
        )
        if self._marks.is_sorted:
            return parser.parse()
        rows: dict[int, list[dict[str, Any]]] = {}
        for number, cells in parser.parse():
            rows.setdefault(number, []).extend(cells)
        return sorted(rows.items())

    def _value(self, row: int, cell: dict[str, Any]) -> Value:
        column, value = cell["column"], cell["value"]
        is_text = isinstance(value, str | CellRichText)
        if value is None and self._marks.formulas:
            value = self._marks.formulas.get((row, column))
        if value is None or value == "":
            return Value()
        if row in self._marks.rows or column in self._marks.columns or self._covered.has(row, column):
            self._reading.hide(len(str(value)))
            return Value()
        look = self._look(cell)
        if isinstance(value, CellRichText):
            value = self._seen(value, look)
        elif look.hides(colour=named(colour_name(value, look.number_format))):
            self._reading.hide(len(str(value)))
            return Value()
        text = shown(value, look.number_format)
        if text is None or (isinstance(value, str) and value not in text):
            self._reading.hide(len(str(value)))  # The format shows other text, or none.
        if look.is_doubtful:
            _doubt(self._reading, "a colour is unknown")
        return Value(" ".join((text or "").split()), is_text=is_text, bold=look.bold)

    def _seen(self, value: CellRichText, look: Look) -> str:
        """Return the visible parts of a text with several looks."""
        parts: list[str] = []
        for part in value:
            font = part.font if isinstance(part, TextBlock) else None
            colour = self._palette.colour(font.color, "000000") if font is not None else None
            tiny = is_tiny(font.sz) if font is not None else None
            text = part.text if isinstance(part, TextBlock) else str(part)
            if look.hides(colour=colour, tiny=tiny):
                self._reading.hide(len(text.strip()))
            else:
                parts.append(text)
        return "".join(parts)

    def _look(self, cell: dict[str, Any]) -> Look:
        style = cell["style_id"]
        if style not in self._looks:
            self._looks[style] = self._palette.look(ReadOnlyCell(self._sheet, **cell))
        return self._looks[style]


def _doubt(reading: Reading, reason: str) -> None:
    note = f"{_IN_DOUBT}: {reason}"
    if note not in reading.notes:
        reading.notes.append(note)


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

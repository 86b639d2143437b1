"""Excel and CSV files."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from typing import Any

import openpyxl
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.formatting.rule import Rule
from openpyxl.styles import Color, Font, PatternFill
from openpyxl.styles.differential import DifferentialStyle

from tests.documents.corpus import Case

Sheet = Any


def _book(change: Callable[[Any], None], *rows: Iterable[object]) -> bytes:
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.title = "Sales"
    for row in rows:
        sheet.append(list(row))
    change(book)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _rewritten(data: bytes, part: str, old: str, new: str) -> bytes:
    """The file with a change in the XML of one part, which openpyxl would not write."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            content = before.read(name)
            if name == part:
                changed = re.sub(old, new, content.decode())
                assert changed != content.decode()
                content = changed.encode()
            after.writestr(name, content)
    return file.getvalue()


def _nothing(book: Any) -> None:
    """Change nothing."""


def _format(value: object, number_format: str) -> bytes:
    def change(book: Any) -> None:
        book.active["B2"].number_format = number_format

    return _book(change, ("item", "value"), ("tea", value))


def _hide(*, sheet: str = "", row: int = 0, column: str = "", state: str = "hidden") -> Callable[[Any], None]:
    def change(book: Any) -> None:
        if sheet:
            made = book.create_sheet(sheet)
            made.append(["SECRET", 5])
            made.sheet_state = state
        if row:
            book.active.row_dimensions[row].hidden = True
        if column:
            book.active.column_dimensions[column].hidden = True

    return change


def _bold(*rows: int) -> Callable[[Any], None]:
    def change(book: Any) -> None:
        for row in rows:
            for cell in book.active[row]:
                cell.font = Font(bold=True)

    return change


def _merge(book: Any) -> None:
    book.active.merge_cells("A2:A3")
    book.active.merge_cells("B1:C1")


def _white(book: Any) -> None:
    book.active["B2"].font = Font(color=Color(rgb="FFFFFFFF"))


def _styled(font: Font | None = None, fill: PatternFill | None = None) -> Callable[[Any], None]:
    def change(book: Any) -> None:
        cell = book.active["B2"]
        if font is not None:
            cell.font = font
        if fill is not None:
            cell.fill = fill

    return change


def _sheet_xml(old: str, new: str, *rows: Iterable[object]) -> bytes:
    """A sheet with a change in its XML."""
    whole = _book(_nothing, *(rows or (("item", "words"), ("tea", "SECRET"))))
    return _rewritten(whole, "xl/worksheets/sheet1.xml", old, new)


def _solid(colour: Color | str) -> PatternFill:
    return PatternFill("solid", fgColor=colour)


def _rich(book: Any) -> None:
    book.active["B2"].value = CellRichText("seen ", TextBlock(InlineFont(color=Color(rgb="FFFFFFFF")), "SECRET"))


def _rich_in_white(book: Any) -> None:
    book.active["B2"].font = Font(color=Color(rgb="FFFFFFFF"))
    book.active["B2"].value = CellRichText(TextBlock(InlineFont(color=Color(rgb="FF000000")), "seen "), "SECRET")


def _condition(book: Any) -> None:
    white = DifferentialStyle(font=Font(color=Color(rgb="FFFFFFFF")))
    book.active.conditional_formatting.add("B2", Rule(type="expression", formula=["TRUE"], dxf=white))


_BLACK = "FF000000"
_HIDDEN_LOOKS = (
    ("near white", _styled(Font(color="FFFEFEFE"))),
    ("white by index", _styled(Font(color=Color(indexed=9)))),
    ("white by theme", _styled(Font(color=Color(theme=0)))),
    ("nearly white by theme", _styled(Font(color=Color(theme=0, tint=-0.01)))),
    ("white by tint", _styled(Font(color=Color(theme=1, tint=1)))),
    ("size 1", _styled(Font(size=1))),
    ("black on black", _styled(Font(color=_BLACK), _solid(_BLACK))),
    ("theme on black", _styled(Font(color=Color(theme=1)), _solid(_BLACK))),
    ("plain on the theme's black", _styled(None, _solid(Color(theme=1)))),
    ("rich text", _rich),
    ("rich text in a white cell", _rich_in_white),
)
_VISIBLE_LOOKS = (
    ("black on white", _styled(Font(color=_BLACK), _solid(Color(indexed=9)))),
    ("white on black", _styled(Font(color=Color(indexed=9)), _solid(_BLACK))),
    ("white on a pattern", _styled(Font(color=Color(rgb="FFFFFFFF")), PatternFill("darkGrid", fgColor=_BLACK))),
    ("white on the theme's black", _styled(Font(color=Color(theme=0)), _solid(Color(theme=1)))),
    ("size 6", _styled(Font(size=6))),
)
_HIDING_FORMATS = (";;;", ';;;" "', '0;0;0;""', "[White]@", ";;;[White]@", ";;;*x")
_LATE_ROW = '<row r="1"><c r="D1" t="inlineStr"><is><t>seen</t></is></c></row></sheetData>'
_HIDDEN_PLACES = (
    ("column of no width", "<sheetData>", '<cols><col min="2" max="2" width="0" customWidth="1"/></cols><sheetData>'),
    ("row of no height", '<row r="2"', '<row r="2" ht="0" customHeight="1"'),
    ("rows of no height", "<sheetFormatPr ", '<sheetFormatPr zeroHeight="1" '),
    ("row hidden in capitals", '<row r="2"', '<row r="2" hidden="True"'),
    ("covered cell", "</sheetData>", '</sheetData><mergeCells count="1"><mergeCell ref="A2:B2"/></mergeCells>'),
)


def _far(book: Any) -> None:
    book.active["A3000"] = "seen"
    book.active["A5000"] = "also seen"


def _wide(book: Any) -> None:
    for row in range(3, 303):
        book.active[f"XFD{row}"] = "seen"


_PLAIN = _book(_nothing, ("item", "price"), ("tea", 3), ("milk", 4))
_FORMATS = (
    ("percent", 0.256, "0.0%", "value: 25.6%"),
    ("whole percent", 0.25, "0%", "value: 25%"),
    ("leading zeros", 123, "00000", "value: 00123"),
    ("date", date(2026, 3, 31), "yyyy-mm-dd", "value: 2026-03-31"),
    ("date and time", datetime(2026, 3, 31, 14, 5), "yyyy-mm-dd hh:mm", "value: 2026-03-31 14:05"),
    ("German date", date(2026, 3, 31), "dd.mm.yyyy", "value: 31.03.2026"),
    ("month by name", date(2026, 3, 31), "d mmm yyyy", "value: 31 Mar 2026"),
    ("time", time(9, 30), "hh:mm", "value: 09:30"),
    ("afternoon", time(15, 30), "h:mm AM/PM", "value: 3:30 PM"),
    ("hours of a day and more", timedelta(hours=30), "[h]:mm", "value: 30:00"),
    ("thousands", 1234567.891, "#,##0.00", "value: 1,234,567.89"),
    ("euro", 12.5, '#,##0.00 "€"', "value: 12.50 €"),
    ("dollar", -12.5, '"$"#,##0.00_);("$"#,##0.00)', "value: ($12.50)"),
    ("currency with locale", 12.5, "[$€-407] #,##0.00", "value: € 12.50"),
    ("rounded", 2.71828, "0.00", "value: 2.72"),
    ("unit", 5, '0 "kg"', "value: 5 kg"),
    ("scientific", 12345678, "0.00E+00", "value: 1.23E+07"),
    ("thousands scaled", 12000, '0,"k"', "value: 12k"),
    ("general float", 0.1 + 0.2, "General", "value: 0.3"),
    ("whole float", 3.0, "General", "value: 3"),
    ("truth", True, "General", "value: TRUE"),
    ("text of digits", "00123", "@", "value: 00123"),
    ("unknown format", 5, "[>3]#", "5"),
)

_CSV: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("cells beyond the header", "name,city\nAda,Leeds,red,blue\n", ("name: Ada | city: Leeds | red | blue",), ()),
    ("separator line", "sep=;\nname;city\nAda;Leeds\n", ("name: Ada | city: Leeds",), ("sep=",)),
    (
        "comma in a header",
        "Name;Address, city\nAda;Road 1, Leeds\nBob;Way 2, York\n",
        ("Name: Ada | Address, city: Road 1, Leeds",),
        (),
    ),
    ("quoted commas", '"a,b,c,d";x;y\n1;2;3\n4;5;6\n', ("a,b,c,d: 1 | x: 2 | y: 3",), ()),
    ("tabs", "name\tcity\nAda\tLeeds, York\n", ("name: Ada | city: Leeds, York",), ()),
    ("pipes", "name|city\nAda|Leeds\n", ("name: Ada | city: Leeds",), ()),
    ("line in a cell", 'name,city\n"Ada\nKlein",Leeds\n', ("name: Ada Klein | city: Leeds",), ()),
    ("delimiter in quotes before the first row", '"x;y;z",b\n1,2\n', ("x;y;z: 1 | b: 2",), ()),
    ("decimal commas", "item;price\ntea;3,50\nmilk;4,25\n", ("item: tea | price: 3,50",), ()),
    ("title line", "Sales of 2026\n\nitem,price\ntea,3\n", ("Sales of 2026", "item: tea | price: 3"), ()),
    ("header alone", "name,city\n", ("name | city",), ()),
    ("empty records", "name;city\n;\nAda;Leeds\n", ("name: Ada | city: Leeds",), ()),
    ("empty name", "name,,city\nAda,x,Leeds\n", ("name: Ada | x | city: Leeds",), ()),
    ("one column", "name\nAda Klein\nBob Day\n", ("name: Ada Klein",), ()),
    (
        "second table",
        "item,price\ntea,3\n\ncity,days\nLeeds,5\n",
        ("item: tea | price: 3", "city: Leeds | days: 5"),
        (),
    ),
    ("leading zeros", "id,name\n00123,Ada\n", ("id: 00123",), ()),
    ("doubled quotes", 'name,said\nAda,"She said ""yes"""\n', ('said: She said "yes"',), ()),
    ("soft hyphen", "name\nWert\u00adpapier\n", ("Wertpapier",), ()),
)

_SECOND = (("item", "price"), ("tea", 3), (), ("city", "days"), ("Leeds", 5))

CASES: tuple[Case, ...] = (
    *(Case(f"format: {name}", "xlsx", _format(value, code), (shown,)) for name, value, code, shown in _FORMATS),
    Case(
        "xlsx: wrong dimension",
        "xlsx",
        _rewritten(_PLAIN, "xl/worksheets/sheet1.xml", '<dimension ref="[^"]*"', '<dimension ref="A1"'),
        ("item: tea | price: 3", "item: milk | price: 4"),
    ),
    Case(
        "xlsx: no dimension",
        "xlsx",
        _rewritten(_PLAIN, "xl/worksheets/sheet1.xml", '<dimension ref="[^"]*" ?/>', ""),
        ("item: tea | price: 3", "item: milk | price: 4"),
    ),
    Case(
        "xlsx: formula without value",
        "xlsx",
        _book(_nothing, ("item", "price"), ("tea", "=1+3")),
        ("item: tea | price: =1+3",),
        notes=("formula",),
    ),
    Case(
        "xlsx: formula with value",
        "xlsx",
        _rewritten(
            _book(_nothing, ("item", "price"), ("tea", "=1+3")),
            "xl/worksheets/sheet1.xml",
            "<v ?/>|<v></v>",
            "<v>4</v>",
        ),
        ("price: 4",),
        ("=1+3",),
    ),
    Case(
        "xlsx: title row",
        "xlsx",
        _book(_nothing, ("Sales of 2026",), (), ("item", "price"), ("tea", 3)),
        ("Sales of 2026", "item: tea | price: 3"),
    ),
    Case(
        "xlsx: title row above",
        "xlsx",
        _book(_nothing, ("Sales of 2026",), ("item", "price"), ("tea", 3)),
        ("Sales of 2026", "item: tea | price: 3"),
    ),
    Case("xlsx: second table", "xlsx", _book(_nothing, *_SECOND), ("item: tea | price: 3", "city: Leeds | days: 5")),
    Case(
        "xlsx: second table of texts",
        "xlsx",
        _book(_bold(1, 4), ("item", "place"), ("tea", "shelf"), (), ("name", "city"), ("Ada", "Leeds")),
        ("item: tea | place: shelf", "name: Ada | city: Leeds"),
    ),
    Case(
        "xlsx: second table with title",
        "xlsx",
        _book(
            _nothing,
            ("Drinks",),
            ("item", "place"),
            ("tea", "shelf"),
            (),
            ("Guests",),
            ("name", "city"),
            ("Ada", "Leeds"),
        ),
        ("item: tea | place: shelf", "Guests", "name: Ada | city: Leeds"),
    ),
    Case(
        "xlsx: empty row within",
        "xlsx",
        _book(_nothing, ("item", "price"), ("tea", 3), (), ("milk", 4)),
        ("item: milk | price: 4",),
    ),
    Case(
        "xlsx: tables side by side",
        "xlsx",
        _book(_nothing, ("item", "price", None, "city", "days"), ("tea", 3, None, "Leeds", 5)),
        ("item: tea | price: 3", "city: Leeds | days: 5"),
    ),
    Case(
        "xlsx: 300 columns",
        "xlsx",
        _book(_nothing, [f"c{n}" for n in range(300)], [f"v{n}" for n in range(300)]),
        ("c0: v0", "c299: v299"),
    ),
    Case(
        "xlsx: hidden sheet",
        "xlsx",
        _book(_hide(sheet="Costs"), ("item", "price"), ("tea", 3)),
        ("item: tea",),
        ("SECRET",),
        notes=("hidden", "Costs"),
        hidden=True,
    ),
    Case(
        "xlsx: very hidden sheet",
        "xlsx",
        _book(_hide(sheet="Costs", state="veryHidden"), ("item", "price"), ("tea", 3)),
        ("item: tea",),
        ("SECRET",),
        notes=("hidden", "Costs"),
        hidden=True,
    ),
    Case(
        "xlsx: hidden row",
        "xlsx",
        _book(_hide(row=2), ("item", "price"), ("SECRET", 3), ("tea", 4)),
        ("item: tea",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    Case(
        "xlsx: hidden column",
        "xlsx",
        _book(_hide(column="B"), ("item", "SECRET", "c"), ("tea", "SECRET", 4)),
        ("item: tea | c: 4",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    Case(
        "xlsx: white text",
        "xlsx",
        _book(_white, ("item", "price"), ("tea", "SECRET")),
        ("item: tea",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    *(
        Case(
            f"xlsx hidden: {name}",
            "xlsx",
            _book(change, ("item", "words"), ("tea", "SECRET")),
            ("tea",),
            ("SECRET",),
            (),
            ("hidden",),
            True,
        )
        for name, change in _HIDDEN_LOOKS
    ),
    *(
        Case(f"xlsx: {name}", "xlsx", _book(change, ("item", "words"), ("tea", "seen")), ("words: seen",))
        for name, change in _VISIBLE_LOOKS
    ),
    *(
        Case(
            f"xlsx hidden: format {form}", "xlsx", _format("SECRET", form), ("tea",), ("SECRET",), (), ("hidden",), True
        )
        for form in _HIDING_FORMATS
    ),
    Case(
        "xlsx hidden: format of other words",
        "xlsx",
        _format("SECRET", ';;;"OK"'),
        ("value: OK",),
        ("SECRET",),
        (),
        ("hidden",),
        True,
    ),
    Case("xlsx: format around a text", "xlsx", _format("Klein", ';;;"Ms "@'), ("value: Ms Klein",)),
    *(
        Case(f"xlsx hidden: {name}", "xlsx", _sheet_xml(old, new), (), ("SECRET",), (), ("hidden",), True)
        for name, old, new in _HIDDEN_PLACES
    ),
    Case(
        "xlsx in doubt: conditional format",
        "xlsx",
        _book(_condition, ("item", "words"), ("tea", "seen")),
        ("words: seen",),
        notes=("some text may be hidden",),
    ),
    Case(
        "xlsx: rows after a gap",
        "xlsx",
        _book(_far, ("item", "words"), ("tea", "milk")),
        ("words: milk", "seen", "also seen"),
    ),
    Case(
        "xlsx: rows out of order",
        "xlsx",
        _sheet_xml("</sheetData>", _LATE_ROW, ("item", "words"), ("tea", "milk")),
        ("words: milk", "seen"),
    ),
    Case("xlsx: far column", "xlsx", _book(_wide, ("item", "words"), ("tea", "milk")), ("words: milk", "seen")),
    Case("xlsx: hiding format", "xlsx", _format("SECRET", ";;;"), ("item: tea",), ("SECRET",), (), ("hidden",), True),
    Case(
        "xlsx: merged cells",
        "xlsx",
        _book(_merge, ("group", "prices", None), ("Long", 1, 2), (None, 3, 4)),
        ("Long", "3"),
        once=("Long",),
    ),
    Case(
        "xlsx: several sheets",
        "xlsx",
        _book(lambda book: book.create_sheet("More").append(["Leeds", 5]), ("item", "price"), ("tea", 3)),
        ("item: tea", "Leeds | 5"),
    ),
    Case("xlsx: nothing read", "xlsx", _book(_nothing), notes=("nothing was read",)),
    Case(
        "xlsx: error value", "xlsx", _book(_nothing, ("item", "price"), ("tea", "#N/A")), ("item: tea | price: #N/A",)
    ),
    *(Case(f"csv: {name}", "csv", text.encode(), shown, absent) for name, text, shown, absent in _CSV),
    Case("csv: nothing read", "csv", b"\n\n", notes=("nothing was read", "empty")),
)

"""What each format gives: blocks under their headings; and what is refused, by name."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import docx
import openpyxl
import pytest

from keeps.sources.documents.parsers import (
    MAX_CHARACTERS,
    Reading,
    RefusedError,
    parse,
    pdf,
    pdf_by_pdfium,
    pdf_by_pypdf,
)
from keeps.sources.documents.parsers.office import _has_doctype_by_expat
from tests.documents.made import pdf_file


def read(form: str, data: bytes | str, name: str = "x") -> Reading:
    return parse(form, data.encode() if isinstance(data, str) else data, name)


def told(reading: Reading) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(each.kind, each.text, each.headings) for each in reading.blocks]


def test_markdown() -> None:
    text = "---\ntitle: The guide\n---\n# One\n\nA line\nand another.\n\n## Two ##\n\n- first\n- second\n\n"
    code = "```py\n# no heading\n```\n"
    reading = read("markdown", text + code + "# Three\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert reading.title == "The guide"
    assert told(reading) == [
        ("heading", "One", ()),
        ("text", "A line\nand another.", ("One",)),
        ("heading", "Two", ("One",)),
        ("item", "- first", ("One", "Two")),
        ("item", "- second", ("One", "Two")),
        ("code", "# no heading", ("One", "Two")),
        ("heading", "Three", ()),
        ("row", "a: 1 | b: 2", ("Three",)),
    ]


def test_tables_and_records() -> None:
    assert [each.text for each in read("csv", "name;city\nAda;London\n;\nBob;\n").blocks] == [
        "name: Ada | city: London",
        "name: Bob",
    ]
    assert [each.text for each in read("json", json.dumps([{"a": {"b": [1, 2]}, "c": None}, "x"])).blocks] == [
        "a.b: 1, 2",
        "x",
    ]
    assert [each.text for each in read("json", '{"a": 1}\n\n{"a": 2}\n', "x.jsonl").blocks] == ["a: 1", "a: 2"]


def test_html_text_is_visible_text() -> None:
    reading = read(
        "html",
        "<title>Page</title><script>evil()</script><nav>menu</nav><h1>One <b>two</b></h1><p>Text with"
        " <i>words</i>.<p style='DISPLAY : none'>ignore this</p><div hidden>and this</div><table><tr><th>a<th>b"
        "<tr><td>1<td>2</table><ul><li>item</ul><pre>x = 1\ny = 2</pre>",
    )
    assert reading.title == "Page"
    assert reading.hidden == len("ignore this") + len("and this")
    assert told(reading) == [
        ("heading", "One two", ()),
        ("text", "Text with words.", ("One two",)),
        ("row", "a: 1 | b: 2", ("One two",)),
        ("item", "- item", ("One two",)),
        ("code", "x = 1", ("One two",)),
        ("code", "y = 2", ("One two",)),
    ]


def test_an_email() -> None:
    reading = read(
        "email",
        b"From: a@x\nTo: b@x\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n"
        b'Content-Type: multipart/mixed; boundary="q"\n\n--q\n'
        b"Content-Type: text/plain; charset=utf-8\n\nHello.\n--q\n"
        b'Content-Disposition: attachment; filename="a.bin"\n\nx\n--q--\n',
    )
    assert reading.title == "Grüße"
    assert [each.text for each in reading.blocks] == ["From: a@x\nTo: b@x", "Hello."]
    assert reading.notes == ["1 attachments were not read: a.bin"]


def word_file() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Handbook"
    document.add_heading("Leave", 1)
    document.add_paragraph("Thirty days.")
    document.add_paragraph("Ask first.", style="List Bullet")
    table = document.add_table(2, 2)
    for (row, column), text in {(0, 0): "city", (0, 1): "days", (1, 0): "Lisbon", (1, 1): "31"}.items():
        table.rows[row].cells[column].text = text
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def excel_file() -> bytes:
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.title = "Prices"
    for row in (["item", "price"], ["tea", 3], [None, None], ["coffee", "=1+3"]):
        sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_word_and_excel() -> None:
    reading = read("docx", word_file())
    assert reading.title == "Handbook"
    assert told(reading) == [
        ("heading", "Leave", ()),
        ("text", "Thirty days.", ("Leave",)),
        ("item", "- Ask first.", ("Leave",)),
        ("row", "city: Lisbon | days: 31", ("Leave",)),
    ]
    assert told(read("xlsx", excel_file())) == [
        ("heading", "Prices", ()),
        ("row", "item: tea | price: 3", ("Prices",)),
        ("row", "item: coffee | price: =1+3", ("Prices",)),
    ]


@pytest.fixture(params=[pdf_by_pdfium, pdf_by_pypdf], ids=["pypdfium2", "pypdf"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both libraries that read PDFs."""
    monkeypatch.setattr(pdf, "library", request.param)


@pytest.mark.usefixtures("library")
def test_pdf_by_page_with_its_outline() -> None:
    reading = read("pdf", pdf_file(["Thirty days of leave.", "Nobody works\non Sunday."], title="Rules", outline=True))
    assert (reading.title, reading.pages, reading.empty_pages) == ("Rules", 2, 0)
    assert [(each.text, each.page, each.headings) for each in reading.blocks if each.kind == "text"] == [
        ("Thirty days of leave.", 1, ("Chapter 1",)),
        ("Nobody works\non Sunday.", 2, ("Chapter 2",)),
    ]


@pytest.mark.usefixtures("library")
def test_a_scan_says_so() -> None:
    reading = read("pdf", pdf_file(["", ""]))
    assert (reading.blocks, reading.empty_pages) == ([], 2)
    assert "it is a scan" in reading.notes[0]
    assert "1 of its 2 pages" in read("pdf", pdf_file(["Text.", ""])).notes[0]


def zipped(**entries: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), data)
    return file.getvalue()


ENTITIES = zipped(word__document_xml=b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')

_ENTITY = '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
LATE_ENTITIES = zipped(word__document_xml=f"<!--{'a' * 5_000}-->{_ENTITY}".encode())
ENTITIES_OF_OTHER_NAME = zipped(word__document_xml=b"<a/>", word__styles_bin=_ENTITY.encode())
ENTITIES_IN_UTF16 = zipped(word__document_xml=f'<?xml version="1.0" encoding="UTF-16"?>{_ENTITY}'.encode("utf-16"))
ENTITIES_IN_UTF7 = zipped(
    word__document_xml=b'<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE a +AFsAPAAh-ENTITY b "c"+AD4AXQA+-<a/>'
)


def bomb() -> bytes:
    return zipped(word__document_xml=b"<a/>", word__media__a_bin=b"0" * (60 << 20))


def very_late_entities() -> bytes:
    noise = random.Random(1).randbytes(1_000_000).hex()  # noqa: S311  a file that is not packed too well
    return zipped(word__document_xml=b"<a/>", word__b_xml=f"<!--{noise * 6}-->{_ENTITY}".encode())


def many() -> bytes:
    return zipped(word__document_xml=b"<a/>", **{f"n{number}": b"" for number in range(10_001)})


def long_pdf() -> bytes:
    return pdf_file([""] * 2_001)


@pytest.mark.parametrize(
    ("form", "data", "why"),
    [
        ("text", b"a\x00b", "NUL"),
        ("text", b"\xe9", "UTF-8"),
        ("json", b"[" * 100_000, "nested|JSON"),
        ("json", (b'{"a":' * 900) + b"1" + b"}" * 900, "nested"),
        ("json", b"{]", "not JSON"),
        ("html", b"<div>" * 5_000, "nested"),
        ("html", b"<div>" * 100_000, "nested"),
        ("html", b"<p " + b" ".join(b"a%d=1" % number for number in range(100_000)) + b">x", "attributes"),
        ("html", b"<!-- <p a='--><p " + b" ".join(b"a%d" % number for number in range(2_000)) + b">x", "attributes"),
        ("pdf", b"MZ", "name says PDF"),
        ("pdf", b"%PDF-1.7\nbroken", "damaged"),
        ("pdf", long_pdf, "2,001 pages"),
        ("docx", b"PK\x03\x04", "says it is a Word file"),
        ("docx", excel_file(), "says it is a Word file"),
        ("xlsx", word_file(), "says it is an Excel file"),
        ("docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "encrypted"),
        ("docx", bomb, "200 times"),
        ("docx", ENTITIES, "entities"),
        ("docx", LATE_ENTITIES, "entities"),
        ("docx", very_late_entities, "entities"),
        ("docx", ENTITIES_OF_OTHER_NAME, "entities"),
        ("docx", ENTITIES_IN_UTF16, "entities"),
        ("docx", ENTITIES_IN_UTF7, "entities"),
        ("docx", many, "10,00"),
        ("email", b"", "not an e-mail"),
        ("text", (b"long line " * 100 + b"\n\n") * (MAX_CHARACTERS // 1_000 + 10), "characters"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_refusal_states_reason(form: str, data: bytes | Callable[[], bytes], why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        read(form, data() if callable(data) else data)


def test_long_comment_before_the_root_is_scanned_once() -> None:
    class Reader(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            Reader.reads += 1
            return super().read(size)

    assert _has_doctype_by_expat(Reader(b"<!--" + b"x" * (8 << 20) + b"-->" + _ENTITY.encode()))
    assert Reader.reads < 20


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("data", [b"%PDF-1.7\nbroken", b"%PDF-", pdf_file(["Text."])[:-200], pdf_file(["a"])[:90]])
def test_a_damaged_pdf_is_refused_or_read(data: bytes) -> None:
    with suppress(RefusedError):
        assert read("pdf", data).pages <= 1


@pytest.mark.parametrize("text", ["﻿bom", "line\r\nline", "عربى 🔑", "", " ", "\n\n\n"])
def test_any_text_is_text(text: str) -> None:
    for form in ("text", "markdown", "csv", "html"):
        read(form, text)
    assert "".join(each.text for each in read("text", text.encode("utf-16")).blocks) == text.replace(
        "\r\n", "\n"
    ).strip("\n ")

"""Word: headings by style, paragraphs, lists, tables as rows, footnotes."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn
from docx.table import Table
from docx.text.paragraph import Paragraph
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from keeps.documents.parsers import Reading
from keeps.documents.parsers.office import checked

_HEADING = re.compile(r"(?:heading|title)\s{0,3}(\d?)", re.IGNORECASE)


def parse(data: bytes, reading: Reading) -> None:
    file = checked(data, "word/document.xml", "a Word file")
    document = docx.Document(file)
    styled = any(each.reltype == RELATIONSHIP_TYPE.STYLES for each in document.part.rels.values())
    reading.title = " ".join((document.core_properties.title or "").split())[:500] or None
    for element in document.element.body.iterchildren():
        if element.tag == qn("w:p"):
            paragraph = Paragraph(element, document)
            # Without a list of styles their ids say what they are; python-docx would open a list of its own.
            style = paragraph.style.name if styled and paragraph.style is not None else element.style
            _paragraph(paragraph, style or "", reading)
        elif element.tag == qn("w:tbl"):
            _table(Table(element, document), reading)
    for note in _footnotes(data):
        reading.add(note)


def _paragraph(paragraph: Paragraph, style: str, reading: Reading) -> None:
    heading = _HEADING.match(style)
    if heading:
        if heading[1] in ("", "1") and reading.title is None:
            reading.title = paragraph.text.strip()[:500] or None
        reading.heading(int(heading[1] or 1), paragraph.text)
    else:
        listed = style.lower().startswith("list")
        reading.add(
            f"- {paragraph.text}" if listed and paragraph.text.strip() else paragraph.text, "item" if listed else "text"
        )


def _table(table: Table, reading: Reading) -> None:
    names: list[str] = []
    for number, row in enumerate(table.rows):
        cells = [cell.text for cell in row.cells]
        if number == 0 and len(table.rows) > 1:
            names = cells
        else:
            reading.row(names or [""] * len(cells), cells)


def _footnotes(data: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if "word/footnotes.xml" not in archive.namelist():
            return []
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
        root: Any = etree.fromstring(archive.read("word/footnotes.xml"), parser)
    texts = ("".join(each.text or "" for each in note.iter(qn("w:t"))) for note in root.iter(qn("w:footnote")))
    return [f"[footnote] {text.strip()}" for text in texts if text.strip()]

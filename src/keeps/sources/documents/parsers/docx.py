"""Word: the text as a reader sees it with all changes accepted: headings, paragraphs, lists, tables, notes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import docx
from docx.oxml.ns import nsmap, qn
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from keeps.sources.documents.parsers import DELETED_TEXT, MAX_NESTING, Reading, RefusedError
from keeps.sources.documents.parsers.docx_colours import Theme
from keeps.sources.documents.parsers.docx_markup import (
    AROUND,
    DELETED,
    MC,
    alternatives,
    contents,
    unclosed_fields,
)
from keeps.sources.documents.parsers.docx_numbers import BULLET, Numbering
from keeps.sources.documents.parsers.docx_styles import Look, StyleSheet, is_low, numbered, outline_level
from keeps.sources.documents.parsers.docx_tables import columns, continues, heads, is_deleted, skipped, within
from keeps.sources.documents.parsers.grid import Cell, Grid
from keeps.sources.documents.parsers.office import checked

_W = f"{{{nsmap['w']}}}"
_PPR, _RPR, _VAL = f"{_W}pPr", f"{_W}rPr", f"{_W}val"
_PSTYLE, _RSTYLE, _TBLSTYLE = f"{_W}pStyle", f"{_W}rStyle", f"{_W}tblStyle"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_HEADING = re.compile(r"(?:heading|title)\s{0,3}(\d?)", re.IGNORECASE)
_SIGNS = {"noBreakHyphen": "-", "tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n"}
_SYMBOLS = {"F0B7": "•", "F0A7": "•", "F0FC": "✓", "F0FE": "☒", "F0FD": "☒", "F0A8": "☐", "F06F": "☐", "F0E0": "→"}
_NOTES = {"footnotes": "footnote", "endnotes": "endnote"}


def parse(data: bytes, reading: Reading) -> None:
    document = docx.Document(checked(data, "word/document.xml", "a Word file"))
    reading.title = " ".join((document.core_properties.title or "").split())[:500] or None
    parts: dict[str, list[Any]] = {}
    by_id: dict[str, Any] = {}
    for relation in document.part.rels.values():
        if not relation.is_external:
            parts.setdefault(relation.reltype.rpartition("/")[2], []).append(relation.target_part)
            by_id[relation.rId] = relation.target_part
    styles, numbers, theme = (_first(parts, name) for name in ("styles", "numbering", "theme"))
    settings = _first(parts, "settings")
    mapping = settings.find(qn("w:clrSchemeMapping")) if settings is not None else None
    walk = _Walk(reading, StyleSheet(styles, Theme(theme, mapping)), Numbering(numbers))
    body = document.element.body
    headers, footers, unused = _margins(body, by_id, parts.get("settings", ()))
    for part in headers:
        walk.once(_tree(part))
    walk.diagrams = {name: part for name, part in by_id.items() if "diagram" in str(part.partname)}
    walk.page(body, is_coloured=_page_is_coloured(document.element))
    for part in footers:
        walk.once(_tree(part))
    for part in unused:
        reading.hide(len("".join(_tree(part).itertext(qn("w:t"))).strip()))
    for kind, called in _NOTES.items():
        for part in parts.get(kind, ()):
            for note in _tree(part).iterchildren(qn(f"w:{called}")):
                walk.note(note, called)
    for part in parts.get("comments", ()):
        reading.leave_out("comments", len(list(_tree(part).iterchildren(qn("w:comment")))))


@dataclass(slots=True)
class _Text:
    """The text of a paragraph or cell, and the boxes and tables in it."""

    parts: list[str] = field(default_factory=list[str])
    beside: list[tuple[Any, Look]] = field(default_factory=list[tuple[Any, Look]])

    def joined(self) -> str:
        return re.sub(r"[ \xa0]+", " ", "".join(self.parts)).strip()


class _Walk:
    """Walks once through a part of the file."""

    def __init__(self, reading: Reading, styles: StyleSheet, numbering: Numbering) -> None:
        self._reading = reading
        self._numbering = numbering
        self._styles = styles
        self._fields: list[bool] = []
        self._unclosed: set[Any] = set()
        self._carried = ""
        self._margins: set[str] = set()
        self.diagrams: dict[str, Any] = {}

    def page(self, body: Any, *, is_coloured: bool) -> None:
        look = self._styles.page
        self._unclosed = unclosed_fields(body)
        self.blocks(body, replace(look, fill=None) if is_coloured else look, 0)
        self.end()

    def once(self, root: Any) -> None:
        """Read a header or footer, unless another one has the same text."""
        said = "".join(root.itertext(qn("w:t")))
        if said not in self._margins:
            self._margins.add(said)
            self._unclosed = unclosed_fields(root)
            self.blocks(root, self._styles.page, 0)
            self.end()

    def note(self, note: Any, called: str) -> None:
        self._unclosed = unclosed_fields(note)
        text = self._cell(note, self._styles.page, 0)
        if line := " ".join(text.joined().split()):
            self._reading.add(f"[{called}] {line}")
        self._beside(text, 0)

    def end(self) -> None:
        """Store the rest of the last paragraph, whose end was deleted."""
        if self._carried:
            self._reading.add(self._carried)
            self._carried = ""

    def blocks(self, element: Any, look: Look, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        for child in element.iterchildren(etree.Element):
            if child.tag == f"{_W}p":
                self._paragraph(child, look, depth)
            elif child.tag == f"{_W}tbl":
                self._table(child, look, depth)
            elif child.tag in DELETED:
                self._count_deleted(child)
            elif child.tag in AROUND:
                self.blocks(child, look, depth + 1)
            elif child.tag == f"{MC}AlternateContent":
                self.blocks(self._alternative(child), look, depth + 1)
            elif child.tag == f"{_W}altChunk":
                self._reading.leave_out("embedded documents")

    def _paragraph(self, paragraph: Any, look: Look, depth: int) -> None:
        properties = paragraph.find(_PPR)
        text = _Text()
        self._lines(paragraph, look, text, depth)
        line = self._carried + text.joined()
        self._carried = ""
        if properties is not None and properties.find(f"{_W}rPr/{_W}del") is not None:
            self._carried = line
        elif line:
            self._store(line, properties)
        self._beside(text, depth)

    def _store(self, line: str, properties: Any | None) -> None:
        style_id = _style_id(properties, _PSTYLE)
        style = self._styles.paragraph(style_id)
        heading = _HEADING.match(style.name)
        own = outline_level(properties) if properties is not None else None
        level = int(heading[1] or 1) if heading else own or style.level
        list_id, list_level = style.list_id, style.list_level
        numbering = numbered(properties) if properties is not None else None
        if numbering is not None:
            list_id, list_level = numbering[0] or list_id, numbering[1]
        mark = self._numbering.before(list_id, list_level) if list_id not in (None, "", "0") else ""
        if level:
            if level == 1 and self._reading.title is None:
                self._reading.title = " ".join(line.split())[:500] or None
            self._reading.heading(level, line if mark == BULLET else f"{mark}{line}")
            return
        if not mark and list_id != "0" and style.name.lower().startswith("list") and numbering is None:
            mark = BULLET
        self._reading.add(f"{mark}{line}", "item" if mark else "text")

    def _lines(self, paragraph: Any, look: Look, text: _Text, depth: int) -> None:
        """Read the runs of a paragraph."""
        properties = paragraph.find(_PPR)
        look = self._styles.look(_style_id(properties, _PSTYLE), look, "paragraph")
        look = self._styles.paragraph_look(look, properties)
        self._inline(paragraph, look, text, depth)

    def _inline(self, element: Any, look: Look, text: _Text, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        for child in element.iterchildren(etree.Element):
            if child.tag == f"{_W}r":
                self._run(child, look, text, depth)
            elif child.tag in DELETED:
                self._count_deleted(child)
            elif child.tag in AROUND:
                self._inline(child, look, text, depth + 1)
            elif child.tag == f"{MC}AlternateContent":
                self._inline(self._alternative(child), look, text, depth + 1)
            elif child.tag == f"{_W}altChunk":
                self._reading.leave_out("embedded documents")
            elif child.tag.startswith(_M):
                text.parts.append(self._formula(child, look, depth))

    def _run(self, run: Any, look: Look, text: _Text, depth: int) -> None:
        properties = run.find(_RPR)
        look = self._styles.look(_style_id(properties, _RSTYLE), look, "character")
        look = self._styles.run_look(look, properties)
        self._pieces(run, look, text, depth, raised=properties is not None and _is_raised(properties))

    def _pieces(self, run: Any, look: Look, text: _Text, depth: int, *, raised: bool) -> None:
        """Read the contents of a run, or of an alternative within it."""
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        for child in run.iterchildren(etree.Element):
            name = child.tag.removeprefix(_W)
            if name == "t":
                self._say("".join(child.itertext()), look, text, raised=raised)
            elif name in _SIGNS:
                text.parts.append(_SIGNS[name])
            elif name == "sym":
                code = child.get(qn("w:char"), "").upper()
                self._say(_SYMBOLS.get(code, "" if code.startswith("F0") else _character(code)), look, text)
            elif name == "fldChar":
                if child not in self._unclosed:
                    self._field(child.get(qn("w:fldCharType"), ""))
            elif name == "delText":
                self._reading.leave_out(DELETED_TEXT, len("".join(child.itertext())))
            elif name == "ruby":
                self._ruby(child, look, text, depth)
            elif name in ("drawing", "pict", "object"):
                self._drawn(child, look, text)
            elif name == "r":
                self._run(child, look, text, depth + 1)
            elif child.tag == f"{MC}AlternateContent":
                self._pieces(self._alternative(child), look, text, depth + 1, raised=raised)

    def _ruby(self, ruby: Any, look: Look, text: _Text, depth: int) -> None:
        for base in ruby.iter(qn("w:rubyBase")):
            self._inline(base, look, text, depth + 1)
        for above in ruby.iter(qn("w:rt")):
            self._say("(", look, text)
            self._inline(above, look, text, depth + 1)
            self._say(")", look, text)

    def _say(self, said: str, look: Look, text: _Text, *, raised: bool = False) -> None:
        if self._fields and not all(self._fields):
            self._reading.hide(len(said.strip()))  # Field code, not its result.
            return
        if look.is_hidden:
            self._reading.hide(len(said.strip()))
            return
        if look.why_doubtful and said.strip():
            self._doubt(look.why_doubtful)
        if raised and text.parts and text.parts[-1][-1:].isdigit() and said.isascii() and said.isdigit():
            said = said.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        text.parts.append(said)

    def _doubt(self, reason: str) -> None:
        note = f"some text may be hidden: {reason}"
        if note not in self._reading.notes:
            self._reading.notes.append(note)

    def _alternative(self, element: Any) -> Any:
        """Return the form that is shown; count text that only other forms have."""
        shown, others = alternatives(element)
        said = _words(shown) if len(shown) else ""
        for other in others:
            words = _words(other)
            if words not in said:
                self._reading.hide(len(words))
        return shown

    def _formula(self, element: Any, look: Look, depth: int) -> str:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        if element.tag in DELETED:
            self._count_deleted(element)
            return ""
        if element.tag == f"{_M}r":
            properties = element.find(_RPR)
            look = self._styles.run_look(
                self._styles.look(_style_id(properties, _RSTYLE), look, "character"), properties
            )
        if element.tag in (f"{_M}t", f"{_W}t"):
            text = _Text()
            self._say("".join(element.itertext()), look, text)
            return "".join(text.parts)
        between = {f"{_M}f": "/", f"{_M}sSup": "^"}.get(element.tag, "")
        parts = (self._formula(child, look, depth + 1) for child in element.iterchildren(etree.Element))
        return between.join(part for part in parts if part)

    def _field(self, kind: str) -> None:
        if kind == "begin":
            self._fields.append(False)
        elif kind == "separate" and self._fields:
            self._fields[-1] = True
        elif kind == "end" and self._fields:
            self._fields.pop()

    def _drawn(self, drawn: Any, look: Look, text: _Text) -> None:
        if look.vanished:
            self._reading.hide(len(_words(drawn)))
            return
        drawing = contents(drawn)
        self._reading.hide(sum(len(_words(hidden)) for hidden in drawing.hidden))
        text.parts += [f" {shape} " for shape in drawing.shapes]
        text.beside += [(each, look) for each in drawing.beside]
        self._reading.leave_out("charts", drawing.charts)
        self._reading.leave_out("pictures", drawing.pictures)

    def _beside(self, text: _Text, depth: int) -> None:
        """Read the boxes, diagrams and tables of a paragraph or cell, after its text."""
        fields, self._fields = self._fields, []
        for element, look in text.beside:
            if element.tag == f"{_W}tbl":
                self._table(element, replace(self._styles.page, fill=look.fill), depth + 1)
            elif element.tag == f"{_W}txbxContent":
                # The colour of a box is unknown.
                self.blocks(element, replace(self._styles.page, fill=None), depth + 1)
            elif (part := self.diagrams.get(element.get(qn("r:dm"), ""))) is not None:
                for paragraph in _tree(part).iter(qn("a:p")):
                    self._reading.add("".join(paragraph.itertext(qn("a:t"))))
        self._fields = fields

    def _cell(self, cell: Any, look: Look, depth: int) -> _Text:
        """Return the text of a cell, and the tables and boxes in it."""
        text = _Text()
        self._cell_blocks(cell, look, text, depth)
        return text

    def _cell_blocks(self, element: Any, look: Look, text: _Text, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        for child in element.iterchildren(etree.Element):
            if child.tag == f"{_W}p":
                self._lines(child, look, text, depth)
                text.parts.append("\n")
            elif child.tag == f"{_W}tbl":
                text.beside.append((child, look))
            elif child.tag in DELETED:
                self._count_deleted(child)
            elif child.tag in AROUND:
                self._cell_blocks(child, look, text, depth + 1)
            elif child.tag == f"{MC}AlternateContent":
                self._cell_blocks(self._alternative(child), look, text, depth + 1)
            elif child.tag == f"{_W}altChunk":
                self._reading.leave_out("embedded documents")

    def _table(self, table: Any, look: Look, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        properties = table.find(qn("w:tblPr"))
        look = self._styles.table(_style_id(properties, _TBLSTYLE), look)
        look = self._styles.filled(look, properties)
        rows = [row for row in within(table, "w:tr") if self._is_shown(row)]
        grid = Grid()
        named = heads(rows)
        for number, row in enumerate(rows):
            cells = [cell for cell in within(row, "w:tc") if self._is_kept(cell)]
            if len(cells) == 1 and not continues(cells[0]):
                self.blocks(cells[0], self._styles.filled(look, cells[0].find(qn("w:tcPr"))), depth + 1)
                self.end()
                continue
            texts = [self._cell_of_row(cell, look, depth) for cell in cells]
            lines = [" ".join(text.joined().split()) for text in texts]
            placed = [Cell(line, columns=columns(cell)) for line, cell in zip(lines, cells, strict=True)]
            before = [Cell("")] * skipped(row)
            for pairs in grid.row([*before, *placed], in_head=number in named):
                self._reading.pairs(pairs)
            for text in texts:
                self._beside(text, depth)
        for pairs in grid.rest():
            self._reading.pairs(pairs)

    def _is_kept(self, cell: Any) -> bool:
        if is_deleted(cell):
            self._count_deleted(cell)
            return False
        return True

    def _cell_of_row(self, cell: Any, look: Look, depth: int) -> _Text:
        """Return the text of a cell; empty for one covered by a cell above."""
        if continues(cell):
            self._reading.hide(len(_words(cell)))
            return _Text()
        fields, self._fields = self._fields, []
        text = self._cell(cell, self._styles.filled(look, cell.find(qn("w:tcPr"))), depth + 1)
        self._fields = fields
        return text

    def _is_shown(self, row: Any) -> bool:
        properties = row.find(qn("w:trPr"))
        if properties is None:
            return True
        if properties.find(qn("w:del")) is not None:
            self._count_deleted(row)
            return False
        if properties.find(qn("w:hidden")) is not None or is_low(properties):
            self._reading.hide(len(_words(row)))
            return False
        return True

    def _count_deleted(self, element: Any) -> None:
        count = len("".join(element.itertext(qn("w:t"), qn("w:delText"))))
        self._reading.leave_out(DELETED_TEXT, count)


def _first(parts: dict[str, list[Any]], name: str) -> Any | None:
    return _tree(parts[name][0]) if parts.get(name) else None


def _tree(part: Any) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    return etree.fromstring(part.blob, parser)


def _margins(body: Any, by_id: dict[str, Any], settings: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the headers, the footers, and those that no page shows."""
    even = any(_tree(part).find(qn("w:evenAndOddHeaders")) is not None for part in settings)
    shown: dict[str, dict[str, Any]] = {"header": {}, "footer": {}}
    unused: dict[str, Any] = {}
    for section in body.iter(qn("w:sectPr")):
        first = section.find(qn("w:titlePg")) is not None
        for kind, parts in shown.items():
            for reference in section.iterchildren(qn(f"w:{kind}Reference")):
                rid, pages = reference.get(qn("r:id"), ""), reference.get(qn("w:type"), "default")
                if rid in by_id:
                    is_shown = {"first": first, "even": even}.get(pages, True)
                    (parts if is_shown else unused)[rid] = by_id[rid]
    for rid in [*shown["header"], *shown["footer"]]:
        unused.pop(rid, None)
    return [*shown["header"].values()], [*shown["footer"].values()], [*unused.values()]


def _page_is_coloured(document: Any) -> bool:
    background = document.find(qn("w:background"))
    return background is not None and background.get(qn("w:color"), "auto").upper() not in ("AUTO", "FFFFFF")


def _style_id(properties: Any | None, name: str) -> str:
    style = properties.find(name) if properties is not None else None
    return style.get(_VAL, "") if style is not None else ""


def _is_raised(properties: Any) -> bool:
    align = properties.find(qn("w:vertAlign"))
    return align is not None and align.get(qn("w:val")) == "superscript"


def _words(element: Any) -> str:
    """Return the text in an element, regardless of its look, to count it."""
    return "".join(element.itertext(qn("w:t"), f"{_M}t")).strip()


def _character(code: str) -> str:
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""

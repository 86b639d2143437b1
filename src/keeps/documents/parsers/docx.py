"""Word files as a reader sees them with all changes accepted: headings, paragraphs, lists, tables, notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import docx
from docx.oxml.ns import nsmap, qn
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from keeps.documents.parsers import DELETED_TEXT, MAX_NESTING, Reading, RefusedError
from keeps.documents.parsers.docx_numbers import BULLET, Numbering
from keeps.documents.parsers.docx_styles import Look, StyleSheet, changed, filled, numbered, outline_level
from keeps.documents.parsers.grid import MAX_COLUMNS, Cell, Grid
from keeps.documents.parsers.office import checked

_W = f"{{{nsmap['w']}}}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_VML = "{urn:schemas-microsoft-com:vml}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_HEADING = re.compile(r"(?:heading|title)\s{0,3}(\d?)", re.IGNORECASE)
_AROUND = frozenset(
    f"{_W}{name}" for name in "sdt sdtContent ins moveTo smartTag customXml hyperlink fldSimple dir bdo".split()
)
_DELETED = frozenset((f"{_W}del", f"{_W}moveFrom"))
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
    sheets = parts.get("styles")
    numbers = parts.get("numbering")
    walk = _Walk(
        reading,
        StyleSheet(_tree(sheets[0]) if sheets else None),
        Numbering(_tree(numbers[0]) if numbers else None),
    )
    body = document.element.body
    headers, footers, unused = _margins(body, by_id, parts.get("settings", ()))
    for part in headers:
        walk.once(_tree(part))
    walk.diagrams = {name: part for name, part in by_id.items() if "diagram" in str(part.partname)}
    walk.blocks(body, Look(fill=None if _page_is_coloured(document.element) else "FFFFFF"), 0)
    walk.end()
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
    """The text of a paragraph or cell, and the elements beside it."""

    parts: list[str] = field(default_factory=list[str])
    beside: list[Any] = field(default_factory=list[Any])

    def joined(self) -> str:
        return re.sub(r"[ \xa0]+", " ", "".join(self.parts)).strip()


class _Walk:
    """Walks through a part of the file once."""

    def __init__(self, reading: Reading, styles: StyleSheet, numbering: Numbering) -> None:
        self._reading = reading
        self._numbering = numbering
        self._styles = styles
        self._fields: list[bool] = []
        self._carried = ""
        self._margins: set[str] = set()
        self.diagrams: dict[str, Any] = {}

    def once(self, root: Any) -> None:
        """Read a header or footer, unless an identical one was read."""
        said = "".join(root.itertext(qn("w:t")))
        if said not in self._margins:
            self._margins.add(said)
            self.blocks(root, Look(), 0)
            self.end()

    def note(self, note: Any, called: str) -> None:
        text = self._cell(note, Look(), 0)
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
            elif child.tag in _DELETED:
                self._count_deleted(child)
            elif child.tag in _AROUND:
                self.blocks(child, look, depth + 1)
            elif child.tag == f"{_MC}AlternateContent":
                self.blocks(_alternative(child), look, depth + 1)
            elif child.tag == f"{_W}altChunk":
                self._reading.leave_out("embedded documents")

    def _paragraph(self, paragraph: Any, look: Look, depth: int) -> None:
        properties = paragraph.find(qn("w:pPr"))
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
        style_id = _style_id(properties, "w:pStyle")
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
        properties = paragraph.find(qn("w:pPr"))
        look = filled(self._styles.look(_style_id(properties, "w:pStyle"), look), properties)
        self._inline(paragraph, look, text, depth)

    def _inline(self, element: Any, look: Look, text: _Text, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        for child in element.iterchildren(etree.Element):
            if child.tag == f"{_W}r":
                self._run(child, look, text, depth)
            elif child.tag in _DELETED:
                self._count_deleted(child)
            elif child.tag in _AROUND:
                self._inline(child, look, text, depth + 1)
            elif child.tag == f"{_MC}AlternateContent":
                self._inline(_alternative(child), look, text, depth + 1)
            elif child.tag.startswith(_M):
                text.parts.append(_formula(child, depth))

    def _run(self, run: Any, look: Look, text: _Text, depth: int) -> None:
        properties = run.find(qn("w:rPr"))
        look = changed(self._styles.look(_style_id(properties, "w:rStyle"), look), properties)
        raised = properties is not None and properties.find(qn("w:vertAlign")) is not None
        for child in run.iterchildren(etree.Element):
            name = child.tag.removeprefix(_W)
            if name == "t":
                self._say(child.text or "", look, text, raised=raised and _is_raised(properties))
            elif name in _SIGNS:
                text.parts.append(_SIGNS[name])
            elif name == "sym":
                code = child.get(qn("w:char"), "").upper()
                self._say(_SYMBOLS.get(code, "" if code.startswith("F0") else _character(code)), look, text)
            elif name == "fldChar":
                self._field(child.get(qn("w:fldCharType"), ""))
            elif name == "delText":
                self._reading.leave_out(DELETED_TEXT, len(child.text or ""))
            elif name == "ruby":
                for base in child.iter(qn("w:rubyBase")):
                    self._inline(base, look, text, depth + 1)
                for above in child.iter(qn("w:rt")):
                    self._say("(", look, text)
                    self._inline(above, look, text, depth + 1)
                    self._say(")", look, text)
            elif name in ("drawing", "pict", "object"):
                self._drawn(child, text)
            elif child.tag == f"{_MC}AlternateContent":
                for drawn in _alternative(child):
                    self._drawn(drawn, text)

    def _say(self, said: str, look: Look, text: _Text, *, raised: bool = False) -> None:
        if self._fields and not all(self._fields):
            return  # the code of a field, not its result
        if look.is_hidden:
            self._reading.hide(len(said.strip()))
            return
        if raised and text.parts and text.parts[-1][-1:].isdigit() and said.isascii() and said.isdigit():
            said = said.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        text.parts.append(said)

    def _field(self, kind: str) -> None:
        if kind == "begin":
            self._fields.append(False)
        elif kind == "separate" and self._fields:
            self._fields[-1] = True
        elif kind == "end" and self._fields:
            self._fields.pop()

    def _drawn(self, drawn: Any, text: _Text) -> None:
        boxes = list(drawn.iter(qn("w:txbxContent")))
        # A box that stands in another one is read with it; one of two forms of a box is enough.
        inner = {box for each in boxes for box in each.iter(qn("w:txbxContent")) if box is not each}
        text.beside += [box for box in boxes if box not in inner and not _is_fallback(box, drawn)]
        for path in drawn.iter(f"{_VML}textpath"):
            text.parts.append(f" {path.get('string') or ''} ")
        for diagram in drawn.iter(f"{_DIAGRAM}relIds"):
            text.beside.append(diagram)
        self._reading.leave_out("charts", sum(1 for _ in drawn.iter(f"{_CHART}chart")))
        pictures = sum(1 for _ in drawn.iter(qn("pic:pic"), f"{_VML}imagedata"))
        self._reading.leave_out("pictures", pictures)

    def _beside(self, text: _Text, depth: int) -> None:
        """Read boxes, diagrams and tables of a paragraph or cell, after it."""
        for element in text.beside:
            if element.tag == f"{_W}tbl":
                self._table(element, Look(), depth + 1)
            elif element.tag == f"{_W}txbxContent":
                self.blocks(element, Look(fill=None), depth + 1)  # the colour of a box is not known
            elif (part := self.diagrams.get(element.get(qn("r:dm"), ""))) is not None:
                for paragraph in _tree(part).iter(qn("a:p")):
                    self._reading.add("".join(paragraph.itertext(qn("a:t"))))

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
                text.beside.append(child)
            elif child.tag in _DELETED:
                self._count_deleted(child)
            elif child.tag in _AROUND:
                self._cell_blocks(child, look, text, depth + 1)

    def _table(self, table: Any, look: Look, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        if self._styles.shades(_style_id(table.find(qn("w:tblPr")), "w:tblStyle")):
            look = replace(look, fill=None)
        rows = [row for row in _within(table, "w:tr") if self._is_shown(row)]
        grid = Grid()
        heads = _heads(rows)
        for number, row in enumerate(rows):
            cells = list(_within(row, "w:tc"))
            if len(cells) == 1:
                self.blocks(cells[0], _of_cell(cells[0], look), depth + 1)
                self.end()
                continue
            texts = [
                _Text() if _continues(cell) else self._cell(cell, _of_cell(cell, look), depth + 1) for cell in cells
            ]
            lines = [" ".join(text.joined().split()) for text in texts]
            placed = [Cell(line, columns=_columns(cell)) for line, cell in zip(lines, cells, strict=True)]
            before = [Cell("")] * _skipped(row)
            for pairs in grid.row([*before, *placed], in_head=number in heads):
                self._reading.pairs(pairs)
            for text in texts:
                self._beside(text, depth)
        for pairs in grid.rest():
            self._reading.pairs(pairs)

    def _is_shown(self, row: Any) -> bool:
        properties = row.find(qn("w:trPr"))
        if properties is None:
            return True
        if properties.find(qn("w:del")) is not None:
            self._count_deleted(row)
            return False
        if properties.find(qn("w:hidden")) is not None:
            self._reading.hide(len("".join(row.itertext(qn("w:t"))).strip()))
            return False
        return True

    def _count_deleted(self, element: Any) -> None:
        count = len("".join(element.itertext(qn("w:t"), qn("w:delText"))))
        self._reading.leave_out(DELETED_TEXT, count)


def _tree(part: Any) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    return etree.fromstring(part.blob, parser)


def _margins(body: Any, by_id: dict[str, Any], settings: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the headers, the footers, and those shown on no page."""
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
    style = properties.find(qn(name)) if properties is not None else None
    return style.get(qn("w:val"), "") if style is not None else ""


def _alternative(element: Any) -> Any:
    """Return one of several alternative forms of an element."""
    choice = element.find(f"{_MC}Choice")
    fallback = element.find(f"{_MC}Fallback")
    chosen = choice if choice is not None else fallback
    return chosen if chosen is not None else ()


def _is_fallback(box: Any, drawn: Any) -> bool:
    above = box.getparent()
    while above is not None and above is not drawn:
        if above.tag == f"{_MC}Fallback" and above.getparent().find(f"{_MC}Choice") is not None:
            return True
        above = above.getparent()
    return False


def _within(element: Any, name: str) -> Iterator[Any]:
    """Return the rows of a table, or the cells of a row, including those in content controls."""
    for child in element.iterchildren(etree.Element):
        if child.tag == qn(name):
            yield child
        elif child.tag in _AROUND:
            yield from _within(child, name)


def _heads(rows: list[Any]) -> set[int]:
    """Return the numbers of the rows that name the columns."""
    several = [number for number, row in enumerate(rows) if len(list(_within(row, "w:tc"))) > 1]
    if len(several) < 2:
        return set()
    marked = {number for number in several if rows[number].find(f"{_W}trPr/{_W}tblHeader") is not None}
    if marked and len(marked) < len(several):
        return marked
    first, second = several[:2]
    spanning = any(_columns(cell) > 1 or _starts(cell) for cell in _within(rows[first], "w:tc"))
    return {first, second} if spanning and len(several) > 2 and second == first + 1 else {first}


def _columns(cell: Any) -> int:
    span = cell.find(f"{_W}tcPr/{_W}gridSpan")
    value = span.get(qn("w:val"), "1") if span is not None else "1"
    return min(max(int(value), 1), MAX_COLUMNS) if value.isdigit() else 1


def _skipped(row: Any) -> int:
    before = row.find(f"{_W}trPr/{_W}gridBefore")
    value = before.get(qn("w:val"), "0") if before is not None else "0"
    return min(int(value), MAX_COLUMNS) if value.isdigit() else 0


def _starts(cell: Any) -> bool:
    merge = cell.find(f"{_W}tcPr/{_W}vMerge")
    return merge is not None and merge.get(qn("w:val")) == "restart"


def _continues(cell: Any) -> bool:
    return cell.find(f"{_W}tcPr/{_W}vMerge") is not None and not _starts(cell)


def _of_cell(cell: Any, look: Look) -> Look:
    return filled(look, cell.find(qn("w:tcPr")))


def _is_raised(properties: Any) -> bool:
    return properties.find(qn("w:vertAlign")).get(qn("w:val")) == "superscript"


def _character(code: str) -> str:
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""


def _formula(element: Any, depth: int) -> str:
    if depth > MAX_NESTING:
        raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
    if element.tag == f"{_M}t":
        return element.text or ""
    between = {f"{_M}f": "/", f"{_M}sSup": "^"}.get(element.tag, "")
    parts = (_formula(child, depth + 1) for child in element.iterchildren(etree.Element))
    return between.join(part for part in parts if part)

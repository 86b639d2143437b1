"""HTML: visible text as headings, paragraphs, lists and tables. Hidden text is left out and counted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from selectolax.lexbor import LexborHTMLParser, LexborNode

from keeps.sources.documents.parsers import MAX_NESTING, MAY_BE_HIDDEN, Reading, RefusedError
from keeps.sources.documents.parsers.charsets import decoded_page
from keeps.sources.documents.parsers.css_rules import Declarations, Styles
from keeps.sources.documents.parsers.css_values import WHITE
from keeps.sources.documents.parsers.grid import Cell, Grid
from keeps.sources.documents.parsers.html_bounds import check_bounds
from keeps.sources.documents.parsers.html_styles import Style, displayed_as_box, hides_box, inherited, without_moves
from keeps.sources.documents.parsers.html_tree import elements, own_cells, within

_CODE = frozenset(("script", "style"))
_FRAMES = frozenset(("iframe", "frame", "object", "embed", "portal"))
_UNSHOWN = frozenset("head title datalist noembed noframes annotation annotation-xml rp desc metadata".split())
_UNDRAWN = frozenset("defs symbol clippath mask pattern marker mphantom".split())
_MEDIA = frozenset(("video", "audio", "canvas"))
_BLOCKS = frozenset(
    "p div section article main header footer aside nav li td th tr ul ol dl dt dd blockquote figure figcaption body"
    " html hr address details summary tbody thead tfoot caption form fieldset legend optgroup center dir menu dialog"
    " hgroup search noscript listing".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NO_VALUES = frozenset("checkbox radio color file range password".split())
_BUTTONS = {"submit": "Submit", "reset": "Reset", "button": ""}
_SPACE = re.compile(r"[ \t\n\r\f\xa0]+")
_TAG = re.compile(r"<[^<>]{0,10000}>")
_POWERS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_POWER = re.compile(r"[+\-−]?\d{1,4}")
_DOT = re.compile(r"[01] ?(?:px)?")
"""Size of an invisible picture."""
_NUMBERS = re.compile(r"\d{1,9}")
MAX_SPAN, BULLET = 1_000, "- "


def parse(data: bytes, reading: Reading) -> None:
    parse_text(decoded_page(data), reading)


def parse_text(text: str, reading: Reading) -> None:
    """Read a page given as text."""
    check_bounds(text)
    tree = LexborHTMLParser(text)
    title = tree.css_first("title")
    if title is not None and reading.title is None:
        reading.title = " ".join(title.text().split())[:500] or None
    styles = Styles(tree)
    walk = _Walk(reading, styles)
    if tree.body is None:
        reading.leave_out("framed pages, which are not in the file", len(tree.css("frame")))
        return
    before = len(reading.blocks)
    menus = tree.css("nav")
    walk.page(tree.body, menus=False)
    if len(reading.blocks) == before and menus:
        walk.page(tree.body, menus=True)
    if len(reading.blocks) == before:
        reading.leave_out("scripts or styles", len(tree.css("head script")))
    elif skipped := walk.menus:
        reading.leave_out("menus", skipped)
    for what, count in walk.left_out.items():
        reading.leave_out(what, count)
    reading.hide(walk.hidden)
    if walk.unsure:
        reading.notes.append(f"{MAY_BE_HIDDEN}: the appearance of {walk.unsure:,} characters is unknown")
    if styles.incomplete:
        reading.notes.append(f"{MAY_BE_HIDDEN}: it has more styles than Keeps reads")


class _Flow:
    """Adds text to the reading, block by block."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._parts: list[str] = []
        self._marker = ""

    def text(self, text: str) -> None:
        self._parts.append(text)

    def last(self) -> str:
        return self._parts[-1][-1:] if self._parts else ""

    def item(self, marker: str) -> None:
        """Begin a list item; its first text follows the marker."""
        self._marker = marker

    def boundary(self) -> None:
        text = _collapsed("".join(self._parts), keep_lines=True)
        self._parts = []
        if text:
            self._reading.add(self._marker + text, "item" if self._marker else "text")
            self._marker = ""


class _Line:
    """Collects text on one line: of a cell, heading or caption. Tables in it wait until the line is stored."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.tables: list[tuple[LexborNode, Style, int]] = []

    def text(self, text: str) -> None:
        self._parts.append(text)

    def last(self) -> str:
        return self._parts[-1][-1:] if self._parts else ""

    def item(self, marker: str) -> None:
        self._parts.append(f" {marker}" if marker != BULLET else " ")

    def boundary(self) -> None:
        self._parts.append(" ")

    def line(self) -> str:
        return _collapsed("".join(self._parts), keep_lines=False)


_Sink = _Flow | _Line


class _Walk:
    """Walks once through the tree."""

    def __init__(self, reading: Reading, styles: Styles) -> None:
        self._reading = reading
        self._styles = styles
        self._read_menus = False
        self._numbers: dict[int, int] = {}
        self.hidden = self.unsure = self.menus = 0
        self.left_out: dict[str, int] = {}

    def page(self, body: LexborNode, *, menus: bool) -> None:
        self._read_menus = menus
        self._numbers = {}
        self.hidden = self.unsure = self.menus = 0
        self.left_out = {}
        sink = _Flow(self._reading)
        # A style sheet outside the file may set any background.
        style = Style(background=None if self._styles.elsewhere else WHITE)
        root = body.parent
        if root is not None and root.tag == "html":
            shown = self._shown(root, style)
            if shown is None:
                return
            style = shown
        self._element(body, style, sink, 1)
        sink.boundary()

    def _children(self, node: LexborNode, style: Style, sink: _Sink, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        child = node.child
        while child is not None:
            tag = child.tag or ""
            if tag == "-text":
                text = child.text(deep=False) or ""
                if shown := self._text(text, style):
                    sink.text(_SPACE.sub(" ", shown))
            elif tag == "-comment":
                self.hidden += len((child.html or "").removeprefix("<!--").removesuffix("-->").strip())
            elif not tag.startswith(("-", "!")):
                self._element(child, style, sink, depth + 1)
            child = child.next

    def _element(self, node: LexborNode, style: Style, sink: _Sink, depth: int) -> None:
        tag = node.tag or ""
        if tag in _CODE:
            self._leave_out("scripts or styles" if (node.text() or "").strip() or node.attributes.get("src") else "")
            return
        if tag in _UNSHOWN:
            return
        if tag.lower() in _UNDRAWN:
            self.hidden += len((node.text() or "").strip())
            return
        if tag == "template":
            self.hidden += len(_TAG.sub(" ", node.html or "").strip())
            return
        inner, values = self._styled(node, style)
        if inner is None:
            return
        if tag in _FRAMES or tag in _MEDIA:
            self._leave_out(
                "framed pages, which are not in the file" if tag in _FRAMES else "videos, audio or drawings"
            )
        elif tag == "nav" and not self._read_menus and not within(node, ("main", "article")):
            self.menus += bool((node.text() or "").strip())
        elif tag == "table":
            sink.boundary()
            if isinstance(sink, _Line):
                sink.tables.append((node, inner, depth))
            else:
                self._table(node, inner, sink, depth)
        elif tag in _HEADINGS and isinstance(sink, _Flow):
            sink.boundary()
            line = self._line(node, inner, depth)
            self._reading.heading(_HEADINGS[tag], line.line())
            self._tables(line, sink)
        elif tag == "pre" and isinstance(sink, _Flow):
            sink.boundary()
            for line in self._preformatted(node, inner, depth).split("\n"):
                self._reading.add(line, "code")
        elif not self._special(node, inner, sink, depth):
            block = tag in _BLOCKS or tag in _HEADINGS or tag == "pre" or displayed_as_box(values)
            if block:
                sink.boundary()
            if tag == "li":
                sink.item(self._marker(node))
            self._children(node, inner, sink, depth)
            if block:
                sink.boundary()

    def _shown(self, node: LexborNode, style: Style) -> Style | None:
        """Return the style of an element's contents; None for a hidden element, whose text is counted."""
        return self._styled(node, style)[0]

    def _styled(self, node: LexborNode, style: Style) -> tuple[Style | None, Declarations]:
        """Return the result of `_shown`, and the declarations of the element."""
        values, possible = self._styles.of(node, style.variables)
        if self._styles.moves(values):
            # An animation can show what is hidden at first, or hide what is shown at first.
            values, style = without_moves(values), replace(style, unsure=True)
        if hides_box(node.tag or "", node.attributes, values):
            self.hidden += len((node.text() or "").strip())
            return None, values
        inner = inherited(style, values)
        if possible is not None and inner.shows_text:
            hides = hides_box(node.tag or "", node.attributes, possible) or not inherited(style, possible).shows_text
            inner = replace(inner, unsure=True) if hides else inner
        return inner, values

    def _text(self, text: str, style: Style) -> str:
        """Return a text if it is visible, else nothing; count text that is or may be hidden."""
        if not style.shows_text:
            self.hidden += len(text.strip())
            return ""
        if style.may_hide_text:
            self.unsure += len(text.strip())
        return text

    def _marker(self, item: LexborNode) -> str:
        """Return the bullet or number of a list item."""
        above = item.parent
        if above is None or above.tag != "ol":
            return BULLET
        start = _NUMBERS.fullmatch(above.attributes.get("start") or "1")
        own = _NUMBERS.fullmatch(item.attributes.get("value") or "")
        number = int(own[0]) if own else self._numbers.get(above.mem_id, int(start[0]) if start else 1)
        self._numbers[above.mem_id] = number + 1
        first = above.attributes.get("type") or ""
        return f"{chr(ord(first) + number - 1)}. " if first in ("a", "A") and 0 < number <= 26 else f"{number}. "

    def _leave_out(self, what: str) -> None:
        if what:
            self.left_out[what] = self.left_out.get(what, 0) + 1

    def _line(self, node: LexborNode, style: Style, depth: int) -> _Line:
        line = _Line()
        self._children(node, style, line, depth)
        return line

    def _tables(self, line: _Line, sink: _Flow) -> None:
        for table, style, depth in line.tables:
            self._table(table, style, sink, depth)

    def _preformatted(self, node: LexborNode, style: Style, depth: int) -> str:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        parts: list[str] = []
        child = node.child
        while child is not None:
            tag = child.tag or ""
            if tag == "-text":
                text = child.text(deep=False) or ""
                parts.append(self._text(text, style))
            elif tag == "br":
                parts.append("\n")
            elif tag in _CODE:
                self._leave_out("scripts or styles")
            elif tag in ("img", "input"):
                if (inner := self._shown(child, style)) is not None:
                    line = _Line()
                    self._special(child, inner, line, depth + 1)
                    parts.append(line.line())
            elif not tag.startswith(("-", "!")) and (inner := self._shown(child, style)) is not None:
                parts.append(self._preformatted(child, inner, depth + 1))
            child = child.next
        return "".join(parts)

    def _table(self, table: LexborNode, style: Style, sink: _Flow, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        headed = any(True for _ in own_cells(table, ("th",))) or any(child.tag == "thead" for child in elements(table))
        grid = Grid()
        for row, in_head, row_style in self._rows(table, style, sink, depth):
            shown = [
                (cell, inner)
                for cell in elements(row)
                if cell.tag in ("td", "th") and (inner := self._shown(cell, row_style)) is not None
            ]
            if self._is_layout(shown, headed=headed, named=grid.named, in_head=in_head):
                for cell, inner in shown:
                    self._children(cell, inner, sink, depth + 1)
                    sink.boundary()
                continue
            lines = [(cell, self._line(cell, inner, depth + 1)) for cell, inner in shown]
            cells = [
                Cell(line.line(), cell.tag == "th", _span(cell, "colspan"), _span(cell, "rowspan"))
                for cell, line in lines
            ]
            for pairs in grid.row(cells, in_head=in_head):
                self._reading.pairs(pairs)
            for _, line in lines:
                self._tables(line, sink)
        for pairs in grid.rest():
            self._reading.pairs(pairs)

    def _rows(
        self, table: LexborNode, style: Style, sink: _Flow, depth: int
    ) -> Iterator[tuple[LexborNode, bool, Style]]:
        """Return the visible rows of a table, each with whether it has column names. Also read the caption."""
        for part in elements(table):
            if part.tag == "caption":
                if (inner := self._shown(part, style)) is not None:
                    self._children(part, inner, sink, depth + 1)
                    sink.boundary()
            elif part.tag in ("thead", "tbody", "tfoot"):
                if (inner := self._shown(part, style)) is None:
                    continue
                for row in elements(part):
                    if row.tag == "tr" and (shown := self._shown(row, inner)) is not None:
                        yield row, part.tag == "thead", shown
            elif part.tag == "tr" and (shown := self._shown(part, style)) is not None:
                yield part, False, shown

    @staticmethod
    def _is_layout(shown: list[tuple[LexborNode, Style]], *, headed: bool, named: bool, in_head: bool) -> bool:
        """Return whether a row arranges parts of a page instead of holding data."""
        if in_head:
            return False
        if len(shown) == 1:
            cell = shown[0][0]
            return cell.tag == "td" and (not named or _span(cell, "colspan") > 1)
        return not headed and any(cell.css_first("table, h1, h2, h3, h4, h5, h6, pre") is not None for cell, _ in shown)

    def _special(self, node: LexborNode, style: Style, sink: _Sink, depth: int) -> bool:
        """Read an element whose text differs from its contents. Return whether it is one."""
        match node.tag:
            case "br":
                sink.text("\n")
            case "wbr" | "area":
                pass
            case "img":
                self._picture(node, style, sink)
            case "input":
                self._input(node, style, sink)
            case "select":
                self._select(node, style, sink, depth)
            case "sup":
                self._superscript(node, style, sink, depth)
            case "button" | "textarea":
                self._between(" ", node, " ", style, sink, depth)
                if not (node.text() or "").strip():
                    sink.text(f" {self._text(node.attributes.get('placeholder') or '', style)} ")
            case "rt":
                self._between("(", node, ")", style, sink, depth)
            case _:
                return False
        return True

    def _between(self, before: str, node: LexborNode, after: str, style: Style, sink: _Sink, depth: int) -> None:
        sink.text(before)
        self._children(node, style, sink, depth)
        sink.text(after)

    def _picture(self, node: LexborNode, style: Style, sink: _Sink) -> None:
        if text := (node.attributes.get("alt") or "").strip():
            attributes = node.attributes
            if style.shows_box and not any(
                _DOT.fullmatch((attributes.get(side) or "").strip()) for side in ("width", "height")
            ):
                sink.text(f" {_SPACE.sub(' ', text)} ")
            else:
                self.hidden += len(text)

    def _input(self, node: LexborNode, style: Style, sink: _Sink) -> None:
        attributes = node.attributes
        kind = (attributes.get("type") or "").lower()
        value = attributes.get("value") or ""
        if kind == "hidden":
            self.hidden += len(value)
        elif kind == "image":
            self._picture(node, style, sink)
        elif kind in _BUTTONS:
            sink.text(f" {self._text(value or _BUTTONS[kind], style)} ")
        elif kind not in _NO_VALUES:
            sink.text(f" {self._text(value or attributes.get('placeholder') or '', style)} ")

    def _select(self, node: LexborNode, style: Style, sink: _Sink, depth: int) -> None:
        options = node.css("option")
        if "multiple" in node.attributes or (node.attributes.get("size") or "1") != "1":
            chosen = options
        else:
            chosen = [each for each in options if "selected" in each.attributes][-1:] or options[:1]
        for option in chosen:
            if (inner := self._shown(option, style)) is not None:
                self._between(" ", option, " ", inner, sink, depth)
        if len(options) > len(chosen):
            key = "options that are not selected"
            self.left_out[key] = self.left_out.get(key, 0) + len(options) - len(chosen)

    def _superscript(self, node: LexborNode, style: Style, sink: _Sink, depth: int) -> None:
        text = (node.text() or "").strip()
        if style.shows_text and _POWER.fullmatch(text) and sink.last().isdigit():
            sink.text(self._text(text, style).translate(_POWERS))
        else:
            self._children(node, style, sink, depth)


def _span(cell: LexborNode, name: str) -> int:
    found = _NUMBERS.match((cell.attributes.get(name) or "1").strip())
    return min(max(int(found[0]), 1), MAX_SPAN) if found else 1


def _collapsed(text: str, *, keep_lines: bool) -> str:
    if not keep_lines:
        return " ".join(text.split())
    lines = (_SPACE.sub(" ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)

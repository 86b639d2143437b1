"""Constructs of a Word file that determine which of several contents is shown: alternatives, fields, hidden boxes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from docx.oxml.ns import nsmap
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

W = f"{{{nsmap['w']}}}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
VML = "{urn:schemas-microsoft-com:vml}"
AROUND = frozenset(
    f"{W}{name}" for name in "sdt sdtContent ins moveTo smartTag customXml hyperlink fldSimple dir bdo".split()
)
DELETED = frozenset((f"{W}del", f"{W}moveFrom"))
_WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"
_PLACED = (f"{_WP}anchor", f"{_WP}inline")
_KNOWN = ("http://schemas.microsoft.com/office/", "http://schemas.openxmlformats.org/", "urn:schemas-microsoft-com:")
_STORIES = frozenset(f"{W}{name}" for name in "tc txbxContent footnote endnote comment".split())
_HIDING_STYLES = ("visibility:hidden", "display:none", "mso-hide:all")


def alternatives(element: Any) -> tuple[Any, list[Any]]:
    """Return the form that Word shows of a content with alternatives, and the other forms."""
    forms = [child for child in element if child.tag in (f"{MC}Choice", f"{MC}Fallback")]
    shown = next((form for form in forms if form.tag == f"{MC}Fallback" or _is_known(form)), None)
    return (shown if shown is not None else etree.Element("none")), [form for form in forms if form is not shown]


def _is_known(choice: Any) -> bool:
    """Return whether Word supports the namespaces that a form requires."""
    prefixes = choice.get("Requires", "").split()
    spaces = [choice.nsmap.get(prefix) or "" for prefix in prefixes]
    return bool(spaces) and all(space.startswith(_KNOWN) for space in spaces)


@dataclass(slots=True)
class Drawing:
    """The contents of a drawing: boxes and diagrams with text, text as a shape, and the amount of hidden text."""

    beside: list[Any] = field(default_factory=list[Any])
    shapes: list[str] = field(default_factory=list[str])
    hidden: list[Any] = field(default_factory=list[Any])
    charts: int = 0
    pictures: int = 0


def contents(drawn: Any) -> Drawing:
    """Return the contents of a drawing, each text once: a box inside another one is read with it."""
    drawing = Drawing()
    waiting = [drawn]
    while waiting:
        element = waiting.pop()
        tag = element.tag
        if _is_hidden(element):
            drawing.hidden.append(element)
        elif tag == f"{MC}AlternateContent":
            waiting += alternatives(element)[0].iterchildren(etree.Element, reversed=True)
        elif tag in (f"{W}txbxContent", f"{_DIAGRAM}relIds"):
            drawing.beside.append(element)
        else:
            if tag == f"{VML}textpath":
                drawing.shapes.append(element.get("string") or "")
            drawing.charts += tag == f"{_CHART}chart"
            drawing.pictures += tag in (_PICTURE, f"{VML}imagedata")
            waiting += element.iterchildren(etree.Element, reversed=True)
    return drawing


def _is_hidden(element: Any) -> bool:
    """Return whether an element marks itself, or the object it describes, as hidden."""
    described = element.find(f"{_WP}docPr") if element.tag in _PLACED else None
    if any(
        each is not None and each.get("hidden", "0").lower() in ("1", "true", "on") for each in (element, described)
    ):
        return True
    style = element.get("style")
    return style is not None and any(hiding in "".join(style.split()).lower() for hiding in _HIDING_STYLES)


def unclosed_fields(root: Any) -> set[Any]:
    """Return the marks of fields that are never closed: Word shows the text after them."""
    open_fields: dict[Any, list[list[Any]]] = {}
    unmatched: set[Any] = set()
    for mark in root.iter(f"{W}fldChar"):
        story = _story(mark)
        if story is None:
            continue
        fields = open_fields.setdefault(story, [])
        kind = mark.get(f"{W}fldCharType")
        if kind == "begin":
            fields.append([mark])
        elif not fields:
            unmatched.add(mark)
        elif kind == "separate":
            fields[-1].append(mark)
        elif kind == "end":
            fields.pop()
    unmatched.update(mark for fields in open_fields.values() for marks in fields for mark in marks)
    return unmatched


def _story(mark: Any) -> Any | None:
    """Return the cell, box, note or part that contains a mark; None for a deleted one."""
    above = mark
    for above in mark.iterancestors():
        if above.tag in DELETED:
            return None
        if above.tag in _STORIES:
            return above
    return above

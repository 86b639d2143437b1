"""HTML: headings, paragraphs, lists, tables. No scripts, styles, navigation; what is hidden is dropped and counted."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from keeps.documents.parsers import MAX_NESTING, Reading, RefusedError

_DROPPED = frozenset(
    "script style noscript template nav aside footer form iframe object svg canvas button select".split()
)
_BLOCKS = frozenset(
    "p div section article main header li td th tr table ul ol dl dt dd blockquote pre figure figcaption h1 h2 h3 h4 h5"
    " h6 body html hr br address details summary tbody thead tfoot caption".split()
)
_HIDDEN = re.compile(
    r"display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden|font-size\s{0,9}:\s{0,9}0(?![.\d])"
    r"|opacity\s{0,9}:\s{0,9}0(?![.\d])",
    re.IGNORECASE,
)


def parse(data: bytes, reading: Reading) -> None:
    tree = LexborHTMLParser(data)
    title = tree.css_first("title")
    if title is not None and reading.title is None:
        reading.title = " ".join(title.text().split())[:500] or None
    if tree.body is not None:
        _Walk(reading).node(tree.body, 0)


class _Walk:
    """Goes through the tree once; text between blocks is gathered until the next block begins."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._said: list[str] = []

    def node(self, node: LexborNode, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        self._children(node, depth)
        self._end()

    def _children(self, node: LexborNode, depth: int) -> None:
        child = node.child
        while child is not None:
            self._one(child, depth + 1)
            child = child.next

    def _one(self, node: LexborNode, depth: int) -> None:
        if depth > MAX_NESTING:
            raise RefusedError(f"it is nested deeper than {MAX_NESTING}")
        tag = node.tag or ""
        if tag == "-text":
            self._said.append(node.text(deep=False) or "")
            return
        if tag in _DROPPED or tag.startswith(("-", "!")):
            return
        if _is_hidden(node):
            self._reading.hidden += len((node.text() or "").strip())
            return
        if tag == "tr":
            self._end()
            self._row(node)
        elif tag == "pre":
            self._end()
            for line in (node.text() or "").split("\n"):
                self._reading.add(line, "code")
        elif len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self._end()
            self._reading.heading(int(tag[1]), node.text() or "")
        elif tag in _BLOCKS:
            self._end()
            self._children(node, depth)
            self._end("item" if tag == "li" else "text")
        else:
            self._children(node, depth)

    def _row(self, node: LexborNode) -> None:
        cells = [each for each in node.css("td, th") if not _is_hidden(each)]
        table = node.parent
        while table is not None and table.tag != "table":
            table = table.parent
        heads = (
            [] if table is None else [" ".join((each.text() or "").split()) for each in table.css("tr:first-child th")]
        )
        if heads and all(each.tag == "th" for each in cells):
            return
        names = heads if len(heads) == len(cells) else [""] * len(cells)
        self._reading.row(names, [each.text() for each in cells])

    def _end(self, kind: str = "text") -> None:
        said = " ".join(" ".join(self._said).split())
        self._said = []
        if said:
            self._reading.add(said, "item" if kind == "item" else "text")


def _is_hidden(node: LexborNode) -> bool:
    told = node.attributes
    return (
        "hidden" in told or told.get("aria-hidden") == "true" or bool(_HIDDEN.search((told.get("style") or "")[:2_000]))
    )

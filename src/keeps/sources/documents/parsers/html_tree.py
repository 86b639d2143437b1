"""Elements of a page below and above others."""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborNode


def elements(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        if not (child.tag or "").startswith(("-", "!")):
            yield child
        child = child.next


def own_cells(table: LexborNode, tags: tuple[str, ...]) -> Iterator[LexborNode]:
    for part in elements(table):
        for row in [part] if part.tag == "tr" else elements(part):
            if row.tag == "tr":
                yield from (cell for cell in elements(row) if cell.tag in tags)


def within(node: LexborNode, tags: tuple[str, ...]) -> bool:
    above = node.parent
    while above is not None:
        if above.tag in tags:
            return True
        above = above.parent
    return False

"""Draw the pictures of the concept pages: python tools/make_pictures.py [--check]

Boxes in a grid and arrows between them, as SVG: no tool and no font has to be installed, and a change is read as text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "images"
WIDE, HIGH, GAP_X, GAP_Y, EDGE = 150, 62, 56, 34, 18
LOOKS = {"plain": ("#ffffff", "#5b6b66"), "main": ("#d8efe5", "#1d6b50"), "store": ("#e6ecf7", "#3c5a8f")}


@dataclass(frozen=True, slots=True)
class Box:
    """At a place of the grid: `column` and `row` may be halves. The first line of `text` is bold."""

    column: float
    row: float
    text: str
    look: str = "plain"
    across: int = 1

    @property
    def left(self) -> float:
        return EDGE + self.column * (WIDE + GAP_X)

    @property
    def top(self) -> float:
        return EDGE + self.row * (HIGH + GAP_Y)

    @property
    def width(self) -> float:
        return self.across * WIDE + (self.across - 1) * GAP_X

    def edge_towards(self, other: Box) -> tuple[float, float]:
        """Return where an arrow to the other box leaves this one: in the middle of the side that faces it."""
        x, y = self.left + self.width / 2, self.top + HIGH / 2
        right, left = self.left + self.width, self.left
        if other.left >= right:
            return right, y
        if other.left + other.width <= left:
            return left, y
        inside = min(max(x, other.left + 12), other.left + other.width - 12)
        return inside, (self.top + HIGH if other.top > self.top else self.top)


@dataclass(frozen=True, slots=True)
class Picture:
    says: str
    boxes: dict[str, Box]
    arrows: tuple[tuple[str, str, str], ...]

    def drawn(self) -> Iterator[str]:
        width = max(each.left + each.width for each in self.boxes.values()) + EDGE
        height = max(each.top + HIGH for each in self.boxes.values()) + EDGE
        size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
        yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        yield f"<title>{escape(self.says)}</title>"
        yield '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
        yield ' orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#5b6b66"/></marker></defs>'
        yield f'<rect width="{width:g}" height="{height:g}" rx="10" fill="#f6f8f7"/>'
        yield '<g font-family="system-ui, sans-serif" font-size="12" text-anchor="middle" fill="#1c2522">'
        for source, target, label in self.arrows:
            x1, y1 = self.boxes[source].edge_towards(self.boxes[target])
            x2, y2 = self.boxes[target].edge_towards(self.boxes[source])
            yield (
                f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="#5b6b66" stroke-width="1.4"'
                ' marker-end="url(#tip)"/>'
            )
            if label:
                yield f'<text x="{(x1 + x2) / 2:g}" y="{(y1 + y2) / 2 - 4:g}" font-size="10.5">{escape(label)}</text>'
        for each in self.boxes.values():
            fill, line = LOOKS[each.look]
            yield (
                f'<rect x="{each.left:g}" y="{each.top:g}" width="{each.width:g}" height="{HIGH}" rx="7" fill="{fill}"'
                f' stroke="{line}" stroke-width="1.3"/>'
            )
            lines = each.text.split("\n")
            first = each.top + HIGH / 2 + 4 - 7.5 * (len(lines) - 1)
            for number, line_ in enumerate(lines):
                weight = ' font-weight="600"' if number == 0 else ' font-size="11"'
                middle, y = each.left + each.width / 2, first + 15 * number
                yield f'<text x="{middle:g}" y="{y:g}"{weight}>{escape(line_)}</text>'
        yield "</g></svg>"


PICTURES = {
    "design": Picture(
        "A call goes through the edge and a service into PostgreSQL; what is derived is made from it.",
        {
            "library": Box(0, 0, "Library\nin your process"),
            "sdk": Box(0, 1, "SDK, HTTP, MCP\nover the network"),
            "edge": Box(1, 1, "Edge\nwho asks, how much"),
            "service": Box(2, 0.5, "Service\none operation", "main"),
            "database": Box(3, 0.5, "PostgreSQL\nrow and event, together", "store"),
            "model": Box(2, 2, "Embedding model\nnever in a transaction"),
            "worker": Box(3, 2, "Worker\nindex, decay, promotion"),
        },
        (
            ("library", "service", ""),
            ("sdk", "edge", ""),
            ("edge", "service", ""),
            ("service", "database", ""),
            ("service", "model", ""),
            ("worker", "database", ""),
        ),
    ),
    "isolation": Picture(
        "Two tenants ask through the same service; the database gives each only its own rows.",
        {
            "acme": Box(0, 0, "alice of acme"),
            "globex": Box(0, 1.5, "bob of globex"),
            "service": Box(1, 0.75, "keeps_app\nno right to leave\nrow security aside", "main"),
            "wall": Box(2, 0.75, "Row security\nforced, on every table", "main"),
            "rows1": Box(3, 0, "rows of acme", "store"),
            "rows2": Box(3, 1.5, "rows of globex", "store"),
        },
        (
            ("acme", "service", ""),
            ("globex", "service", ""),
            ("service", "wall", ""),
            ("wall", "rows1", ""),
            ("wall", "rows2", ""),
        ),
    ),
    "recall": Picture(
        "A question finds candidates by words and by meaning, which are measured again, weighed and explained.",
        {
            "question": Box(0, 0.5, "Question"),
            "words": Box(1, 0, "Words\nBM25", "store"),
            "meaning": Box(1, 1, "Meaning\nnearest vectors", "store"),
            "late": Box(2, 0.5, "Late interaction\nword against word", "main"),
            "around": Box(3, 0, "Context\nturns around, speaker,\ndate, conversation"),
            "hits": Box(3, 1, "Hits\neach with its numbers", "main"),
        },
        (
            ("question", "words", ""),
            ("question", "meaning", ""),
            ("words", "late", ""),
            ("meaning", "late", ""),
            ("late", "around", ""),
            ("around", "hits", ""),
        ),
    ),
    "layers": Picture(
        "What is said becomes notes and short-term memories, which fade or are promoted.",
        {
            "said": Box(0, 0.5, "Exchange\nwhat is said"),
            "notes": Box(1, 0, "L1: notes\n24 hours", "main"),
            "short": Box(1, 1, "L2: short-term\nfades unless read", "main"),
            "long": Box(2, 0, "L3: long-term\nuntil something newer", "main"),
            "archived": Box(2, 1, "Archived\nfound when asked for"),
            "knowledge": Box(3, 0.5, "L4: knowledge\nlooked up", "store"),
        },
        (
            ("said", "notes", ""),
            ("said", "short", ""),
            ("notes", "long", "facts"),
            ("short", "long", ""),
            ("short", "archived", ""),
        ),
    ),
    "context": Picture(
        "A message is read for signals, sources are asked at once, and the best fits into the budget.",
        {
            "message": Box(0, 0.5, "Message"),
            "signals": Box(1, 0.5, "Signals\ntime, person, data"),
            "notes": Box(2, 0, "Notes of the session", "store"),
            "recall": Box(2, 1, "Recall, facts, skills", "store"),
            "budget": Box(3, 0.5, "Budget\nbest for its tokens", "main"),
            "prompt": Box(3, 1.7, "Prompt\nand what was left out", "main"),
        },
        (
            ("message", "signals", ""),
            ("signals", "notes", ""),
            ("signals", "recall", ""),
            ("notes", "budget", ""),
            ("recall", "budget", ""),
            ("budget", "prompt", ""),
        ),
    ),
    "events": Picture(
        "A write changes rows and appends an event in one transaction; everything else follows the log.",
        {
            "write": Box(0, 0.5, "Write"),
            "rows": Box(1, 0, "Rows\nwhat is true now", "store"),
            "log": Box(1, 1, "Event\nwhat happened", "store"),
            "verify": Box(2, 0, "Replay, verify\nrows again, to the byte", "main"),
            "past": Box(2, 1, "as_of\nwhat was known then", "main"),
            "others": Box(2, 2, "Streams, webhooks\nin order, none lost", "main"),
        },
        (
            ("write", "rows", ""),
            ("write", "log", ""),
            ("log", "verify", ""),
            ("rows", "verify", ""),
            ("log", "past", ""),
            ("log", "others", ""),
        ),
    ),
    "graph": Picture(
        "Alice and Bob work at Acme; the edges know since when, and from which memory.",
        {
            "alice": Box(0, 0, "Alice\nperson"),
            "bob": Box(0, 1.2, "Bob\nperson"),
            "acme": Box(1.3, 0.6, "Acme\norg", "main"),
            "leeds": Box(2.6, 0, "Leeds\nplace"),
            "memory": Box(2.6, 1.2, "Memory\n“… work at Acme.”", "store"),
        },
        (
            ("alice", "acme", "works_at"),
            ("bob", "acme", "works_at"),
            ("acme", "leeds", "based_in"),
            ("acme", "memory", "mentioned in"),
        ),
    ),
    "providers": Picture(
        "One recall asks every provider at once and merges what they answer.",
        {
            "recall": Box(0, 1.5, "Recall", "main"),
            "working": Box(1, 0, "working\nscratchpad of a session"),
            "database": Box(1, 1, "The database\npostgres, vector, graph", "store"),
            "markdown": Box(1, 2, "markdown\nfiles that people edit"),
            "yours": Box(1, 3, "Yours\nany backend"),
            "merged": Box(2, 1.5, "Merged by rank\na late one is left out", "main"),
        },
        tuple(
            arrow
            for each in ("working", "database", "markdown", "yours")
            for arrow in (("recall", each, ""), (each, "merged", ""))
        ),
    ),
    "documents": Picture(
        "A file becomes passages, which are found and cited to the character.",
        {
            "file": Box(0, 0, "File\nPDF, Word, HTML, …"),
            "reader": Box(1, 0, "Reader\na process without rights"),
            "passages": Box(2, 0, "Passages\nby heading and sentence", "main"),
            "search": Box(1, 1, "Question"),
            "cited": Box(2, 1, "Passage, cited\ntitle, page, characters", "main"),
        },
        (("file", "reader", ""), ("reader", "passages", ""), ("passages", "cited", ""), ("search", "cited", "")),
    ),
}


def main() -> int:
    stale = []
    for name, picture in PICTURES.items():
        path, text = FOLDER / f"{name}.svg", "\n".join(picture.drawn()) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'stale' if '--check' in sys.argv else 'drawn'}: {', '.join(stale)}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    raise SystemExit(main())

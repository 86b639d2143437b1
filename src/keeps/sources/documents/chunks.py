"""Splits documents into passages: by headings first, then paragraphs, then sentences. Pure.

A passage is a range of the document's text, so that an answer can be shown in its place. It never crosses a heading,
ends with its page if a sentence ends there, and never splits a row of a table or a line of code that fits. A passage
that continues a paragraph or section begins with the last sentences of the previous one, for readers of it alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from keeps.base.text.sentences import sentence_gaps
from keeps.sources.documents.parsers import Block, Kind

MAX_TOKENS, OVERLAP_TOKENS, LEAST_TOKENS = 256, 32, 64
CHARACTERS_A_TOKEN = 64
"""White space and invisible characters count as no token, so this many characters count as at least one."""
Counter = Callable[[Sequence[str]], list[int]]
"""Returns the token count of each text."""
_ENDS = ".!?。！？”\"')"
_LINES: frozenset[Kind] = frozenset(("row", "code", "item"))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Characters `start` to `end` of the document's text, with the headings above them.

    `page`: the page of `start`, or None if the format has no pages.
    `page_breaks`: the offsets in the document's text at which pages `page + 1`, `page + 2`, … begin inside the passage.
    A page without text begins where the next page does.
    """

    start: int
    end: int
    headings: tuple[str, ...]
    page: int | None
    page_breaks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    tokens: int


def by_words(count: Counter) -> Counter:
    """Return a counter for a tokenizer whose tokens never cross white space.

    It counts each word once, which is ten times as fast.
    """
    counts: dict[str, int] = {}

    def counted(texts: Sequence[str]) -> list[int]:
        split = [each.split() for each in texts]
        new = list({word for words in split for word in words} - counts.keys())
        counts.update(zip(new, count(new), strict=True))
        return [sum(map(counts.__getitem__, words)) for words in split]

    return counted


def joined(blocks: Sequence[Block]) -> tuple[str, list[int]]:
    """Return the text of a document, and the offset of each block in it."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for number, block in enumerate(blocks):
        if number:
            same = block.kind == blocks[number - 1].kind and block.kind in _LINES
            parts.append("\n" if same else "\n\n")
            length += len(parts[-1])
        starts.append(length)
        parts.append(block.text)
        length += len(block.text)
    return "".join(parts), starts


def cut(
    text: str, blocks: Sequence[Block], starts: Sequence[int], title: str, count: Counter, limit: int
) -> list[Chunk]:
    """Return the passages of a document, in order."""
    chunks: list[Chunk] = []
    placed = zip(blocks, starts, strict=True)
    for (is_heading, headings), section in groupby(placed, key=_section_of):
        if is_heading:
            continue
        (above,) = count([heading_line(title, headings)])
        room = max(limit - above, limit // 2)
        members = list(section)
        begins = [start for _, start in members]
        for start, end in _spans(text, members, count, room):
            first = max(0, bisect_right(begins, start) - 1)
            inside = members[first : bisect_left(begins, end)]
            chunks.append(Chunk(start, end, headings, inside[0][0].page, _page_breaks(inside)))
    return chunks


def _page_breaks(members: Sequence[tuple[Block, int]]) -> tuple[int, ...]:
    """Return the offset of each page after that of the first block, as `Chunk.page_breaks`."""
    breaks: list[int] = []
    page = members[0][0].page
    for block, start in members[1:]:
        if page is not None and block.page is not None and block.page > page:
            breaks += [start] * (block.page - page)
            page = block.page
    return tuple(breaks)


def _section_of(placed: tuple[Block, int]) -> tuple[bool, tuple[str, ...]]:
    block, _ = placed
    return block.kind == "heading", block.headings


def heading_line(title: str, headings: Sequence[str]) -> str:
    """Return the text embedded before a passage: the title and the headings above it, each once."""
    return " > ".join(dict.fromkeys(each for each in (title, *headings) if each))


def _spans(text: str, members: Sequence[tuple[Block, int]], count: Counter, room: int) -> Iterator[tuple[int, int]]:
    current: list[_Piece] = []
    page = members[0][0].page
    for (block, _), pieces in zip(members, _pieces(text, members, count, room), strict=True):
        if current and block.page != page and _ends(text, current):
            yield current[0].start, current[-1].end
            current = []
        page = block.page
        if current and pieces and not _fits([*current, *pieces], room):
            yield current[0].start, current[-1].end
            current = (
                _tail(current, pieces if _fits(pieces, room) else pieces[:1], room) if block.kind == "text" else []
            )
        for piece in pieces:
            if current and not _fits([*current, piece], room):
                yield current[0].start, current[-1].end
                current = _tail(current, [piece], room) if block.kind == "text" else []
            current.append(piece)
    if current:
        yield current[0].start, current[-1].end


def _ends(text: str, pieces: Sequence[_Piece]) -> bool:
    """Return whether a passage may end with its page: it ends a sentence, and is long enough to stand alone."""
    return sum(each.tokens for each in pieces) >= LEAST_TOKENS and text[pieces[-1].end - 1] in _ENDS


def _fits(pieces: Sequence[_Piece], room: int) -> bool:
    """Return whether the pieces fit in one passage: by their tokens, and by all characters from first to last."""
    length = pieces[-1].end - pieces[0].start
    return length <= room * CHARACTERS_A_TOKEN and sum(each.tokens for each in pieces) <= room


def _tail(before: Sequence[_Piece], following: Sequence[_Piece], room: int) -> list[_Piece]:
    """Return the last pieces that may be repeated at the start of the next passage."""
    repeated: list[_Piece] = []
    for piece in reversed(before[1:]):
        if sum(each.tokens for each in repeated) + piece.tokens > OVERLAP_TOKENS:
            break
        if not _fits([piece, *repeated, *following], room):
            break
        repeated.insert(0, piece)
    return repeated


def _pieces(text: str, members: Sequence[tuple[Block, int]], count: Counter, room: int) -> Iterator[list[_Piece]]:
    """Yield each block as sentences, or whole if it is a line; pieces longer than a passage are cut at spaces."""
    spans = [
        [(begin, begin + len(block.text))]
        if block.kind in _LINES
        else list(_sentences(text, begin, begin + len(block.text)))
        for block, begin in members
    ]
    # One call for all, since each call has a cost.
    tokens = iter(count([text[start:stop] for each in spans for start, stop in each]))
    for each in spans:
        pieces: list[_Piece] = []
        for start, stop in each:
            size = max(next(tokens), (stop - start) // CHARACTERS_A_TOKEN)
            pieces += [_Piece(start, stop, size)] if size <= room else _cut(text, start, stop, size, room)
        yield pieces


def _sentences(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    start = begin
    for stop, following in sentence_gaps(text, begin, end):
        if stop > start:
            yield start, stop
        start = following
    if start < end:
        yield start, end


def _cut(text: str, start: int, end: int, tokens: int, room: int) -> Iterator[_Piece]:
    """Yield about equal parts of a piece that is too long, cut at spaces if there are any."""
    parts = -(-tokens * 5 // (room * 4))
    step = max(1, -(-(end - start) // parts))
    while start < end:
        stop = min(end, start + step)
        if stop < end:
            space = text.rfind(" ", start + step // 2, stop)
            stop = space if space > start else stop
        yield _Piece(start, stop, max(1, tokens * (stop - start) // max(1, step * parts)))
        start = stop
        while start < end and text[start].isspace():
            start += 1

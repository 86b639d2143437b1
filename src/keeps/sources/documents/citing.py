"""The page of the sentence that answers a query. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from keeps.memory.recall.passages import Span, sentences_of
from keeps.sources.documents.store import Around
from keeps_client.models import Citation

_ENDS = ".!?:;。！？｡।॥؟۔።"
_CLOSING = "\"'”’»)）」』 \t\n"


def cited(around: Around, content: str, sentence: Span | None) -> Citation:
    """Return the citation of a passage, with the page on which the answering sentence begins.

    Args:
        around: The place of the passage in a document.
        content: The text of the passage.
        sentence: The characters of `content` that answer; None keeps the page on which the passage begins.
    """
    citation = around.citation
    if citation.page is None or sentence is None or not around.page_breaks:
        return citation
    breaks = [offset - citation.start for offset in around.page_breaks]
    start = _beginning(content, sentence[0], breaks)
    return citation.model_copy(update={"page": citation.page + bisect_right(breaks, start)})


def _beginning(content: str, start: int, breaks: list[int]) -> int:
    """Return the start of a part's sentence: on an earlier page if the part continues the text there."""
    parts = sentences_of(content)
    index = max(0, bisect_right([part[0] for part in parts], start) - 1)
    while index:
        begin, end = parts[index - 1]
        start = parts[index][0]
        page_break = bisect_left(breaks, end)
        opens_page = page_break < len(breaks) and breaks[page_break] <= start
        if not opens_page or not _runs_on(content[begin:end], content[start:]):
            break
        index -= 1
    return parts[index][0]


def _runs_on(before: str, after: str) -> bool:
    """Return whether a sentence continues over a page break. A heading, footer or page number is not a first half."""
    first = after[:1]
    return (
        first.isalpha()
        and not first.isupper()
        and any(map(str.isalpha, before))
        and before.rstrip(_CLOSING)[-1:] not in _ENDS
    )

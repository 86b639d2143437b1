"""What of a memory is searched: the text whose meaning counts, and the words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from keeps.text.words import count_terms


def speaker_of(kind: str, metadata: Mapping[str, JsonValue]) -> str | None:
    """Who said an episodic memory, if that is known."""
    speaker = metadata.get("speaker") if kind == "episodic" else None
    return speaker if isinstance(speaker, str) and speaker else None


def embedded_text(
    kind: str, content: str, metadata: Mapping[str, JsonValue], trigger_condition: str | None, layer: str
) -> str:
    """The text whose meaning is searched: who said it, when a skill applies, what a passage stands under, and the
    content."""
    if layer == "knowledge":
        return f"{metadata.get('under')}\n{content}"
    if speaker := speaker_of(kind, metadata):
        return f"{speaker}: {content}"
    return f"{trigger_condition}\n{content}" if trigger_condition else content


def searched_words(embedded: str, kind: str, tags: Sequence[str], key: str | None) -> Counter[str]:
    """The words that are searched: of the embedded text, of the tags, and of the key."""
    counts = count_terms(embedded)
    address = "" if kind == "episodic" else key or ""  # of an experience, a key is only an address
    for term in count_terms(" ".join([*tags, address])):
        counts.setdefault(term, 1)
    return counts

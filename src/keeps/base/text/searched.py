"""Build the searched forms of a memory: the text to embed, and the words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from keeps.base.text.words import count_terms


def speaker_of(kind: str, metadata: Mapping[str, JsonValue]) -> str | None:
    """Return the speaker of an episodic memory, None if unknown."""
    speaker = metadata.get("speaker") if kind == "episodic" else None
    return speaker if isinstance(speaker, str) and speaker else None


def embedded_text(
    kind: str, content: str, metadata: Mapping[str, JsonValue], trigger_condition: str | None, layer: str
) -> str:
    """Return the text to embed: the content, after the speaker, a skill's trigger or a passage's heading."""
    if layer == "knowledge":
        return f"{metadata.get('under')}\n{content}"
    if speaker := speaker_of(kind, metadata):
        return f"{speaker}: {content}"
    return f"{trigger_condition}\n{content}" if trigger_condition else content


def searched_words(embedded: str, kind: str, tags: Sequence[str], key: str | None) -> Counter[str]:
    """Return the searched words: those of the embedded text, the tags and the key."""
    counts = count_terms(embedded)
    address = "" if kind == "episodic" else key or ""  # The key of an experience is only an address.
    if tags or address:
        for term in count_terms(" ".join([*tags, address])):
            counts.setdefault(term, 1)
    return counts

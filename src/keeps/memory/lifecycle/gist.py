"""Keep the gist of fading messages: sentences with a name, a number, a date, or a fact about the speaker. Pure.

Small talk fades completely. Other sentences are kept long-term, with the ids of their source memories, so that facts
mentioned in passing can be recalled months later. A gist is erased with its source.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from keeps.base.text.importance import asks_only, estimate_importance, is_chatter
from keeps.base.text.sentences import split_sentences
from keeps.base.text.trust import origin_of, trust_of, with_trust
from keeps.memory.memories.types import MemoryRow
from keeps_client.models import NewMemory

NAMESPACE = "gists"
CONTENT_TYPE = "gist"
MOST_CHARACTERS = 600
LEAST_IMPORTANCE = 0.5
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b(?!I\b|I['’]|OK\b)[A-Z][\w’'-]+")
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|hundred|thousand|half|twice|dozen"
    r"|first|second|third|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|january|february|april|june|july|august|september|october"
    r"|november|december|birthday|anniversary)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\b(?:he|she|they)(?:['’](?:s|re)| is| are| was| were| has| had| works?| lives?| likes?| loves?| hates?)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:my|our|i|i['’](?:m|ve|d|ll)|we|me|us)\b", re.IGNORECASE)


def telling_sentences(text: str) -> list[str]:
    """Return the sentences of a text that a later question could ask about."""
    sentences: list[str] = []
    for sentence in split_sentences(text[:8_000]):
        plain = " ".join(sentence.split())
        if len(plain.split()) < 3 or len(plain) > MOST_CHARACTERS or is_chatter(plain):
            continue
        own = _OWN.search(plain) is not None
        marked = _NAME.search(plain) is not None or _NUMBER.search(plain) is not None
        if asks_only(plain) and not (own and marked):
            continue  # "I've put 340 aside, is that enough?" states more than it asks.
        telling = (own and len(plain.split()) >= 5) or _PERSON.search(plain) is not None
        if marked or telling or estimate_importance(plain) > LEAST_IMPORTANCE:
            sentences.append(plain)
    return sentences


def gists_of(rows: Sequence[MemoryRow]) -> Iterable[NewMemory]:
    """Yield the gist of each fading message of the user as one memory."""
    for row in rows:
        if row.session_id is None or row.role not in (None, "user") or row.kind != "episodic":
            continue
        if origin_of(row.role, row.source, row.metadata) != "own" or row.content_type != "message":
            continue
        sentences = telling_sentences(row.content)
        if not sentences:
            continue
        source = str(row.memory_id)
        metadata: dict[str, JsonValue] = {"sources": [source]}
        if isinstance(row.metadata.get("speaker"), str):
            metadata["speaker"] = row.metadata["speaker"]
        yield NewMemory(
            content=" ".join(sentences)[:MOST_CHARACTERS],
            kind="episodic",
            content_type=CONTENT_TYPE,
            role=row.role,
            namespace=NAMESPACE,
            key=hashlib.sha256(json.dumps([source]).encode()).hexdigest()[:32],
            session_id=row.session_id,
            agent_id=row.agent_id,
            importance=row.importance,
            tags=row.tags,
            metadata=with_trust(metadata, trust_of(row.role, row.source, row.metadata)),
            valid_from=row.valid_from,
            expires_at=row.expires_at,
        )

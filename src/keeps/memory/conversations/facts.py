"""Facts: each is one attribute of one entity, with its value. Pure.

Facts are memories under the namespace `facts`, keyed by entity and attribute. A newer fact supersedes the older one,
which stays readable and marked, like any memory that is written again under its key.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from pydantic import JsonValue

from keeps.base.text.trust import RULES
from keeps.base.text.words import without_piles
from keeps_client.models import NewMemory

NAMESPACE = "facts"
COST = "llm"
"""Field of the metadata: what the call of the LLM took that made the memory."""
Cost = Mapping[str, JsonValue]
ENDED = "ended/"
"""Begins the keys of ends of facts. They are memories that are over, so they are never current."""
USER = "user"
"""The entity that represents the owner of the memory."""
STATEMENT = "statement"
"""The attribute of a sentence that is kept verbatim: an instruction, a condition, an appointment."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One attribute of an entity.

    `sentence`: the words in which the fact was found.
    `keyed_by_value`: several values may coexist: the attribute has several, such as allergies, or it is not certain
    that one replaces the other.
    `ended`: the fact is stated to be no longer true.
    """

    entity: str
    attribute: str
    value: str
    sentence: str
    confidence: float = 0.9
    keyed_by_value: bool = False
    ended: bool = False
    until: datetime | None = None
    """End of validity, for a statement that names a future date."""

    @property
    def key(self) -> str:
        parts = [self.entity, self.attribute, *([self.value] if self.keyed_by_value else [])]
        return "/".join(_slug(each) for each in parts)[:255]


def end_key(fact: Fact) -> str:
    """Return the key of the end of a value."""
    return f"{ENDED}{replace(fact, keyed_by_value=True).key}"[:255]


def as_memory(
    fact: Fact,
    *,
    said_at: datetime,
    source: UUID | None,
    session_id: str | None,
    read_by: str,
    trust: str,
    speaker: str | None,
    agent_id: str | None = None,
    cost: Cost | None = None,
) -> NewMemory:
    """Return the memory of a fact.

    A fact read by rules is in the person's own words. A fact read by an LLM is a generated sentence, with the original
    words as metadata.
    """
    metadata: dict[str, JsonValue] = {"said": fact.sentence[:1_000], "confidence": fact.confidence, "read_by": read_by}
    if source is not None:
        metadata["read_in"] = str(source)
    if speaker:
        metadata["speaker"] = speaker
    if trust != "user":
        metadata["trust"] = trust
    if cost is not None:
        metadata[COST] = dict(cost)
    return NewMemory(
        content=fact.sentence if read_by == RULES else sentence_of(fact),
        namespace=NAMESPACE,
        key=fact.key,
        value={"entity": fact.entity, "attribute": fact.attribute, "value": fact.value},
        metadata=metadata,
        source="extraction",
        importance=_IMPORTANCE.get(fact.attribute, 0.7),
        expires_at=fact.until,
        # An appointment is an episode: an agent bound to its own episodes must not see it.
        kind="semantic" if fact.until is None else "episodic",
        agent_id=None if fact.until is None else agent_id,
        valid_from=said_at,
        session_id=session_id,
    )


def sentence_of(fact: Fact) -> str:
    """Return the fact as a sentence, such as "The user lives in Leeds" for a residence."""
    who = "The user" if fact.entity == USER else fact.entity
    form = _FORMS.get(fact.attribute)
    if form is not None:
        return form.format(who=who, value=fact.value)
    return f"{who}'s {fact.attribute} is {fact.value}."


_FORMS = {
    "residence": "{who} lives in {value}.",
    "employer": "{who} works at {value}.",
    "occupation": "{who} works as {value}.",
    "allergy": "{who} is allergic to {value}.",
    "diet": "{who} is {value}.",
    "health": "{who} is {value}.",
    "preference": "{who} prefers {value}.",
    "liking": "{who} likes {value}.",
    "dislike": "{who} dislikes {value}.",
}
_IMPORTANCE = {
    "allergy": 0.95,
    "diet": 0.85,
    "health": 0.95,
    "name": 0.9,
    "residence": 0.85,
    "employer": 0.85,
    "occupation": 0.8,
    STATEMENT: 0.75,
}


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKC", without_piles(text)).casefold()
    return re.sub(r"[^\w]+", "-", plain).strip("-") or "-"

"""Requests and responses of Hindsight's API."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from keeps.integrations.marks import marked
from keeps.integrations.product_api import NotSupportedError
from keeps.integrations.storable import UNSTORABLE, storable
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Filters, Memory
from keeps_client.models.memories import Kind

SOURCE = "hindsight"
"""The source of memories that a client of Hindsight stored."""
CONTEXT = "hindsight_context"
"""The metadata key for the context of an item."""
FactType = Literal["world", "experience", "observation"]
TagsMatch = Literal["any", "all", "any_strict", "all_strict", "exact"]
_KINDS: dict[FactType, tuple[Kind, ...]] = {
    "world": ("semantic", "procedural"),
    "experience": ("episodic",),
    "observation": ("semantic", "procedural"),
}
_TRAITS = ("skepticism", "literalism", "empathy")
_NEUTRAL = 3
"""The middle of a trait from 1 to 5, Hindsight's default."""
CONFIGURED = 256
"""Maximum characters of the name of a setting."""


class HindsightNotSupportedError(NotSupportedError):
    api, page = "Hindsight's API", "docs/hindsight.md"


class _Body(BaseModel):
    """A request body. Unknown fields are ignored; fields that would change the answer are refused by name."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    def refuse(self, *names: str) -> None:
        for name in names:
            if (self.__pydantic_extra__ or {}).get(name) not in (None, False, [], {}):
                raise HindsightNotSupportedError(f"`{name}`")


class Block(_Body):
    """A part of a content."""

    type: str
    text: str = ""


class RetainItem(_Body):
    content: str | list[Block]
    timestamp: datetime | Literal["unset", ""] | None = None
    context: str | None = None
    metadata: dict[str, Any] | None = None
    document_id: str | None = None
    tags: list[str] | None = None
    update_mode: Literal["replace", "append"] | None = None

    def text(self) -> str:
        """Return the text of the item.

        Raises HindsightNotSupportedError for pictures and files, ValidationFailedError for a text of which nothing can
        be stored.
        """
        text = self.content if isinstance(self.content, str) else self._text_of_blocks(self.content)
        if text.strip() and not UNSTORABLE.sub("", text).strip():
            raise ValidationFailedError("content: has only characters that cannot be stored, such as NUL")
        return storable(text)

    @staticmethod
    def _text_of_blocks(blocks: list[Block]) -> str:
        for block in blocks:
            if block.type != "text":
                raise HindsightNotSupportedError(f"content of type `{block.type[:50]}`")
        return "\n".join(block.text for block in blocks)

    def happened_at(self) -> datetime | None:
        if not isinstance(self.timestamp, datetime):
            return None
        return self.timestamp if self.timestamp.tzinfo else self.timestamp.replace(tzinfo=UTC)

    def stored_metadata(self) -> dict[str, str]:
        metadata = {storable(name): storable(str(value)) for name, value in (self.metadata or {}).items()}
        return metadata | ({CONTEXT: storable(self.context)} if self.context else {})


class RetainRequest(_Body):
    items: list[RetainItem]
    document_tags: list[str] | None = None


class _Selection(_Body):
    """The memories that a question may be answered from."""

    tags: list[str] | None = None
    tags_match: TagsMatch = "any"

    def filters(self) -> Filters | None:
        self.refuse("tag_groups")
        return filter_of_tags(self.tags, self.tags_match)


class MinScores(_Body):
    semantic: float | None = Field(default=None, ge=0, le=1)
    final: float | None = Field(default=None, ge=0, le=1)


class RecallRequest(_Selection):
    query: str = Field(min_length=1)
    types: list[FactType] | None = None
    budget: Literal["low", "mid", "high"] | None = None
    max_tokens: int = Field(default=4_096, ge=1)
    min_scores: MinScores | None = None

    def min_relevance(self) -> float | None:
        if self.min_scores is None:
            return None
        self.min_scores.refuse("keyword", "reranker")
        return max((score for score in (self.min_scores.semantic, self.min_scores.final) if score), default=None)


class ReflectRequest(_Selection):
    query: str = Field(min_length=1)
    budget: Literal["low", "mid", "high"] | None = None
    max_tokens: int = Field(default=4_096, ge=1)
    include: dict[str, Any] | None = None
    fact_types: list[FactType] | None = None


class BankRequest(_Body):
    """A change of a bank's profile; the fields that are not given stay."""

    name: str | None = None
    mission: str | None = None
    background: str | None = None
    reflect_mission: str | None = None
    disposition: dict[str, int] | None = None
    disposition_skepticism: int | None = Field(default=None, ge=1, le=5)
    disposition_literalism: int | None = Field(default=None, ge=1, le=5)
    disposition_empathy: int | None = Field(default=None, ge=1, le=5)

    def changes(self) -> dict[str, Any]:
        changes = self.model_dump(exclude_none=True, exclude={"disposition"}) | (self.__pydantic_extra__ or {})
        for trait, value in (self.disposition or {}).items():
            changes.setdefault(f"disposition_{trait}", value)
        return changes


class ConfigRequest(_Body):
    updates: dict[str, Any]


def kinds_of(types: list[FactType] | None) -> tuple[Kind, ...] | None:
    """Return the kinds of memories for types of facts; None for all."""
    if not types:
        return None
    return tuple(dict.fromkeys(kind for fact_type in types for kind in _KINDS[fact_type]))


def type_of(memory: Memory, types: list[FactType] | None = None) -> FactType:
    """Return the type of fact that a memory is: of those asked for, if it is one of them.

    Hindsight consolidates facts into observations. In Keeps the newest version of a fact is both.
    """
    if memory.kind == "episodic":
        return "experience"
    return "observation" if types and "observation" in types and "world" not in types else "world"


def filter_of_tags(tags: list[str] | None, match: TagsMatch) -> Filters | None:
    """Return the filter for tags; None for none."""
    if not tags:
        return {"tags": {"eq": []}} if match == "exact" else None
    wanted: Any = list(tags)
    chosen: Filters = {"tags": {"in" if match.startswith("any") else "contains": wanted}}
    if match == "exact":
        if len(wanted) > 1:
            raise HindsightNotSupportedError("`tags_match: exact` with several tags")
        return {"tags": {"eq": wanted}}
    return chosen if match.endswith("_strict") else {"OR": [chosen, {"tags": {"eq": []}}]}  # pyright: ignore[reportReturnType]


def shown_profile(bank_id: str, stored: dict[str, Any]) -> dict[str, Any]:
    """Return a bank as Hindsight does."""
    return {
        "bank_id": bank_id,
        "name": str(stored.get("name") or bank_id),
        "disposition": disposition_of(stored),
        "mission": str(stored.get("reflect_mission") or stored.get("mission") or ""),
        "background": stored.get("background"),
    }


def disposition_of(stored: dict[str, Any]) -> dict[str, int]:
    return {trait: stored.get(f"disposition_{trait}", _NEUTRAL) for trait in _TRAITS}


def shown_fact(memory: Memory, text: str, fact_type: FactType) -> dict[str, Any]:
    """Return a memory as a result of a recall, and as a fact that a reflection used."""
    metadata = {name: value if isinstance(value, str) else str(value) for name, value in memory.metadata.items()}
    return {
        "id": str(memory.memory_id),
        "text": marked(memory, text),
        "type": fact_type,
        "context": metadata.pop(CONTEXT, None),
        "occurred_start": memory.valid_from.isoformat(),
        "occurred_end": None if memory.valid_to is None else memory.valid_to.isoformat(),
        "mentioned_at": memory.created_at.isoformat(),
        "document_id": memory.session_id,
        "metadata": metadata,
        "chunk_id": None,
        "tags": list(memory.tags),
    }


def shown_unit(memory: Memory) -> dict[str, Any]:
    """Return a memory as a row of a list."""
    fact = shown_fact(memory, memory.content, type_of(memory))
    return {
        **{name: fact[name] for name in ("id", "text", "document_id", "metadata", "tags", "mentioned_at")},
        **{name: fact[name] for name in ("occurred_start", "occurred_end", "chunk_id")},
        "context": fact["context"] or "",
        "date": fact["occurred_start"],
        "fact_type": fact["type"],
        "entities": "",
        "proof_count": 1,
        "state": "valid",
        "updated_at": memory.updated_at.isoformat(),
    }


def check_settings(updates: dict[str, Any]) -> dict[str, Any]:
    """Raises ValidationFailedError for names that are too long, and traits that are no number from 1 to 5."""
    for name, value in updates.items():
        if len(name) > CONFIGURED:
            raise ValidationFailedError(f"updates: a name has at most {CONFIGURED} characters")
        if name.startswith("disposition_") and (type(value) is not int or not 1 <= value <= 5):
            raise ValidationFailedError(f"updates.{name}: must be a number from 1 to 5")
    return updates

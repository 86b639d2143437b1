"""The CoALA names for memories: knowledge, interactions, skills."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from keeps_client.models.common import Metadata, Text, Wire
from keeps_client.models.memories import Content, Key, Label, ProcedureType, Role, Tags

Threshold = Annotated[float, Field(ge=0.0, le=1.0)]


class NewKnowledge(Wire):
    """A fact to store. `is_public` (or `public`) shows it to the whole tenant. `external_id`: the caller's name for it;
    storing under it again replaces it. `user_id` is ignored: whoever asks is the owner."""

    content: Content
    external_id: Key | None = None
    is_public: bool = False
    public: bool | None = None
    user_id: Label | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    tags: Tags = ()
    source: Label | None = None


class KnowledgeUpsert(Wire):
    """A fact to store, or to put in place of the nearest one of one's own that is at least `dedupe_threshold` similar."""

    content: Content
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    dedupe_threshold: Threshold = 0.95
    user_id: Label | None = None


class Upserted(Wire):
    """Whether a fact was new, and its id."""

    status: Literal["created", "updated"]
    id: str


class SemanticItem(Wire):
    """A fact; where it was searched, `score` (comparable within one answer) and `similarity` (cosine, None without vectors)."""

    id: str
    tenant_id: str
    user_id: str
    content: str
    external_id: str | None = None
    is_public: bool
    metadata: dict[str, JsonValue]
    tags: list[str]
    source: str | None = None
    created_at: datetime
    updated_at: datetime
    score: float | None = None
    similarity: float | None = None


class NewInteraction(Wire):
    """Something that was said or done, as one agent saw it. Without `agent_id`: the agent who asks."""

    agent_id: Label | None = None
    role: Role
    content: Content
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    session_id: Label | None = None
    user_id: Label | None = None


class EpisodicItem(Wire):
    """An interaction; where it was searched, `score` (comparable within one answer) and `similarity` (cosine, None without vectors)."""

    id: str
    tenant_id: str
    user_id: str
    agent_id: str | None = None
    role: Role | None = None
    content: str
    metadata: dict[str, JsonValue]
    created_at: datetime
    score: float | None = None
    similarity: float | None = None


class NewSkill(Wire):
    """A prompt or example for an agent, and when it applies. Without `agent_id`: the agent who asks."""

    agent_id: Label | None = None
    trigger_condition: Annotated[Text, StringConstraints(max_length=2_000)] | None = None
    procedure_type: ProcedureType
    content: Content
    user_id: Label | None = None


class ProceduralItem(Wire):
    """A skill; where it was searched, `score` (comparable within one answer) and `similarity` (cosine, None without vectors)."""

    id: str
    tenant_id: str
    user_id: str
    agent_id: str | None = None
    trigger_condition: str | None = None
    procedure_type: ProcedureType | None = None
    content: str
    created_at: datetime
    score: float | None = None
    similarity: float | None = None

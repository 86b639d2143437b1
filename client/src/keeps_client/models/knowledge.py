"""The CoALA names for memories: knowledge, interactions, skills."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Id, Limit, Metadata, Text, Wire
from keeps_client.models.memories import Content, Key, Label, ProcedureType, Role, Tags

Threshold = Annotated[float, Field(ge=0.0, le=1.0)]


class NewKnowledge(Wire):
    """A fact to store. `is_public` (or `public`) shares it with the tenant. `external_id`: your name for it; storing
    it again replaces the fact. `user_id` is ignored: the caller is the owner.
    """

    content: Content
    external_id: Key | None = None
    is_public: bool = False
    public: bool | None = None
    user_id: Label | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    tags: Tags = ()
    source: Label | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.public is not None and "is_public" in self.model_fields_set and self.public != self.is_public:
            raise ValueError("public and is_public are the same field, but have different values; give only one")
        return self


class KnowledgeUpsert(Wire):
    """A fact to store, or to replace one of your own that is at least `dedupe_threshold` similar (cosine) and has the
    same words, except for spelling, numbers, fillers and order. Similarity alone replaces nothing: "the left knee
    hurts" and "the right knee hurts" are 0.98 similar. `user_id` is ignored.
    """

    content: Content
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    dedupe_threshold: Threshold = 0.95
    user_id: Label | None = None


class Upserted(Wire):
    """The result of an upsert: the fact's id, and whether it is new."""

    status: Literal["created", "updated"]
    id: str


class SemanticItem(Wire):
    """A fact; in a search, `score` (how likely it answers, 0 to 1) and `similarity` (cosine, None without vectors)."""

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
    """An interaction of one agent. Default `agent_id`: the calling agent."""

    agent_id: Label | None = None
    role: Role
    content: Content
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    session_id: Label | None = None
    user_id: Label | None = None


class EpisodicItem(Wire):
    """An interaction; in a search, `score` (how likely it answers, 0 to 1) and `similarity` (cosine, None without
    vectors).
    """

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
    """A prompt or example for an agent, and when it applies. Default `agent_id`: the calling agent."""

    agent_id: Label | None = None
    trigger_condition: Annotated[Text, StringConstraints(max_length=2_000)] | None = None
    procedure_type: ProcedureType
    content: Content
    user_id: Label | None = None


class ProceduralItem(Wire):
    """A skill; in a search, `score` (how likely it answers, 0 to 1) and `similarity` (cosine, None without vectors)."""

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


Question = Annotated[Text, Field(min_length=1, max_length=10_000)]
Some = Annotated[int, Field(ge=1, le=50)]
Agent = Annotated[Id | None, Field(description="Default: the calling agent.")]


class KnowledgeQuery(Wire):
    query: Question
    limit: Some = 5
    include_public: bool = True


class KnowledgeSearch(Wire):
    q: Question
    limit: Some = 5


class RecentOf(Wire):
    agent_id: Agent = None
    limit: Limit = 10


class InteractionSearch(Wire):
    q: Question
    agent_id: Agent = None
    limit: Some = 5


class SkillSearch(Wire):
    q: Question
    agent_id: Agent = None
    limit: Annotated[int, Field(ge=1, le=20)] = 3


STORE_KNOWLEDGE = Endpoint(
    "store_knowledge",
    "POST",
    "/v1/memory/semantic",
    "writer",
    "CoALA memory",
    SemanticItem,
    "Store a fact.",
    body=NewKnowledge,
    status=201,
)
UPSERT_KNOWLEDGE = Endpoint(
    "upsert_knowledge",
    "POST",
    "/v1/memory/semantic/upsert",
    "writer",
    "CoALA memory",
    Upserted,
    "Store a fact, or replace your own fact with the same content.",
    body=KnowledgeUpsert,
)
QUERY_KNOWLEDGE = Endpoint(
    "query_knowledge",
    "POST",
    "/v1/memory/semantic/query",
    "reader",
    "CoALA memory",
    list[SemanticItem],
    "Return the facts that best answer the query, best first.",
    params=KnowledgeQuery,
)
SEARCH_KNOWLEDGE = Endpoint(
    "search_knowledge",
    "GET",
    "/v1/memory/semantic/search",
    "reader",
    "CoALA memory",
    list[SemanticItem],
    "Return the facts that best answer the query, best first.",
    params=KnowledgeSearch,
)
LOG_INTERACTION = Endpoint(
    "log_interaction",
    "POST",
    "/v1/memory/episodic",
    "writer",
    "CoALA memory",
    EpisodicItem,
    "Store an interaction.",
    body=NewInteraction,
    status=201,
)
GET_RECENT_HISTORY = Endpoint(
    "get_recent_history",
    "GET",
    "/v1/memory/episodic/recent",
    "reader",
    "CoALA memory",
    list[EpisodicItem],
    "List the last interactions of an agent, newest first.",
    params=RecentOf,
)
SEARCH_INTERACTIONS = Endpoint(
    "search_interactions",
    "GET",
    "/v1/memory/episodic/search",
    "reader",
    "CoALA memory",
    list[EpisodicItem],
    "Return the interactions of an agent that best answer the query, best first.",
    params=InteractionSearch,
)
STORE_SKILL = Endpoint(
    "store_skill",
    "POST",
    "/v1/memory/procedural",
    "writer",
    "CoALA memory",
    ProceduralItem,
    "Store a prompt or example for an agent.",
    body=NewSkill,
    status=201,
)
GET_RELEVANT_SKILLS = Endpoint(
    "get_relevant_skills",
    "GET",
    "/v1/memory/procedural/context",
    "reader",
    "CoALA memory",
    list[ProceduralItem],
    "Return the skills of an agent that fit best, best first.",
    params=SkillSearch,
)

"""Why a memory is believed: what it came from, and who changed it. And why a question did not find it."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Wire
from keeps_client.models.events import Event
from keeps_client.models.memories import Memory, MemoryId
from keeps_client.models.names import Trust
from keeps_client.models.operations import Operation
from keeps_client.models.recall import RecallRequest

SourceKind = Literal["message", "source", "merged", "older", "conversation"]
LostAt = Literal[
    "nowhere",
    "state",
    "filter",
    "candidates",
    "rank",
    "relevance",
    "repeat",
    "later_statement",
    "context",
]


class Evidence(Wire):
    """A memory that another one came from.

    `how`: the message of a fact, a source of a summary, a duplicate that was merged, an older version, or a message of
    the summarised conversation. `depth`: 1 for what the memory itself came from, 2 for what that came from, and so on.
    `memory` and `trust` are None if it was deleted.
    """

    memory_id: UUID
    how: SourceKind
    depth: int
    memory: Memory | None = None
    trust: Trust | None = None


class Belief(Wire):
    """A memory, with what it came from, what happened to it, and the jobs and decisions that changed it."""

    memory: Memory
    trust: Trust
    evidence: list[Evidence]
    events: list[Event]
    operations: list[Operation]


class WhyNotQuestion(RecallRequest):
    """A question, with the arguments of `recall`. `context`: look for it in a context of `budget_tokens`, too."""

    context: bool = False
    budget_tokens: Annotated[int, Field(ge=50, le=200_000)] = 4_000


class WhyNot(Wire):
    """The step at which a question lost a memory, and by how much.

    `lost_at`: `nowhere` if it is among the hits, at place `rank`; `state` if it is not current; `filter` if an argument
    excludes it (`arguments`); `candidates` if neither its words nor its meaning made it a candidate (its `similarity`
    beside the least of the candidates); `rank` if `limit` better hits came first (its `score` beside the last hit's);
    `relevance` if it is under `min_relevance`; `repeat` if another hit says the same; `later_statement` if a hit of a
    later time changed it, so that a context marks or omits it; `context` if it was found but left out of the context.
    """

    memory_id: UUID
    lost_at: LostAt
    reason: str
    arguments: list[str] = Field(default_factory=list[str])
    rank: int | None = None
    candidates: int = 0
    score: float | None = None
    last_score: float | None = None
    relevance: float | None = None
    similarity: float | None = None
    least_similarity: float | None = None
    newer_id: UUID | None = None
    left_out: str | None = None


WHY = Endpoint(
    "why",
    "GET",
    "/v1/memories/{memory_id}/why",
    "reader",
    "memories",
    Belief,
    "Return what a memory came from, with speakers and times, and what changed it.",
    params=MemoryId,
)
WHY_NOT = Endpoint(
    "why_not",
    "POST",
    "/v1/memories/{memory_id}/why-not",
    "reader",
    "memories",
    WhyNot,
    "Return the step at which a question lost a memory, and by how much.",
    params=MemoryId,
    body=WhyNotQuestion,
)

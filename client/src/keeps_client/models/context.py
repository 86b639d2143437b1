"""Context: what goes into the prompt before the LLM sees it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import MAX_CHOSEN, MAX_QUESTION_BYTES, Id, Text, Wire
from keeps_client.models.memories import Label, Receipt, Visibility
from keeps_client.models.names import Name
from keeps_client.models.working import StateId
from keeps_client.zones import ZoneName

SectionName = Literal[
    "session", "long_term", "temporal", "conversations", "activity", "skills", "knowledge", "documents"
]
SourceKind = Literal["document", "database", "api"]
ZONE_DESCRIPTION = "Where the user lives, such as Europe/Berlin, or a UTC offset such as +02:00"
LeftOutReason = Literal["budget", "duplicate", "in_session", "not_relevant"]


class ContextRequest(Wire):
    """A question, the conversation it is asked in, and how many tokens the answer may have.

    `timezone`: "yesterday" is the day before today there; KEEPS_TIMEZONE if not given.
    """

    MOST_BYTES: ClassVar[int] = MAX_QUESTION_BYTES

    query: Annotated[Text, StringConstraints(min_length=1, max_length=10_000)]
    session_id: StateId | None = None
    budget_tokens: Annotated[int, Field(ge=50, le=200_000)] = 4_000
    min_relevance: Annotated[float, Field(ge=0, le=1)] | None = None
    agent_id: Label | None = None
    sections: Annotated[tuple[SectionName, ...], Field(fail_fast=True, max_length=MAX_CHOSEN)] | None = None
    timezone: Annotated[ZoneName | None, Field(description=ZONE_DESCRIPTION)] = None
    explain: bool = False


class ContextItem(Wire):
    """One line of a section. `memory_id` is None for what is no memory: notes of the session, what can be looked up."""

    memory_id: UUID | None = None
    text: str
    tokens: int
    score: float | None = None
    trusted: bool = True


class ContextSection(Wire):
    """A part of the context. `share_tokens` is what it may take before unspent tokens are given away."""

    name: SectionName
    title: str
    tokens: int
    share_tokens: int
    items: tuple[ContextItem, ...]


class LeftOut(Wire):
    """An item that was found but left out of the text, and why: near misses first."""

    section: SectionName
    memory_id: UUID | None
    tokens: int
    reason: LeftOutReason
    score: float | None = None


class ContextResult(Wire):
    """Markdown for the prompt, and how it came about.

    `text` is within `budget_tokens`, counted by `tokenizer`. `signals`: what the question asks for besides its words.
    `nothing_known`: probably no memory answers the question; then the text says so and holds only the few nearest.
    `sources_ms`: how long each source took; `router_ms` the rest. `degraded`: some source failed or was too slow (named
    in `degraded_sources`), so something may be missing. `left_out` (at most 50) is given with `explain`, or where
    something was.

    `stable` and `volatile` say it in two parts, together within the budget: who the user is, what matters most, how to
    act and what can be looked up, the same to the byte until something is written; and what this question found
    besides. Put the first before the conversation and the second at its end: what a model's provider has cached stays.
    """

    text: str
    stable: str = ""
    volatile: str = ""
    tokens: int
    budget_tokens: int
    tokenizer: str
    signals: tuple[str, ...]
    since: datetime | None = None
    until: datetime | None = None
    sections: tuple[ContextSection, ...]
    left_out: tuple[LeftOut, ...]
    sources_ms: dict[str, float]
    router_ms: float
    took_ms: float
    nothing_known: bool = False
    degraded: bool
    degraded_sources: tuple[str, ...]

    @property
    def memory_ids(self) -> tuple[UUID, ...]:
        """Return the memories whose text is in the context."""
        return tuple(item.memory_id for section in self.sections for item in section.items if item.memory_id)


class NewSource(Wire):
    """Something that can be looked up: a document collection, a database, an API, and what it is good for."""

    name: Name
    kind: SourceKind
    purpose: Annotated[Text, StringConstraints(min_length=1, max_length=500)]
    visibility: Visibility = "tenant"


class Source(Wire):
    """A source, as agents are told of it."""

    name: str
    kind: SourceKind
    purpose: str
    visibility: Visibility
    memory_id: UUID
    updated_at: datetime


class SourceName(Wire):
    name: Id


BUILD_CONTEXT = Endpoint(
    "build_context",
    "POST",
    "/v1/context",
    "reader",
    "context",
    ContextResult,
    "What to put into the prompt of a question: Markdown within a budget of tokens, and how it came about.",
    body=ContextRequest,
)
ADD_SOURCE = Endpoint(
    "add_source",
    "POST",
    "/v1/sources",
    "writer",
    "context",
    Source,
    "Tell agents of something that can be looked up, and what it is good for.",
    body=NewSource,
    status=201,
)
LIST_SOURCES = Endpoint(
    "list_sources",
    "GET",
    "/v1/sources",
    "reader",
    "context",
    list[Source],
    "What can be looked up, as agents are told of it.",
)
REMOVE_SOURCE = Endpoint(
    "remove_source",
    "DELETE",
    "/v1/sources/{name}",
    "writer",
    "context",
    Receipt,
    "Tell of it no more.",
    params=SourceName,
)

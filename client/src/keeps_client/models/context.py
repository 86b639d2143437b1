"""Context: what goes into the prompt before the LLM sees it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import MAX_CHOSEN, MAX_QUESTION_BYTES, Id, Text, Wire
from keeps_client.models.memories import Label, Receipt, Visibility
from keeps_client.models.names import Name, SpaceName, ZoneName
from keeps_client.models.working import StateId

SectionName = Literal[
    "session", "long_term", "temporal", "conversations", "activity", "skills", "knowledge", "documents"
]
SourceKind = Literal["document", "database", "api"]
ZONE_DESCRIPTION = "Where the user lives, such as Europe/Berlin, or a UTC offset such as +02:00"
LeftOutReason = Literal["budget", "duplicate", "in_session", "not_relevant"]


class ContextRequest(Wire):
    """A question, its conversation, and the token budget of the context.

    `spaces`: as in a recall. `timezone`: "yesterday" is the day before today there; KEEPS_TIMEZONE if not given.
    """

    MOST_BYTES: ClassVar[int] = MAX_QUESTION_BYTES

    query: Annotated[Text, StringConstraints(min_length=1, max_length=10_000)]
    session_id: StateId | None = None
    budget_tokens: Annotated[int, Field(ge=50, le=200_000)] = 4_000
    min_relevance: Annotated[float, Field(ge=0, le=1)] | None = None
    agent_id: Label | None = None
    spaces: Annotated[tuple[SpaceName, ...], Field(fail_fast=True, max_length=MAX_CHOSEN)] | None = None
    sections: Annotated[tuple[SectionName, ...], Field(fail_fast=True, max_length=MAX_CHOSEN)] | None = None
    timezone: Annotated[ZoneName | None, Field(description=ZONE_DESCRIPTION)] = None
    explain: bool = False


class ContextItem(Wire):
    """One line of a section. `memory_id` is None for lines that are not memories: notes of the session, and sources."""

    memory_id: UUID | None = None
    text: str
    tokens: int
    score: float | None = None
    trusted: bool = True


class ContextSection(Wire):
    """A part of the context. `share_tokens`: its share of the budget, before unused tokens are redistributed."""

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
    """Markdown for the prompt, and how it was built.

    `text` has `tokens` of `budget_tokens`, counted by `tokenizer`, in `sections`. `signals`: what the question asks for
    beyond its words. `nothing_known`: probably no memory answers the question; then the text says so and contains only
    the few nearest. `sources_ms`: how long each source took; `router_ms` the rest. `degraded`: some source failed or
    was too slow (named in `degraded_sources`), so something may be missing. `left_out` (at most 50): what neither
    `text` nor `stable` contains.

    `stable` and `volatile` are two parts, together within the budget. `stable` has the user's identity, the most
    important memories, instructions and sources, identical to the byte until something is written; `volatile` has what
    else this question found. Put `stable` before the conversation and `volatile` at its end, so that the model
    provider's prompt cache stays valid. `stable_items` are the lines of `stable`. A prompt with both takes
    `stable_tokens` + `volatile_tokens`.
    """

    text: str
    stable: str = ""
    stable_tokens: int = 0
    stable_items: tuple[ContextItem, ...] = ()
    volatile: str = ""
    volatile_tokens: int = 0
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
    def prompt(self) -> str:
        """Return everything that a model needs in one text: `stable`, then `volatile`. `str()` returns it, too."""
        return "\n\n".join(part for part in (self.stable, self.volatile) if part)

    def __str__(self) -> str:
        return self.prompt

    @property
    def memory_ids(self) -> tuple[UUID, ...]:
        """Return the memories whose text is in the context."""
        return tuple(item.memory_id for section in self.sections for item in section.items if item.memory_id)


class NewSource(Wire):
    """A source that agents can look up: a document collection, a database or an API, with its purpose."""

    name: Name
    kind: SourceKind
    purpose: Annotated[Text, StringConstraints(min_length=1, max_length=500)]
    visibility: Visibility = "tenant"


class Source(Wire):
    """A source that agents can look up."""

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
    "Return the text for the prompt of a question: Markdown within a token budget, and how it was built.",
    body=ContextRequest,
)
ADD_SOURCE = Endpoint(
    "add_source",
    "POST",
    "/v1/sources",
    "writer",
    "context",
    Source,
    "Add a source that agents can look up, with its purpose.",
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
    "List the sources that agents can look up.",
)
REMOVE_SOURCE = Endpoint(
    "remove_source",
    "DELETE",
    "/v1/sources/{name}",
    "writer",
    "context",
    Receipt,
    "Remove a source.",
    params=SourceName,
)

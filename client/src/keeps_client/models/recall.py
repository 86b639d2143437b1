"""Questions and answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import (
    MAX_CHOSEN,
    MAX_FILTER_BYTES,
    MAX_LIMIT,
    MAX_QUESTION_BYTES,
    Text,
    UtcTime,
    Wire,
    small_json,
)
from keeps_client.models.memories import Importance, Kind, Label, Layer, Memory
from keeps_client.models.names import Name, Namespace, SpaceName, Tag, Trust, ZoneName


def _small(filters: dict[str, JsonValue]) -> dict[str, JsonValue]:
    small_json(filters, MAX_FILTER_BYTES)
    return filters


Filters = Annotated[dict[str, JsonValue], AfterValidator(_small)]
RecallScope = Literal["all", "own", "shared", "working", "persistent", "indexed"]


class RecallRequest(Wire):
    """One question; the arguments of `recall`.

    `scope`: "all" (what this user may see), "own" (only what this user wrote), "shared" (only what others share with
    the tenant or in spaces), or one tier: "working", "persistent" (the database by words, and other stores), "indexed"
    (by meaning).
    `spaces`: of the spaces that the user is a member of, search only these; none with an empty list; all by default.
    `providers`: only these; "graph" adds memories that mention the question's entities. `since` and `until` limit
    `valid_from`. `as_of`: memories as stored at that time, including those changed or forgotten since; `valid_at`:
    memories true at that time, as stored now. `timezone`: the time zone of dates in the question; default:
    KEEPS_TIMEZONE. `include_archived`: True searches archived memories, too; False never does; None (the default) does
    if the best current hit is weak. `min_trust`: only memories of this level or a more trusted one: "user" (the user's
    own words), "agent" (their agents' too), "shared" (other users' too), "document" (documents too); "tool" is all.
    """

    MOST_BYTES: ClassVar[int] = MAX_QUESTION_BYTES

    query: Annotated[Text, StringConstraints(min_length=1, max_length=10_000)]
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 10
    kinds: Annotated[tuple[Kind, ...], Field(fail_fast=True, max_length=MAX_CHOSEN)] | None = None
    layers: Annotated[tuple[Layer, ...], Field(fail_fast=True, max_length=MAX_CHOSEN)] | None = None
    content_types: Annotated[tuple[Name, ...], Field(fail_fast=True, max_length=MAX_CHOSEN)] | None = None
    agent_id: Label | None = None
    session_id: Label | None = None
    namespace: Namespace | None = None
    tags: Annotated[tuple[Tag, ...], Field(fail_fast=True, max_length=MAX_CHOSEN)] | None = None
    tags_match: Literal["any", "all"] = "any"
    filters: Filters | None = None
    min_importance: Importance | None = None
    min_relevance: Annotated[float, Field(ge=0, le=1)] | None = None
    min_trust: Trust | None = None
    since: UtcTime | None = None
    until: UtcTime | None = None
    as_of: UtcTime | None = None
    valid_at: UtcTime | None = None
    scope: RecallScope = "all"
    spaces: Annotated[tuple[SpaceName, ...], Field(fail_fast=True, max_length=MAX_CHOSEN)] | None = None
    providers: Annotated[tuple[Name, ...], Field(fail_fast=True, max_length=MAX_CHOSEN)] | None = None
    include_archived: bool | None = None
    include_superseded: bool = False
    timezone: ZoneName | None = None
    rerank: bool | None = None
    explain: bool = False


WEAK_RELEVANCE = 0.25
"""Text answers mark less relevant hits as weak: they may only be related. None is left out."""


class Explanation(Wire):
    """The parts of the score of a hit.

    Each part is one arm or boost: `raw` is the measurement, `normalised` the value that is weighted (for an arm, its
    place between the worst candidate, 0, and the best, 1), `weight` its share, `points` its contribution to the score
    (weight times normalised). `matched_terms`: stems that the question and this memory share.
    """

    class Part(Wire):
        name: str
        raw: float | None
        normalised: float
        weight: float
        points: float
        rank: int | None = None

    parts: list[Part]
    matched_terms: list[str] = Field(default_factory=list[str])


class Passage(Wire):
    """Characters `start` to `end` of a memory's content."""

    start: int
    end: int


class Hit(Wire):
    """A memory that answers, best first. Scores compare within one answer, not between answers.

    `relevance`, from 0 to 1, says how likely the memory answers the question; under 0.25 it may only be related.
    Without a vector it is the share of the question's words that the memory contains; None if a provider gives none.
    `similarity` is the cosine of their vectors, None without a vector.
    `newer_id`: a later statement among the hits, about the same matter, that may have changed this one.
    `passage`: of a memory of over 1,000 characters, the sentences that are nearest to the question.
    """

    memory: Memory
    score: float
    relevance: float | None = None
    similarity: float | None = None
    provider_id: str = "postgres"
    tier: Literal["working", "persistent", "indexed"] = "indexed"
    explanation: Explanation | None = None
    passage: Passage | None = None
    newer_id: UUID | None = None

    @property
    def memory_id(self) -> UUID:
        return self.memory.memory_id

    @property
    def text(self) -> str:
        """Return the content of the memory."""
        return self.memory.content


class RecallResult(Wire):
    """The hits of one question, best first; `result[0]`, `len(result)` and `for hit in result` work, too.

    `partial` is set if a provider failed or the vector index was unavailable.
    `nothing_known`: probably no memory answers the question. A hint: the nearest memories are among the hits.
    """

    hits: list[Hit]
    nothing_known: bool = False
    took_ms: float
    partial: bool = False
    failed_providers: list[str] = Field(default_factory=list[str])

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:  # type: ignore[override]
        return iter(self.hits)

    def __getitem__(self, position: int) -> Hit:
        return self.hits[position]


RECALL = Endpoint(
    "recall",
    "POST",
    "/v1/recall",
    "reader",
    "memories",
    RecallResult,
    "Return the memories that best answer a question, best first.",
    body=RecallRequest,
)

"""Insights: statistics of a user's memories: contents, growth, usage and expected decay."""

from __future__ import annotations

from datetime import date, datetime
from uuid import UUID

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Wire


class Used(Wire):
    """A memory that was recalled often."""

    memory_id: UUID
    content: str
    access_count: int
    last_accessed_at: datetime


class Week(Wire):
    """The number of memories created in the week that begins on `week`."""

    week: date
    memories: int


class StorageSample(Wire):
    """The tenant's storage at the end of a day."""

    day: date
    memories: int
    bytes: int
    events: int


class Decay(Wire):
    """The number of short-term memories that fade within so many days unless they are read, and that have faded."""

    within_a_day: int
    within_a_week: int
    within_a_month: int
    archived: int


class Fading(Wire):
    """A short-term memory that fades at `fades_at`, unless it is read first."""

    memory_id: UUID
    content: str
    fades_at: datetime


class Insights(Wire):
    """Statistics of your own memory. Counts are of current memories unless stated otherwise.

    `growth_trend`: increasing, decreasing or steady, of the last four weeks against the four before. `junk_share`: the
    share of small talk and mere questions among promoted experiences. `index_pending` wait for a vector, the oldest for
    `index_lag_seconds`. `fading`: what fades within a week, the first 20. `storage` and `llm_tokens` (what an LLM cost,
    by job) are of the tenant, the last 30 days.
    """

    total_memories: int
    important_memories: int
    by_kind: dict[str, int]
    by_layer: dict[str, int]
    by_namespace: dict[str, int]
    common_tags: dict[str, int]
    most_accessed_namespace: str | None
    most_used: tuple[Used, ...]
    never_used: int
    growth: tuple[Week, ...]
    growth_trend: str
    decay: Decay
    fading: tuple[Fading, ...]
    superseded: int
    forgotten: int
    stale: int
    promoted: int
    junk_share: float
    index_pending: int
    index_lag_seconds: float
    storage: tuple[StorageSample, ...]
    llm_tokens: dict[str, int]


class JunkAudit(Wire):
    """The memories that a promotion run would promote now, and the share of junk in them and in earlier promotions.

    `examples`: up to 10 texts of the asking user that were promoted and look like junk.
    """

    would_promote: int
    would_promote_junk: int
    promoted: int
    promoted_junk: int
    junk_share: float
    examples: tuple[str, ...]


GET_INSIGHTS = Endpoint(
    "get_insights",
    "GET",
    "/v1/insights",
    "reader",
    "insights",
    Insights,
    "Return statistics of your memories: totals, growth, use, expected decay, junk, storage, index lag.",
)
AUDIT_JUNK = Endpoint(
    "audit_junk",
    "GET",
    "/v1/insights/junk",
    "reader",
    "insights",
    JunkAudit,
    "Return what a promotion run would promote now, and its share of small talk and mere questions.",
)

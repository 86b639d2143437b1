"""Statistics of a user's memory, computed on request."""

from __future__ import annotations

from collections import Counter

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.base.text.importance import asks_only, is_chatter
from keeps.memory.lifecycle.promotion import would_promote
from keeps.store.costs.usage import ModelUsage
from keeps.store.db.session import Database, Row
from keeps.store.db.statements import Statements
from keeps_client.models import Insights, JunkAudit
from keeps_client.models.insights import Decay, Fading, StorageSample, Used, Week

QUERIES = Statements("keeps.memory.insights")
MOST_NAMED = 20
TREND = 0.25
"""Relative change between two periods of four weeks that counts as a trend."""
EXAMPLES = 10


class InsightService:
    """Computes statistics; writes nothing but what this process has counted of models."""

    def __init__(self, database: Database, usage: ModelUsage, clock: Clock) -> None:
        self._database = database
        self._usage = usage
        self._clock = clock

    async def insights(self, scope: Scope) -> Insights:
        now = self._clock()
        who = (scope.tenant_id, scope.user_id)
        await self._usage.flush(scope.tenant_id)
        async with self._database.reading(scope) as tx:
            totals = await tx.fetch(QUERIES["totals"], *who, now)
            lives = await tx.fetch_row(QUERIES["lives"], *who)
            tags = await tx.fetch(QUERIES["tags"], *who)
            used = await tx.fetch(QUERIES["used"], *who)
            namespaces = await tx.fetch(QUERIES["used_namespaces"], *who)
            growth = await tx.fetch(QUERIES["growth"], *who, now)
            ahead = await tx.fetch_row(QUERIES["decay_ahead"], *who, now)
            fading = await tx.fetch(QUERIES["fading"], *who, now)
            tokens = await tx.fetch(QUERIES["llm_tokens"], scope.tenant_id, now.date())
            pending = await tx.fetch_row(QUERIES["pending"], *who)
            storage = await tx.fetch(QUERIES["storage"], scope.tenant_id, now.date())
            experiences = await tx.fetch(QUERIES["kept_experiences"], *who)
        assert lives is not None
        assert ahead is not None
        assert pending is not None
        total = sum(row["memories"] for row in totals)
        weeks = tuple(Week(**dict(row)) for row in growth)
        junk = sum(looks_like_junk(row["content"]) for row in experiences)
        oldest = pending["oldest"]
        named = [row for row in namespaces if row["namespace"] is not None]
        return Insights(
            total_memories=total,
            important_memories=sum(row["important"] for row in totals),
            by_kind=_summed(totals, "kind"),
            by_layer=_summed(totals, "layer"),
            by_namespace=dict(Counter(_summed(totals, "namespace")).most_common(MOST_NAMED)),
            common_tags={row["tag"]: row["memories"] for row in tags},
            most_accessed_namespace=named[0]["namespace"] if named else None,
            most_used=tuple(Used(**dict(row)) for row in used),
            never_used=total - sum(row["memories"] for row in namespaces),
            growth=weeks,
            growth_trend=trend([week.memories for week in weeks]),
            decay=Decay(**dict(ahead), archived=lives["archived"]),
            fading=tuple(Fading(**dict(row)) for row in fading),
            superseded=lives["superseded"],
            forgotten=lives["forgotten"],
            stale=sum(row["stale"] for row in totals),
            promoted=sum(row["promoted"] for row in totals),
            junk_share=junk / len(experiences) if experiences else 0.0,
            index_pending=pending["pending"],
            index_lag_seconds=0.0 if oldest is None else max(0.0, (now - oldest).total_seconds()),
            storage=tuple(StorageSample(**dict(row)) for row in storage),
            llm_tokens={row["job"]: row["tokens"] for row in tokens},
        )

    async def audit_junk(self, scope: Scope) -> JunkAudit:
        """Return what a promotion run would promote now, and how much of it is junk. Promotes nothing."""
        async with self._database.reading(scope) as tx:
            coming = await would_promote(tx, self._clock())
            experiences = await tx.fetch(QUERIES["kept_experiences"], scope.tenant_id, scope.user_id)
        bad_to_come = [text for text in coming if looks_like_junk(text)]
        bad_kept = [row["content"] for row in experiences if looks_like_junk(row["content"])]
        all_of_it = len(coming) + len(experiences)
        return JunkAudit(
            would_promote=len(coming),
            would_promote_junk=len(bad_to_come),
            promoted=len(experiences),
            promoted_junk=len(bad_kept),
            junk_share=(len(bad_to_come) + len(bad_kept)) / all_of_it if all_of_it else 0.0,
            examples=tuple(text[:200] for text in [*bad_kept, *bad_to_come][:EXAMPLES]),
        )


def looks_like_junk(content: str) -> bool:
    """Return whether a text is small talk, only a question, or too short to mean anything."""
    return is_chatter(content) or asks_only(content) or len(content.split()) < 3


def trend(weeks: list[int]) -> str:
    """Compare the last four weeks with the four before."""
    last, before = sum(weeks[-4:]), sum(weeks[-8:-4])
    if last > before * (1 + TREND):
        return "increasing"
    return "decreasing" if last < before * (1 - TREND) else "steady"


def _summed(rows: list[Row], name: str) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row[name]] += row["memories"]
    return dict(sums)

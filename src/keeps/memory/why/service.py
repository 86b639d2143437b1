"""Explain a memory: what it came from, and at which step a question lost it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from uuid import UUID

import numpy as np

from keeps.base.clock import Clock
from keeps.base.scope import Scope, is_own
from keeps.base.text.small_talk import is_small_talk
from keeps.base.text.trust import trust_of
from keeps.memory.context.router import ContextRouter
from keeps.memory.memories import store
from keeps.memory.memories.service import MemoryService
from keeps.memory.operations.service import OperationService
from keeps.memory.recall.ranking import Ranking
from keeps.memory.recall.service import RankedResult, RecallService
from keeps.store.db.session import Database, Tx
from keeps.store.db.statements import Statements
from keeps_client.models import ContextRequest, Memory, Operation, RecallRequest
from keeps_client.models.names import Trust
from keeps_client.models.why import Belief, Evidence, LostAt, SourceKind, WhyNot, WhyNotQuestion

QUERIES = Statements("keeps.memory.why")
SUMMARY = "session_summary"
_FIELDS: dict[str, SourceKind] = {"read_in": "message", "sources": "source", "merged_from": "merged"}
"""Fields of metadata with the ids of what a memory came from."""
MOST_DEPTH, MOST_EVIDENCE, EVENTS = 4, 200, 50
_ARGUMENTS = (
    "kinds",
    "layers",
    "content_types",
    "agent_id",
    "session_id",
    "namespace",
    "tags",
    "filters",
    "min_importance",
    "min_trust",
    "since",
    "until",
    "valid_at",
    "as_of",
)
"""Arguments of recall that leave memories out before they are ranked, beside `scope`."""


class WhyService:
    """Explanations for one user. Reads only, and counts no access."""

    def __init__(
        self,
        database: Database,
        memories: MemoryService,
        operations: OperationService,
        recall: RecallService,
        contexts: ContextRouter,
        clock: Clock,
    ) -> None:
        self._database = database
        self._memories = memories
        self._operations = operations
        self._recall = recall
        self._contexts = contexts
        self._clock = clock

    async def why(self, scope: Scope, memory_id: UUID) -> Belief:
        """Return what a memory came from. Raises NotFoundError."""
        memory = await self._memories.get(scope, memory_id)
        async with self._database.reading(scope) as tx:
            evidence = await _evidence(tx, memory)
            rows = await tx.fetch(QUERIES["operations_of_memory"], scope.tenant_id, memory_id, scope.user_id)
        operations: list[Operation] = [self._operations.operation_of(row) for row in rows]
        history = await self._memories.history(scope, memory_id)
        events = [event for event in history if event.type != "memory.indexed"]
        return Belief(
            memory=memory,
            trust=_level(memory, scope),
            evidence=evidence,
            events=events[-EVENTS:],
            operations=operations,
        )

    async def why_not(self, scope: Scope, memory_id: UUID, question: WhyNotQuestion) -> WhyNot:
        """Return the step at which a question lost a memory. Raises NotFoundError."""
        memory = await self._memories.get(scope, memory_id)
        fields = question.model_dump(exclude={"context", "budget_tokens"}, exclude_unset=True)
        request = RecallRequest.model_validate({**fields, "explain": True})
        if (state := _state(memory, request, self._clock())) is not None:
            return WhyNot(memory_id=memory_id, lost_at="state", reason=state, newer_id=memory.superseded_by)
        if excluding := await self._excluding(scope, memory, request):
            names = ", ".join(excluding)
            return WhyNot(
                memory_id=memory_id, lost_at="filter", reason=f"it does not meet {names}", arguments=excluding
            )
        answer = await self._recall.answer(scope, request, counted=False)
        lost = await self._lost(scope, memory, request, answer)
        if lost.lost_at == "nowhere" and question.context:
            return await self._in_context(scope, memory, question, lost)
        return lost

    async def _excluding(self, scope: Scope, memory: Memory, request: RecallRequest) -> list[str]:
        """Return the arguments that each alone exclude a memory."""
        arguments = [name for name in _ARGUMENTS if getattr(request, name) is not None]
        if request.scope in ("own", "shared"):
            arguments.append("scope")
        if not arguments or await self._passes(scope, memory, request):
            return []
        plain = {name: None for name in arguments if name != "scope"} | {"scope": "all"}
        excluding: list[str] = []
        for name in arguments:
            alone = request.model_copy(update={**plain, name: getattr(request, name)})
            if not await self._passes(scope, memory, alone):
                excluding.append(name)
        return excluding or arguments

    async def _passes(self, scope: Scope, memory: Memory, request: RecallRequest) -> bool:
        """Return whether a memory is among those that may answer, whatever the question."""
        only = {"memory_id": {"eq": str(memory.memory_id)}}
        filters = {"AND": [request.filters, only]} if request.filters else only
        # Its own words find it, if it may be found at all.
        words = memory.content[:1_000] or memory.key or "x"
        asked = request.model_copy(
            update={"filters": filters, "query": words, "limit": 1, "min_relevance": None, "include_archived": True}
        )
        answer = await self._recall.answer(scope, asked, counted=False, reranked=False)
        return bool(answer.result.hits)

    async def _lost(self, scope: Scope, memory: Memory, request: RecallRequest, answer: RankedResult) -> WhyNot:
        ranking, hits = answer.ranking, answer.result.hits
        candidates = len(ranking.rows)
        places = {hit.memory_id: place for place, hit in enumerate(hits, 1)}
        last_score = hits[-1].score if hits else None
        position = ranking.places.get(memory.memory_id.bytes)
        if position is None:
            return await self._no_candidate(scope, memory, request, ranking, last_score)
        score, relevance = float(ranking.total[position]), _number(ranking.relevance[position])
        rank = ranking.order.index(position) + 1
        answered = WhyNot(
            memory_id=memory.memory_id,
            lost_at="rank",
            reason="",
            rank=rank,
            candidates=candidates,
            score=score,
            last_score=last_score,
            relevance=relevance,
            similarity=_number(ranking.similarity[position]),
        )
        if (place := places.get(memory.memory_id)) is not None:
            newer_id = hits[place - 1].newer_id
            reason = f"it is hit {place}" if newer_id is None else f"a later statement may have changed it: {newer_id}"
            step: LostAt = "nowhere" if newer_id is None else "later_statement"
            return answered.model_copy(update={"lost_at": step, "reason": reason, "rank": place, "newer_id": newer_id})
        if request.min_relevance is not None and relevance is not None and relevance < request.min_relevance:
            reason = f"its relevance is {relevance:.2f}, under min_relevance={request.min_relevance:g}"
            return answered.model_copy(update={"lost_at": "relevance", "reason": reason})
        same = [hit for hit in hits if (hit.memory.user_id, hit.memory.content) == (memory.user_id, memory.content)]
        if same or (memory.content_type == "message" and is_small_talk(memory.content)):
            reason = f"hit {places[same[0].memory_id]} says the same" if same else "it is small talk"
            return answered.model_copy(update={"lost_at": "repeat", "reason": reason})
        beside = "" if last_score is None else f": its score is {score:.3f}, that of the last hit {last_score:.3f}"
        return answered.model_copy(update={"reason": f"it ranks {rank} of {candidates} candidates{beside}"})

    async def _no_candidate(
        self, scope: Scope, memory: Memory, request: RecallRequest, ranking: Ranking, last_score: float | None
    ) -> WhyNot:
        """Say how near a memory came to be a candidate: its similarity beside the least of the candidates."""
        only = {"memory_id": {"eq": str(memory.memory_id)}}
        filters = {"AND": [request.filters, only]} if request.filters else only
        alone = await self._recall.answer(
            scope,
            request.model_copy(
                update={"filters": filters, "limit": 1, "min_relevance": None, "include_archived": True}
            ),
            counted=False,
            reranked=False,
        )
        position = alone.ranking.places.get(memory.memory_id.bytes)
        similarity = None if position is None else _number(alone.ranking.similarity[position])
        known = ranking.similarity[~np.isnan(ranking.similarity)]
        least = float(known.min()) if len(known) else None
        reason = f"neither its words nor its meaning made it one of {len(ranking.rows)} candidates"
        if similarity is not None and least is not None:
            reason += f": its similarity is {similarity:.3f}, the least of theirs {least:.3f}"
        return WhyNot(
            memory_id=memory.memory_id,
            lost_at="candidates",
            reason=reason,
            candidates=len(ranking.rows),
            last_score=last_score,
            similarity=similarity,
            least_similarity=least,
        )

    async def _in_context(self, scope: Scope, memory: Memory, question: WhyNotQuestion, found: WhyNot) -> WhyNot:
        built = await self._contexts.context(
            scope,
            ContextRequest(
                query=question.query,
                session_id=question.session_id,
                budget_tokens=question.budget_tokens,
                explain=True,
            ),
        )
        shown = {*built.memory_ids, *(item.memory_id for item in built.stable_items)}
        if memory.memory_id in shown:
            return found.model_copy(update={"reason": f"{found.reason}, and in the context"})
        left_out = next((each.reason for each in built.left_out if each.memory_id == memory.memory_id), None)
        why = left_out or "other lines say the same, or filled it"
        return found.model_copy(
            update={"lost_at": "context", "reason": f"found, but left out: {why}", "left_out": left_out}
        )


async def _evidence(tx: Tx, memory: Memory) -> list[Evidence]:
    """Return what a memory came from, and what that came from, nearest first; each memory once."""
    evidence: list[Evidence] = []
    seen = {memory.memory_id}
    level = [memory]
    for depth in range(1, MOST_DEPTH + 1):
        wanted: dict[UUID, SourceKind] = {}
        for each in level:
            for memory_id, how in (await _came_from(tx, each)).items():
                if memory_id not in seen and len(seen) <= MOST_EVIDENCE:
                    seen.add(memory_id)
                    wanted[memory_id] = how
        origins = await store.get_many(tx, list(wanted))
        evidence += [
            Evidence(
                memory_id=memory_id,
                how=how,
                depth=depth,
                memory=origins.get(memory_id),
                trust=_level(origins[memory_id], tx.scope) if memory_id in origins else None,
            )
            for memory_id, how in wanted.items()
        ]
        level = list(origins.values())
        if not level:
            break
    return evidence


async def _came_from(tx: Tx, memory: Memory) -> Mapping[UUID, SourceKind]:
    origins: dict[UUID, SourceKind] = {}
    for field, how in _FIELDS.items():
        origins |= dict.fromkeys(_ids(memory.metadata.get(field)), how)
    tenant_id = tx.scope.tenant_id
    if memory.content_type == SUMMARY and memory.session_id is not None:
        who = tenant_id, memory.user_id, memory.session_id, memory.updated_at, memory.agent_id
        told = await tx.fetch(QUERIES["conversation_messages"], *who)
        origins |= dict.fromkeys((row["memory_id"] for row in told), "conversation")
    older = await tx.fetch(QUERIES["older_versions"], tenant_id, memory.memory_id)
    origins |= dict.fromkeys((row["memory_id"] for row in older), "older")
    return origins


def _ids(value: object) -> Iterator[UUID]:
    """Yield the ids in a field of metadata; callers may have written anything there."""
    for each in value if isinstance(value, list) else [value]:
        try:
            yield UUID(str(each))
        except ValueError:
            continue


def _level(memory: Memory, scope: Scope) -> Trust:
    return trust_of(
        memory.role, memory.source, memory.metadata, memory.layer, own=is_own(memory.user_id, scope.user_id)
    )


def _state(memory: Memory, request: RecallRequest, now: datetime) -> str | None:
    """Return why a memory is not current for a question; None if it is."""
    if request.as_of is not None:
        return None
    at = request.valid_at or now
    if memory.held_for is not None:
        return f"it waits in the inbox ({memory.held_for})"
    if memory.deleted_at is not None:
        return f"it was forgotten at {memory.deleted_at:%Y-%m-%d %H:%M}"
    if memory.superseded_by is not None and not request.include_superseded and request.valid_at is None:
        return f"memory {memory.superseded_by} superseded it"
    if memory.expires_at is not None and memory.expires_at <= now:
        return f"it expired at {memory.expires_at:%Y-%m-%d %H:%M}"
    if memory.valid_to is not None and memory.valid_to <= at and not request.include_superseded:
        return f"it was true until {memory.valid_to:%Y-%m-%d %H:%M}"
    if memory.valid_from > at and memory.valid_from > memory.updated_at:
        return f"it is true from {memory.valid_from:%Y-%m-%d %H:%M} on"
    if memory.archived_at is not None and request.include_archived is False:
        return "it faded into the archive, which include_archived=False leaves out"
    return None


def _number(value: np.floating) -> float | None:
    return None if np.isnan(value) else float(value)

"""Fusion of the answers of several providers by rank, since their scores are not comparable. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keeps.base.text.words import count_terms
from keeps_client.models import Explanation, Hit
from keeps_client.models.recall import WEAK_RELEVANCE

RANK_CONSTANT = 60
"""Constant of reciprocal rank fusion: 1 / (60 + rank), from Cormack, Clarke and Büttcher, SIGIR 2009."""
_TIERS = {"working": 0, "persistent": 1, "indexed": 2}


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """The hits of one provider, best first; `keys` has the key of each hit, common to all providers."""

    provider_id: str
    hits: Sequence[Hit]
    keys: Sequence[str]


MOST_READ = 2_000
"""Characters of a memory whose words are counted to break ties."""


def merge(
    answers: Sequence[ProviderAnswer], first: Mapping[str, None], limit: int, *, explain: bool, query: str = ""
) -> list[Hit]:
    """Return the hits of all providers, best first, each key once: working tier before persistent before indexed.

    `first` holds keys of the current session's working memory, which precede all others. Ties, such as the first hits
    of two providers, go to the one that shares more words with `query`. The best hit of a single provider scores 1,
    unless it is weak.
    """
    score: dict[str, float] = {}
    best: dict[str, Hit] = {}
    tiers: dict[str, int] = {}
    parts: dict[str, list[Explanation.Part]] = {}
    for answer in answers:
        seen: set[str] = set()
        for rank, (hit, key) in enumerate(zip(answer.hits, answer.keys, strict=True), 1):
            if key in seen:
                continue
            seen.add(key)
            points = (RANK_CONSTANT + 1) / (RANK_CONSTANT + rank) * _share(answer.provider_id, hit.relevance)
            score[key] = score.get(key, 0.0) + points
            parts.setdefault(key, []).append(
                Explanation.Part(
                    name=f"provider {answer.provider_id}",
                    raw=hit.score,
                    normalised=points,
                    weight=1.0,
                    points=points,
                    rank=rank,
                )
            )
            best_hit = best.get(key)
            tier = (
                1 if answer.provider_id == "postgres" else _TIERS[hit.tier]
            )  # Found by its vector, stored in the database.
            if best_hit is None or tier < tiers[key]:
                best[key] = hit
                tiers[key] = tier
    asked = count_terms(query)
    shared = {key: sum((asked & count_terms(hit.memory.content[:MOST_READ])).values()) for key, hit in best.items()}
    ordered = sorted(best, key=lambda key: (key not in first, -score[key], -shared[key], key))[:limit]
    return [
        best[key].model_copy(
            update={"score": score[key], "explanation": _explanation(best[key], parts[key]) if explain else None}
        )
        for key in ordered
    ]


def _share(provider_id: str, relevance: float | None) -> float:
    """Return the share of its points that a hit gets, since even the best hit of a provider may be weak."""
    weak = provider_id != "postgres" and relevance is not None and relevance < WEAK_RELEVANCE
    return relevance / WEAK_RELEVANCE if weak and relevance is not None else 1.0


def _explanation(hit: Hit, parts: list[Explanation.Part]) -> Explanation:
    """Return each provider's part; factors within a provider follow, without points of their own."""
    inner = hit.explanation
    if inner is None:
        return Explanation(parts=parts)
    within = [
        part.model_copy(update={"name": f"within {hit.provider_id}: {part.name}", "points": 0.0, "weight": 0.0})
        for part in inner.parts
    ]
    return Explanation(parts=[*parts, *within], matched_terms=inner.matched_terms)

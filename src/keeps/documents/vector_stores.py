"""What OpenAI's vector stores ask, in terms of documents."""

from __future__ import annotations

import posixpath
from typing import Any, cast

from pydantic import JsonValue

from keeps.documents.service import DocumentService
from keeps.scope import Scope
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Filters
from keeps_client.models.documents import DocumentHit, DocumentSearch
from keeps_client.models.vector_stores import (
    ALL,
    VectorStoreContent,
    VectorStoreHit,
    VectorStoreHits,
    VectorStoreSearch,
)

_COMPARISONS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin")
_MAX_DEPTH = 10


async def search_vector_store(
    documents: DocumentService, scope: Scope, vector_store_id: str, wanted: VectorStoreSearch
) -> VectorStoreHits:
    queries = (wanted.query,) if isinstance(wanted.query, str) else wanted.query
    filters = None if wanted.filters is None else _filters(wanted.filters, 1)
    tags = () if vector_store_id == ALL else (vector_store_id,)
    best: dict[object, DocumentHit] = {}
    for query in queries:
        asked = DocumentSearch(query=query, limit=wanted.max_num_results, tags=tags)
        for hit in (await documents.search(scope, asked, filters=filters)).hits:
            if hit.memory_id not in best or _score(best[hit.memory_id]) < _score(hit):
                best[hit.memory_id] = hit
    ordered = sorted(best.values(), key=_score, reverse=True) if len(queries) > 1 else [*best.values()]
    least = wanted.ranking_options.score_threshold
    attributes = await documents.metadata(scope, {each.citations[0].document_id for each in ordered})
    return VectorStoreHits(
        search_query=queries,
        data=tuple(
            _hit(each, attributes.get(each.citations[0].document_id, {})) for each in ordered if _score(each) >= least
        )[: wanted.max_num_results],
    )


def _hit(hit: DocumentHit, metadata: dict[str, JsonValue]) -> VectorStoreHit:
    place = hit.citations[0]
    return VectorStoreHit(
        file_id=str(place.document_id),
        filename=posixpath.basename(place.source or "") or place.title,
        score=_score(hit),
        attributes={name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool)},
        content=(VectorStoreContent(text=hit.content),),
    )


def _score(hit: DocumentHit) -> float:
    """How near a passage is to the question, whatever else was found; as it was ranked, while it has no vector."""
    return min(1.0, max(0.0, hit.score if hit.relevance is None else hit.relevance))


def _filters(given: JsonValue, depth: int) -> Filters:
    """Raises ValidationFailedError, which says what a filter looks like."""
    if depth > _MAX_DEPTH:
        raise ValidationFailedError(f"filters are nested deeper than {_MAX_DEPTH}")
    part = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    kind, key, within = part.get("type"), part.get("key"), part.get("filters")
    if kind in ("and", "or") and isinstance(within, list) and within:
        return {kind.upper(): [_filters(each, depth + 1) for each in cast("list[JsonValue]", within)]}
    if kind in _COMPARISONS and isinstance(key, str) and key and "value" in part:
        return {f"metadata.{key}": {kind: part["value"]}}
    raise ValidationFailedError(
        f'a filter is {{"type": {"|".join(_COMPARISONS)}, "key": …, "value": …}}, or {{"type": "and"|"or", "filters":'
        " […]}"
    )

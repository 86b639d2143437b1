"""Documents in the shape of OpenAI's vector stores, which gateways and agents already speak."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Text, Wire
from keeps_client.models.names import Tag
from keeps_client.models.recall import Filters

ALL = "all"
"""The vector store of every document; any other name is that of a tag."""
_Query = Annotated[Text, StringConstraints(min_length=1, max_length=10_000)]


class RankingOptions(Wire):
    """`score_threshold`: the least score to be answered. Of rankers there is one, so other fields change nothing."""

    model_config = ConfigDict(extra="ignore")

    score_threshold: Annotated[float, Field(ge=0, le=1)] = 0.0


class VectorStoreSearch(Wire):
    """A question, or several. `filters`: by attributes, which are the metadata of documents:
    `{"type": "eq", "key": "year", "value": 2026}`, joined by `{"type": "and", "filters": […]}` or `or`."""

    model_config = ConfigDict(extra="ignore")

    query: _Query | Annotated[tuple[_Query, ...], Field(fail_fast=True, min_length=1, max_length=5)]
    filters: Filters | None = None
    max_num_results: Annotated[int, Field(ge=1, le=50)] = 10
    ranking_options: RankingOptions = RankingOptions()


class VectorStoreContent(Wire):
    type: Literal["text"] = "text"
    text: str


class VectorStoreHit(Wire):
    """A passage. `file_id` is the document's id; `score`, from 0 to 1, says how near it is to the question."""

    file_id: str
    filename: str
    score: float
    attributes: dict[str, Any]
    content: tuple[VectorStoreContent, ...]


class VectorStoreHits(Wire):
    object: Literal["vector_store.search_results.page"] = "vector_store.search_results.page"
    search_query: tuple[str, ...]
    data: tuple[VectorStoreHit, ...]
    has_more: bool = False
    next_page: str | None = None


class VectorStoreId(Wire):
    vector_store_id: Tag


SEARCH_VECTOR_STORE = Endpoint(
    "search_vector_store",
    "POST",
    "/v1/vector_stores/{vector_store_id}/search",
    "reader",
    "documents",
    VectorStoreHits,
    "Passages that answer, in the shape of OpenAI's vector stores. `all` is every document; other ids are tags.",
    params=VectorStoreId,
    body=VectorStoreSearch,
)

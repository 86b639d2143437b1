"""Items: JSON values under a namespace and a key, as agent frameworks store them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Advised, Page, Text, Wire, json_within

MAX_OPERATIONS = 1_000
MAX_NAMESPACE_BYTES, MAX_KEY_BYTES = 600, 512
MAX_ITEM_BYTES = 256 * 1024


def _label(text: str) -> str:
    if "." in text:
        raise ValueError("a namespace label cannot contain a period")
    return text


def _joined(labels: tuple[str, ...]) -> tuple[str, ...]:
    if len(".".join(labels).encode("utf-8")) > MAX_NAMESPACE_BYTES:
        raise ValueError(f"a namespace has at most {MAX_NAMESPACE_BYTES} bytes")
    return labels


def _key(text: str) -> str:
    if len(text.encode("utf-8")) > MAX_KEY_BYTES:
        raise ValueError(f"a key has at most {MAX_KEY_BYTES} bytes")
    return text


Label = Annotated[Text, StringConstraints(min_length=1), AfterValidator(_label)]
Prefix = Annotated[tuple[Label, ...], Field(fail_fast=True, max_length=50), AfterValidator(_joined)]
"""Labels from the root; no label is the root itself. A label is any text without a period."""
Namespace = Annotated[Prefix, Field(min_length=1)]
ItemKey = Annotated[Text, StringConstraints(min_length=1), AfterValidator(_key)]
ItemValue = Annotated[dict[str, JsonValue], AfterValidator(json_within(MAX_ITEM_BYTES)), Advised]
Minutes = Annotated[float, Field(gt=0, le=5_256_000)]
IndexText = Annotated[Text, StringConstraints(max_length=50_000)]
Pattern = Annotated[tuple[Label, ...], Field(fail_fast=True, max_length=50)]
"""Labels, where `*` matches any label."""
ItemFilter = Annotated[
    dict[str, JsonValue],
    Field(max_length=50),
    AfterValidator(json_within(MAX_ITEM_BYTES)),
    Advised,
]


class Item(Wire):
    """A stored value; empty in a list of keys.

    `score` is the cosine similarity in a search by meaning.
    """

    namespace: tuple[str, ...]
    key: str
    value: dict[str, JsonValue]
    version: int
    created_at: datetime
    updated_at: datetime
    score: float | None = None


class _Operation(Wire):
    def model_post_init(self, _: object, /) -> None:
        """Mark the kind of operation as set, so that it is always sent."""
        self.model_fields_set.add("op")


class GetItem(_Operation):
    """One item. `refresh_ttl`: restart its time to live."""

    op: Literal["get"] = Field(default="get", validation_alias="op")
    namespace: Namespace
    key: ItemKey
    refresh_ttl: bool = False


class PutItem(_Operation):
    """Store a value in place of the previous one.

    It is found by its `texts` (by name), or else by the whole value; with `index` false it is not found by meaning.
    `ttl_minutes`: its lifetime since the last write or refresh.
    """

    op: Literal["put"] = Field(default="put", validation_alias="op")
    namespace: Namespace
    key: ItemKey
    value: ItemValue
    index: bool = True
    texts: Annotated[dict[str, IndexText], Field(max_length=100)] | None = None
    ttl_minutes: Minutes | None = None


class DeleteItem(_Operation):
    """Remove an item now, also from the log; a missing one is no error."""

    op: Literal["delete"] = Field(default="delete", validation_alias="op")
    namespace: Namespace
    key: ItemKey


class SearchItems(_Operation):
    """Items in a namespace and below it: with a query those nearest in meaning, best first, else newest update first.
    `filter`: `{"field": value}` or `{"field": {"$gt": 3}}`, with $eq $ne $gt $gte $lt $lte, of the value's fields;
    `{"field": {"inner": value}}` asks for a field of an object, `{"field": {"$eq": {…}}}` for that object alone."""

    op: Literal["search"] = Field(default="search", validation_alias="op")
    prefix: Prefix = ()
    query: Annotated[Text, StringConstraints(max_length=10_000)] | None = None
    filter: ItemFilter | None = None
    limit: Annotated[int, Field(ge=0, le=1_000)] = 10
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    refresh_ttl: bool = False


class ListNamespaces(_Operation):
    """Namespaces with items, in order. `prefix`, `suffix`: their first and last labels; `max_depth`: maximum number of
    labels.
    """

    op: Literal["namespaces"] = Field(default="namespaces", validation_alias="op")
    prefix: Pattern = ()
    suffix: Pattern = ()
    max_depth: Annotated[int, Field(ge=1, le=50)] | None = None
    limit: Annotated[int, Field(ge=0, le=1_000)] = 100
    offset: Annotated[int, Field(ge=0, le=1_000_000)] = 0


class ListKeys(_Operation):
    """Keys in a namespace and below it, in order of namespace and key, without the values.

    `after` is the namespace and the key of the last one of the previous page.
    """

    op: Literal["keys"] = Field(default="keys", validation_alias="op")
    prefix: Prefix = ()
    after: tuple[Namespace, ItemKey] | None = None
    limit: Annotated[int, Field(ge=0, le=1_000)] = 100


class SweepItems(_Operation):
    """Remove items whose time to live is over."""

    op: Literal["sweep"] = Field(default="sweep", validation_alias="op")


_READS = GetItem | SearchItems | ListNamespaces | ListKeys
ReadOperation = Annotated[_READS, Field(discriminator="op")]
ItemOperation = Annotated[_READS | PutItem | DeleteItem | SweepItems, Field(discriminator="op")]


class ItemResult(Wire):
    """The result of one operation: an item or none, items, namespaces, or the number of removed ones.

    `more`: there are more items.
    """

    item: Item | None = None
    items: list[Item] = Field(default_factory=list[Item])
    namespaces: list[tuple[str, ...]] = Field(default_factory=list[tuple[str, ...]])
    removed: int = 0
    more: bool = False


class ItemReads(Wire):
    """Operations that change nothing but times to live. `omit_expired`: leave out expired items not yet removed."""

    operations: Annotated[list[ReadOperation], Field(max_length=MAX_OPERATIONS)]
    omit_expired: bool = True


class ItemBatch(Wire):
    """Operations, run in order in one transaction, all or none."""

    operations: Annotated[list[ItemOperation], Field(max_length=MAX_OPERATIONS)]
    omit_expired: bool = True


class ItemResults(Wire):
    """One result for each operation, in order."""

    results: list[ItemResult]


class NamespaceQuery(Wire):
    limit: Annotated[int, Field(ge=1, le=1_000)] = 1_000
    after: Annotated[Text, Field(max_length=2_000, description="Only users after this one")] = ""


class UserNamespaces(Wire):
    """A user who has items, and their namespaces."""

    user_id: str
    namespaces: list[tuple[str, ...]]


BATCH_ITEMS = Endpoint(
    "batch_items",
    "POST",
    "/v1/items",
    "writer",
    "items",
    ItemResults,
    "Get, put, delete, search and list items, in order, in one transaction.",
    body=ItemBatch,
)
READ_ITEMS = Endpoint(
    "read_items",
    "POST",
    "/v1/items/read",
    "reader",
    "items",
    ItemResults,
    "Get, search and list items, without changing any.",
    body=ItemReads,
)
LIST_ALL_NAMESPACES = Endpoint(
    "list_all_namespaces",
    "GET",
    "/v1/admin/items/namespaces",
    "admin",
    "items",
    Page[UserNamespaces],
    "List the namespaces in which each user of the tenant has items: only names, user by user.",
    params=NamespaceQuery,
)

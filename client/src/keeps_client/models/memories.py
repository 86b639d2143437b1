"""Memories: a stored memory, the input of a write, and its receipt."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Literal, Self, Union
from uuid import UUID

from pydantic import BeforeValidator, Field, JsonValue, StringConstraints, model_validator

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import (
    MAX_BATCH_ITEMS,
    MAX_TAGS,
    AsOf,
    Cursor,
    Json,
    Limit,
    Metadata,
    Page,
    Text,
    UtcTime,
    Wire,
)
from keeps_client.models.events import Event
from keeps_client.models.names import SPACE_PREFIX, HeldFor, Name, Namespace, SpaceName, Tag
from keeps_client.models.working import ExpectedVersion
from keeps_client.values import MAX_CONTENT_CHARACTERS
from keeps_client.values import Visibility as Visibility

Kind = Literal["semantic", "episodic", "procedural"]
Layer = Literal["session", "short_term", "long_term", "knowledge"]
Role = Literal["user", "assistant", "system", "tool"]
ProcedureType = Literal["system_prompt", "few_shot_example"]
MemoryOrder = Literal["created", "importance", "recency", "name"]
IndexWhen = Literal["now", "later"]
Learn = Literal["facts", "user_facts"]
"""Facts to learn from the user's messages in a batch: facts as in an exchange, or only facts about the user."""
ReceiptStatus = Literal["created", "updated", "unchanged", "superseded", "forgotten", "restored", "held"]

Content = Annotated[Text, StringConstraints(min_length=1, max_length=MAX_CONTENT_CHARACTERS)]
MAX_KEY_CHARACTERS = 255
MAX_FILTER_CHARACTERS = 20_000
"""Maximum characters of filters as JSON in a query."""
Key = Annotated[Text, StringConstraints(min_length=1, max_length=MAX_KEY_CHARACTERS)]
Label = Annotated[Text, StringConstraints(min_length=1, max_length=255)]
Tags = Annotated[tuple[Tag, ...], Field(fail_fast=True, max_length=MAX_TAGS)]
Importance = Annotated[float, Field(ge=0.0, le=1.0)]


class Life(Wire):
    """The usage and fading of a memory.

    `retention` falls from 1 (just used) to 0; under 0.3, at `fades_at`, the memory is archived unless it is recalled
    before. Both are None for memories that do not fade: long-term memories and knowledge.
    """

    access_count: int
    last_accessed_at: datetime | None = None
    retention: float | None = None
    fades_at: datetime | None = None


class Memory(Wire):
    """One durable row: the content, its owner, the time it is true, and its lifetime.

    `valid_from` and `valid_to` say when the content was true in the world; `created_at` and `updated_at` when Keeps
    stored it. `superseded_by` names the newer memory.
    `held_for`: why it waits in the inbox, where nothing finds it. `life` is set by `get`, `list` and `recall`.
    """

    memory_id: UUID
    tenant_id: str
    user_id: str
    agent_id: str | None = None
    session_id: str | None = None
    kind: Kind
    layer: Layer
    namespace: str | None = None
    key: str | None = None
    content: str
    value: JsonValue = None
    content_type: str
    role: Role | None = None
    trigger_condition: str | None = None
    procedure_type: ProcedureType | None = None
    metadata: dict[str, JsonValue]
    tags: tuple[str, ...]
    source: str | None = None
    importance: float
    visibility: Visibility
    valid_from: datetime
    valid_to: datetime | None = None
    superseded_by: UUID | None = None
    expires_at: datetime | None = None
    archived_at: datetime | None = None
    deleted_at: datetime | None = None
    held_for: HeldFor | None = None
    document_id: UUID | None = None
    version: int
    created_at: datetime
    updated_at: datetime
    life: Life | None = None

    @property
    def space_id(self) -> str | None:
        """Return the space that owns the memory; None for a user's own."""
        return self.user_id.removeprefix(SPACE_PREFIX) if self.user_id.startswith(SPACE_PREFIX) else None


class NewMemory(Wire):
    """A memory to store; the arguments of `remember`.

    `metadata["speaker"]` names the speaker of an episodic memory and `valid_from` its time: recall searches both.
    `importance` is 0.0 to 1.0, estimated from the text by default. `ttl_days` and `expires_at` exclude each other;
    `ttl_days` 0 means no expiry, and removes the expiry of a stored memory with the same text. `space`: the space that
    owns it, whose members can find it.
    """

    content: Content
    kind: Kind = "semantic"
    content_type: Name = "fact"
    namespace: Namespace | None = None
    key: Key | None = None
    value: Json = None
    tags: Tags = ()
    importance: Importance | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    visibility: Visibility = "private"
    source: Label | None = None
    agent_id: Label | None = None
    session_id: Label | None = None
    ttl_days: Annotated[float, Field(ge=0, le=36_500)] | None = None
    expires_at: UtcTime | None = None
    valid_from: UtcTime | None = None
    role: Role | None = None
    trigger_condition: Annotated[Text, StringConstraints(max_length=2_000)] | None = None
    procedure_type: ProcedureType | None = None
    if_version: Annotated[int, Field(ge=0, le=2_147_483_647, strict=True)] | None = None
    space: SpaceName | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.key is not None and self.namespace is None:
            raise ValueError("key needs a namespace: together they identify a memory")
        if self.if_version is not None and self.key is None:
            raise ValueError("if_version needs a namespace and key: it guards the memory stored there")
        if self.ttl_days is not None and self.expires_at is not None:
            raise ValueError("give ttl_days or expires_at, not both")
        if not self.content.strip():
            raise ValueError("content contains only whitespace")
        return self


class MemoryChange(Wire):
    """The changes of an `update`. Only given fields change; None empties a field that may be empty."""

    content: Content = ""
    value: Json = None
    content_type: Name = "fact"
    tags: Tags = ()
    importance: Importance = 0.5
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    visibility: Visibility = "private"
    source: Label | None = None
    expires_at: UtcTime | None = None
    valid_from: UtcTime | None = None
    valid_to: UtcTime | None = None
    trigger_condition: Annotated[Text, StringConstraints(max_length=2_000)] | None = None
    procedure_type: ProcedureType | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("nothing to change: give at least one field")
        if "content" in self.model_fields_set and not self.content.strip():
            raise ValueError("content contains only whitespace")
        return self


class Receipt(Wire):
    """The result of one write.

    `unchanged`: it already existed. `held`: it waits in the inbox until somebody approves it.
    `superseded`: it was stored as an older version, because a newer one exists.
    `event_id` names the event that records it (None when nothing changed); `indexed` says whether the vector is stored,
    too: if not, recall matches only its words until the index catches up. `providers`: those that deleted the forgotten
    memory; `failed_providers`: read-only ones that still have it. `remains_in`: the source message of a forgotten fact,
    which still contains it.
    """

    status: ReceiptStatus
    memory_id: UUID
    memory: Memory | None = None
    event_id: UUID | None = None
    indexed: bool = False
    providers: tuple[str, ...] = ()
    failed_providers: tuple[str, ...] = ()
    remains_in: UUID | None = None


def _parse_filters(filters: object) -> object:
    """Return filters from JSON, the form that they have in a query."""
    if not isinstance(filters, str):
        return filters
    if len(filters) > MAX_FILTER_CHARACTERS:
        raise ValueError(f"String should have at most {MAX_FILTER_CHARACTERS} characters")
    try:
        parsed = json.loads(filters)
    except (ValueError, RecursionError):
        raise ValueError("filters is not JSON") from None
    if parsed is not None and not isinstance(parsed, dict):
        raise ValueError('a filter is an object such as {"kind": {"eq": "semantic"}}')
    return parsed


_FiltersAsJson = Annotated[str, Field(max_length=MAX_FILTER_CHARACTERS)]
FiltersText = Annotated[
    dict[str, JsonValue] | None,
    BeforeValidator(_parse_filters, json_schema_input_type=Union[_FiltersAsJson, None]),  # noqa: UP007
    Field(description="Filters as JSON"),
]


class NewMemories(Wire):
    """A batch, stored completely or not at all.

    `learn`: also store what the user's messages state (`role` "user", `content_type` "message"), each fact with the
    time of its message.
    """

    items: Annotated[list[NewMemory], Field(max_length=MAX_BATCH_ITEMS)]
    index: IndexWhen = "later"
    learn: Learn | None = None


class WhenIndexed(Wire):
    index: IndexWhen = "now"


class MemoryId(Wire):
    memory_id: UUID


class MemoryAt(Wire):
    memory_id: UUID
    as_of: AsOf = None


class MemoryQuery(Wire):
    filters: FiltersText = None
    namespace: Namespace | None = None
    key: Annotated[Text | None, Field(min_length=1, max_length=255)] = None
    order: Annotated[
        MemoryOrder,
        Field(
            description=(
                "created: newest first · importance: highest first · recency: last changed first · name: by namespace"
                " and key, memories without a key last"
            )
        ),
    ] = "created"
    limit: Limit = 50
    cursor: Cursor = None


class ChangedMemory(Wire):
    memory_id: UUID
    index: IndexWhen = "now"
    if_version: ExpectedVersion | None = None


class ForgottenMemory(Wire):
    memory_id: UUID
    hard: bool = False
    if_version: ExpectedVersion | None = None


class ForgottenKey(Wire):
    namespace: Namespace
    key: Annotated[Text, Field(min_length=1, max_length=255)]
    hard: bool = False
    if_version: ExpectedVersion | None = None


class KeysMoved(Wire):
    """A move of `key` and the keys below it (`key/…`) to `to`."""

    namespace: Namespace
    key: Key
    to: Key


class KeysForgotten(Wire):
    """A removal of `key` and the keys below it (`key/…`)."""

    namespace: Namespace
    key: Key
    hard: bool = False


class KeysChanged(Wire):
    """The number of changed keys."""

    changed: int


REMEMBER = Endpoint(
    "remember",
    "POST",
    "/v1/memories",
    "writer",
    "memories",
    Receipt,
    "Store one memory: 201 if it is new, 200 if it existed or was updated.",
    params=WhenIndexed,
    body=NewMemory,
    status=201,
    created=lambda answer: answer.status == "created",
)
LIST_MEMORIES = Endpoint(
    "list_memories",
    "GET",
    "/v1/memories",
    "reader",
    "memories",
    Page[Memory],
    "List memories in pages: newest first, or by importance, recency (last changed first) or name "
    "(namespace and key). With `namespace` and `key`, only the current memory of that key.",
    params=MemoryQuery,
)
REMEMBER_MANY = Endpoint(
    "remember_many",
    "POST",
    "/v1/memories/batch",
    "writer",
    "memories",
    list[Receipt],
    "Store up to 1,000 memories in one transaction. Returns one receipt for each, in order, and then one for each fact"
    " that was learnt.",
    body=NewMemories,
    status=201,
)
GET_MEMORY = Endpoint(
    "get_memory",
    "GET",
    "/v1/memories/{memory_id}",
    "reader",
    "memories",
    Memory,
    "Return one memory, even if it is forgotten or superseded.",
    params=MemoryAt,
)
UPDATE_MEMORY = Endpoint(
    "update_memory",
    "PATCH",
    "/v1/memories/{memory_id}",
    "writer",
    "memories",
    Receipt,
    "Change the fields that are given. New content supersedes the old, which stays readable.",
    params=ChangedMemory,
    body=MemoryChange,
)
FORGET_MEMORY = Endpoint(
    "forget_memory",
    "DELETE",
    "/v1/memories/{memory_id}",
    "writer",
    "memories",
    Receipt,
    "Forget a memory. You can restore it for 30 days; with `hard`, it is deleted immediately, also from the log.",
    params=ForgottenMemory,
)
FORGET_KEY = Endpoint(
    "forget_key",
    "DELETE",
    "/v1/memories",
    "writer",
    "memories",
    Receipt,
    "Forget the memory under a key.",
    params=ForgottenKey,
)
MOVE_KEYS = Endpoint(
    "move_keys",
    "POST",
    "/v1/memories/move",
    "writer",
    "memories",
    KeysChanged,
    "Move a key and all keys below it: all of them, or none.",
    body=KeysMoved,
)
FORGET_KEYS = Endpoint(
    "forget_keys",
    "POST",
    "/v1/memories/forget",
    "writer",
    "memories",
    KeysChanged,
    "Forget the memories under a key and all keys below it: all of them, or none.",
    body=KeysForgotten,
)
RESTORE_MEMORY = Endpoint(
    "restore_memory",
    "POST",
    "/v1/memories/{memory_id}/restore",
    "writer",
    "memories",
    Receipt,
    "Restore a memory that was forgotten less than 30 days ago.",
    params=MemoryId,
)
GET_HISTORY = Endpoint(
    "get_history",
    "GET",
    "/v1/memories/{memory_id}/history",
    "reader",
    "memories",
    list[Event],
    "List all events of a memory, oldest first.",
    params=MemoryId,
)

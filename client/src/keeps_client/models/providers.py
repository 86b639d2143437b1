"""Memory providers: their capabilities and entries."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Id, Json, Metadata, Text, Wire
from keeps_client.models.names import Name

Tier = Literal["working", "persistent", "indexed"]
EntryKey = Annotated[Text, StringConstraints(min_length=1, max_length=355)]


class ProviderCapabilities(Wire):
    """The capabilities of a provider. `content_types`: those it accepts, or `*` for any; `read_only`: derived."""

    provider_id: Name
    tier: Tier
    supports_search: bool = True
    supports_graph: bool = False
    content_types: tuple[str, ...] = ("*",)
    read_only: bool = False


class ProviderInfo(ProviderCapabilities):
    """A provider as it is listed. `builtin`: part of Keeps; `state`: `active`, or `failing` while it is left out of
    recall. `problems`: what you have to fix, such as an unreadable Markdown file.
    """

    builtin: bool
    state: Literal["active", "failing"] = "active"
    registered_at: datetime | None = None
    problems: dict[str, str] = Field(default_factory=dict[str, str])


class NewEntry(Wire):
    """A value to store under a key. `metadata["content_type"]` is its type."""

    value: Json
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])


class AppendText(Wire):
    """A text for the pipeline of the Markdown memory."""

    text: Annotated[Text, StringConstraints(min_length=1, max_length=200_000)]


class Entry(Wire):
    """The value stored under a key of a provider."""

    key: str
    value: JsonValue
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    updated_at: datetime | None = None


class Rebuilt(Wire):
    """The number of entries that a provider has rebuilt."""

    provider_id: str
    entries: int


class ProviderId(Wire):
    provider_id: Id


class EntryPlace(Wire):
    provider_id: Id
    entry_key: EntryKey
    session_id: Annotated[Id | None, Field(description="Session of the scratchpad, for the provider `working`")] = None


LIST_PROVIDERS = Endpoint(
    "list_providers",
    "GET",
    "/v1/providers",
    "reader",
    "providers",
    list[ProviderInfo],
    "List all providers, with their capabilities and state.",
)
APPEND_MARKDOWN = Endpoint(
    "append_markdown",
    "POST",
    "/v1/providers/markdown/append",
    "writer",
    "providers",
    list[Entry],
    "Add a text to the Markdown memory. Returns the new entries.",
    body=AppendText,
)
WRITE_ENTRY = Endpoint(
    "write_entry",
    "PUT",
    "/v1/providers/{provider_id}/entries/{entry_key}",
    "writer",
    "providers",
    Entry,
    "Store a value with a provider.",
    params=EntryPlace,
    body=NewEntry,
)
READ_ENTRY = Endpoint(
    "read_entry",
    "GET",
    "/v1/providers/{provider_id}/entries/{entry_key}",
    "reader",
    "providers",
    Entry,
    "Return the value of a provider under a key.",
    params=EntryPlace,
)
DELETE_ENTRY = Endpoint(
    "delete_entry",
    "DELETE",
    "/v1/providers/{provider_id}/entries/{entry_key}",
    "writer",
    "providers",
    Entry,
    "Delete a key from a provider.",
    params=EntryPlace,
)
REBUILD_PROVIDER = Endpoint(
    "rebuild_provider",
    "POST",
    "/v1/providers/{provider_id}/rebuild",
    "writer",
    "providers",
    Rebuilt,
    "Have a provider rebuild its derived data for this user.",
    params=ProviderId,
)

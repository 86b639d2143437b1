"""The contract of a memory provider.

Write a provider, name its factory in the entry-point group `keeps.providers`, and Keeps finds it:

    [project.entry-points."keeps.providers"]
    notes = "my_package:NotesProvider"

A provider belongs to one scope for its life: what it stores for one tenant or user must never be visible to another.
`keeps.providers.conformance` checks that, and the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, cast

from pydantic import JsonValue

from keeps.base.scope import Scope
from keeps_client.errors import ForbiddenError, ValidationFailedError
from keeps_client.models import Entry, ProviderCapabilities

FILTERS = frozenset({"content_types", "prefix", "since", "until", "metadata"})


@dataclass(frozen=True, slots=True)
class Filters:
    """A selection of entries: by content types, key prefix, time of writing (since and before), and metadata."""

    content_types: tuple[str, ...] | None = None
    prefix: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, JsonValue] | None = None

    @staticmethod
    def of(given: Mapping[str, object] | Filters | None) -> Filters:
        """Return the filters.

        Raises ValidationFailedError for an unknown one: ignoring it would answer another question.
        """
        if given is None or isinstance(given, Filters):
            return given or Filters()
        if unknown := set(given) - FILTERS:
            raise ValidationFailedError(
                f"unknown filter {sorted(unknown)[0]!r}; choose from {', '.join(sorted(FILTERS))}"
            )
        values: dict[str, Any] = dict(given)
        if values.get("content_types") is not None:
            values["content_types"] = tuple(values["content_types"])
        return Filters(**values)

    def pass_by(self, entry: Entry) -> bool:
        """Return whether an entry matches."""
        kind = entry.metadata.get("content_type", "fact")
        return (
            (self.content_types is None or kind in self.content_types)
            and (self.prefix is None or entry.key.startswith(self.prefix))
            and (self.since is None or (entry.updated_at is not None and entry.updated_at >= self.since))
            and (self.until is None or (entry.updated_at is not None and entry.updated_at < self.until))
            and all(entry.metadata.get(name) == value for name, value in (self.metadata or {}).items())
        )


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that a search found. Scores are comparable within one provider only; the order matters.

    `relevance`, from 0 to 1, is how likely the entry answers the query; None if the provider cannot tell.
    """

    entry: Entry
    score: float
    relevance: float | None = None


class MemoryProvider(Protocol):
    """A memory backend for one scope. Errors are those of `keeps_client.errors`; any other counts as a failure."""

    def capabilities(self) -> ProviderCapabilities:
        """Return the type and features of this provider; always the same."""
        ...

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:
        """Store a value in place of the previous one.

        Raises:
            ValidationFailedError: It cannot be stored as given.
            ForbiddenError: The provider is read-only.
        """
        ...

    async def read(self, key: str) -> Entry | None:
        """Return the entry stored under a key, or None."""
        ...

    async def delete(self, key: str) -> bool:
        """Remove a key; return whether it existed."""
        ...

    async def search(self, query: str, filters: Mapping[str, object] | None = None, limit: int = 10) -> list[Match]:
        """Return the entries that match best, best first. Raises ValidationFailedError for an unknown filter."""
        ...

    async def list_keys(self, filters: Mapping[str, object] | None = None) -> list[str]:
        """Return the keys, in order."""
        ...

    async def rebuild(self) -> int:
        """Rebuild derived data while reads continue; return the number of entries, or 0 if nothing is derived."""
        ...

    async def close(self) -> None:
        """Release all resources; may be called twice."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """The input of a provider's factory: the scope, and a folder of its own for it, which the provider may make."""

    scope: Scope
    folder: Path


ProviderFactory = Callable[[ProviderContext], MemoryProvider]


def text_of(value: JsonValue) -> str:
    """Return the text of a value, for search and display."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(f"{name} {text_of(each)}" for name, each in value.items())
    if isinstance(value, list):
        return " ".join(text_of(each) for each in cast("list[JsonValue]", value))
    return json.dumps(value)


def writable_metadata(
    capabilities: ProviderCapabilities, metadata: Mapping[str, JsonValue] | None
) -> Mapping[str, JsonValue] | None:
    """Return the metadata to store. It may omit the content type if the provider has only one.

    Raises:
        ForbiddenError: The provider is read-only.
        ValidationFailedError: The provider does not accept the content type.
    """
    if capabilities.read_only:
        raise ForbiddenError(f"the provider {capabilities.provider_id} is read-only")
    taken = capabilities.content_types
    if "*" in taken:
        return metadata
    content_type = (metadata or {}).get("content_type")
    if content_type is None and len(taken) == 1:
        return {**(metadata or {}), "content_type": taken[0]}
    if (content_type or "fact") not in taken:
        raise ValidationFailedError(
            f"the provider {capabilities.provider_id} does not accept {content_type or 'fact'!r};"
            " metadata.content_type must"
            f" be one of {', '.join(taken)}"
        )
    return metadata

"""What a memory provider must do. Write one, name its factory in the entry-point group `keeps.providers`, and Keeps
finds it:

    [project.entry-points."keeps.providers"]
    notes = "my_package:NotesProvider"

A provider belongs to one scope for its life: what it stores for one tenant or user must never be seen by another.
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

from keeps.scope import Scope
from keeps_client.errors import ForbiddenError, ValidationFailedError
from keeps_client.models import Entry, ProviderCapabilities

FILTERS = frozenset({"content_types", "prefix", "since", "until", "metadata"})


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries count: of these content types, whose key begins so, written since and before, with this
    metadata."""

    content_types: tuple[str, ...] | None = None
    prefix: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, JsonValue] | None = None

    @staticmethod
    def of(given: Mapping[str, object] | Filters | None) -> Filters:
        """Raises ValidationFailedError for a filter that does not exist: ignoring it would answer another question."""
        if given is None or isinstance(given, Filters):
            return given or Filters()
        if unknown := set(given) - FILTERS:
            raise ValidationFailedError(
                f"unknown filter {sorted(unknown)[0]!r}; there are {', '.join(sorted(FILTERS))}"
            )
        values: dict[str, Any] = dict(given)
        if values.get("content_types") is not None:
            values["content_types"] = tuple(values["content_types"])
        return Filters(**values)

    def pass_by(self, entry: Entry) -> bool:
        """Whether an entry counts."""
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
    """An entry that a search found. Scores say something within one provider only; what counts is the order.

    `relevance`, from 0 to 1, says how likely the entry answers; None where the provider cannot tell.
    """

    entry: Entry
    score: float
    relevance: float | None = None


class MemoryProvider(Protocol):
    """A memory backend, for one scope. Errors are those of `keeps_client.errors`; anything else counts as a failure."""

    def capabilities(self) -> ProviderCapabilities:
        """What this provider is and can do; always the same."""
        ...

    async def write(self, key: str, value: JsonValue, metadata: Mapping[str, JsonValue] | None = None) -> None:
        """Store a value, in place of what was there. Raises ValidationFailedError where it cannot be stored as given,
        and ForbiddenError if the provider is read-only."""
        ...

    async def read(self, key: str) -> Entry | None:
        """What is stored under a key."""
        ...

    async def delete(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        ...

    async def search(self, query: str, filters: Mapping[str, object] | None = None, limit: int = 10) -> list[Match]:
        """The entries that answer best, best first. Raises ValidationFailedError for an unknown filter."""
        ...

    async def list_keys(self, filters: Mapping[str, object] | None = None) -> list[str]:
        """The keys, in order."""
        ...

    async def rebuild(self) -> int:
        """Make anew what is derived, while reads go on; how many entries. What derives nothing returns 0."""
        ...

    async def close(self) -> None:
        """Let go of everything; may be called twice."""
        ...


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """What a provider gets: whose memory it is, and a folder of its own for this scope, which it may make."""

    scope: Scope
    folder: Path


ProviderFactory = Callable[[ProviderContext], MemoryProvider]


def text_of(value: JsonValue) -> str:
    """The text of a value, for searching and showing."""
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
    """Return the metadata to store. A provider of a single content type need not be told it.

    Raises ForbiddenError where the provider is read-only, and ValidationFailedError for a content type that it does
    not take.
    """
    if capabilities.read_only:
        raise ForbiddenError(f"the provider {capabilities.provider_id} is read-only")
    taken = capabilities.content_types
    if "*" in taken:
        return metadata
    given = (metadata or {}).get("content_type")
    if given is None and len(taken) == 1:
        return {**(metadata or {}), "content_type": taken[0]}
    if (given or "fact") not in taken:
        raise ValidationFailedError(
            f"the provider {capabilities.provider_id} takes no {given or 'fact'!r}; metadata.content_type must be one"
            f" of {', '.join(taken)}"
        )
    return metadata

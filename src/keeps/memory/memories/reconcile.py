"""Reconcile a write with the stored row. Pure: takes both rows and returns the rows to store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from keeps.base.text.forms import known_form
from keeps.memory.memories.types import MemoryRow, belongs_to, content_hash
from keeps_client.errors import ConflictError
from keeps_client.validation import same_json

# A caller who writes a key or content again may change these without creating another truth.
_ATTRIBUTES = (
    "kind",
    "tags",
    "metadata",
    "importance",
    "visibility",
    "source",
    "content_type",
    "trigger_condition",
    "procedure_type",
    "role",
    "agent_id",
    "session_id",
)


RENEWED_AFTER = timedelta(days=1)
"""Minimum extension of a known text's default time to live; smaller extensions are not written."""


@dataclass(frozen=True, slots=True)
class Keep:
    """The stored row is already the same; there is nothing to do."""

    current: MemoryRow


@dataclass(frozen=True, slots=True)
class Replace:
    """Store `current` in place of the row with its id. `older` keeps the superseded truth, if any."""

    current: MemoryRow
    older: MemoryRow | None


@dataclass(frozen=True, slots=True)
class StoreOlder:
    """The written truth is older than the stored one: store it as superseded from the start."""

    older: MemoryRow


Outcome = Keep | Replace | StoreOlder


def are_apart(stored: MemoryRow, new: MemoryRow, given: frozenset[str]) -> bool:
    """Return whether two memories without a key are distinct although their `content_hash` is the same.

    They are if they belong to another agent, session or app and the stored hash does not show it (an earlier release
    made it, or the metadata changed). They also are if the stored one is private and the new one is given to the whole
    tenant: the private memory's metadata, tags and source were written for its owner alone.
    """
    if new.key is not None or new.layer == "knowledge":
        return False
    published = "visibility" in given and (stored.visibility, new.visibility) == ("private", "tenant")
    return published or not same_json(belongs_to(stored), belongs_to(new))


def reconcile(stored: MemoryRow, new: MemoryRow, given: frozenset[str], copy_id: UUID, now: datetime) -> Outcome:
    """Return the outcome of writing `new` where `stored` is current, by key or by content.

    `given`: fields that the caller named; the others keep their stored values.
    `copy_id`: id for the older version.
    """
    over = _is_past(stored.expires_at, now) or _is_past(stored.valid_to, now)
    value = new.value if "value" in given else stored.value
    named = {name: getattr(new, name) for name in _ATTRIBUTES if name in given}
    if named.get("kind", stored.kind) != stored.kind:
        named["layer"] = new.layer
    changed: dict[str, Any]
    if _is_same_text(stored, new) and same_json(stored.value, value) and not over:
        changed = {name: value for name, value in named.items() if not same_json(value, getattr(stored, name))}
        if _ends_anew(stored, new, given):
            changed["expires_at"] = new.expires_at
        if "valid_from" not in given and not _is_past(stored.valid_from, now):
            changed["valid_from"] = new.valid_from  # It was to become true later, and is true now.
        if "valid_from" in given and new.valid_from < stored.valid_from:
            changed["valid_from"] = new.valid_from  # It was already true earlier; being true again later adds nothing.
        return Replace(_next_version(stored, changed, now), None) if changed else Keep(stored)
    if "valid_from" in given and not over and new.valid_from < stored.valid_from:
        visibility = new.visibility if "visibility" in given else stored.visibility
        return StoreOlder(new.evolve(visibility=visibility, superseded_by=stored.memory_id, valid_to=stored.valid_from))
    changed = {
        # The new truth has its own time to live.
        **{name: getattr(new, name) for name in ("content", "value", "valid_from", "expires_at")},
        **named,
        "valid_to": None,
    }
    current = _next_version(stored, changed, now)
    if current.key is not None:
        # Fields that the caller did not name keep their values, so the hash of `new` does not apply.
        current = _hash_anew(current, new.valid_from if "valid_from" in given else None)
    return Replace(current, older_copy(stored, new.valid_from, copy_id, now))


def _is_same_text(stored: MemoryRow, new: MemoryRow) -> bool:
    """Return whether a text is known: exactly the same under a key, else by the form in `content_hash`."""
    if new.key is None and new.layer != "knowledge":
        return known_form(stored.content) == known_form(new.content)
    return stored.content == new.content


def revise(stored: MemoryRow, changes: Mapping[str, object], copy_id: UUID, now: datetime) -> Keep | Replace:
    """Apply an `update`: the named fields change; new content or value supersedes the old."""
    changed = {name: value for name, value in changes.items() if not _same(value, getattr(stored, name))}
    if not changed:
        return Keep(stored)
    if not {"content", "value"} & changed.keys():
        return Replace(_next_version(stored, changed, now), None)
    valid_from = changed.setdefault("valid_from", now)
    assert isinstance(valid_from, datetime)
    if _is_past(stored.valid_to, now):
        changed.setdefault("valid_to", None)
    current = _next_version(stored, changed, now)
    return Replace(_hash_anew(current, valid_from), older_copy(stored, valid_from, copy_id, now))


def check_version(stored: MemoryRow | None, expected: int | None) -> None:
    """Raise ConflictError unless the stored version is the expected one; 0 expects that nothing is stored."""
    stored_version = 0 if stored is None else stored.version
    if expected is not None and expected != stored_version:
        current = None if stored is None else stored.as_json(("memory_id", "content", "value", "version"))
        was = "nothing is stored there" if stored is None else f"version {stored_version} is stored"
        raise ConflictError(
            f"expected version {expected}, but {was}", current_version=stored_version or None, current=current
        )


def older_copy(stored: MemoryRow, valid_to: datetime, copy_id: UUID, now: datetime) -> MemoryRow:
    """Return the truth that ends at `valid_to` as a row of its own, superseded by the row that keeps the id."""
    ends = min(valid_to, stored.valid_to or valid_to)
    return stored.evolve(
        memory_id=copy_id,
        superseded_by=stored.memory_id,
        valid_to=max(ends, stored.valid_from),
        updated_at=now,
    )


def _ends_anew(stored: MemoryRow, new: MemoryRow, given: frozenset[str]) -> bool:
    """Return whether a known text gets the end of the new write, which is explicit or the installation's default."""
    if {"ttl_days", "expires_at"} & given:
        return new.expires_at != stored.expires_at
    if new.expires_at is None or stored.expires_at is None:
        return False
    default = new.expires_at - new.created_at
    # An end earlier than the default was set explicitly, and stays.
    return stored.expires_at - stored.created_at >= default and new.expires_at - stored.expires_at >= RENEWED_AFTER


def _same(one: object, other: object) -> bool:
    times = isinstance(one, datetime) or isinstance(other, datetime)
    return one == other if times else same_json(one, other)


def _is_past(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and moment <= now


def _hash_anew(row: MemoryRow, occurred_at: datetime | None) -> MemoryRow:
    return row.evolve(content_hash=content_hash(row, occurred_at))


def _next_version(stored: MemoryRow, changed: Mapping[str, object], now: datetime) -> MemoryRow:
    return stored.evolve(**changed, version=stored.version + 1, updated_at=now)

"""What a write does to what is already there. Pure: from the stored image and the new one to the images to store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from keeps.memories.images import Image, content_hash
from keeps_client.errors import ConflictError

# What a caller who writes a key or content again may change without making it another truth.
_ATTRIBUTES = (
    "tags", "metadata", "importance", "visibility", "source", "content_type", "trigger_condition", "procedure_type", "role",
    "agent_id", "session_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing to do: it is stored like this already."""

    current: Image


@dataclass(frozen=True, slots=True)
class Replace:
    """Store `current` in place of the row with its id; `older` keeps the truth that it supersedes, if there was one."""

    current: Image
    older: Image | None


@dataclass(frozen=True, slots=True)
class StoreOlder:
    """What was written is older than what is known: store it as superseded from the start."""

    older: Image


Outcome = Keep | Replace | StoreOlder


def reconcile(stored: Image, new: Image, given: frozenset[str], copy_id: UUID, now: datetime) -> Outcome:
    """Writing `new` where `stored` is current, by key or by content.

    `given`: the fields that the caller named; the others keep what is stored. `copy_id`: the id for the older truth.
    """
    expired = stored["expires_at"] is not None and datetime.fromisoformat(stored["expires_at"]) <= now
    same_truth = (stored["content"], stored["value"]) == (
        new["content"],
        new["value"] if "value" in given else stored["value"],
    )
    if same_truth and not expired:
        changed = {name: new[name] for name in _ATTRIBUTES if name in given and new[name] != stored[name]}
        if {"ttl_days", "expires_at"} & given and new["expires_at"] != stored["expires_at"]:
            changed["expires_at"] = new["expires_at"]
        return Replace(_next_version(stored, changed, now), None) if changed else Keep(stored)
    if "valid_from" in given and datetime.fromisoformat(new["valid_from"]) < datetime.fromisoformat(
        stored["valid_from"]
    ):
        older = {**new, "superseded_by": stored["memory_id"], "valid_to": stored["valid_from"]}
        return StoreOlder(older)
    kept = {name: stored[name] for name in _ATTRIBUTES if name not in given}
    changed = {
        **kept,
        **{name: new[name] for name in ("content", "content_hash", "valid_from", "expires_at")},
        **{name: new[name] for name in _ATTRIBUTES if name in given},
        "value": new["value"],
    }
    return Replace(_next_version(stored, changed, now), older_copy(stored, new["valid_from"], copy_id, now))


def revise(stored: Image, changes: dict[str, Any], copy_id: UUID, now: datetime) -> Keep | Replace:
    """`update`: the named fields change; new content or value supersedes the old."""
    changed = {name: value for name, value in changes.items() if value != stored[name]}
    if not changed:
        return Keep(stored)
    if not {"content", "value"} & changed.keys():
        return Replace(_next_version(stored, changed, now), None)
    valid_from = changed.setdefault("valid_from", now.isoformat())
    current = _next_version(stored, changed, now)
    current["content_hash"] = content_hash(current)
    return Replace(current, older_copy(stored, valid_from, copy_id, now))


def check_version(stored: Image | None, expected: int | None) -> None:
    """Raise ConflictError unless the stored version is the expected one; 0 expects that nothing is stored."""
    found = 0 if stored is None else int(stored["version"])
    if expected is not None and expected != found:
        current = (
            None if stored is None else {name: stored[name] for name in ("memory_id", "content", "value", "version")}
        )
        was = "nothing is stored there" if stored is None else f"version {found} is stored"
        raise ConflictError(f"expected version {expected}, but {was}", current_version=found or None, current=current)


def older_copy(stored: Image, valid_to: str, copy_id: UUID, now: datetime) -> Image:
    """The truth that ends at `valid_to`: a row of its own, superseded by the one that keeps the id."""
    ended = max(datetime.fromisoformat(valid_to), datetime.fromisoformat(stored["valid_from"])).isoformat()
    return {
        **stored,
        "memory_id": str(copy_id),
        "superseded_by": stored["memory_id"],
        "valid_to": ended,
        "updated_at": now.isoformat(),
    }


def _next_version(stored: Image, changed: dict[str, Any], now: datetime) -> Image:
    return {**stored, **changed, "version": stored["version"] + 1, "updated_at": now.isoformat()}

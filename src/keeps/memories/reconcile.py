"""What a write does to what is already there. Pure: from the stored image and the new one to the images to store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from keeps.memories.images import Image, content_hash
from keeps_client.errors import ConflictError
from keeps_client.validation import same_json

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
    over = _is_past(stored["expires_at"], now) or _is_past(stored["valid_to"], now)
    value = new["value"] if "value" in given else stored["value"]
    if same_json((stored["content"], stored["value"]), (new["content"], value)) and not over:
        changed = {name: new[name] for name in _ATTRIBUTES if name in given and not same_json(new[name], stored[name])}
        if {"ttl_days", "expires_at"} & given and new["expires_at"] != stored["expires_at"]:
            changed["expires_at"] = new["expires_at"]
        if "valid_from" not in given and not _is_past(stored["valid_from"], now):
            changed["valid_from"] = new["valid_from"]  # it was to become true later, and is true now
        return Replace(_next_version(stored, changed, now), None) if changed else Keep(stored)
    if "valid_from" in given and not over and _moment(new["valid_from"]) < _moment(stored["valid_from"]):
        visibility = new["visibility"] if "visibility" in given else stored["visibility"]
        older = {
            **new,
            "visibility": visibility,
            "superseded_by": stored["memory_id"],
            "valid_to": stored["valid_from"],
        }
        return StoreOlder(older)
    changed = {
        **{name: new[name] for name in ("content", "content_hash", "valid_from", "value")},
        # A time to live stays like any other field that is not named; one that is over has done its work.
        **({"expires_at": new["expires_at"]} if over or {"ttl_days", "expires_at"} & given else {}),
        **{name: new[name] for name in _ATTRIBUTES if name in given},
        "valid_to": None,
    }
    return Replace(_next_version(stored, changed, now), older_copy(stored, new["valid_from"], copy_id, now))


def revise(stored: Image, changes: dict[str, Any], copy_id: UUID, now: datetime) -> Keep | Replace:
    """`update`: the named fields change; new content or value supersedes the old."""
    changed = {name: value for name, value in changes.items() if not same_json(value, stored[name])}
    if not changed:
        return Keep(stored)
    if not {"content", "value"} & changed.keys():
        return Replace(_next_version(stored, changed, now), None)
    valid_from = changed.setdefault("valid_from", now.isoformat())
    if _is_past(stored["valid_to"], now):
        changed.setdefault("valid_to", None)
    current = _next_version(stored, changed, now)
    current["content_hash"] = content_hash(current, _moment(valid_from) if current["kind"] == "episodic" else None)
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
    ends = [_moment(valid_to), *([_moment(stored["valid_to"])] if stored["valid_to"] else [])]
    ended = max(min(ends), _moment(stored["valid_from"])).isoformat()
    return {
        **stored,
        "memory_id": str(copy_id),
        "superseded_by": stored["memory_id"],
        "valid_to": ended,
        "updated_at": now.isoformat(),
    }


def _is_past(moment: str | None, now: datetime) -> bool:
    return moment is not None and _moment(moment) <= now


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _next_version(stored: Image, changed: dict[str, Any], now: datetime) -> Image:
    return {**stored, **changed, "version": stored["version"] + 1, "updated_at": now.isoformat()}

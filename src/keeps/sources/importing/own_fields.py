"""Fields of a memory that other formats do not have, as `keeps export` writes them under the name `keeps`. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from keeps.sources.importing.records import moment_of
from keeps_client.models import Memory

_FIELDS = (
    "kind",
    "content_type",
    "role",
    "agent_id",
    "session_id",
    "source",
    "importance",
    "visibility",
    "trigger_condition",
    "procedure_type",
    "value",
    "namespace",
    "key",
)
_DEFAULTS: dict[str, object] = {"kind": "semantic", "content_type": "fact", "visibility": "private"}


def own_fields(memory: Memory, namespace: str, *, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields that differ from their defaults. A key of the format's own namespace is its id already."""
    fields = {
        name: value
        for name in _FIELDS
        if name not in without and (value := getattr(memory, name)) is not None and value != _DEFAULTS.get(name)
    }
    if memory.key is not None and memory.namespace == namespace:
        del fields["namespace"], fields["key"]
    if memory.key is None and memory.namespace is not None:
        fields.pop("namespace", None)
    if memory.valid_to is not None:
        fields["valid_to"] = memory.valid_to.isoformat()
    return fields


def restored(holder: dict[str, Any]) -> tuple[dict[str, Any], datetime | None] | None:
    """Remove `keeps` from an object; return the arguments of `remember` in it, and the end of the memory's time.

    Returns None for data of other origin.
    """
    own = holder.pop("keeps", None)
    if not isinstance(own, dict):
        return None
    fields = cast("dict[str, Any]", own)
    try:
        valid_to = moment_of(fields.get("valid_to"))
    except ValueError:
        valid_to = None
    return {name: fields[name] for name in _FIELDS if name in fields}, valid_to

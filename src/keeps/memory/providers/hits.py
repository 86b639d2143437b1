"""Conversion of entries to memories, so that all hits have one type."""

from __future__ import annotations

from uuid import UUID, uuid5

from keeps.base.clock import Clock
from keeps.base.scope import Scope
from keeps.providers.contract import text_of
from keeps_client.models import Entry, Memory
from keeps_client.values import MAX_CONTENT_CHARACTERS

ENTRY_ID_VERSION = 5
"""Version of the UUIDs of entries; those of memories have version 7."""
_NAMESPACE = UUID("6d1f9a52-0f2e-5c0b-9a86-2f5f7b0a4d11")


def id_of(scope: Scope, provider_id: str, key: str) -> UUID:
    """Return the id of an entry, derived from its key: always the same for the same entry."""
    return uuid5(_NAMESPACE, "\x00".join((scope.tenant_id, scope.user_id, provider_id, key)))


def memory_of(scope: Scope, provider_id: str, entry: Entry, clock: Clock) -> Memory:
    """Return an entry as a memory."""
    moment = entry.updated_at or clock()
    kind = entry.metadata.get("content_type")
    return Memory.model_construct(
        memory_id=id_of(scope, provider_id, entry.key),
        tenant_id=scope.tenant_id,
        user_id=scope.user_id,
        kind="semantic",
        layer="session" if provider_id == "working" else "long_term",
        namespace=provider_id,
        key=entry.key,
        content=text_of(entry.value)[:MAX_CONTENT_CHARACTERS],
        value=entry.value,
        content_type=kind if isinstance(kind, str) else "fact",
        metadata=entry.metadata,
        tags=(),
        source=provider_id,
        importance=0.5,
        visibility="private",
        valid_from=moment,
        version=1,
        created_at=moment,
        updated_at=moment,
    )

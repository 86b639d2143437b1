"""Entries as memories, so that hits are alike wherever they come from."""

from __future__ import annotations

from uuid import UUID, uuid5

from keeps.clock import Clock
from keeps.providers.contract import text_of
from keeps.scope import Scope
from keeps_client.models import Entry, Memory
from keeps_client.models.common import MAX_CONTENT_CHARACTERS

ENTRY_ID_VERSION = 5
"""Version of the UUIDs of entries; those of memories are of version 7."""
_NAMESPACE = UUID("6d1f9a52-0f2e-5c0b-9a86-2f5f7b0a4d11")


def id_of(scope: Scope, provider_id: str, key: str) -> UUID:
    """Entries have keys, memories ids: always the same id for the same entry."""
    return uuid5(_NAMESPACE, "\x00".join((scope.tenant_id, scope.user_id, provider_id, key)))


def memory_of(scope: Scope, provider_id: str, entry: Entry, clock: Clock) -> Memory:
    """An entry as a memory, so that hits are alike wherever they come from."""
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

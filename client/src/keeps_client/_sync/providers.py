# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""What providers hold, key by key. Recall and forget reach them all by themselves."""

from __future__ import annotations

from collections.abc import Mapping

from keeps_client._sync.base import Doing
from keeps_client.models import Entry, ProviderInfo, Rebuilt
from keeps_client.models.providers import (
    APPEND_MARKDOWN,
    DELETE_ENTRY,
    LIST_PROVIDERS,
    READ_ENTRY,
    REBUILD_PROVIDER,
    WRITE_ENTRY,
)


class Providers(Doing):
    """Other backends beside the database, behind one contract. `session_id`: whose scratchpad, with the provider
    `working`."""

    def list_providers(self) -> list[ProviderInfo]:
        """Every provider, with what it can do and whether it answers."""
        return self._do(LIST_PROVIDERS)

    def write_entry(
        self,
        provider_id: str,
        key: str,
        value: object,
        *,
        metadata: Mapping[str, object] | None = None,
        session_id: str | None = None,
    ) -> Entry:
        """Store a value with a provider; returns what it holds now. Raises ForbiddenError for one that is read-only."""
        fields = {"value": value, "metadata": metadata}
        return self._do(WRITE_ENTRY, provider_id=provider_id, entry_key=key, session_id=session_id, **fields)

    def read_entry(self, provider_id: str, key: str, *, session_id: str | None = None) -> Entry:
        """What a provider holds under a key. Raises NotFoundError."""
        return self._do(READ_ENTRY, provider_id=provider_id, entry_key=key, session_id=session_id)

    def delete_entry(self, provider_id: str, key: str, *, session_id: str | None = None) -> Entry:
        """Remove a key from a provider; returns what it was. Raises NotFoundError."""
        return self._do(DELETE_ENTRY, provider_id=provider_id, entry_key=key, session_id=session_id)

    def append_markdown(self, text: str) -> list[Entry]:
        """Put a text through the pipeline of the Markdown memory: its statements become entries of profile, event and
        activity, linked to what they are related to. Returns the new entries."""
        return self._do(APPEND_MARKDOWN, text=text)

    def rebuild_provider(self, provider_id: str) -> Rebuilt:
        """Have a provider make anew what it derives, while reads go on."""
        return self._do(REBUILD_PROVIDER, provider_id=provider_id)

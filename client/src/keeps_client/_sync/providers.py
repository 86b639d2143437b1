# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Entries of providers, by key. Recall and forget reach all providers by themselves."""

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
    """Other storage backends beside the database, with a common interface.

    `session_id`: the session whose scratchpad is used, with the provider `working`.
    """

    def list_providers(self) -> list[ProviderInfo]:
        """Return every provider, with its features and whether it answers."""
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
        """Store a value with a provider; return the stored entry. Raises ForbiddenError for one that is read-only."""
        fields = {"value": value, "metadata": metadata}
        return self._do(WRITE_ENTRY, provider_id=provider_id, entry_key=key, session_id=session_id, **fields)

    def read_entry(self, provider_id: str, key: str, *, session_id: str | None = None) -> Entry:
        """Return the entry under a key of a provider. Raises NotFoundError."""
        return self._do(READ_ENTRY, provider_id=provider_id, entry_key=key, session_id=session_id)

    def delete_entry(self, provider_id: str, key: str, *, session_id: str | None = None) -> Entry:
        """Remove a key from a provider; return its entry. Raises NotFoundError."""
        return self._do(DELETE_ENTRY, provider_id=provider_id, entry_key=key, session_id=session_id)

    def append_markdown(self, text: str) -> list[Entry]:
        """Run a text through the Markdown pipeline and return the new entries.

        Its statements become entries of profile, event and activity, with links to related ones.
        """
        return self._do(APPEND_MARKDOWN, text=text)

    def rebuild_provider(self, provider_id: str) -> Rebuilt:
        """Have a provider rebuild its derived data, while reads continue."""
        return self._do(REBUILD_PROVIDER, provider_id=provider_id)

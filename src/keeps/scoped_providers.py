"""The providers of one scope: other backends beside the database, behind one contract."""

from __future__ import annotations

import builtins
from typing import Any

from keeps.providers.contract import MemoryProvider
from keeps.services import Scoped
from keeps_client.models import Entry, NewEntry, ProviderInfo, Rebuilt
from keeps_client.validation import given, named, named_session, validated


class ScopedProviders(Scoped):
    """What providers hold, key by key. Recall and forget reach them all by themselves."""

    async def provider(self, provider_id: str, *, session_id: str | None = None) -> MemoryProvider:
        """One provider, to work with directly: `working`, `postgres`, `vector`, `graph`, or one that is installed."""
        return await self.services.providers.provider(self.scope, named("provider_id", provider_id, 100), session_id)

    async def list_providers(self) -> builtins.list[ProviderInfo]:
        """Every provider, with what it can do and whether it answers."""
        return await self.services.providers.infos(self.scope)

    async def write_entry(
        self,
        provider_id: str,
        key: str,
        value: Any,
        *,
        metadata: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Entry:
        """Store a value with a provider; returns what it holds now. Raises ForbiddenError for one that is read-only.
        `session_id`: whose scratchpad, with the provider `working`."""
        new = validated(NewEntry, {"value": value} | given(metadata=metadata))
        return await self.services.providers.write(
            self.scope, named("provider_id", provider_id, 100), key, new, named_session(session_id)
        )

    async def read_entry(self, provider_id: str, key: str, *, session_id: str | None = None) -> Entry:
        """What a provider holds under a key. Raises NotFoundError."""
        return await self.services.providers.read(
            self.scope, named("provider_id", provider_id, 100), key, named_session(session_id)
        )

    async def delete_entry(self, provider_id: str, key: str, *, session_id: str | None = None) -> Entry:
        """Remove a key from a provider; returns what it was. Raises NotFoundError."""
        return await self.services.providers.delete(
            self.scope, named("provider_id", provider_id, 100), key, named_session(session_id)
        )

    async def append_markdown(self, text: str) -> builtins.list[Entry]:
        """Put a text through the pipeline of the Markdown memory: its statements become entries of profile, event and
        activity, linked to what they are related to. Returns the new entries."""
        return await self.services.providers.append(self.scope, named("text", text, 200_000))

    async def rebuild_provider(self, provider_id: str) -> Rebuilt:
        """Have a provider make anew what it derives, while reads go on."""
        return await self.services.providers.rebuild(self.scope, named("provider_id", provider_id, 100))

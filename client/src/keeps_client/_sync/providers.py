# Generated from keeps_client/_async by tools/make_sync.py; change that instead.
"""Providers over HTTP."""

from __future__ import annotations

import builtins
from typing import Any

from pydantic import TypeAdapter

from keeps_client._requests import call, parsed
from keeps_client._sync.transport import Transport
from keeps_client.models import AppendText, Entry, NewEntry, ProviderInfo, Rebuilt
from keeps_client.validation import given, named, named_session, validated

ENTRY, ENTRIES = TypeAdapter(Entry), TypeAdapter(list[Entry])
PROVIDERS, REBUILT = TypeAdapter(list[ProviderInfo]), TypeAdapter(Rebuilt)


class ProviderClient:
    """What providers hold, key by key. Recall and forget reach them all by themselves."""

    _transport: Transport

    def list_providers(self) -> builtins.list[ProviderInfo]:
        """Every provider, with what it can do and whether it answers."""
        return parsed(PROVIDERS, self._transport.send(call("GET", "providers")))

    def write_entry(
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
        place = named("provider_id", provider_id, 100), named("key", key, 355)
        query = {"session_id": named_session(session_id)}
        wanted = call("PUT", "providers", place[0], "entries", place[1], query=query, body=new)
        return parsed(ENTRY, self._transport.send(wanted))

    def read_entry(self, provider_id: str, key: str, *, session_id: str | None = None) -> Entry:
        """What a provider holds under a key. Raises NotFoundError."""
        place = named("provider_id", provider_id, 100), named("key", key, 355)
        query = {"session_id": named_session(session_id)}
        wanted = call("GET", "providers", place[0], "entries", place[1], query=query)
        return parsed(ENTRY, self._transport.send(wanted))

    def delete_entry(self, provider_id: str, key: str, *, session_id: str | None = None) -> Entry:
        """Remove a key from a provider; returns what it was. Raises NotFoundError."""
        place = named("provider_id", provider_id, 100), named("key", key, 355)
        query = {"session_id": named_session(session_id)}
        wanted = call("DELETE", "providers", place[0], "entries", place[1], query=query)
        return parsed(ENTRY, self._transport.send(wanted))

    def append_markdown(self, text: str) -> builtins.list[Entry]:
        """Put a text through the pipeline of the Markdown memory: its statements become entries of profile, event and
        activity, linked to what they are related to. Returns the new entries."""
        wanted = call("POST", "providers", "markdown", "append", body=AppendText(text=named("text", text, 200_000)))
        return parsed(ENTRIES, self._transport.send(wanted))

    def rebuild_provider(self, provider_id: str) -> Rebuilt:
        """Have a provider make anew what it derives, while reads go on."""
        wanted = call("POST", "providers", named("provider_id", provider_id, 100), "rebuild")
        return parsed(REBUILT, self._transport.send(wanted))

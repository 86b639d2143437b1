"""/v1/providers: which there are, and what they hold."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import AfterValidator, TypeAdapter
from starlette.responses import Response

from keeps.server.deps import Reader, Segment, Writer, answer, answers
from keeps.server.edge import SLASH
from keeps.server.lean import LeanRoute
from keeps_client.models import AppendText, Entry, NewEntry, ProviderInfo, Rebuilt

router = APIRouter(prefix="/v1/providers", tags=["providers"], route_class=LeanRoute)
PROVIDERS, ENTRIES = TypeAdapter(list[ProviderInfo]), TypeAdapter(list[Entry])
EntryKey = Annotated[str, Path(min_length=1, max_length=355), AfterValidator(lambda text: text.replace(SLASH, "/"))]
Session = Annotated[
    str | None, Query(min_length=1, max_length=255, description="Whose scratchpad, with the provider `working`")
]


@router.get("", response_model=list[ProviderInfo])
async def list_providers(memory: Reader) -> Response:
    """Every provider, with what it can do and whether it answers."""
    return answers(PROVIDERS, await memory.list_providers())


@router.post("/markdown/append", response_model=list[Entry])
async def append_markdown(new: AppendText, memory: Writer) -> Response:
    """Put a text through the pipeline of the Markdown memory; returns the new entries."""
    return answers(ENTRIES, await memory.append_markdown(new.text))


@router.put("/{provider_id}/entries/{entry_key}", response_model=Entry)
async def write_entry(
    provider_id: Segment, entry_key: EntryKey, new: NewEntry, memory: Writer, session_id: Session = None
) -> Response:
    """Store a value with a provider."""
    return answer(await memory.services.providers.write(memory.scope, provider_id, entry_key, new, session_id))


@router.get("/{provider_id}/entries/{entry_key}", response_model=Entry)
async def read_entry(provider_id: Segment, entry_key: EntryKey, memory: Reader, session_id: Session = None) -> Response:
    """What a provider holds under a key."""
    return answer(await memory.read_entry(provider_id, entry_key, session_id=session_id))


@router.delete("/{provider_id}/entries/{entry_key}", response_model=Entry)
async def delete_entry(
    provider_id: Segment, entry_key: EntryKey, memory: Writer, session_id: Session = None
) -> Response:
    """Remove a key from a provider."""
    return answer(await memory.delete_entry(provider_id, entry_key, session_id=session_id))


@router.post("/{provider_id}/rebuild", response_model=Rebuilt)
async def rebuild_provider(provider_id: Segment, memory: Writer) -> Response:
    """Have a provider make anew what it derives, for this user."""
    return answer(await memory.rebuild_provider(provider_id))

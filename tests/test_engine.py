"""The engine in process: which event loop it is used in, and what it loads ahead."""

from __future__ import annotations

import asyncio

import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.recall.service import RecallService
from keeps_client.errors import ValidationFailedError
from tests.embedding import HashedWords


async def test_other_event_loop_is_refused_with_advice(keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    for call in (lambda: alice.recall("tea"), alice.admin.list_keys, keeps.warm):
        with pytest.raises(ValidationFailedError, match="run_coroutine_threadsafe"):
            await asyncio.to_thread(lambda call=call: asyncio.run(call()))
    assert (await alice.recall("tea")).hits == []


async def test_models_are_loaded_ahead(app_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = HashedWords()
    embedded: list[str] = []
    embed_query = embedder.embed_query

    async def recorded(text: str) -> object:
        embedded.append(text)
        return await embed_query(text)

    monkeypatch.setattr(embedder, "embed_query", recorded)
    async with Keeps.open(database_url=app_url, embedder=embedder) as keeps:
        assert embedded == []
        await keeps.warm()
        assert embedded != []
        await keeps.service(RecallService).warm()
        assert len(embedded) == 1, "once"

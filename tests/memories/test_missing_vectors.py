"""Whatever write leaves a vector missing, the index catches up by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from keeps.engine import Keeps
from keeps.scope import Scope
from keeps_client.errors import UnavailableError

Write = Callable[[Any], Awaitable[object]]
WRITES: dict[str, Write] = {
    "remember": lambda memory: memory.remember("Anna keeps bees."),
    "remember_many": lambda memory: memory.remember_many([{"content": "Anna keeps bees."}], index="now"),
    "update": lambda memory: memory.update(memory.known, content="Anna keeps wasps."),
    "store_knowledge": lambda memory: memory.store_knowledge("Anna keeps bees."),
    "log_interaction": lambda memory: memory.log_interaction("agent", "user", "Anna keeps bees."),
    "store_skill": lambda memory: memory.store_skill("agent", "Smoke the bees first.", procedure_type="system_prompt"),
    "store_exchange": lambda memory: memory.store_exchange(
        [{"role": "user", "content": "Anna keeps bees."}], session_id="s"
    ),
    "end_session": lambda memory: memory.end_session("open"),
    "log_activity": lambda memory: memory.log_activity("Fed the bees."),
    "add_source": lambda memory: memory.add_source("hives", kind="database", purpose="Hives by field"),
    "write_entry": lambda memory: memory.write_entry("postgres", "bees", "Anna keeps bees."),
}


class Fickle:
    """The model of the run, which is away as long as `away`."""

    def __init__(self, inner: Any) -> None:
        self.model, self.dimensions = inner.model, inner.dimensions
        self._inner = inner
        self.away = False

    async def embed(self, texts: Any) -> Any:
        if self.away:
            raise UnavailableError("the model is away")
        return await self._inner.embed(texts)

    async def embed_query(self, text: str) -> Any:
        if self.away:
            raise UnavailableError("the model is away")
        return await self._inner.embed_query(text)

    async def close(self) -> None: ...


@pytest.fixture
async def fickle(app_url: str, shared: Any) -> AsyncIterator[tuple[Keeps, Fickle]]:
    embedder = Fickle(shared)
    async with Keeps.open(database_url=app_url, embedder=embedder) as opened:
        yield opened, embedder


@pytest.mark.parametrize("name", WRITES)
async def test_a_model_that_was_away_is_asked_again(fickle: tuple[Keeps, Fickle], tenant: str, name: str) -> None:
    keeps, embedder = fickle
    memory: Any = keeps.memory(Scope(tenant, "alice"))
    memory.known = (await memory.remember("Anna keeps hens.")).memory_id
    await memory.store_exchange([{"role": "user", "content": "Hens lay eggs."}], session_id="open")
    await keeps.indexer.settle()
    embedder.away = True
    await WRITES[name](memory)
    embedder.away = False
    await keeps.indexer.settle()
    assert (await memory.insights()).index_pending == 0, f"{name} tells the index of nothing"

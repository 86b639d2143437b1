"""What a hit shows of an entry works: its id, and its namespace and key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4, uuid5

import pytest

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps_client import MemoryClient
from keeps_client.errors import ForbiddenError, NotFoundError, UnavailableError, ValidationFailedError
from tests.providers.test_guard import Settable, raises
from tests.serving import serving


@pytest.fixture
async def opened(app_url: str, shared: Any, tmp_path: Path) -> AsyncIterator[tuple[Keeps, dict[str, Any]]]:
    behaviour: dict[str, Any] = {}
    chosen = Settings(home=tmp_path / "home", database_url=app_url, markdown_folder=tmp_path / "notes")
    factories = {"bad": lambda context: Settable(context, behaviour)}
    async with await open_keeps(chosen, embedder=shared, providers=factories) as keeps:
        yield keeps, behaviour


@pytest.mark.parametrize("provider_id", ["markdown", "bad", "working"])
@pytest.mark.parametrize("key", ["door", "house/door"])
async def test_hit_can_be_read_changed_and_forgotten(opened: Any, tenant: str, provider_id: str, key: str) -> None:
    keeps, _ = opened
    memory = keeps.memory(Scope(tenant, "alice", session_id="s"))
    await memory.write_entry(provider_id, key, "The door code is 4711.", metadata={"content_type": "profile", "a": 1})
    (hit,) = (await memory.recall("door code", providers=[provider_id])).hits
    found = hit.memory
    assert (await memory.get(found.memory_id)).content == "The door code is 4711."
    assert (await memory.find(found.namespace, found.key)).memory_id == found.memory_id
    receipt = await memory.update(found.memory_id, content="The door code is 1234.")
    assert (receipt.status, receipt.memory_id, receipt.providers) == ("updated", found.memory_id, (provider_id,))
    entry = await memory.read_entry(provider_id, key)
    assert (entry.value, entry.metadata["content_type"], entry.metadata["a"]) == (
        "The door code is 1234.",
        "profile",
        1,
    )
    if provider_id != "working":
        history = await memory.history(found.memory_id)
        assert [event.type for event in history] == ["memory.written", "memory.written"]
    with pytest.raises(ValidationFailedError, match="importance"):
        await memory.update(found.memory_id, importance=0.9)
    with pytest.raises(ValidationFailedError, match="if_version"):
        await memory.update(found.memory_id, content="x", if_version=1)
    gone = await memory.forget(found.memory_id)
    assert (gone.status, gone.memory_id, gone.providers) == ("forgotten", found.memory_id, (provider_id,))
    assert (await memory.recall("door code")).hits == []
    for work in (memory.get(found.memory_id), memory.forget(found.memory_id), memory.history(found.memory_id)):
        with pytest.raises(NotFoundError):
            await work


async def test_namespace_and_key_of_a_hit_can_be_forgotten(opened: Any, tenant: str) -> None:
    keeps, _ = opened
    async with serving(keeps) as url, MemoryClient(url, tenant_id=tenant, user_id="alice") as client:
        await client.write_entry("markdown", "door", "The door code is 4711.")
        (hit,) = (await client.recall("door code")).hits
        receipt = await client.forget(namespace=hit.memory.namespace, key=hit.memory.key)
        assert receipt.providers == ("markdown",)
        with pytest.raises(NotFoundError):
            await client.read_entry("markdown", "door")


async def test_ids_of_others_are_not_found(opened: Any, tenant: str) -> None:
    keeps, _ = opened
    alice, bob = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob"))
    for memory in (alice, bob):
        await memory.write_entry("markdown", "door", "The door code is 4711.")
    (hit,) = (await alice.recall("door code")).hits
    for memory_id in (hit.memory_id, uuid4(), uuid5(uuid4(), "x")):
        for work in (bob.get(memory_id), bob.forget(memory_id), bob.update(memory_id, content="x")):
            with pytest.raises(NotFoundError):
                await work
    assert (await alice.read_entry("markdown", "door")).value == "The door code is 4711."


async def test_silent_provider_is_not_taken_for_an_empty_one(opened: Any, tenant: str) -> None:
    keeps, behaviour = opened
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.write_entry("bad", "door", "The door code is 4711.")
    (hit,) = (await memory.recall("door code")).hits
    behaviour["list_keys"] = raises(RuntimeError())
    with pytest.raises(UnavailableError, match="bad"):
        await memory.forget(hit.memory_id)
    behaviour.pop("list_keys")
    behaviour["read"] = raises(ForbiddenError("no"))
    with pytest.raises(ForbiddenError):
        await memory.get(hit.memory_id)

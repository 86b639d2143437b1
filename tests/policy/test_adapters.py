"""Adapters to frameworks, where the framework is not there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

import pytest

import keeps.integrations
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.owners import Owners
from keeps_client.errors import UnavailableError

NO_PACKAGE = (
    "arguments",
    "budgets",
    "claude_commands",
    "files",
    "hindsight",
    "lines",
    "marks",
    "mem0",
    "memory_tools",
    "openai_proxy",
    "owners",
    "product_api",
    "sentences",
    "storable",
    "transcripts",
    "turns",
)
ADAPTERS = [each.name for each in iter_modules(keeps.integrations.__path__) if each.name not in NO_PACKAGE]


@pytest.mark.parametrize("name", ADAPTERS)
def test_without_its_framework_it_says_which_extra_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("google") is not None and find_spec("google.adk") is not None:
        pytest.skip("the frameworks are installed here")
    module = f"keeps.integrations.{name}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'keeps\[{name.replace('_', '-')}\]'"):
        import_module(module)


def test_adapters_share_an_engine_and_work_from_any_loop(
    made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPS_HOME", str(made_home("adapters")))
    monkeypatch.setenv("KEEPS_EMBEDDER", "none")
    for name in ("KEEPS_URL", "KEEPS_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    one, other = Owners(tenant_id="acme"), Owners(tenant_id="acme")

    async def stored(owners: Owners) -> str:
        return (await owners.ask("alice", lambda memory: memory.remember("I keep two hens."))).status

    async def found(owners: Owners, user_id: str) -> int:
        return len((await owners.ask(user_id, lambda memory: memory.recall("hens"))).hits)

    async def both() -> list[str]:
        return list(await asyncio.gather(stored(one), stored(other)))

    assert sorted(asyncio.run(both())) == ["created", "unchanged"]
    assert asyncio.run(found(other, "alice")) == 1
    assert asyncio.run(found(one, "bob")) == 0
    asyncio.run(one.close())
    assert asyncio.run(found(other, "alice")) == 1, "the other still has it open"
    asyncio.run(other.close())
    asyncio.run(one.close())
    assert asyncio.run(found(one, "alice")) == 1, "it is opened again"
    asyncio.run(one.close())


async def test_an_engine_that_is_given_stays_open_and_counts_what_failed(keeps: Keeps, tenant: str) -> None:
    owners = Owners(keeps, tenant_id=tenant)
    assert (await owners.ask("alice", lambda memory: memory.remember("I keep two hens."))).status == "created"

    def elsewhere() -> int:
        async def work() -> int:
            return len((await owners.ask("alice", lambda memory: memory.recall("hens"))).hits)

        return asyncio.run(work())

    assert await asyncio.to_thread(elsewhere) == 1
    await owners.close()
    assert (await keeps.status()).model is not None
    owners.failed("search", UnavailableError("away"))
    assert owners.failures == {"search": 1}


async def test_a_sync_call_never_waits_for_itself(keeps: Keeps) -> None:
    owners = Owners(keeps)
    with pytest.raises(asyncio.InvalidStateError, match="event loop"):
        owners.now(owners.ask("alice", lambda memory: memory.recall("hens")))


def test_a_sync_call_never_waits_for_a_loop_that_does_not_run(keeps: Keeps) -> None:
    owners = Owners(keeps)
    with pytest.raises(asyncio.InvalidStateError, match="does not run"):
        owners.now(owners.ask("alice", lambda memory: memory.recall("hens")))


async def test_many_users_share_an_adapter_at_once(server_url: str, keeps: Keeps, tenant: str) -> None:
    owners = Owners(server_url, tenant_id=tenant)
    users = [f"user-{number}" for number in range(130)]

    async def stored(user_id: str) -> str:
        return (await owners.ask(user_id, lambda memory: memory.remember(f"I am {user_id}."))).status

    assert set(await asyncio.gather(*map(stored, users))) == {"created"}
    await owners.close()
    for user_id in users[::13]:
        (memory,) = (await keeps.memory(Scope(tenant, user_id)).list()).items
        assert memory.content == f"I am {user_id}."

"""The memory provider of Hermes: as Hermes finds it, in its memory manager, and by itself."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent.memory_manager import MemoryManager
from plugins.memory import discover_memory_providers, load_memory_provider

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.hermes import KeepsMemoryProvider, Settings, install, user_of
from keeps_client.errors import UnavailableError, ValidationFailedError
from tests.serving import token

HENS = "I keep two hens called Ada and Grace."
Made = Callable[..., KeepsMemoryProvider]


@pytest.fixture(params=["in process", "over HTTP"])
def place(request: pytest.FixtureRequest, keeps: Keeps, server_url: str, tenant: str) -> dict[str, Any]:
    """Return the place of the memories, as arguments."""
    return {"keeps": keeps if request.param == "in process" else server_url, "tenant_id": tenant}


@pytest.fixture
def made(place: dict[str, Any], tmp_path: Path) -> Made:
    """Returns initialized providers, which are used in another thread, as Hermes uses them."""

    def make(user: str | None = "4711", platform: str = "telegram", **given: Any) -> KeepsMemoryProvider:
        provider = KeepsMemoryProvider(**{**place, **given.pop("place", {})})
        named = {} if user is None else {"user_id": user}
        kwargs = {"hermes_home": str(tmp_path), "platform": platform, "agent_context": "primary", **named, **given}
        provider.initialize("s", **kwargs)
        return provider

    return make


async def contents(keeps: Keeps, tenant: str, user: str = "telegram:4711") -> list[str]:
    stored = (await keeps.memory(Scope(tenant, user)).list(limit=200)).items
    return sorted(memory.content for memory in stored if memory.user_id == user)


def result(answer: str) -> str:
    return json.loads(answer)["result"]


def test_hermes_finds_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    assert "keeps" not in {name for name, _, _ in discover_memory_providers()}
    folder = install()
    assert folder == install(tmp_path) == tmp_path / "plugins" / "keeps"
    (found,) = [each for each in discover_memory_providers() if each[0] == "keeps"]
    assert found[1:] == ("Keeps remembers what users say, in PostgreSQL, without an LLM", True)
    provider = load_memory_provider("keeps")
    assert isinstance(provider, KeepsMemoryProvider)
    assert provider.name == "keeps"


def test_plugin_is_installed_by_a_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "keeps.integrations.hermes", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "HERMES_HOME": "/no"})
    assert done.stdout.strip() == str(tmp_path / "plugins" / "keeps")
    assert (tmp_path / "plugins" / "keeps" / "__init__.py").exists()


def test_hermes_own_command_shows_it(tmp_path: Path) -> None:
    install(tmp_path)
    hermes, environment = Path(sys.executable).parent / "hermes", {**os.environ, "HERMES_HOME": str(tmp_path)}
    for command in (("config", "set", "memory.provider", "keeps"), ("memory", "status")):
        done = subprocess.run([hermes, *command], capture_output=True, text=True, check=True, env=environment)
    shown = " ".join(done.stdout.split())
    assert "Provider: keeps" in shown
    assert "Status: available" in shown


@pytest.mark.slow_step("Hermes imports its parts when they are first used")
async def test_hermes_own_manager_runs_it(place: dict[str, Any], tmp_path: Path, keeps: Keeps, tenant: str) -> None:
    def work() -> tuple[str, str, set[str]]:
        manager = MemoryManager()
        provider = KeepsMemoryProvider(**place)
        manager.add_provider(provider)
        manager.initialize_all(
            session_id="s", platform="telegram", user_id="4711", hermes_home=str(tmp_path), agent_context="primary"
        )
        assert "keeps_recall" in manager.build_system_prompt()
        messages = [{"role": "user", "content": HENS}, {"role": "assistant", "content": "Nice names."}]
        manager.sync_all(HENS, "Nice names.", session_id="s", messages=messages)
        assert manager.flush_pending(timeout=30)
        known = manager.prefetch_all("What are my hens called?", session_id="s")
        recalled = manager.handle_tool_call("keeps_recall", {"query": "hens"})
        manager.on_session_end(messages)
        names = manager.get_all_tool_names()
        manager.shutdown_all()
        assert provider.failures == {}
        return known, recalled, names

    known, recalled, names = await asyncio.to_thread(work)
    assert "Ada and Grace" in known
    assert "Ada and Grace" in result(recalled)
    assert names == {"keeps_recall", "keeps_remember", "keeps_forget"}
    assert {HENS, "Nice names."} <= set(await contents(keeps, tenant))


async def test_same_turn_again_changes_nothing(made: Made, keeps: Keeps, tenant: str) -> None:
    def work(times: int) -> None:
        provider = made()
        for _ in range(times):
            provider.sync_turn(HENS, "Nice names.", session_id="s", messages=[{}, {}])
        provider.shutdown()

    await asyncio.to_thread(work, 1)
    once = await contents(keeps, tenant)
    await asyncio.to_thread(work, 2)
    assert await contents(keeps, tenant) == once

    def later() -> None:
        provider = made()
        provider.sync_turn(HENS, "Nice names.", session_id="s", messages=[{}, {}, {}, {}])
        provider.shutdown()

    await asyncio.to_thread(later)
    assert len(await contents(keeps, tenant)) > len(once), "said once more, later in the conversation"


async def test_users_and_tenants_share_nothing(made: Made, keeps: Keeps, tenant: str) -> None:
    def work() -> list[KeepsMemoryProvider]:
        alice = made()
        others = [made("4712"), made("4711", "discord"), made(place={"tenant_id": f"{tenant}-other"})]
        alice.sync_turn(HENS, "Nice names.", session_id="s")
        stored = result(alice.handle_tool_call("keeps_remember", {"content": "The door code is 4711."}))
        memory_id = stored.split("id ")[1].removesuffix(").")
        for other in others:
            assert "Ada" not in other.prefetch("What are my hens called?", session_id="s")
            assert result(other.handle_tool_call("keeps_recall", {"query": "hens, door code"})) == "No memory matches."
            assert "No such memory" in other.handle_tool_call("keeps_forget", {"memory_id": memory_id})
            asked = {"query": "hens", "user_id": "telegram:4711", "tenant_id": tenant}
            assert "Ada" not in other.handle_tool_call("keeps_recall", asked)
        return [alice, *others]

    for provider in await asyncio.to_thread(work):
        await asyncio.to_thread(provider.shutdown)
    assert "The door code is 4711." in await contents(keeps, tenant)


@pytest.mark.parametrize(
    ("settings", "platform", "user", "owner"),
    [
        ({}, "telegram", "4711", "telegram:4711"),
        ({}, "telegram", 4711, "telegram:4711"),
        ({}, "cli", None, "from-env"),
        ({"user_id": "alice"}, "cli", None, "alice"),
        ({"user_id": "alice"}, "telegram", "4711", "telegram:4711"),
        ({"users": {"telegram:4711": "alice"}}, "telegram", "4711", "alice"),
        ({"users": {"telegram:4711": "alice"}}, "discord", "4711", "discord:4711"),
        ({"users": {"*": "alice"}}, "discord", "4711", "alice"),
    ],
)
def test_platform_names_the_user(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], platform: str, user: object, owner: str
) -> None:
    monkeypatch.setenv("KEEPS_USER_ID", "from-env")
    assert user_of(Settings(**settings), platform, user) == owner


async def test_token_of_one_user_serves_no_other(secured_url: str, tenant: str, made: Made) -> None:
    def work() -> None:
        provider = made(place={"keeps": secured_url, "tenant_id": None, "token": token(tenant, "alice", "writer")})
        assert provider.prefetch("hens") == ""
        provider.sync_turn(HENS, "Nice.")
        assert "not allowed" in json.loads(provider.handle_tool_call("keeps_recall", {"query": "hens"}))["error"]
        assert provider.failures == {"prefetch": 1, "sync_turn": 1, "keeps_recall": 1}
        provider.shutdown()

    await asyncio.to_thread(work)


async def test_agent_continues_while_memory_is_away(
    keeps: Keeps, tenant: str, made: Made, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise UnavailableError("the database is away")

    for method in ("store_exchange", "context", "recall", "remember", "end_session"):
        monkeypatch.setattr(f"keeps.engine.LocalMemory.{method}", away)

    def work() -> None:
        provider = made(place={"keeps": keeps, "tenant_id": tenant})
        assert provider.prefetch("hens") == ""
        provider.sync_turn(HENS, "Nice.")
        provider.on_session_end([{"role": "user", "content": HENS}])
        provider.on_memory_write("add", "user", HENS)
        assert "cannot be reached" in provider.handle_tool_call("keeps_recall", {"query": "hens"})
        names = ("prefetch", "sync_turn", "on_session_end", "on_memory_write", "keeps_recall")
        assert provider.failures == dict.fromkeys(names, 1)

    await asyncio.to_thread(work)
    assert "the database is away" in caplog.text


async def test_writes_of_hermes_own_tool_are_mirrored(made: Made, keeps: Keeps, tenant: str) -> None:
    async def after(*writes: tuple[str, str, str, dict[str, Any]]) -> list[str]:
        def work() -> None:
            provider = made()
            for action, target, content, metadata in writes:
                provider.on_memory_write(action, target, content, metadata)
            assert provider.failures == {}
            provider.shutdown()

        await asyncio.to_thread(work)
        return await contents(keeps, tenant)

    await keeps.memory(Scope(tenant, "telegram:4711")).remember("I have hens.")
    mallory = keeps.memory(Scope(tenant, "mallory"))
    await mallory.remember("Mallory has two hens.", source="hermes", tags=["user"], visibility="tenant")
    assert await after(*[("add", "user", HENS, {})] * 2) == ["I have hens.", HENS]
    replaced = await after(("replace", "user", "I keep three hens.", {"old_text": "two hens"}))
    assert replaced == ["I have hens.", "I keep three hens."]
    assert await after(("remove", "memory", "", {"old_text": "three hens"})) == replaced, "of another target"
    assert await after(("remove", "user", "", {"old_text": "hens"})) == ["I have hens."], "others are not Hermes'"
    assert await after(("remove", "user", "", {}), ("add", "user", " ", {})) == ["I have hens."]


@pytest.mark.parametrize("context", ["subagent", "cron", "flush"])
async def test_other_contexts_store_nothing(made: Made, keeps: Keeps, tenant: str, context: str) -> None:
    def work() -> None:
        provider = made(agent_context=context)
        provider.sync_turn(HENS, "Nice.")
        provider.on_memory_write("add", "user", HENS)
        provider.on_session_end([{"role": "user", "content": HENS}])
        provider.shutdown()

    await asyncio.to_thread(work)
    assert await contents(keeps, tenant) == []


async def test_tools(made: Made, keeps: Keeps, tenant: str) -> None:
    def work() -> None:
        provider = made()

        def call(name: str, **arguments: Any) -> dict[str, str]:
            return json.loads(provider.handle_tool_call(f"keeps_{name}", arguments))

        said = call("remember", content=HENS, tags="animals", importance="0.9")["result"]
        assert said.startswith("Stored (id ")
        assert call("remember", content=HENS)["result"].startswith("Already stored")
        found = call("recall", query="What are the hens called?", limit="5")["result"]
        assert f"{HENS} (importance 0.9, tags animals" in found
        memory_id = found.rsplit("id ", 1)[1].removesuffix(")")
        assert "query" in call("recall", query=" ")["error"]
        assert "content" in call("remember")["error"]
        assert "no tool" in call("nonsense")["error"]
        assert "Correct that" in call("forget", memory_id="no id")["error"]
        assert call("forget", memory_id=memory_id)["result"].startswith("Deleted")
        assert call("recall", query="hens")["result"] == "No memory matches."
        assert provider.failures == {}
        provider.shutdown()

    await asyncio.to_thread(work)
    assert await contents(keeps, tenant) == []


async def test_text_from_outside_is_marked_where_models_read_it(made: Made, keeps: Keeps, tenant: str) -> None:
    lamps, office = "The lamp shop at the harbour opens at nine.", "The lamp in the office of the harbour is broken."
    await keeps.memory(Scope(tenant, "telegram:4711")).remember(lamps, source="https://lamps.example")
    await keeps.memory(Scope(tenant, "bob")).remember(office, visibility="tenant")

    def work() -> None:
        provider = made()
        question = "What about the lamp at the harbour?"
        recalled = result(provider.handle_tool_call("keeps_recall", {"query": question}))
        for shown in (provider.prefetch(question), recalled):
            for text, marks in ((lamps, "(from a tool or page)"), (office, "(shared")):
                lines = [line for line in shown.splitlines() if text in line]
                assert lines, shown
                assert all(marks in line.partition(text)[0] for line in lines), lines
        assert "inbox" in result(
            provider.handle_tool_call("keeps_remember", {"content": "Lam\u200bps a\u200bre o\u200bn sa\u200ble."})
        )
        provider.shutdown()

    await asyncio.to_thread(work)


async def test_odd_texts(made: Made, keeps: Keeps, tenant: str) -> None:
    long = "Long talk about bees. " * 5_000

    def work() -> None:
        provider = made()
        assert provider.prefetch("") == provider.prefetch(" \n") == ""
        assert "No stored memory" in provider.prefetch("x\x00\ud800")
        provider.sync_turn("", "")
        provider.sync_turn("nul \x00 here", " \n")
        provider.sync_turn("👩‍👩‍👧 žluťoučký", "lone \ud800")
        provider.sync_turn(long, "Yes.")
        provider.on_memory_write("add", "user", "nul \x00 there")
        assert provider.prefetch("b" * 100_000) != ""
        assert provider.failures == {}
        provider.shutdown()

    await asyncio.to_thread(work)
    stored = await contents(keeps, tenant)
    assert {"nul \ufffd here", "nul \ufffd there", "👩‍👩‍👧 žluťoučký", "lone \ufffd"} <= set(stored)
    assert sum(len(text.replace(" ", "")) for text in stored if "bees" in text) >= len(long.replace(" ", ""))


async def test_settings_are_kept_and_checked(tmp_path: Path, server_url: str, tenant: str) -> None:
    provider = KeepsMemoryProvider()
    (tmp_path / "keeps.json").write_text('{"users": {"*": "bob"}}', encoding="utf-8")
    provider.save_config({"url": server_url, "user_id": "alice", "other": "x"}, str(tmp_path))
    provider.save_config({"tenant_id": tenant}, str(tmp_path))
    stored = json.loads((tmp_path / "keeps.json").read_text(encoding="utf-8"))
    assert stored == {"url": server_url, "tenant_id": tenant, "user_id": "alice", "users": {"*": "bob"}}

    def work() -> None:
        provider.initialize("s", hermes_home=str(tmp_path), platform="cli", agent_context="primary")
        assert provider.user_id == "alice"
        assert result(provider.handle_tool_call("keeps_remember", {"content": HENS})).startswith("Stored")
        provider.shutdown()

    await asyncio.to_thread(work)


async def test_wrong_settings_open_nobodys_memory(tmp_path: Path, made: Made, keeps: Keeps, tenant: str) -> None:
    (tmp_path / "keeps.json").write_text('{"users": 1}', encoding="utf-8")
    provider = KeepsMemoryProvider(keeps, tenant_id=tenant)
    with pytest.raises(ValidationFailedError, match=r"keeps\.json"):
        provider.initialize("s", hermes_home=str(tmp_path), platform="telegram", user_id="4711")
    assert provider.prefetch("hens") == ""
    provider.sync_turn(HENS, "Nice.")
    assert "not configured" in provider.handle_tool_call("keeps_remember", {"content": HENS})
    assert await contents(keeps, tenant, "default") == []

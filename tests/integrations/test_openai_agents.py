"""The session of OpenAI's Agents SDK: items as they are, whose they are, and what is learned from them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from agents import Agent, Runner
from agents.memory import Session
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.openai_agents import KeepsSession
from keeps_client.errors import ForbiddenError, PayloadTooLargeError, UnavailableError, ValidationFailedError
from tests.integrations import agents_suite
from tests.integrations.sdists import sdist
from tests.serving import token

ITEMS: list[Any] = [
    {"role": "user", "content": "žluťoučký 🐴 \x00 \ud800", "z": 1, "a": 1.0, "n": None},
    {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"a": 1}'},
    {"type": "function_call_output", "call_id": "c", "output": "peanuts"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Nice.", "annotations": []}]},
]


def said(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(id="1", type="message", role="assistant", content=[content], status="completed")


async def test_items_come_back_byte_for_byte(place: dict[str, Any]) -> None:
    async with KeepsSession("s", user_id="alice", **place) as session:
        assert isinstance(session, Session)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items(ITEMS)
        await session.add_items([])
        items = await session.get_items()
        assert [json.dumps(each) for each in items] == [json.dumps(each) for each in ITEMS]
        assert await session.get_items(2) == ITEMS[-2:]
        assert await session.get_items(0) == []
        assert await session.get_items(-1) == ITEMS
        assert await session.pop_item() == ITEMS[-1]
        await session.clear_session()
        await session.clear_session()
        assert await session.get_items() == []


async def test_more_items_than_one_write_takes(place: dict[str, Any]) -> None:
    items = [{"type": "item_reference", "id": str(number), "text": "x" * 5_000} for number in range(1_100)]
    async with KeepsSession("long", user_id="alice", **place) as session:
        await session.add_items(items)
        assert await session.get_items() == items
        assert await session.get_items(900) == items[-900:]


async def test_sessions_of_others_are_others(place: dict[str, Any]) -> None:
    async with (
        KeepsSession("s", user_id="alice", **place) as session,
        KeepsSession("s", user_id="bob", **place) as of_bob,
        KeepsSession("s", user_id="alice", app="other", **place) as of_another_app,
    ):
        await session.add_items([{"role": "user", "content": "I live in York."}])
        for each in (of_bob, of_another_app):
            assert await each.get_items() == []
            assert await each.pop_item() is None
            await each.clear_session()
        assert "York" not in await of_bob.context("Where do I live?")
        assert len(await session.get_items()) == 1


async def test_token_of_one_user_serves_no_other(secured_url: str, tenant: str) -> None:
    credential = token(tenant, "alice", "writer")
    async with KeepsSession("s", secured_url, user_id="bob", token=credential) as session:
        for call in (session.get_items(), session.add_items(ITEMS), session.context("tea")):
            with pytest.raises(ForbiddenError):
                await call


@pytest.mark.meaning
async def test_agent_learns_in_one_session_and_knows_in_another(place: dict[str, Any]) -> None:
    agent = Agent(name="butler", model=ScriptedModel([[said("Noted.")]]))
    async with KeepsSession("monday", user_id="alice", **place) as monday:
        await Runner.run(agent, "I'm allergic to peanuts. Please remember that.", session=monday)
        assert [each["role"] for each in await monday.get_items()] == ["user", "assistant"]
    async with KeepsSession("tuesday", user_id="alice", **place) as tuesday:
        assert await tuesday.get_items() == []
        context = await tuesday.context("Plan a dinner.")
        assert "allergic to peanuts" in context
        # What Keeps added is not stored again.
        await tuesday.add_items([{"role": "user", "content": f"{context}\n\nPlan a dinner."}])
        assert (await tuesday.context("Plan a dinner.")).count("allergic to peanuts") == 1
        assert tuesday.failures == 0


async def test_only_what_is_said_is_learned(keeps: Keeps, tenant: str) -> None:
    async with KeepsSession("s", keeps, user_id="alice", tenant_id=tenant) as session:
        await session.add_items(ITEMS)
    async with KeepsSession("off", keeps, user_id="alice", tenant_id=tenant, learn=False) as session:
        await session.add_items([{"role": "user", "content": "I live in York."}])
    contents = {each.content for each in (await keeps.memory(Scope(tenant, "alice")).list()).items}
    assert contents == {"žluťoučký 🐴 \ufffd \ufffd", "Nice."}


async def test_run_goes_on_if_its_facts_cannot_be_stored(
    keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise UnavailableError("the database is away")

    async with KeepsSession("s", keeps, user_id="alice", tenant_id=tenant) as session:
        monkeypatch.setattr("keeps.engine.LocalMemory.store_exchange", away)
        monkeypatch.setattr("keeps.engine.LocalMemory.context", away)
        await session.add_items([{"role": "user", "content": "I live in York."}])
        assert len(await session.get_items()) == 1
        assert await session.context("Where do I live?") == ""
        assert session.failures == 2
        monkeypatch.setattr("keeps.engine.LocalMemory.get_transcript", away)
        with pytest.raises(UnavailableError):
            await session.get_items()


async def test_item_that_is_too_large_is_refused_whole(place: dict[str, Any]) -> None:
    async with KeepsSession("s", user_id="alice", **place) as session:
        with pytest.raises((PayloadTooLargeError, ValidationFailedError)):
            await session.add_items([ITEMS[1], {"role": "user", "content": "x" * 5_000_000}])
        assert await session.get_items() == []


@pytest.mark.slow_step("the suite of another package, in a process of its own")
def test_the_tests_of_the_sdks_own_session(made_home: Callable[..., Path], tmp_path: Path) -> None:
    source = sdist(agents_suite.PACKAGE, tmp_path) / "tests"
    tests = tmp_path / "suite" / "tests"
    (tests / "memory").mkdir(parents=True)
    for name in ("__init__.py", "test_responses.py"):
        shutil.copy(source / name, tests / name)
    (tests / "memory" / "__init__.py").touch()
    everything: list[str] = []
    for name in agents_suite.FILES:
        text = (source / "memory" / name).read_text(encoding="utf-8")
        (tests / "memory" / name).write_text(f"{text}{agents_suite.OVERRIDE}", encoding="utf-8")
        everything += re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)
    (tests / "conftest.py").write_text(agents_suite.CONFTEST, encoding="utf-8")
    shutil.copy(Path(agents_suite.__file__), tests.parent / "agents_suite.py")
    settings = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = session\n"
    (tests.parent / "pytest.ini").write_text(settings, encoding="utf-8")
    report = tmp_path / "report.xml"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:anyio", "-q", "tests", f"--junit-xml={report}"],
        cwd=tests.parent,
        env={
            **kept,
            "KEEPS_HOME": str(made_home("agents")),
            "OPENAI_API_KEY": "x",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8_000:]
    cases = ElementTree.parse(report).getroot().iter("testcase")
    passed = {(each.get("name") or "").split("[")[0] for each in cases}
    assert passed == set(everything) - set(agents_suite.LEFT_OUT)
    assert len(passed) >= 27

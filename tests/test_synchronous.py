"""`keeps.Memory`: the library without await, in scripts, threads and running event loops."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from keeps import Keeps, Memory, Scope
from keeps.background import BACKGROUND
from keeps.memory.indexing.service import Indexer
from keeps_client.errors import UnavailableError, ValidationFailedError
from tests.embedding import HashedWords

EMBEDDER = HashedWords()


@pytest.fixture
def memory(app_url: str, tenant: str) -> Iterator[Memory]:
    with Memory("alice", tenant=tenant, database_url=app_url, embedder=EMBEDDER) as memory:
        yield memory


def test_methods_return_what_the_library_returns(memory: Memory, tenant: str, tmp_path: Path) -> None:
    assert memory.remember("Alice is allergic to peanuts.").status == "created"
    assert memory.say("I live in Leeds.").messages[0].status == "created"
    result = memory.recall("allergic peanuts")
    assert (result[0].text, len(result)) == ("Alice is allergic to peanuts.", len(list(result)))
    context = memory.context("What is Alice allergic to?")
    assert "peanuts" in context.prompt
    assert str(context) == context.prompt
    assert memory.for_user("bob").recall("allergic peanuts").hits == []
    (tmp_path / "note.md").write_text("# Leeds\n\nA city.", encoding="utf-8")
    assert memory.documents.add_document(tmp_path / "note.md").stored == 1
    assert any("peanuts" in line for line in memory.admin.export_lines(user_id="alice"))
    assert memory.admin.list_keys() == []
    assert repr(memory) == f"<Memory tenant {tenant!r}, user 'alice'>"
    memory.forget(result[0].memory_id)
    assert "Alice is allergic to peanuts." not in [hit.text for hit in memory.recall("allergic peanuts")]


async def test_it_works_inside_a_running_loop(memory: Memory) -> None:
    memory.remember("Alice plays the cello.")
    assert memory.recall("cello")[0].text == "Alice plays the cello."


def test_a_block_with_a_key_is_done_once(memory: Memory) -> None:
    for _ in range(2):
        with memory.idempotent("order-77"):
            memory.remember("Alice ordered a bicycle.", key="order", namespace="orders")
    assert [event.type for event in memory.events()] == ["memory.written"]


def test_events_arrive_as_they_happen(memory: Memory) -> None:
    memory.remember("Alice plays the cello.")
    event = next(memory.subscribe(after=0))
    assert (event.type, event.sequence) == ("memory.written", 1)


def test_objects_share_an_engine_until_the_last_one_closes(memory: Memory, app_url: str) -> None:
    other = Memory("bob", tenant=memory.tenant_id, database_url=app_url, embedder=EMBEDDER)
    engine = other.engine
    assert engine is memory.engine
    carol = other.for_user("carol")
    other.close()
    other.close()
    for closed in (other, carol):
        with pytest.raises(UnavailableError, match="make a new one"):
            closed.recall("tea")
    assert memory.recall("tea").hits == []
    memory.close()
    with Memory("alice", tenant=memory.tenant_id, database_url=app_url, embedder=EMBEDDER) as again:
        assert again.engine is not engine


def test_many_threads_use_one_memory(memory: Memory) -> None:
    threads = [threading.Thread(target=memory.remember, args=(f"Alice has {n} bicycles.",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(memory.list().items) == 8


def test_code_that_keeps_calls_is_told_to_use_async_methods(memory: Memory) -> None:
    async def called_by_keeps() -> None:
        memory.recall("tea")

    with pytest.raises(ValidationFailedError, match="async methods"):
        BACKGROUND.run(called_by_keeps)


def test_names_are_those_of_the_commands(app_url: str, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPS_TENANT_ID", tenant)
    monkeypatch.setenv("KEEPS_USER_ID", "dora")
    with Memory(database_url=app_url, embedder=EMBEDDER) as memory:
        assert (memory.tenant_id, memory.user_id) == (tenant, "dora")


def test_the_end_of_a_program_closes_it_and_a_fork_is_refused(app_url: str, tenant: str) -> None:
    program = f"""
import os
from keeps import KeepsError, Memory
from tests.embedding import HashedWords

memory = Memory("alice", tenant={tenant!r}, database_url={app_url!r}, embedder=HashedWords())
memory.remember("Alice plays the cello.")
child = os.fork()
if child == 0:
    try:
        memory.recall("cello")
    except KeepsError as error:
        print(error)
    raise SystemExit
os.waitpid(child, 0)
print(memory.recall("cello")[0].text)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, env=os.environ
    )
    assert done.stderr == ""
    assert "after the fork" in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[1:] == ["Alice plays the cello."]


@pytest.mark.slow_step("the local model is loaded")
def test_the_end_of_a_program_waits_for_the_local_model(made_home: Callable[..., Path]) -> None:
    program = f"""
from keeps import Memory

memory = Memory("alice", home={str(made_home("ended"))!r})
for day in ("monday", "tuesday"):
    memory.say("I keep two hens.", session_id=day)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "KEEPS_EMBEDDER": "local"},
    )
    assert (done.returncode, done.stderr) == (0, "")


async def test_vectors_that_an_earlier_process_left_out_are_made(
    made_home: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = made_home("left")
    with monkeypatch.context() as without:
        without.setenv("KEEPS_EMBEDDER", "none")
        async with Keeps.open(home) as keeps:
            await keeps.memory(Scope("acme", "alice")).remember("I keep two hens.")
    async with Keeps.open(home, embedder=EMBEDDER) as keeps, asyncio.timeout(30):
        while (await keeps.service(Indexer).lag())[0]:
            await asyncio.sleep(0.02)

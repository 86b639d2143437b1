"""After each kind of erasure a marked text is nowhere: in no table, partition, log, kept answer, cache or file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
import redis

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.memories.service import MemoryService
from keeps.memory.transfer.erasure import TenantService
from keeps.part import Run
from keeps.store.db.session import Tx
from keeps_client import MemoryClient
from keeps_client._requests import Call
from keeps_client.errors import KeepsError, NotFoundError, UnavailableError
from tests.serving import serving, token
from tests.valkey import Valkey
from tests.writing import in_write

Where = Callable[..., Awaitable[list[str]]]
MARK = "swordfish"


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Any:
    held = Valkey(tmp_path_factory.mktemp("valkey"))
    held.start()
    yield held
    held.stop()


@pytest.fixture(scope="module")
async def keeps(
    app_url: str, shared: Any, valkey: Valkey, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Keeps]:
    """An engine with a cache and a home of its own."""
    from keeps.base.settings import load_settings
    from keeps.bootstrap import open_keeps

    given = {"KEEPS_REDIS_URL": valkey.url}
    settings = load_settings({}, home=tmp_path_factory.mktemp("home"), database_url=app_url, given=given)
    async with await open_keeps(settings, embedder=shared) as opened:
        opened.folder = settings.home  # type: ignore[attr-defined]
        yield opened


@pytest.fixture(scope="module")
async def url(keeps: Keeps) -> AsyncIterator[str]:
    async with serving(keeps) as address:
        yield address


@pytest.fixture
async def where(server: Any, keeps: Keeps, valkey: Valkey) -> AsyncIterator[Where]:
    """The places that hold a text, as the superuser, the cache's owner and the owner of the files see them."""
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    tables = await connection.fetch(
        "SELECT oid::regclass::text AS name FROM pg_class WHERE relkind IN ('r', 'p', 'm') AND NOT relispartition"
        " AND relnamespace IN ('keeps'::regnamespace, 'keeps_jobs'::regnamespace)"
    )

    with_tenant = {
        each["name"]
        for each in await connection.fetch(
            "SELECT attrelid::regclass::text AS name FROM pg_attribute WHERE attname = 'tenant_id' AND NOT attisdropped"
        )
    }

    async def find(mark: str, tenant_id: str | None = None) -> list[str]:
        """`tenant_id`: of rows that belong to a tenant, only those of this one are read."""
        places = [
            each["name"]
            for each in tables
            if await connection.fetchval(
                f"SELECT EXISTS (SELECT FROM {each['name']} AS held CROSS JOIN LATERAL lower(held::text) AS told"
                " WHERE (strpos(told, $1) > 0 OR strpos(told, $2) > 0)"
                f" AND ($3::text IS NULL OR {'held.tenant_id = $3' if each['name'] in with_tenant else 'true'}))",
                mark,
                mark.encode().hex(),
                tenant_id,
            )
        ]
        cache = redis.Redis.from_url(valkey.url)
        for key in cache.scan_iter():
            if mark.encode() in key.lower() + (cache.get(key) or b"").lower():
                places += [f"cache {key!r}"]
        cache.close()
        home: Path = keeps.folder  # type: ignore[attr-defined]
        log = Path(await connection.fetchval("SELECT current_setting('data_directory')")).parent / "postgres.log"
        files = [*home.rglob("*"), log]
        assert log.is_file()
        places += [str(file) for file in files if file.is_file() and mark.encode() in file.read_bytes().lower()]
        return places

    yield find
    await connection.close()


@pytest.fixture
def mark() -> str:
    return f"{MARK}{uuid4().hex[:8]}"


@pytest.fixture(params=["library", "sdk", "http"])
async def memory(
    request: pytest.FixtureRequest, keeps: Keeps, url: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Any]:
    """Alice's: in process, and over HTTP with an Idempotency-Key on every write, and without."""
    if request.param == "library":
        yield keeps.memory(Scope(tenant, "alice"))
    else:
        if request.param == "http":
            monkeypatch.setattr(Call, "with_key", lambda call: call)
        async with MemoryClient(url, tenant_id=tenant, user_id="alice") as client:
            yield client


async def talk(memory: Any, mark: str, session: str) -> Any:
    """A message from which facts, notes, a summary and entities are made; its receipt."""
    said = [
        {"role": "user", "content": f"I live in {mark.capitalize()}. My manager is {mark.capitalize()} Miller."},
        {"role": "assistant", "content": "Noted."},
        *({"role": "user", "content": f"Nothing more than line {n}, said for its own sake."} for n in range(5)),
    ]
    done = await memory.store_exchange(said, session_id=session)
    assert len(done.facts) >= 2
    await memory.read_entities()
    await memory.session_notes(session)
    await memory.end_session(session)
    return done.messages[0]


async def test_a_message_goes_with_all_that_was_made_of_it(memory: Any, mark: str, where: Where) -> None:
    receipt = await talk(memory, mark, "monday")
    assert len(await where(mark)) >= 5
    await memory.forget(receipt.memory_id, hard=True)
    await memory.session_notes("monday")
    assert await where(mark) == []
    assert [
        hit.memory.content
        for hit in (await memory.recall(f"where is {mark}?")).hits
        if mark in hit.memory.content.lower()
    ] == []


async def test_a_weekly_summary_goes_with_what_it_was_made_of(
    keeps: Keeps, tenant: str, memory: Any, mark: str, where: Where
) -> None:
    from datetime import timedelta

    from keeps.base.clock import new_id, utc_now
    from keeps.memory.lifecycle import consolidation

    receipts = [await memory.log_activity(f"Filed the {mark} report, number {n}.") for n in range(6)]
    scope = Scope(tenant, "alice")
    now = utc_now()

    async def archive(tx: Tx) -> None:
        from keeps.memory.memories import store
        from keeps.memory.memories.store import NewMemoryRow

        held = [await store.lock(tx, each.memory_id) for each in receipts]
        past = now - timedelta(days=1)
        rows = [NewMemoryRow(row.evolve(archived_at=past)) for row in held if row]
        await store.replace(tx, rows, "memory.archived")

    await in_write(keeps.database, scope, archive)
    run = Run(new_id(), tenant, "consolidation", now)
    await consolidation.consolidate_user(keeps.database, keeps.service(MemoryService)._changes, scope, run)
    assert run.counts["summarised"] == 1
    for receipt in receipts:
        await memory.forget(receipt.memory_id, hard=True)
    assert await where(mark) == []


async def test_a_key_goes_from_every_provider_that_holds_it(memory: Any, mark: str, where: Where) -> None:
    await memory.remember(f"The code is {mark}.", namespace="codes", key="door")
    await memory.remember(f"The code is {mark} again.", namespace="codes", key="door")
    for provider in ("working", "markdown"):
        await memory.write_entry(provider, "codes/door", f"The code is {mark}.")
    await memory.add_entity(f"Door {mark}", entity_type="place")
    assert {"keeps.memories", "keeps.events"} <= set(await where(mark))
    receipt = await memory.forget(namespace="codes", key="door", hard=True)
    assert set(receipt.providers) == {"postgres", "working", "markdown"}
    (entity,) = (await memory.list_entities(name=f"Door {mark}")).items
    await memory.delete_entity(entity.entity_id, hard=True)
    assert await where(mark) == []
    with pytest.raises(NotFoundError):
        await memory.read_entry("working", "codes/door")


async def test_an_entry_goes_from_its_provider(memory: Any, mark: str, where: Where) -> None:
    for provider in ("working", "markdown"):
        await memory.write_entry(provider, "codes/safe", f"The code is {mark}.")
        await memory.delete_entry(provider, "codes/safe")
    assert await where(mark) == []


async def test_a_named_value_goes_by_itself(memory: Any, mark: str, where: Where) -> None:
    from keeps_client.workflow import WorkflowState

    state = WorkflowState(memory, "plan")
    await state.set("api_key", mark)
    await state.set("api_key", f"{mark}-rotated")
    await state.append("keys", mark)
    await state.extend("keys", [mark])
    await state.update_dict("headers", {"Authorization": mark})
    await state.record_action("kept")
    for name in ("api_key", "keys", "headers"):
        assert await state.delete(name)
    assert await where(mark) == []
    assert await state.get_action_history() == ["kept"]


async def test_a_plan_a_task_and_a_session_go_with_their_answers(memory: Any, mark: str, where: Where) -> None:
    await memory.create_plan(
        plan_id=f"plan-{mark}", goal_event=f"goal.{mark}", goal_data={"x": mark}, session_id=f"session-{mark}"
    )
    await memory.update_plan(f"plan-{mark}", state={"x": mark}, correlation_ids=[mark])
    await memory.store(mark, mark, f"plan-{mark}")
    await memory.store_task_context(f"task-{mark}", event_type=mark, data={"x": mark}, sub_tasks=[mark])
    await memory.put_sub_task(f"task-{mark}", mark, result=mark)
    await memory.update_session(f"session-{mark}", name=mark, metadata={"x": mark})
    assert len(await where(mark)) >= 5
    await memory.delete_plan(f"plan-{mark}")
    await memory.delete_task_context(f"task-{mark}")
    await memory.delete_session(f"session-{mark}")
    left = await where(mark)
    assert set(left) <= {"keeps.events", *(each for each in left if each.startswith("keeps.events_"))}, (
        "ids of what was deleted stay in the log: that it was, is known"
    )


async def test_a_user_and_a_tenant_go_with_cache_and_files(
    keeps: Keeps, url: str, tenant: str, memory: Any, mark: str, where: Where
) -> None:
    await talk(memory, mark, "monday")
    await memory.write_entry("markdown", "codes/door", f"The code is {mark}.")
    await memory.store("key", mark, "plan")
    assert len(await where(mark)) >= 8
    root = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"})))
    await root.keeps.service(TenantService).erase_user(root.scope, "alice")
    assert await where(mark) == []
    bob = keeps.memory(Scope(tenant, "bob"))
    await talk(bob, mark, "tuesday")
    await root.keeps.service(TenantService).erase_tenant(root.scope)
    assert await where(mark) == []


async def test_a_message_that_is_forgotten_for_good_does_not_come_back_by_a_retry(
    url: str, tenant: str, mark: str, where: Where
) -> None:
    import aiohttp

    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}
    async with aiohttp.ClientSession(url, headers=headers) as http:

        async def send(path: str, body: Any, key: str) -> tuple[int, Any]:
            async with http.post(path, json=body, headers={"Idempotency-Key": key}) as answer:
                return answer.status, await answer.json()

        body = {"messages": [{"role": "user", "content": f"I live in {mark.capitalize()}."}], "session_id": "s"}
        _, first = await send("/v1/exchanges", body, "one")
        again = await send("/v1/exchanges", body, "one")
        assert again[1]["messages"][0]["memory_id"] == first["messages"][0]["memory_id"]
        async with http.delete(
            f"/v1/memories/{first['messages'][0]['memory_id']}",
            params={"hard": "true"},
            headers={"Idempotency-Key": "x"},
        ) as gone:
            assert gone.status == 200
        async with http.delete(
            f"/v1/memories/{first['messages'][0]['memory_id']}",
            params={"hard": "true"},
            headers={"Idempotency-Key": "x"},
        ) as gone:
            assert (gone.status, (await gone.json())["status"]) == (200, "forgotten")
        await send("/v1/exchanges", body, "one")
        assert await where(mark) == []


@pytest.mark.load
async def test_killed_between_any_two_statements_all_of_it_is_there_or_nothing(
    keeps: Keeps, tenant: str, mark: str, where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    receipt = await talk(memory, mark, "monday")
    await keeps.service(Indexer).settle(memory.scope)
    before = await where(mark, tenant)
    left = 0
    forgetting = asyncio.current_task()

    def dying(real: Any) -> Any:
        async def statement(self: Tx, *arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= asyncio.current_task() is forgetting  # others, such as flushes, come in between
            if left == 0 and asyncio.current_task() is forgetting:
                self._connection.terminate()
                raise UnavailableError("killed")
            return await real(self, *arguments, **named)

        return statement

    with monkeypatch.context() as patched:
        for name in ("fetch", "fetch_row", "execute"):
            patched.setattr(Tx, name, dying(getattr(Tx, name)))
        for deaths in range(1, 200):
            left = deaths
            try:
                await memory.forget(receipt.memory_id, hard=True)
            except KeepsError:
                left = -1
                assert await where(mark, tenant) == before, f"killed at statement {deaths}"
            else:
                break
        assert deaths > 10
    await memory.session_notes("monday")
    assert await where(mark) == []


async def test_a_token_of_an_agent_erases_what_the_user_notes_say(
    keeps: Keeps, tenant: str, mark: str, where: Where
) -> None:
    async with serving(keeps, auth="jwt", jwt_secret="x" * 40) as address:
        whole = token(tenant, "alice", secret="x" * 40)
        bound = token(tenant, "alice", secret="x" * 40, agent_id="helper")
        async with MemoryClient(address, token=bound) as agent, MemoryClient(address, token=whole) as alice:
            said = [{"role": "user", "content": f"I live in {mark.capitalize()}."}]
            done = await agent.store_exchange(said, session_id="s")
            await alice.session_notes("s")
            await agent.forget(done.messages[0].memory_id, hard=True)
            await alice.session_notes("s")
    assert await where(mark) == []

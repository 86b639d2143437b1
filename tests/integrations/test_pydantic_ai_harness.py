"""The store of Pydantic AI's harness: the same answers as its own store, receipts, users, failures, and its agent."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness import Memory
from pydantic_ai_harness.memory import (
    InMemoryStore,
    MemoryConflictError,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore,
    MetadataMemoryStore,
    SearchableMemoryStore,
)

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.pydantic_ai_harness import KeepsMemoryStore
from keeps_client.errors import UnavailableError
from keeps_client.models.recall import WEAK_RELEVANCE
from tests.serving import token

PATHS = ("main.md", "alice/main/MEMORY.md", "alice/main/hens.md", "alice/main/deep/b.md", "alice/maintained.md")
TEXTS = ("I keep two hens.", "- hens\n- ferry\n", "", "   ", "žluťoučký 🐴 hens", "a\x00b", "hens " * 15_000)
WORDS = ("hens", "ferry two", "🐴", "main", "zebra")


@pytest.fixture
async def store(place: dict[str, Any]) -> AsyncIterator[KeepsMemoryStore]:
    async with KeepsMemoryStore(user_id="alice", **place) as opened:
        yield opened


class Pair:
    """The same calls to Keeps and to the harness's own store, whose versions have other names."""

    def __init__(self, keeps: KeepsMemoryStore) -> None:
        self.stores: tuple[Any, Any] = (keeps, InMemoryStore())
        self.versions: dict[str | None, str | None] = {None: None}
        """The versions of Keeps, by those of the harness."""

    async def call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Return what both answer; `expected_version` is one of the harness."""
        answers: list[Any] = []
        for store in self.stores:
            given = dict(named)
            if store is self.stores[0] and "expected_version" in given:
                given["expected_version"] = self.versions[given["expected_version"]]
            try:
                answers.append(await getattr(store, name)(*arguments, **given))
            except (MemoryConflictError, MemoryOperationConflictError, ValueError) as error:
                answers.append(type(error))
        ours, theirs = answers
        if hasattr(theirs, "version"):
            assert self.versions.setdefault(theirs.version, ours.version) == ours.version, name
            assert list(self.versions.values()).count(ours.version) == 1, "a version never comes back"
            shown = [{**vars(answer), "version": None} for answer in answers]
            assert shown[0] == shown[1], (name, arguments, named)
        else:
            assert ours == theirs, (name, arguments, named)
        return theirs


@pytest.mark.parametrize("seed", range(3))
async def test_store_answers_as_the_harness_own(store: KeepsMemoryStore, seed: int) -> None:
    pick = random.Random(seed)
    pair = Pair(store)
    for step in range(60):
        path = pick.choice(PATHS)
        operation = (
            MemoryOperation(f"call-{pick.randrange(step + 1)}", pick.choice("ab")) if pick.random() < 0.5 else None
        )
        known = await pair.call("read", path, max_chars=pick.choice((1, 5, 100_000)))
        versions = [*pair.versions, None if known is None else known.version]
        version = versions[-1] if pick.random() < 0.8 else pick.choice(versions)
        named: dict[str, Any] = {"expected_version": version, "operation": operation}
        match pick.randrange(6):
            case 0 | 1:
                await pair.call("write", path, pick.choice(TEXTS), **named)
            case 2:
                metadata = pick.choice(({"by": "ui ž"}, {}, None))
                await pair.call("write_with_metadata", path, pick.choice(TEXTS), metadata=metadata, **named)
            case 3:
                await pair.call("delete", path, **named)
            case 4:
                prefix = pick.choice(("", "alice/main/", "alice/main", "m", "zebra"))
                await pair.call("list_paths", prefix, limit=pick.choice((1, 2, 100)))
            case _:
                if operation is not None:
                    await pair.call("get_operation", operation)
    for path in PATHS:
        await pair.call("read", path, max_chars=100_000)
    assert len(pair.versions) > 10


@pytest.mark.parametrize("seed", range(3))
async def test_search_finds_the_words_that_the_harness_own_finds(store: KeepsMemoryStore, seed: int) -> None:
    pick = random.Random(seed)
    own = InMemoryStore()
    for number in range(12):
        path, text = f"alice/main/{pick.choice(('hens', 'ferry', 'note'))}-{number}.md", pick.choice(TEXTS)
        for each in (store, own):
            await each.write(path, text, expected_version=None)
    for query in WORDS:
        for max_chars in (4_000, 60, 3):
            limits = {"limit": pick.choice((1, 5, 20)), "max_files": pick.choice((1, 5, 100)), "max_chars": max_chars}
            ours = await store.search("alice/main/", query, **limits, max_file_chars=65_536)
            theirs = await own.search("alice/main/", query, **limits, max_file_chars=65_536)
            exact = [match for match in ours.matches if match.score >= 1]
            assert [(match.path, match.score) for match in exact] == [
                (match.path, match.score) for match in theirs.matches
            ]
            assert ours.scanned == theirs.scanned
            shown = sum(len(match.path) - len("alice/main/") + len(match.snippet) for match in ours.matches)
            assert shown <= max_chars
            assert all(match.score < 1 for match in ours.matches[len(exact) :])


async def test_search_finds_by_meaning_what_has_no_word_of_the_query(store: KeepsMemoryStore) -> None:
    await store.write("alice/main/diet.md", "Alice is allergic to peanuts.", expected_version=None)
    await store.write("alice/main/ferry.md", "The ferry leaves at nine.", expected_version=None)
    await store.write("alice/other/diet.md", "Alice is allergic to peanuts, too.", expected_version=None)
    bounds = {"limit": 5, "max_files": 10, "max_chars": 1_000, "max_file_chars": 1_000}
    found = await store.search("alice/main/", "dietary intolerance", **bounds)
    best = found.matches[0]
    assert (best.path, best.snippet) == ("alice/main/diet.md", "Alice is allergic to peanuts.")
    assert WEAK_RELEVANCE < best.score < 1
    assert all(match.path.startswith("alice/main/") and match.score < best.score for match in found.matches[1:])
    far = await store.search("alice/main/", "photosynthesis algae", **bounds)
    assert all(match.score < WEAK_RELEVANCE for match in far.matches), "the score marks what is hardly related"


async def test_protocols_bounds_and_paths(store: KeepsMemoryStore) -> None:
    for protocol in (MemoryStore, MetadataMemoryStore, SearchableMemoryStore):
        assert isinstance(store, protocol)
    for path in ("../a.md", "/a.md", "a//b.md", "a/../../b.md", "a b.md", "a/./b", "", f"{'a/' * 130}b"):
        for call in (store.read(path, max_chars=1), store.write(path, "x", expected_version=None)):
            with pytest.raises(ValueError, match="invalid memory path"):
                await call
    with pytest.raises(ValueError, match="max_chars"):
        await store.read("a.md", max_chars=0)
    with pytest.raises(ValueError, match="limit"):
        await store.list_paths(limit=0)
    with pytest.raises(ValueError, match="user_id"):
        store.for_user("")
    for metadata in ({"a": "\x00"}, {"a": "x" * 5_000}):
        with pytest.raises(ValueError, match="metadata"):
            await store.write_with_metadata("a.md", "x", expected_version=None, metadata=metadata)
    with pytest.raises(ToolFailed, match="Nothing was done"):
        await store.write("a.md", "x" * 400_000, expected_version=None)
    assert await store.read("a.md", max_chars=1) is None


async def test_many_files_are_listed_in_order(store: KeepsMemoryStore, keeps: Keeps, tenant: str) -> None:
    paths = [f"alice/{number:04}.md" for number in range(230)]
    metadata = {"file": True}
    items = [
        {"content": f"note {path}", "namespace": "pydantic-ai", "key": path, "metadata": metadata} for path in paths
    ]
    await keeps.memory(Scope(tenant, "alice")).remember_many(items)
    assert await store.list_paths("alice/", limit=1_000) == paths
    assert await store.list_paths("alice/", limit=150) == paths[:150]
    assert await store.list_paths("alice/01", limit=1_000) == paths[100:200]


async def test_concurrent_writers_win_once(store: KeepsMemoryStore) -> None:
    async def write(number: int) -> bool:
        try:
            await store.write(
                "a.md", str(number), expected_version=None, operation=MemoryOperation(f"op-{number}", "f")
            )
        except MemoryConflictError:
            return False
        return True

    assert sorted(await asyncio.gather(*(write(number) for number in range(6)))) == [False] * 5 + [True]


async def test_one_operation_at_the_same_time_is_done_once(store: KeepsMemoryStore) -> None:
    created = await store.write("a.md", "one", expected_version=None)
    operation = MemoryOperation("op", "f")
    named = {"expected_version": created.version, "operation": operation}
    done = await asyncio.gather(*(store.write("a.md", "two", **named) for _ in range(4)))
    assert len({mutation.version for mutation in done}) == 1
    assert [mutation.replayed for mutation in done].count(False) == 1


async def test_interrupted_operations_are_recognised(
    keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receipt without a result: the process ended between the change and its receipt."""
    async with KeepsMemoryStore(keeps, user_id="alice", tenant_id=tenant) as store:
        put = KeepsMemoryStore._put_receipt

        async def interrupted(self: Any, memory: Any, operation: Any, receipt: dict[str, Any]) -> None:
            if "version" in receipt:
                raise UnavailableError("the process ends here")
            await put(self, memory, operation, receipt)

        monkeypatch.setattr(KeepsMemoryStore, "_put_receipt", interrupted)
        write, again, delete = (MemoryOperation(name, "f") for name in ("write", "again", "delete"))
        with pytest.raises(ToolFailed, match="cannot be reached"):
            await store.write("a.md", "one", expected_version=None, operation=write)
        first = await store.get_operation(write)
        assert first is not None
        assert (first.replayed, first.existed) == (True, False)
        with pytest.raises(ToolFailed):
            await store.write("a.md", "two", expected_version=first.version, operation=again)
        assert await store.get_operation(write) == first, "another write came after it"
        second = await store.write("a.md", "two", expected_version=first.version, operation=again)
        assert second.replayed
        file = await store.read("a.md", max_chars=100)
        assert file is not None
        assert (file.content, file.version, file.operation_id) == ("two", second.version, "again")
        with pytest.raises(ToolFailed):
            await store.delete("a.md", expected_version=file.version, operation=delete)
        assert (await store.delete("a.md", expected_version=file.version, operation=delete)).replayed
        assert await store.read("a.md", max_chars=100) is None
        assert store.failures == {"write": 2, "delete": 1}


async def test_users_and_tenants_are_apart(place: dict[str, Any], tenant: str) -> None:
    async with KeepsMemoryStore(**place) as store, KeepsMemoryStore(**{**place, "tenant_id": f"{tenant}-2"}) as other:
        alice = store.for_user("alice")
        operation = MemoryOperation("op", "f")
        written = await alice.write("main/MEMORY.md", "I keep two hens.", expected_version=None, operation=operation)
        for stranger in (store.for_user("bob"), other.for_user("alice")):
            assert await stranger.read("main/MEMORY.md", max_chars=10) is None
            assert await stranger.list_paths(limit=10) == []
            assert await stranger.get_operation(operation) is None
            bounds = {"limit": 5, "max_files": 5, "max_chars": 100, "max_file_chars": 100}
            assert (await stranger.search("", "hens", **bounds)).matches == []
            with pytest.raises(MemoryConflictError):
                await stranger.write("main/MEMORY.md", "mine", expected_version=written.version)
            with pytest.raises(MemoryConflictError):
                await stranger.delete("main/MEMORY.md", expected_version=written.version)
        file = await alice.read("main/MEMORY.md", max_chars=100)
        assert file is not None
        assert file.content == "I keep two hens."


async def test_token_of_one_user_serves_no_other(secured_url: str, tenant: str) -> None:
    async with KeepsMemoryStore(secured_url, user_id="bob", token=token(tenant, "alice", "writer")) as store:
        with pytest.raises(ToolFailed, match="not allowed"):
            await store.read("a.md", max_chars=1)
        with pytest.raises(ToolFailed, match="not allowed"):
            await store.search("", "hens", limit=1, max_files=1, max_chars=10, max_file_chars=10)


@dataclass
class Deps:
    user_id: str


def agent_with(store: KeepsMemoryStore, calls: list[tuple[str, dict[str, Any]]], seen: list[ModelMessage]) -> Any:
    """An agent whose model makes these calls one after another, then answers with the last result."""

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen[:] = messages
        if calls:
            name, arguments = calls.pop(0)
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        last = messages[-1].parts[-1]
        return ModelResponse(parts=[TextPart(str(last.content if isinstance(last, ToolReturnPart) else "done"))])

    def store_of(ctx: RunContext[Deps]) -> KeepsMemoryStore:
        return store.for_user(ctx.deps.user_id)

    return Agent(FunctionModel(model), deps_type=Deps, capabilities=[Memory(store_resolver=store_of)])


async def test_agent_remembers_in_one_run_and_knows_in_another(
    place: dict[str, Any], keeps: Keeps, tenant: str
) -> None:
    seen: list[ModelMessage] = []
    async with KeepsMemoryStore(**place) as store:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("write_memory", {"content": "- allergic to peanuts"}),
            ("write_memory", {"content": "- likes the sea"}),
            ("write_memory", {"content": "# Ferry", "file": "ferry"}),
            ("search_memory", {"query": "ferry"}),
            ("delete_memory", {"file": "ferry.md"}),
        ]
        await agent_with(store, calls, seen).run("Remember that.", deps=Deps("alice"))
        parts: list[Any] = [message.parts[-1] for message in seen]
        results: list[Any] = [part.content for part in parts if isinstance(part, ToolReturnPart)]
        assert [result["status"] for result in results if "status" in result] == [
            "created",
            "appended",
            "created",
            "deleted",
        ]
        await agent_with(store, [], seen).run("Plan a dinner.", deps=Deps("alice"))
        prompts = [str(part.content) for message in seen for part in message.parts if isinstance(part, UserPromptPart)]
        assert any("- allergic to peanuts\\n- likes the sea" in text for text in prompts)
        await agent_with(store, [], seen).run("Plan a dinner.", deps=Deps("bob"))
        assert "peanuts" not in str(seen)
    hits = (await keeps.memory(Scope(tenant, "alice")).recall("What is she allergic to?")).hits
    assert (hits[0].memory.key, hits[0].memory.namespace) == ("main/MEMORY.md", "pydantic-ai")


async def test_agent_goes_on_while_memory_is_away() -> None:
    seen: list[ModelMessage] = []
    async with KeepsMemoryStore("http://127.0.0.1:9", tenant_id="acme") as store:
        agent = agent_with(store, [("write_memory", {"content": "x"}), ("search_memory", {"query": "x"})], seen)
        done = await agent.run("Remember that.", deps=Deps("alice"))
        assert "'matches': []" in str(done.output)
        assert "Memory cannot be reached right now" in str(seen)
        assert store.failures == {"read": 1, "get_operation": 1, "search": 1}

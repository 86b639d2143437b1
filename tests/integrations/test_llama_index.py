"""The memory block of LlamaIndex: in its `Memory`, within its limits, and by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from examples.llama_index_agent import SAID, main
from llama_index.core.llms import ChatMessage, MessageRole, MockLLM
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.memory import InsertMethod, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.utils import get_tokenizer
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.llama_index import KeepsMemoryBlock
from keeps_client.errors import ForbiddenError, UnavailableError
from tests.serving import token

HENS = "I keep two hens called Ada and Grace."


class Recorder(MockLLM):
    """Answers with everything that it was sent."""

    @llm_chat_callback()
    async def achat(self, messages: Any, **kwargs: Any) -> Any:
        del kwargs
        return await super().achat([ChatMessage("\n".join(str(message.content) for message in messages))])


def said(*texts: str, role: MessageRole = MessageRole.USER) -> list[ChatMessage]:
    return [ChatMessage(role=role, content=text) for text in texts]


def count(text: str) -> int:
    return len(get_tokenizer()(text))


@pytest.fixture
async def chats() -> AsyncIterator[AsyncEngine]:
    """The database of chat histories."""
    engine = create_async_engine("sqlite+aiosqlite:///:memory:")
    yield engine
    await engine.dispose()


async def contents(keeps: Keeps, tenant: str, user: str = "alice") -> list[str]:
    return sorted(each.content for each in (await keeps.memory(Scope(tenant, user)).list(limit=200)).items)


@pytest.mark.slow_step("LlamaIndex imports its parts when they are first used")
async def test_the_example(place: dict[str, Any], chats: AsyncEngine) -> None:
    block = KeepsMemoryBlock(user_id="alice", **place)
    first, second = await main(Recorder(max_tokens=None), block, chats)
    assert SAID[0] in first
    assert "allergic to peanuts" not in first.replace(SAID[0], "")
    assert "allergic to peanuts" in second
    await block.aclose()


@pytest.mark.parametrize("insert", list(InsertMethod))
async def test_messages_that_leave_the_history_are_remembered(
    place: dict[str, Any], chats: AsyncEngine, insert: InsertMethod
) -> None:
    block = KeepsMemoryBlock(user_id="alice", **place)
    memory = Memory.from_defaults(
        session_id="s",
        memory_blocks=[block],
        token_limit=400,
        token_flush_size=40,
        chat_history_token_ratio=0.2,
        insert_method=insert,
        async_engine=chats,
    )
    await memory.aput(ChatMessage(role="user", content=HENS))
    await memory.aput(ChatMessage(role="assistant", content="Nice names."))
    for number in range(8):
        await memory.aput(ChatMessage(role="user", content=f"Let us talk about the weather of day {number} at length."))
        await memory.aput(ChatMessage(role="assistant", content="It rains."))
    history = await memory.aget_all(status=MessageStatus.ACTIVE)
    assert HENS not in [message.content for message in history], "it left the history"
    messages = await memory.aget("What are my hens called?")
    text = "\n".join(str(message.content) for message in messages)
    assert "<keeps>" in text
    assert "Ada and Grace" in text
    assert block.failures == {}
    await block.aclose()


async def test_block_stays_within_its_budget(place: dict[str, Any]) -> None:
    block = KeepsMemoryBlock(user_id="alice", token_budget=200, **place)
    await block.aput(said(*(f"My hen number {n} is called Ada the {n}th, and she is brown." for n in range(60))))
    text = await block.aget(said("What are my hens called?"))
    assert "hen number" in text
    assert count(text) <= 200
    for fewer in (1, 50, 120):
        cut = await block.atruncate(text, fewer)
        assert cut is not None
        assert count(cut) <= count(text) - fewer
        lines = cut.splitlines()
        assert (lines[-1], lines[:-1]) == (text.splitlines()[-1], text.splitlines()[: len(lines) - 1])
        assert not lines[-2].startswith("#")
    assert await block.atruncate(text, count(text)) is None
    assert await block.atruncate(text, 10_000) is None
    assert await block.atruncate("", 5) is None
    await block.aclose()


@pytest.mark.parametrize("limit", [120, 300, 600])
async def test_memory_obeys_its_token_limit(place: dict[str, Any], chats: AsyncEngine, limit: int) -> None:
    block = KeepsMemoryBlock(user_id="alice", **place)
    await block.aput(said(*(f"My hen number {n} is called Ada the {n}th, and she is brown." for n in range(60))))
    memory = Memory.from_defaults(
        session_id="s", memory_blocks=[block], token_limit=limit, token_flush_size=20, async_engine=chats
    )
    await memory.aput(ChatMessage(role="user", content="What are my hens called?"))
    messages = await memory.aget()
    text = "\n".join(str(message.content) for message in messages)
    frame = 20  # the tags around the block
    assert count(text) <= limit + frame
    assert "hen number" in text or limit == 120
    await block.aclose()


async def test_putting_messages_again_changes_nothing(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    block = KeepsMemoryBlock(user_id="alice", **place)
    messages = [*said(HENS), *said("Nice names.", role=MessageRole.ASSISTANT)]
    await block.aput(messages, session_id="s")
    once = await contents(keeps, tenant)
    assert {HENS, "Nice names."} <= set(once)
    await block.aput(messages, session_id="s")
    assert await contents(keeps, tenant) == once
    await block.aput(messages, session_id="another")
    assert len(await contents(keeps, tenant)) > len(once), "said in another conversation"
    await block.aclose()


async def test_users_and_tenants_share_nothing(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    elsewhere = {**place, "tenant_id": f"{tenant}-other"}
    alice, bob = KeepsMemoryBlock(user_id="alice", **place), KeepsMemoryBlock(user_id="bob", **place)
    other = KeepsMemoryBlock(user_id="alice", **elsewhere)
    await alice.aput(said(HENS), session_id="s")
    for block in (bob, other):
        assert "Ada" not in await block.aget(said("What are my hens called?"), session_id="s")
        assert "Ada" not in await block.aget(said("What are my hens called?"), session_id="s", user_id="alice")
    assert "Ada" in await alice.aget(said("What are my hens called?"), session_id="s")
    assert await contents(keeps, tenant, "bob") == await contents(keeps, f"{tenant}-other") == []
    for block in (alice, bob, other):
        await block.aclose()


async def test_token_of_one_user_serves_no_other(secured_url: str, tenant: str) -> None:
    block = KeepsMemoryBlock(user_id="bob", keeps=secured_url, token=token(tenant, "alice", "writer"))
    with pytest.raises(ForbiddenError):
        await block.aget(said("hens"))
    with pytest.raises(ForbiddenError):
        await block.aput(said(HENS))
    assert "eyJ" not in repr(block) + block.model_dump_json()
    await block.aclose()


async def test_agent_continues_while_memory_is_away(
    keeps: Keeps, tenant: str, chats: AsyncEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise UnavailableError("the database is away")

    monkeypatch.setattr("keeps.engine.LocalMemory.store_exchange", away)
    monkeypatch.setattr("keeps.engine.LocalMemory.context", away)
    block = KeepsMemoryBlock(user_id="alice", keeps=keeps, tenant_id=tenant)
    memory = Memory.from_defaults(session_id="s", memory_blocks=[block], async_engine=chats)
    await memory.aput(ChatMessage(role="user", content=HENS))
    assert [message.content for message in await memory.aget("hens?")] == [HENS]
    await block.aput(said(HENS))
    assert block.failures == {"aget": 1, "aput": 1}
    assert "the database is away" in caplog.text


async def test_odd_messages(place: dict[str, Any], keeps: Keeps, tenant: str) -> None:
    block = KeepsMemoryBlock(user_id="alice", **place)
    assert await block.aget() == await block.aget([]) == await block.aget(said("", " \n")) == ""
    assert "No stored memory" in await block.aget(said("x\x00\ud800"))
    long = "Long talk about bees. " * 5_000
    await block.aput([])
    await block.aput(
        [
            *said("", " \n", "nul \x00 here", "👩‍👩‍👧 žluťoučký", "lone \ud800", long),
            *said("Be brief.", role=MessageRole.SYSTEM),
            *said("42", role=MessageRole.TOOL),
            ChatMessage(role="assistant", content=None),
        ]
    )
    assert block.failures == {}
    stored = await contents(keeps, tenant)
    assert {"nul \ufffd here", "👩‍👩‍👧 žluťoučký", "lone \ufffd"} <= set(stored)
    assert not {"Be brief.", "42"} & set(stored)
    assert sum(len(text.replace(" ", "")) for text in stored if "bees" in text) >= len(long.replace(" ", ""))
    assert await block.aget(said("b" * 100_000)) != "", "of a long message its end is read"
    await block.aclose()


async def test_block_works_from_another_loop(place: dict[str, Any]) -> None:
    block = KeepsMemoryBlock(user_id="alice", **place)

    def work() -> str:
        asyncio.run(block.aput(said(HENS)))
        return asyncio.run(block.aget(said("What are my hens called?")))

    assert "Ada and Grace" in await asyncio.to_thread(work)
    await asyncio.to_thread(block.close)

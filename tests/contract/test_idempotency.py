"""Writes under a key that the caller chose: done once, the same in process, by the async and by the sync client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from keeps_client.errors import NotFoundError, ValidationFailedError


class Broken(Exception):
    """The worker stops in the middle."""


@pytest.mark.sync_client
async def test_interrupted_block_completes_on_retry(memory: Any) -> None:
    async def handle(order: str, *, stop: bool) -> list[Any]:
        with memory.idempotent(order):
            done = [await memory.increment("orders", plan_id="shop"), await memory.append_to_list("log", order, "shop")]
            done.append(await memory.append_to_list("log", order, "shop"))
            if stop:
                raise Broken
            done.append((await memory.remember(f"Alice ordered {order}.", session_id="s", kind="episodic")).memory_id)
            return done

    with pytest.raises(Broken):
        await handle("77", stop=True)
    first = await handle("77", stop=False)
    assert await handle("77", stop=False) == first
    assert await memory.retrieve("orders", "shop") == 1
    assert await memory.retrieve("log", "shop") == ["77", "77"], "two equal writes of one block are two"
    other = await handle("78", stop=False)
    assert (await memory.retrieve("orders", "shop"), other[-1] != first[-1]) == (2, True)
    await memory.increment("orders", plan_id="shop")
    assert await memory.retrieve("orders", "shop") == 3, "outside the block it is another write"


async def test_concurrent_workers_write_once(memory: Any) -> None:
    async def handle() -> float:
        with memory.idempotent("message-1"):
            return await memory.increment("count", plan_id="p")

    assert await asyncio.gather(*(handle() for _ in range(8))) == [1] * 8
    assert await memory.retrieve("count", "p") == 1


async def test_removed_entry_is_not_removed_again(memory: Any) -> None:
    entries = [{"entry_id": f"e{number}", "entry": number} for number in range(3)]
    await memory.append_to_transcript("app", "t", entries, create=True)

    async def removed() -> Any:
        with memory.idempotent("undo-1"):
            return (await memory.remove_last_entry("app", "t")).entry.entry

    assert await removed() == 2
    with pytest.raises(NotFoundError, match="already removed entry 3"):
        await removed()
    assert (await memory.get_transcript("app", "t")).entry_count == 2


@pytest.mark.parametrize("key", ["", "with space", "ü", "new\nline", "\x00", "x" * 129, 5, None])
async def test_key_invalid_in_header_is_refused(memory: Any, key: Any) -> None:
    with pytest.raises(ValidationFailedError, match="1 to 128 visible ASCII characters"), memory.idempotent(key):
        raise AssertionError("not reached")

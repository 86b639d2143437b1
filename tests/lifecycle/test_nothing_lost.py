"""What was replaced, forgotten or archived is read at every door that promises it, as it was given."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import aiohttp
import pytest
from typer.testing import CliRunner

from keeps.base.scope import Scope
from keeps.doors.cli.main import app
from keeps.engine import Keeps
from keeps.memory.lifecycle.service import Lifecycle
from keeps_client import MemoryClient
from keeps_client.models import Event, Memory, RecallResult
from tests.contract.raw import RawMemory
from tests.given import TEXTS, USERS, VALUES, Picker, same
from tests.lifecycle.conftest import MovingClock
from tests.serving import serving

STEPS = 30
FADED = (
    "It rained on the way to the fair. 🎪",
    "The bus was late; e\u0301 is not \u00e9.",
    "Lunch was soup\u2028and bread.",
)


class Shell:
    """The command line, with the methods of a memory that are asked here."""

    def __init__(self, *options: str) -> None:
        self._options = [*options, "--json"]

    async def get(self, memory_id: UUID, *, as_of: datetime | None = None) -> Memory:
        moment = ["--as-of", f"{as_of:%Y-%m-%dT%H:%M:%S}"] if as_of else []
        return Memory.model_validate(await self._run("get", str(memory_id), *moment))

    async def history(self, memory_id: UUID) -> list[Event]:
        return [Event.model_validate(each) for each in await self._run("history", str(memory_id))]

    async def recall(self, query: str, *, as_of: datetime | None = None, **given: Any) -> RecallResult:
        options = ["--as-of", f"{as_of:%Y-%m-%dT%H:%M:%S}"] if as_of else []
        options += ["--filters", json.dumps(given["filters"])] if "filters" in given else []
        options += [f"--{name.replace('_', '-')}" for name in given if name.startswith("include_")]
        return RecallResult.model_validate(await self._run("recall", *options, "--limit", "200", "--", query))

    async def _run(self, command: str, *arguments: str) -> Any:
        done = await asyncio.to_thread(CliRunner().invoke, app, [command, *self._options, *arguments])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)


@dataclass
class Truths:
    """What one memory said, and since when; `gone`: from when to when it was forgotten."""

    said: list[tuple[datetime, str, Any]] = field(default_factory=list[tuple[datetime, str, Any]])
    memory_id: UUID | None = None
    forgotten: bool = False


class Past:
    """A random history of some keys of two users, and a plain model of it."""

    def __init__(self, living: Keeps, clock: MovingClock, tenant: str, seed: int) -> None:
        self.pick, self.clock, self.number = Picker(seed), clock, 0
        self.memories = {user: living.memory(Scope(tenant, user)) for user in USERS}
        self.truths: dict[tuple[str, str], Truths] = {}

    async def step(self) -> None:
        pick = self.pick
        self.clock.forward(hours=pick.some(1, 5))
        user, key = pick.some(*USERS), pick.some("k", "ключ 🔑", TEXTS[3])
        memory, truths = self.memories[user], self.truths.setdefault((user, key), Truths())
        if truths.memory_id is not None and pick.often(0.15):
            await (memory.restore if truths.forgotten else memory.forget)(truths.memory_id)
            truths.forgotten = not truths.forgotten
            return
        self.number += 1
        content, value = f"Truth {self.number}: {pick.some(*TEXTS)}", pick.some(None, *VALUES)
        if truths.forgotten:  # a key that was forgotten begins anew
            truths = self.truths[user, key] = Truths()
        if truths.memory_id is not None and pick.often(0.3):
            receipt = await memory.update(truths.memory_id, content=content, value=value, index="later")
        else:
            fields: dict[str, Any] = {} if value is None else {"value": value}
            receipt = await memory.remember(content, namespace="n", key=key, index="later", **fields)
        truths.memory_id = receipt.memory_id
        truths.said.append((self.clock.now, content, value))

    async def check(self, user: str, door: Any) -> None:
        for (owner, key), truths in self.truths.items():
            if owner != user or truths.memory_id is None:
                continue
            told = [each.data["memory"] for each in await door.history(truths.memory_id) if "memory" in each.data]
            told = [each for each in told if str(each["memory_id"]) == str(truths.memory_id)]
            wanted = [content for _, content, _ in truths.said]
            assert list(dict.fromkeys(each["content"] for each in told)) == wanted
            for moment, content, value in truths.said:
                then = await door.get(truths.memory_id, as_of=moment)
                assert (then.content, same(then.value, value)) == (content, True)
                of_key: Any = {"key": {"eq": key}}
                hits = (await door.recall(content, as_of=moment, filters=of_key, limit=200)).hits
                assert content in [hit.memory.content for hit in hits]
            if not truths.forgotten:
                await self.check_older(door, key, wanted)

    async def check_older(self, door: Any, key: str, wanted: list[str]) -> None:
        of_key: Any = {"key": {"eq": key}}
        hits = (await door.recall("Truth", include_superseded=True, filters=of_key, limit=200)).hits
        assert set(wanted) <= {hit.memory.content for hit in hits}, key


async def archive(living: Keeps, clock: MovingClock, past: Past, tenant: str) -> dict[str, list[UUID]]:
    """Let some memories of each user fade; what was forgotten can still be restored."""
    faded: dict[str, list[UUID]] = {}
    for user, memory in past.memories.items():
        made = [await memory.remember(text, kind="episodic", importance=0.1, index="later") for text in FADED]
        faded[user] = [each.memory_id for each in made]
    clock.forward(days=23)
    while await living.service(Lifecycle).run(tenant, "decay") is not None:
        pass
    for user, memory in past.memories.items():
        assert all([(await memory.get(each)).archived_at is not None for each in faded[user]])
    return faded


async def check_archived(door: Any, faded: list[UUID]) -> None:
    for memory_id, text in zip(faded, FADED, strict=True):
        assert (await door.get(memory_id)).content == text
        hits = (await door.recall(text, include_archived=True, filters={"kind": {"eq": "episodic"}})).hits
        assert memory_id in [hit.memory_id for hit in hits]


@pytest.mark.slow_step("the command line imports its parts when it is first used")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.load)])
async def test_past_round_trips_unchanged(living: Keeps, clock: MovingClock, tenant: str, seed: int) -> None:
    past = Past(living, clock, tenant, seed)
    for _ in range(STEPS):
        await past.step()
    faded = await archive(living, clock, past, tenant)
    await check_copy(living, past, tenant, faded)  # before a hit revives what is archived
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(living, clock))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        for user in USERS:
            client = await stack.enter_async_context(MemoryClient(url, tenant_id=tenant, user_id=user))
            raw = RawMemory(http, url, {"X-Tenant-ID": tenant, "X-User-ID": user}, seed)
            doors: list[Any] = [past.memories[user], client, raw]
            if user == USERS[seed]:
                doors.append(Shell("--tenant", tenant, "--user", user, "--url", url))
            for door in doors:
                await past.check(user, door)
                await check_archived(door, faded[user])


async def check_copy(living: Keeps, past: Past, tenant: str, faded: dict[str, list[UUID]]) -> None:
    """An export holds older truths, what is archived, and what can be restored; the log stays behind."""
    boss, elsewhere = frozenset({"admin"}), f"{tenant}-copy"
    lines = await living.memory(Scope(tenant, "boss", roles=boss)).admin.export_lines()
    assert (await living.memory(Scope(elsewhere, "boss", roles=boss)).admin.import_lines(lines)).failed == 0
    for (user, key), truths in past.truths.items():
        if truths.memory_id is not None:
            copy = living.memory(Scope(elsewhere, user))
            if truths.forgotten:
                await copy.restore(truths.memory_id)
            moment, content, value = truths.said[-1]
            held = await copy.get(truths.memory_id)
            assert (held.content, same(held.value, value), held.deleted_at) == (content, True, None), moment
            await past.check_older(copy, key, [content for _, content, _ in truths.said])
    for user in USERS:
        copy = living.memory(Scope(elsewhere, user))
        assert all([(await copy.get(each)).archived_at is not None for each in faded[user]])
        await check_archived(copy, faded[user])

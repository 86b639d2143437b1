"""What is given to any door is read at every door, as it was given."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from typing import Any

import aiohttp
import pytest
from typer.testing import CliRunner

from keeps.base.scope import Scope
from keeps.doors.cli.main import app
from keeps.engine import Keeps
from keeps_client import MemoryClient, sync
from keeps_client.models import Memory
from tests.given import AGENTS, MEMORY_FIELDS, USERS, Given, Memories, Picker, same, shown

STEPS = 40
FROM_SHELL = 4
SHELL_FIELDS = frozenset(
    "content kind namespace key tags importance metadata visibility session_id role valid_from".split()
)
Write = Callable[[Given], Awaitable[Any]]


class Doors:
    """Ways to store and read memories of a tenant, without frameworks."""

    def __init__(self, keeps: Keeps, url: str, tenant: str) -> None:
        self.keeps, self.url, self.tenant = keeps, url, tenant
        self.http = aiohttp.ClientSession(url)
        self.clients = {
            (user, agent): MemoryClient(url, tenant_id=tenant, user_id=user, agent_id=agent)
            for user in USERS
            for agent in AGENTS
        }

    async def close(self) -> None:
        await self.http.close()
        for client in self.clients.values():
            await client.close()

    def local(self, user: str, agent: str | None = None) -> Any:
        return self.keeps.memory(Scope(self.tenant, user, agent))

    def headers(self, user: str, agent: str | None = None) -> dict[str, str]:
        return {"X-Tenant-ID": self.tenant, "X-User-ID": user} | ({"X-Agent-ID": agent} if agent else {})

    async def library(self, given: Given) -> None:
        await self.local(given.user, given.agent).remember(index="later", **given.fields)

    async def batch(self, given: Given) -> None:
        nulls = {name: None for name in MEMORY_FIELDS if name in ("value", "source", "role", "session_id")}
        await self.local(given.user, given.agent).remember_many([{**nulls, **given.fields}], index="later")

    async def sdk(self, given: Given) -> None:
        await self.clients[given.user, given.agent].remember(index="later", **given.fields)

    async def sync_sdk(self, given: Given) -> None:
        def work() -> None:
            client = sync.MemoryClient(self.url, tenant_id=self.tenant, user_id=given.user, agent_id=given.agent)
            client.remember(index="later", **given.fields)
            client.close()

        await asyncio.to_thread(work)

    async def wire(self, given: Given) -> None:
        body = json.loads(json.dumps(given.fields, default=datetime.isoformat))
        headers = self.headers(given.user, given.agent)
        async with self.http.post("/v1/memories?index=later", json=body, headers=headers) as answer:
            assert answer.status in (200, 201), await answer.text()

    async def shell(self, given: Given) -> None:
        fields = dict(given.fields)
        options = ["--tenant", self.tenant, "--user", given.user, "--url", self.url, "--json"]
        options += ["--agent", given.agent] if given.agent else []
        for tag in fields.pop("tags", []):
            options += ["--tag", tag]
        if "metadata" in fields:
            options += ["--metadata", json.dumps(fields.pop("metadata"))]
        if "valid_from" in fields:
            options += ["--valid-from", f"{fields.pop('valid_from'):%Y-%m-%dT%H:%M:%S}"]
        if "session_id" in fields:
            options += ["--session", fields.pop("session_id")]
        content = fields.pop("content")
        for name, value in fields.items():
            options += [f"--{name.replace('_', '-')}", str(value)]
        await self._run("remember", *options, "--", content)

    async def _run(self, *arguments: str) -> str:
        done = await asyncio.to_thread(CliRunner().invoke, app, [*arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    async def read(self, user: str) -> dict[str, list[Memory]]:
        """Return one's own memories as every door tells them."""
        own: Any = {"user_id": {"eq": user}}
        told = {
            "library": list(await self.local(user).list(filters=own, limit=200)),
            "SDK": list(await self.clients[user, None].list(filters=own, limit=200)),
        }
        wanted = {"filters": json.dumps(own), "limit": "200"}
        async with self.http.get("/v1/memories", params=wanted, headers=self.headers(user)) as answer:
            told["HTTP"] = [Memory.model_validate(each) for each in (await answer.json())["items"]]
        told["get"] = [await self.clients[user, None].get(each.memory_id) for each in told["library"]]
        options = ["--tenant", self.tenant, "--user", user, "--url", self.url, "--json", "--limit", "200"]
        listed = json.loads(await self._run("list", *options, "--filters", json.dumps(own)))
        told["command line"] = [Memory.model_validate(each) for each in listed["items"]]
        boss = self.keeps.memory(Scope(self.tenant, "boss", roles=frozenset({"admin"})))
        exported = await boss.admin.export_lines(user_id=user)
        elsewhere = f"{self.tenant}-{user}"
        admin = self.keeps.memory(Scope(elsewhere, "boss", roles=frozenset({"admin"})))
        assert not (await admin.admin.import_lines(exported)).failed
        copies = await self.keeps.memory(Scope(elsewhere, user)).list(filters=own, limit=200)
        told["import"] = list(copies)
        lines = [json.loads(line) for line in exported]
        told["export"] = [
            Memory.model_validate({name: value for name, value in line["row"].items() if name != "content_hash"})
            for line in lines
            if line["type"] == "memory" and line["row"]["superseded_by"] is None
        ]
        return told


@pytest.fixture
async def doors(keeps: Keeps, server_url: str, tenant: str) -> AsyncIterator[Doors]:
    opened = Doors(keeps, server_url, tenant)
    yield opened
    await opened.close()


def compare(told: list[Memory], expected: list[dict[str, Any]], door: str) -> None:
    left = list(told)
    for fields in expected:
        found = next((each for each in left if same(shown(each, fields), fields)), None)
        near = [shown(each, fields) for each in left if each.content == fields["content"]]
        assert found is not None, f"{door}: {fields} is not among {near}"
        left.remove(found)
    assert not left, f"{door}: nobody stored {left}"


@pytest.mark.slow_step("the command line imports its parts when it is first used")
@pytest.mark.parametrize("seed", range(3))
async def test_memories_round_trip_unchanged(doors: Doors, seed: int) -> None:
    pick, model = Picker(seed), Memories()
    ways = [doors.library, doors.batch, doors.sdk, doors.sync_sdk, doors.wire]
    written: list[tuple[Write, Given]] = []
    for step in range(STEPS):
        if step % (STEPS // FROM_SHELL) == 0:
            written.append((doors.shell, pick.memory(SHELL_FIELDS)))
        elif written and pick.often(0.2):
            written.append((pick.some(*ways), pick.some(*written)[1]))
        else:
            written.append((pick.some(*ways), pick.memory()))
        way, given = written[-1]
        await way(given)
        model.write(_as_sent(way, given))
    for user in USERS:
        for door, told in (await doors.read(user)).items():
            compare(told, model.of(user), f"{door} of {user}")


def _as_sent(way: Write, given: Given) -> Given:
    """Return what a door is able to say: by name, a default is no more than leaving it out."""
    if way.__name__ in ("wire", "batch"):
        return given
    defaults: dict[str, Any] = {"visibility": "private", "kind": "semantic", "content_type": "fact"}
    if way.__name__ == "shell":
        defaults["tags"] = []
    said = {name: value for name, value in given.fields.items() if defaults.get(name, ...) != value}
    return Given(given.user, given.agent, said)

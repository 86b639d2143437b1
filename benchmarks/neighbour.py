"""A noisy neighbour: one tenant with 64 callers of the worst requests that are allowed; what another tenant notices of
it."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any

import aiohttp

from benchmarks import served, temporary_folder

CALLERS, SECONDS = 64, 30.0
TARGET = 3.0
WORDS = (
    "harvest field morning rain book farm weight tomato river bridge lamp winter copper garden letter signal orchard"
    " engine".split()
)
Call = Callable[[aiohttp.ClientSession, int], Awaitable[int]]


@cache
def _words(variant: int, words: int) -> str:
    choose = random.Random(variant)
    return " ".join(choose.choice(WORDS) for _ in range(words))


def _text(number: int, words: int) -> str:
    """A text that nobody has sent yet, and that costs the sender little."""
    return f"Entry {number}: {_words(number % 50, words)}."


def _post(path: str, body: Callable[[int], Any]) -> Call:
    async def send(http: aiohttp.ClientSession, number: int) -> int:
        async with http.post(path, json=body(number)) as answer:
            await answer.read()
            return answer.status

    return send


async def _stream(http: aiohttp.ClientSession, _: int) -> int:
    """Read the whole log, and then what comes."""
    try:
        async with http.get("/v1/events/stream", params={"after": 0}, timeout=aiohttp.ClientTimeout(total=5)) as answer:
            async for _ in answer.content:
                pass
            return answer.status
    except TimeoutError:
        return 200


LOUD: dict[str, Call] = {
    "batch": _post(
        "/v1/memories/batch",
        lambda n: {"items": [{"content": _text(n * 1_000 + each, 60)} for each in range(200)], "index": "now"},
    ),
    "traverse": _post(
        "/v1/graph/traverse",
        lambda n: {"start": f"n{n % 15}", "path_pattern": "* -e-> * -e-> * -e-> * -e-> *", "limit": 1_000},
    ),
    "stream": _stream,
    "recall": _post("/v1/recall", lambda n: {"query": _text(n, 1_200)[:9_000], "limit": 200}),
    "append": _post(
        "/v1/providers/markdown/append",
        lambda n: {"text": "\n".join(f"- {_text(n * 1_000 + each, 20)}" for each in range(100))},
    ),
    "exchange": _post(
        "/v1/exchanges",
        lambda n: {
            "session_id": f"s{n}",
            "messages": [{"role": "user", "content": _text(n * 100 + each, 400)} for each in range(50)],
        },
    ),
    "state": _post(
        "/v1/memory/atomic/append", lambda n: {"plan_id": "p", "path": f"list{n % 8}", "value": _text(n, 400)}
    ),
    "context": _post("/v1/context", lambda n: {"query": _text(n, 300), "budget_tokens": 32_000}),
}


class Noise:
    """The loud tenant: its graph, its webhooks that hang, and its callers. `statuses`: what they were told, by kind."""

    def __init__(self, url: str, tenant: str) -> None:
        self._url = url
        self._tenant = tenant
        self.statuses: dict[str, Counter[int]] = {name: Counter() for name in LOUD}

    @asynccontextmanager
    async def made(self, callers: int = CALLERS) -> AsyncGenerator[None]:
        """Inside, it is loud."""
        hanging = await asyncio.start_server(self._hang, "127.0.0.1", 0)
        port = hanging.sockets[0].getsockname()[1]
        numbers = itertools.count(1)
        timeout = aiohttp.ClientTimeout(total=120)
        connector = aiohttp.TCPConnector(limit=0)
        headers = {"X-Tenant-ID": self._tenant}
        async with aiohttp.ClientSession(self._url, headers=headers, connector=connector, timeout=timeout) as http:
            await self._prepare(http, port)
            kinds = list(LOUD)
            tasks = [
                asyncio.create_task(self._call(http, kinds[each % len(kinds)], numbers)) for each in range(callers)
            ]
            await asyncio.sleep(1)  # so that all of them are on their way, and their answers overlap
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                hanging.close()

    async def _prepare(self, http: aiohttp.ClientSession, port: int) -> None:
        """Fifteen entities, each related to each; twenty webhooks."""
        send = _post("/v1/graph/entities", lambda n: {"name": f"n{n}", "entity_id": f"00000000-0000-4000-8000-{n:012}"})
        for number in range(15):
            await send(http, number)
        relate = _post(
            "/v1/graph/relations", lambda n: {"source": f"n{n // 15}", "target": f"n{n % 15}", "relation_type": "e"}
        )
        for pair in range(225):
            if pair // 15 != pair % 15:
                await relate(http, pair)
        hook = _post("/v1/admin/webhooks", lambda n: {"url": f"http://127.0.0.1:{port}/{n}", "types": ["*"]})
        for number in range(20):
            await hook(http, number)

    async def _call(self, http: aiohttp.ClientSession, kind: str, numbers: Any) -> None:
        while True:
            try:
                status = await LOUD[kind](http, next(numbers))
            except (aiohttp.ClientError, TimeoutError):
                status = 0
            self.statuses[kind][status] += 1

    @staticmethod
    async def _hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError, ConnectionError):
            while await reader.read(65_536):
                pass


class Quiet:
    """Another tenant: one caller, who recalls and gets in turn."""

    def __init__(self, url: str, tenant: str) -> None:
        self._url = url
        self._tenant = tenant
        self._ids: list[str] = []
        self._asked = 0

    async def prepare(self) -> None:
        async with aiohttp.ClientSession(self._url, headers={"X-Tenant-ID": self._tenant}) as http:
            items = [{"content": _text(number, 20)} for number in range(500)]
            async with http.post("/v1/memories/batch", json={"items": items, "index": "now"}) as answer:
                self._ids = [receipt["memory_id"] for receipt in await answer.json()]

    async def ask(self, *, seconds: float = 0.0, times: int = 0) -> tuple[dict[str, list[float]], list[str]]:
        """For so long, or so often: the seconds of each answer by kind, and what failed."""
        loop = asyncio.get_running_loop()
        took: dict[str, list[float]] = {"recall": [], "get": []}
        failed: list[str] = []
        ends = loop.time() + seconds
        async with aiohttp.ClientSession(self._url, headers={"X-Tenant-ID": self._tenant}) as http:
            while loop.time() < ends or len(took["get"]) < times:
                self._asked += 1
                begun = loop.time()
                async with http.post("/v1/recall", json={"query": _text(self._asked, 6)}) as answer:
                    told = await answer.read()
                took["recall"].append(loop.time() - begun)
                if answer.status != 200 or json.loads(told).get("partial"):
                    failed.append(f"recall {answer.status} {told[:200]!r}")
                begun = loop.time()
                async with http.get(f"/v1/memories/{self._ids[self._asked % len(self._ids)]}") as answer:
                    told = await answer.read()
                took["get"].append(loop.time() - begun)
                if answer.status != 200:
                    failed.append(f"get {answer.status} {told[:200]!r}")
        return took, failed


@asynccontextmanager
async def apart(url: str, tenant: str, callers: int = CALLERS) -> AsyncGenerator[dict[str, dict[str, int]]]:
    """Inside, it is loud, made so by another process: what it costs to ask is not measured. Afterwards the answers are
    in what was given."""
    statuses: dict[str, dict[str, int]] = {}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.neighbour",
        url,
        tenant,
        str(callers),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"loud\n", "the loud tenant could not begin"
    try:
        yield statuses
    finally:
        told, _ = await process.communicate(b"")
        statuses.update(json.loads(told))


async def _be_loud(url: str, tenant: str, callers: int) -> None:
    noise = Noise(url, tenant)
    async with noise.made(callers):
        print("loud", flush=True)
        await asyncio.to_thread(sys.stdin.read)
    print(json.dumps(noise.statuses))


async def measure(url: str, seconds: float) -> dict[str, Any]:
    quiet = Quiet(url, "quiet")
    await quiet.prepare()
    await quiet.ask(seconds=3)
    alone, failed_alone = await quiet.ask(seconds=seconds)
    async with apart(url, "loud") as statuses:
        beside, failed = await quiet.ask(seconds=seconds)
    told: dict[str, Any] = {"failed": failed_alone + failed, "loud": statuses}
    for kind in alone:
        for name, share in (("p50", 0.5), ("p95", 0.95), ("worst", 1.0)):
            one, other = (
                1e3 * sorted(each[kind])[min(len(each[kind]) - 1, int(share * len(each[kind])))]
                for each in (alone, beside)
            )
            told[f"{kind}_{name}_ms"] = [round(one, 1), round(other, 1), round(other / one, 2)]
        told[f"{kind}_asked"] = [len(alone[kind]), len(beside[kind])]
    return told


def run(*, seconds: float, as_json: bool) -> int:
    with temporary_folder("neighbour") as folder:
        folder.chmod(0o755)
        with served(folder / "home", "--auth", "none", KEEPS_WEBHOOKS_ALLOW_PRIVATE="true") as url:
            told = asyncio.run(measure(url, seconds))
    if as_json:
        print(json.dumps(told))
    else:
        print("milliseconds: alone, beside 64 loud callers, ratio")
        print("\n".join(f"{name}: {value}" for name, value in told.items()))
    over = any(told[f"{kind}_p95_ms"][2] > TARGET for kind in ("recall", "get"))
    return 1 if told["failed"] or over else 0


if __name__ == "__main__":
    asyncio.run(_be_loud(sys.argv[1], sys.argv[2], int(sys.argv[3])))

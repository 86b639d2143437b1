"""Half an hour of mixed load on a real `keeps serve`, restarted twice: keeps bench soak [--minutes 30] [--clients 32]

Every client is a user of one of four tenants: it remembers, recalls, appends, counts, plans, forgets, and notes what
was acknowledged. One restart is a SIGTERM, the other a kill -9. At the end everything acknowledged must be there, once.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import secrets
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console

from benchmarks import temporary_folder
from keeps.store.access.tokens import make_token
from keeps.store.db.embedded import EmbeddedPostgres, inspect_home
from keeps_client import MemoryClient
from keeps_client.errors import KeepsError, UnavailableError

WORDS = (
    "garden rain letter bicycle harbour violin mountain coffee teacher window river bread lantern train winter".split()
)
RATE_PER_CLIENT = 3.0


@dataclass(frozen=True, slots=True)
class Sample:
    """`at`: seconds since the beginning. `bloat`: the share of rows that are dead, and not removed yet."""

    at: float
    megabytes: float
    files: int
    connections: int
    bloat: float


async def _rows(home: Path) -> tuple[int, int]:
    async with await EmbeddedPostgres.open(home) as server, server.administered() as connection:
        row = await connection.fetchrow("SELECT sum(n_dead_tup), sum(n_live_tup) FROM pg_stat_user_tables")
        assert row is not None
        return int(row[0] or 0), int(row[1] or 0)


class Service:
    """`keeps serve` as a process, on one port, again after each restart."""

    def __init__(self, home: Path, secret: str) -> None:
        self._arguments = [str(Path(sys.executable).parent / "keeps"), "serve", "--home", str(home), "--auth", "jwt"]
        self._environment = {
            **os.environ,
            "KEEPS_JWT_SECRET": secret,
            "KEEPS_READS_PER_MINUTE": "1000000",
            "KEEPS_WRITES_PER_MINUTE": "1000000",
        }
        self._process: Any = None
        self.port = 0
        self.defects = 0

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._arguments, "--port", str(self.port), env=self._environment, stderr=asyncio.subprocess.PIPE
        )
        while line := (await self._process.stderr.readline()).decode():
            if found := re.search(r"http://\S+?:(\d+)", line):
                self.port = int(found.group(1))
                break
        else:
            raise RuntimeError("the service did not start")
        self._reading = asyncio.create_task(self._read(self._process.stderr))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            if b'"defect"' in line:
                self.defects += 1
                print(line.decode(), file=sys.stderr)

    async def restart(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        await self._process.wait()
        await self.start()

    async def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        await self._process.wait()

    async def sample(self, home: Path, at: float) -> Sample:
        """Return its memory, descriptors, connections and share of dead rows."""
        process = psutil.Process(self._process.pid)
        server = psutil.Process(inspect_home(home).running_pid)
        backends = [each for each in server.children() if "keeps_app" in " ".join(each.cmdline())]
        dead, live = await _rows(home)
        return Sample(
            at, process.memory_info().rss / (1 << 20), process.num_fds(), len(backends), dead / max(1, dead + live)
        )


class Client:
    """One user's work, and what was acknowledged."""

    def __init__(self, url: str, secret: str, number: int) -> None:
        claims = {
            "tenant_id": f"tenant-{number % 4}",
            "user_id": f"user-{number}",
            "roles": ["writer"],
            "exp": int(time.time()) + 86_400,
        }
        self.memory = MemoryClient(url, token=make_token(secret, claims))
        self.number = number
        self.appended: list[int] = []
        self.unsure: set[int] = set()
        self.counted = 0
        self.counted_at_most = 0
        self.remembered: dict[str, str] = {}
        self.plans: set[str] = set()
        self.done: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()

    async def work(self, until: float) -> None:
        chance = random.Random(self.number)
        step = 0
        while time.monotonic() < until:
            step += 1
            name = chance.choices(
                ["append", "count", "remember", "recall", "plan", "get", "list"], [20, 15, 15, 20, 5, 20, 5]
            )[0]
            try:
                await getattr(self, f"_{name}")(step, chance)
                self.done[name] += 1
            except UnavailableError as error:
                self.failed["defect" if "defect" in error.detail else "unavailable"] += 1
            except KeepsError as error:
                self.failed[error.code] += 1
            await asyncio.sleep(chance.expovariate(RATE_PER_CLIENT))

    async def _append(self, step: int, chance: random.Random) -> None:
        self.unsure.add(step)
        await self.memory.append_to_list(f"log-{step // 200}", step, f"plan-of-{self.number}")
        self.unsure.discard(step)
        self.appended.append(step)

    async def _count(self, step: int, chance: random.Random) -> None:
        self.counted_at_most += 1
        await self.memory.increment("count", f"plan-of-{self.number}")
        self.counted += 1

    async def _remember(self, step: int, chance: random.Random) -> None:
        key, content = f"key-{step}", f"Note {step} of {self.number}: " + " ".join(chance.choices(WORDS, k=12))
        receipt = await self.memory.remember(content, namespace="soak", key=key)
        self.remembered[str(receipt.memory_id)] = content

    async def _recall(self, step: int, chance: random.Random) -> None:
        found = await self.memory.recall(" ".join(chance.choices(WORDS, k=3)), limit=5)
        for hit in found.hits:
            if hit.memory.user_id != f"user-{self.number}":
                self.failed["leak"] += 1

    async def _plan(self, step: int, chance: random.Random) -> None:
        plan = await self.memory.create_plan(goal_event="soak", session_id=f"session-{step // 50}")
        await self.memory.update_plan(plan.plan_id, status="completed", expected_version=1)
        self.plans.add(plan.plan_id)

    async def _get(self, step: int, chance: random.Random) -> None:
        await self.memory.retrieve("count", f"plan-of-{self.number}")

    async def _list(self, step: int, chance: random.Random) -> None:
        await self.memory.list(limit=20)

    async def check(self) -> list[str]:
        """Return acknowledged writes that are missing, or stored twice."""
        wrong: list[str] = []
        stored: list[int] = []
        for item in (await self.memory.list_plan_state(f"plan-of-{self.number}", limit=200)).items:
            if item.key.startswith("log-"):
                stored += item.value
        counted = Counter(stored)
        wrong += [f"append {step} is lost" for step in self.appended if not counted[step]]
        wrong += [f"append {step} is there {times} times" for step, times in counted.items() if times > 1]
        count = await self.memory.retrieve("count", f"plan-of-{self.number}") or 0
        if not self.counted <= count <= self.counted_at_most:
            wrong.append(f"counted {self.counted} to {self.counted_at_most}, stored {count}")
        for memory_id, content in self.remembered.items():
            if (await self.memory.get(memory_id)).content != content:
                wrong.append(f"memory {memory_id} is another")
        for plan_id in self.plans:
            if (await self.memory.get_plan(plan_id)).status != "completed":
                wrong.append(f"plan {plan_id} is another")
        return wrong


async def soak(minutes: float, clients: int) -> dict[str, Any]:
    secret = secrets.token_hex(32)
    samples: list[Sample] = []
    with temporary_folder("soak") as folder:
        service = Service(folder / "home", secret)
        await service.start()
        users = [Client(f"http://127.0.0.1:{service.port}", secret, number) for number in range(clients)]
        began = time.monotonic()
        until = began + 60 * minutes
        working = asyncio.gather(*(user.work(until) for user in users))
        restarts = [(began + 20 * minutes, signal.SIGTERM), (began + 40 * minutes, signal.SIGKILL)]
        while not working.done():
            await asyncio.wait({asyncio.ensure_future(asyncio.sleep(5)), working}, return_when=asyncio.FIRST_COMPLETED)
            samples.append(await service.sample(folder / "home", time.monotonic() - began))
            if restarts and time.monotonic() > restarts[0][0]:
                await service.restart(restarts.pop(0)[1])
        await working
        wrong = [each for found in await asyncio.gather(*(user.check() for user in users)) for each in found]
        for user in users:
            await user.memory.close()
        await service.stop()
    done = sum((user.done for user in users), Counter[str]())
    failed = sum((user.failed for user in users), Counter[str]())
    parts = [
        [each for each in samples if low < each.at / 60 <= high]
        for low, high in ((minutes * 0.7, minutes * 0.8), (minutes * 0.9, minutes + 1))
    ]
    return {
        "minutes": minutes,
        "clients": clients,
        "done": dict(done),
        "operations": done.total(),
        "failed": dict(failed),
        "defects": service.defects,
        "lost_or_doubled": wrong[:20],
        "after the last restart": _means(parts[0]),
        "at the end": _means(parts[1]),
        "most_megabytes": round(max(each.megabytes for each in samples), 1),
    }


def _means(samples: list[Sample]) -> dict[str, float]:
    names = ("megabytes", "files", "connections", "bloat")
    return {name: round(sum(getattr(each, name) for each in samples) / max(1, len(samples)), 3) for name in names}


def run(*, minutes: float, clients: int, as_json: bool) -> int:
    report = asyncio.run(soak(minutes, clients))
    print(json.dumps(report, indent=None if as_json else 2))
    good = not report["lost_or_doubled"] and not report["defects"] and set(report["failed"]) <= {"unavailable"}
    Console(stderr=True).print("[green]nothing lost, nothing doubled, no 500[/]" if good else "[bold red]look above[/]")
    return 0 if good else 1

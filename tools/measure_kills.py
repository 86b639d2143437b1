"""A hundred kill -9 of PostgreSQL, the service and the worker in turn, under 32 writers over HTTP.

    .venv/bin/python tools/measure_kills.py [--times 100]

Each writer sends the same request under the same Idempotency-Key until it is answered, as the SDK does. Prints what
callers saw, and at the end what was lost, doubled, and whether every row is what the log says.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.store.db.embedded import inspect_home
from keeps.store.events.service import EventService

WRITERS = 32
KEEPS = Path(sys.executable).parent / "keeps"
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")}


class Running:
    """The service on one port, and a worker; each is started again when it was killed."""

    def __init__(self, home: Path, port: int) -> None:
        self.home, self.port = home, port
        self.processes: dict[str, Any] = {}
        self._log = (home.parent / "log").open("ab")

    async def start(self, name: str) -> None:
        given = ("serve", "--port", str(self.port), "--auth", "none") if name == "service" else ("worker",)
        self.processes[name] = await asyncio.create_subprocess_exec(
            KEEPS, *given, "--home", str(self.home), env=ENVIRONMENT, stderr=self._log, stdout=self._log
        )

    async def kill(self, name: str) -> None:
        if name == "PostgreSQL":
            if (pid := inspect_home(self.home).running_pid) is not None:
                os.kill(pid, signal.SIGKILL)
            return
        process = self.processes[name]
        process.kill()
        await process.wait()
        await self.start(name)


class Writers:
    def __init__(self, url: str) -> None:
        self._url = url
        self.acknowledged: list[str] = []
        self.moments: list[float] = []
        self.told = Counter[str]()
        self.longest = 0.0
        self.stop = asyncio.Event()

    async def run(self) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            await asyncio.gather(*(self._write(session, number) for number in range(WRITERS)))

    async def _write(self, session: aiohttp.ClientSession, number: int) -> None:
        for count in itertools.count():
            if self.stop.is_set():
                return
            said, key = f"writer {number} said {count}", uuid4().hex
            headers = {"X-Tenant-ID": "acme", "X-User-ID": f"user-{number % 8}", "Idempotency-Key": key}
            while True:
                began = time.monotonic()
                try:
                    async with session.post(
                        f"{self._url}/v1/memories?index=later", json={"content": said}, headers=headers
                    ) as answer:
                        self.told[str(answer.status)] += 1
                        status = answer.status
                except (aiohttp.ClientError, OSError, TimeoutError) as error:
                    self.told["the service was away" if isinstance(error, OSError) else type(error).__name__] += 1
                    status = 0
                self.longest = max(self.longest, time.monotonic() - began)
                if status in (200, 201):
                    self.acknowledged.append(said)
                    self.moments.append(time.monotonic())
                    break
                await asyncio.sleep(0.1)


async def main() -> None:
    reading = argparse.ArgumentParser()
    reading.add_argument("--times", type=int, default=100)
    reading.add_argument("--port", type=int, default=8951)
    asked = reading.parse_args()
    with tempfile.TemporaryDirectory(prefix="keeps-kills-") as place:
        os.chmod(place, 0o755)  # noqa: PTH101, S103  the server's user passes through
        home = Path(place) / "home"
        running = Running(home, asked.port)
        for name in ("service", "worker"):
            await running.start(name)
        writers = Writers(f"http://127.0.0.1:{asked.port}")
        task = asyncio.create_task(writers.run())
        pauses: dict[str, list[float]] = {}
        for name, _ in zip(itertools.cycle(("PostgreSQL", "service", "worker")), range(asked.times), strict=False):
            before = len(writers.moments)
            while len(writers.moments) < before + 20:  # noqa: ASYNC110  it goes on
                await asyncio.sleep(0.05)
            killed = time.monotonic()
            await running.kill(name)
            while writers.moments[-1] < killed + 0.3:  # noqa: ASYNC110  somebody was answered since
                await asyncio.sleep(0.05)
            after = [each for each in writers.moments if each > killed - 1]
            pauses.setdefault(name, []).append(max((b - a for a, b in itertools.pairwise(after)), default=0.0))
        writers.stop.set()
        await task
        for process in running.processes.values():
            process.terminate()
            await process.wait()
        for name, seen in pauses.items():
            median, most = sorted(seen)[len(seen) // 2], max(seen)
            print(
                f"{name}: killed {len(seen)} times; nobody was answered for {median:.1f} s (median), {most:.1f} (most)"
            )
        async with Keeps.open(home, embedder=None) as keeps:
            stored: list[str] = []
            for number in range(8):
                memory, cursor = keeps.memory(Scope("acme", f"user-{number}")), None
                while True:
                    page = await memory.list(limit=200, cursor=cursor)
                    stored += [each.content for each in page.items]
                    if (cursor := page.next_cursor) is None:
                        break
            lost = set(writers.acknowledged) - set(stored)
            twice = [said for said, count in Counter(stored).items() if count > 1]
            unknown = [each for each in stored if not re.fullmatch(r"writer \d+ said \d+", each)]
            verified = await keeps.service(EventService).verify(Scope("acme", "user-0"))
        print(f"acknowledged {len(writers.acknowledged):,}, lost {len(lost)}, doubled {len(twice)}", end="")
        print(f", unknown {len(unknown)}")
        print(f"callers were told {dict(writers.told)}; the longest call took {writers.longest:.1f} s")
        print(f"{verified.events:,} events; rows are what the log says: {verified.equal}")


if __name__ == "__main__":
    asyncio.run(main())

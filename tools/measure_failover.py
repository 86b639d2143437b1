"""Forty failovers under load, on deploy/failover: the leader killed, stopped, cut off and switched over, ten times.

    sudo .venv/bin/python tools/measure_failover.py --patroni /opt/patroni [--times 10]

Two Keeps write and read all the while: one by a URL with several hosts, one by HAProxy; both read on standbys. Prints
for each failover how long nobody's write was acknowledged, how long the longest gap between reads was, and at the end
what was lost and doubled.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import itertools
import json
import os
import signal
import statistics
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import asyncpg

from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.store.db.embedded.binaries import choose_run_user, usable_binaries
from keeps.store.db.provision import prepare
from keeps_client.errors import KeepsError

WRITERS, READERS = 4, 2
STOPPED_SECONDS = 40.0
KINDS = ("switchover", "kill", "stop", "cut off")


def load_cluster() -> Any:
    path = Path(__file__).parents[1] / "deploy" / "failover" / "cluster.py"
    spec = importlib.util.spec_from_file_location("failover_cluster", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Relay:
    """A port that leads to another, until the network is cut: then what is open hangs, and nothing new gets through."""

    def __init__(self, port: int, to: int) -> None:
        self._port, self._to = port, to
        self._whole = asyncio.Event()
        self._whole.set()

    async def start(self) -> None:
        await asyncio.start_server(self._serve, "127.0.0.1", self._port)

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._whole.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._whole.wait()
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(self._pump(reader, back), self._pump(there, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._whole.wait()
                writer.write(data)
                await writer.drain()
        writer.transport.abort()


class Load:
    """Writers and readers that never stop, and when each of them was answered."""

    def __init__(self, keeps: list[Keeps]) -> None:
        self._keeps = keeps
        self.acknowledged: list[str] = []
        self.written: list[float] = []
        self.read: list[float] = []
        self.longest = 0.0
        self.errors = Counter[str]()
        self.seen: list[int] = []
        self._stop = asyncio.Event()

    async def run(self) -> None:
        tasks = [self._write(keeps, f"{n}-{w}") for n, keeps in enumerate(self._keeps) for w in range(WRITERS)]
        tasks += [self._read(keeps) for keeps in self._keeps for _ in range(READERS)]
        following = asyncio.create_task(self._follow())
        await asyncio.gather(*tasks)
        following.cancel()

    def stop(self) -> None:
        self._stop.set()

    async def _write(self, keeps: Keeps, who: str) -> None:
        memory = keeps.memory(Scope("acme", f"writer-{who}"))
        for number in itertools.count():
            if self._stop.is_set():
                return
            said = f"writer {who} said {number}"
            began = time.monotonic()
            try:
                await memory.remember(said, visibility="tenant", index="later")
            except KeepsError as error:
                self.errors[f"write {error.code}"] += 1
                await asyncio.sleep(0.1)
            else:
                self.acknowledged.append(said)
                self.written.append(time.monotonic())
            self.longest = max(self.longest, time.monotonic() - began)
            await asyncio.sleep(0.02)

    async def _read(self, keeps: Keeps) -> None:
        memory = keeps.memory(Scope("acme", "reader"))
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                found = await memory.recall("the harbour")
            except KeepsError as error:
                self.errors[f"read {error.code}"] += 1
                await asyncio.sleep(0.1)
            else:
                assert len(found.hits) == 1
                self.read.append(time.monotonic())
            self.longest = max(self.longest, time.monotonic() - began)
            await asyncio.sleep(0.02)

    async def _follow(self) -> None:
        async for event in self._keeps[0].memory(Scope("acme", "reader")).subscribe(after=0):
            self.seen.append(event.sequence)


def gap(moments: list[float], since: float, until: float) -> float:
    """The longest time between two answers, of those between two moments."""
    within = [since, *(each for each in moments if since <= each <= until), until]
    return max(after - before for before, after in itertools.pairwise(within))


async def main() -> None:
    reading = argparse.ArgumentParser()
    reading.add_argument("--patroni", type=Path, required=True)
    reading.add_argument("--times", type=int, default=10)
    reading.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    reading.add_argument("--folder", type=Path, default=Path("/var/lib/keeps-failover"))
    asked = reading.parse_args()
    module = load_cluster()
    cluster = module.Cluster(asked.folder, relayed=True)
    relays: dict[str, list[Relay]] = {}
    for node in cluster.nodes:
        relays[node.name] = [
            Relay(node.reached_at, node.postgres),
            Relay(node.asked_at, node.rest),
            Relay(node.etcd_at, module.ETCD_PORT),
        ]
        for relay in relays[node.name]:
            await relay.start()
    user = choose_run_user()
    await asyncio.to_thread(cluster.up, user.name, usable_binaries(user) / "bin", asked.patroni)
    try:
        await asyncio.to_thread(cluster.wait)
        await measure(cluster, module, relays, asked.times, asked.kinds)
    finally:
        await asyncio.to_thread(cluster.down)


async def measure(cluster: Any, module: Any, relays: dict[str, list[Relay]], times: int, kinds: Sequence[str]) -> None:
    connection = await asyncpg.connect(cluster.admin_url().replace("/keeps", "/postgres"))
    with suppress(asyncpg.DuplicateDatabaseError):
        await connection.execute("CREATE DATABASE keeps")
    await connection.close()
    url = await prepare(cluster.admin_url(), {"keeps_app": token_urlsafe(24)})
    assert url is not None
    hosts = ",".join(f"127.0.0.1:{each.reached_at}" for each in cluster.nodes)
    several = url.replace(f"127.0.0.1:{module.LEADER_PORT}", hosts) + "?target_session_attrs=read-write"
    standbys = url.replace(str(module.LEADER_PORT), str(module.STANDBY_PORT))
    opened = [
        await open_keeps(
            load_settings({"KEEPS_READ_DATABASE_URL": standbys, "KEEPS_EMBEDDER": "none"}, database_url=each)
        )
        for each in (several, url)
    ]
    await opened[0].memory(Scope("acme", "reader")).remember("The harbour is grey today.")
    load = Load(opened)
    opened[0].worker.start()
    running = asyncio.create_task(load.run())
    await asyncio.sleep(3)
    print("kind        writes again   longest between reads", flush=True)
    results: dict[str, list[tuple[float, float]]] = {}
    for kind, _ in itertools.product(kinds, range(times)):
        leader = await asyncio.to_thread(cluster.leader)
        began = time.monotonic()
        undo = await fail(cluster, relays, kind, leader)
        while not any(each > began + 1 for each in load.written) or await asyncio.to_thread(cluster.leader) == leader:
            await asyncio.sleep(0.25)
            if time.monotonic() - began > 120:
                break
        await asyncio.sleep(2)
        seen = gap(load.written, began, time.monotonic()), gap(load.read, began, time.monotonic())
        results.setdefault(kind, []).append(seen)
        print(f"{kind:10}  {seen[0]:8.1f} s  {seen[1]:8.1f} s   {leader} to {cluster.leader()}", flush=True)
        await undo(began)
        await asyncio.to_thread(cluster.wait, 180)
    load.stop()
    await running
    done = opened[0].worker.done
    await report(cluster, load, results, opened, done)
    for each in opened:
        await each.close()


async def fail(cluster: Any, relays: dict[str, list[Relay]], kind: str, leader: str) -> Any:
    """Do it; returns what brings the node back."""
    rest = next(each.rest for each in cluster.nodes if each.name == leader)

    async def nothing(_: float) -> None: ...

    async def again(_: float) -> None:
        await asyncio.to_thread(cluster.start_node, leader)

    async def wake(began: float) -> None:
        await asyncio.sleep(max(0.0, began + STOPPED_SECONDS - time.monotonic()))
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    async def mend(_: float) -> None:
        for each in relays[leader]:
            each.mend()

    if kind == "switchover":
        body = json.dumps({"leader": leader}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{rest}/switchover", body, {"Content-Type": "application/json"}
        )

        def switch() -> None:
            with suppress(OSError):  # it says so where it takes longer; the outcome is looked at
                urllib.request.urlopen(request, timeout=30).read()  # noqa: S310  of this machine

        await asyncio.to_thread(switch)
        return nothing
    if kind == "kill":
        for pid in cluster.pids(leader):
            os.kill(pid, signal.SIGKILL)
        return again
    if kind == "stop":
        stopped = family(cluster.pids(leader))
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        return wake
    for each in relays[leader]:
        each.cut()
    return mend


def family(pids: list[int]) -> list[int]:
    import psutil

    found: list[int] = []
    for pid in pids:
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            found += [pid, *(each.pid for each in process.children(recursive=True))]
    return list(dict.fromkeys(found))


async def report(
    cluster: Any, load: Load, results: dict[str, list[tuple[float, float]]], opened: list[Keeps], jobs: int
) -> None:
    connection = await asyncpg.connect(cluster.admin_url())
    stored = [
        row["content"]
        for row in await connection.fetch("SELECT content FROM keeps.memories WHERE tenant_id = 'acme'")
        if row["content"].startswith("writer")
    ]
    sequences = await connection.fetchval("SELECT count(*) - max(sequence) FROM keeps.events WHERE tenant_id = 'acme'")
    await connection.close()
    twice = [said for said, count in Counter(stored).items() if count > 1]
    print()
    for kind, seen in results.items():
        writes, reads = [each[0] for each in seen], [each[1] for each in seen]
        print(
            f"{kind}: {len(seen)} times; writes again after median {statistics.median(writes):.1f} s, at most"
            f" {max(writes):.1f}; reads paused median {statistics.median(reads):.1f} s, at most {max(reads):.1f}"
        )
    lost = set(load.acknowledged) - set(stored)
    print(f"acknowledged {len(load.acknowledged):,}, lost {len(lost)}, doubled {len(twice)}")
    print(f"gaps in the log {sequences}; longest call {load.longest:.1f} s; errors told {dict(load.errors)}")
    subscribed = load.seen == sorted(set(load.seen))
    print(f"subscription: {len(load.seen):,} events, in order and once: {subscribed}; jobs done {jobs}")
    verified = await opened[0].events.verify(Scope("acme", "reader"))
    print(f"rows are what the log says: {verified.equal}")


if __name__ == "__main__":
    asyncio.run(main())

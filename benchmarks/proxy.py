"""Latency that the OpenAI-compatible proxy adds to a chat request.

    keeps bench proxy [--requests 200] [--memories 1000]        (needs the extra test)

One client sends the same requests to a scripted provider and to the proxy before it, in turn, so that both see the same
machine, and asks for the context alone, which is most of what the proxy adds. A chat has eight messages of history. The
client waits between requests, as people do, while the exchange is stored. Exit code 1 if the median that the proxy adds
is over 30 ms.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import openai
from tests.scripted_provider import providing

from benchmarks import served, temporary_folder
from keeps_client import MemoryClient

TARGET_MS = 30.0
BATCH = 500
PAUSE_SECONDS = 0.3
TOPICS = ("garden", "bicycle", "kitchen", "holiday", "office", "piano", "hens", "boat")


def run(*, requests: int, memories: int, as_json: bool) -> int:
    with temporary_folder("proxy") as folder:
        result = asyncio.run(_measure(folder, requests, memories))
    print(json.dumps(result) if as_json else "\n".join(f"  {name:<22} {value}" for name, value in result.items()))
    return 1 if result["added_median_ms"] > TARGET_MS else 0


async def _measure(folder: Path, requests: int, memories: int) -> dict[str, Any]:
    async with providing() as provider:
        settings = {"KEEPS_OPENAI_UPSTREAM": provider.url}
        with served(folder, **settings) as url:
            await _fill(url, memories)
            headers = {"X-User-ID": "alice"}
            took: dict[str, list[float]] = {"direct": [], "proxied": [], "context": []}
            async with (
                openai.AsyncOpenAI(base_url=provider.url, api_key="none") as direct,
                openai.AsyncOpenAI(base_url=f"{url}/openai/v1", api_key="none", default_headers=headers) as proxied,
                MemoryClient(url, user_id="alice") as memory,
            ):
                for number in range(-20, requests):  # The first requests load models and plans.
                    for name, work in (
                        ("direct", _ask(direct, number)),
                        ("proxied", _ask(proxied, number)),
                        ("context", memory.context(_question(number), session_id=f"bench-{number}")),
                    ):
                        started = time.perf_counter()
                        await work
                        if number >= 0:
                            took[name].append((time.perf_counter() - started) * 1e3)
                        await asyncio.sleep(PAUSE_SECONDS)
    added = [through - alone for alone, through in zip(took["direct"], took["proxied"], strict=True)]
    return {
        "requests": requests,
        "memories": memories,
        "direct_median_ms": round(statistics.median(took["direct"]), 1),
        "proxied_median_ms": round(statistics.median(took["proxied"]), 1),
        "added_median_ms": round(statistics.median(added), 1),
        "context_median_ms": round(statistics.median(took["context"]), 1),
        "added_p10_ms": round(statistics.quantiles(added, n=10)[0], 1),
        "added_p95_ms": round(statistics.quantiles(added, n=20)[-1], 1),
        "load_average": round(os.getloadavg()[0], 1),
    }


async def _fill(url: str, memories: int) -> None:
    async with MemoryClient(url, user_id="alice") as memory:
        texts = [
            f"Note {number} on the {TOPICS[number % len(TOPICS)]}: part {number * 7} is blue."
            for number in range(memories)
        ]
        for start in range(0, memories, BATCH):
            await memory.remember_many([{"content": text} for text in texts[start : start + BATCH]])
        while (await memory.recall("blue")).hits == ():
            await asyncio.sleep(0.1)


def _question(number: int) -> str:
    return f"Which part of the {TOPICS[number % len(TOPICS)]} was blue in week {number}?"


async def _ask(client: openai.AsyncOpenAI, number: int) -> None:
    history: list[Any] = [{"role": "system", "content": "You are helpful."}]
    for turn in range(4):
        history += [
            {"role": "user", "content": f"Chat {number}, question {turn}."},
            {"role": "assistant", "content": f"Answer {turn} of {number}."},
        ]
    history.append({"role": "user", "content": _question(number)})
    await client.chat.completions.create(model="m", messages=history)

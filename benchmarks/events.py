"""The log: random operations by several writers, then whether the rows are what the events tell, and how fast that is
found.

    keeps bench events [--operations 20000] [--writers 8] [--json]

Beside it, how much one tenant writes with 1 and 16 writers, and how much four tenants write with 16: numbers without
gaps keep writers of one tenant in turn, but not those of others.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from rich.console import Console
from rich.progress import Progress
from tests.events.histories import History

from benchmarks import temporary_folder
from keeps import Keeps, Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.events.service import EventService

console = Console(stderr=True)
SECONDS = 4.0


def run(*, operations: int, writers: int, as_json: bool) -> int:
    """Exit code 1 where rows differ from what events tell."""
    found = asyncio.run(_measured(operations, writers))
    print(json.dumps(found, indent=2)) if as_json else Console().print(found)
    return 0 if found["differences"] == 0 else 1


async def _measured(operations: int, writers: int) -> dict[str, Any]:
    with temporary_folder("events") as root:
        async with (
            await EmbeddedPostgres.open(root / "home") as server,
            await open_keeps(Settings(home=root, database_url=server.app_url, embedder="none")) as keeps,
        ):
            histories = [History(keeps, "history", seed) for seed in range(writers)]
            started = time.monotonic()
            with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
                task = bar.add_task("random operations", total=operations)

                async def write(history: History) -> None:
                    for _ in range(operations // writers // 50):
                        await history.run(50)
                        bar.advance(task, 50)

                await asyncio.gather(*(write(history) for history in histories))
            took = time.monotonic() - started
            began = time.monotonic()
            verified = await keeps.service(EventService).verify(Scope("history", "alice"))
            seconds = time.monotonic() - began
            rates = {
                f"{tenants} tenant{'s' * (tenants > 1)}, {at_once} writers": await _rate(keeps, tenants, at_once)
                for tenants, at_once in ((1, 1), (1, 16), (4, 16))
            }
    return {
        "operations": operations,
        "writers": writers,
        "done": sum(each.done for each in histories),
        "refused": sum(each.refused for each in histories),
        "operations_per_second": round(operations / took),
        "events": verified.events,
        "rows": verified.compared,
        "differences": len(verified.differences),
        "verified_events_per_second": round(verified.events / seconds),
        "writes_per_second": rates,
    }


async def _rate(keeps: Keeps, tenants: int, at_once: int) -> int:
    """Working-memory writes a second: each a transaction of its own, with its event."""
    deadline = time.monotonic() + SECONDS

    async def write(number: int) -> int:
        memory = keeps.memory(Scope(f"rate-{tenants}-{at_once}-{number % tenants}", f"user-{number}"))
        done = 0
        while time.monotonic() < deadline:
            await memory.store(f"key-{number}", done, "plan")
            done += 1
        return done

    return round(sum(await asyncio.gather(*(write(number) for number in range(at_once)))) / SECONDS)

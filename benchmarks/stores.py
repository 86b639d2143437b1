"""Keeps as LangGraph's store beside LangGraph's own AsyncPostgresStore, in one run on one server.

    keeps bench stores [--sizes 10000,100000] [--json]

Embedding is excluded: vectors come from a table. Items lie in 20 namespaces of one user; one of them is searched. Both
stores do the same in turn, a few rounds of it, so that whatever the machine does meanwhile hits both; the median of the
rounds counts. Recall is measured against the nearest that brute force finds under the same namespace.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import statistics
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import temporary_folder
from benchmarks.speed import BATCH, DIMENSIONS, USERS, VectorTable, rate, text_of
from keeps import Keeps
from keeps.store.db.embedded import EmbeddedPostgres
from keeps_client.errors import NotConfiguredError

COUNT, ROUNDS, TOP = 200, 5, 10
LEAST = {1: 1.0, 16: 0.7}
LEAST_RECALL = 0.99
Work = Callable[[Any, int], Awaitable[Any]]


def run(sizes: list[int], *, as_json: bool) -> int:
    if importlib.util.find_spec("langgraph.store.postgres") is None:
        raise NotConfiguredError("the peer is not installed: pip install 'keeps[bench]'")
    rows = asyncio.run(_run(sizes))
    if as_json:
        print(json.dumps(rows))
    else:
        table = Table("items", "what", "Keeps", "LangGraph", "ratio", "least")
        for row in rows:
            table.add_row(*(str(row[name]) for name in ("items", "what", "keeps", "peer", "ratio", "least")))
        Console(width=None if sys.stdout.isatty() else 140).print(table)
    return 0 if all(row["ratio"] >= row["least"] for row in rows) else 1


async def _run(sizes: list[int]) -> list[dict[str, Any]]:
    from langgraph.store.postgres import AsyncPostgresStore

    from keeps.integrations.langgraph import KeepsStore

    rows: list[dict[str, Any]] = []
    table = VectorTable()

    async def embed(texts: list[str]) -> list[list[float]]:
        return [table.vector(text).tolist() for text in texts]

    index: Any = {"dims": DIMENSIONS, "embed": embed, "fields": ["text"]}
    with temporary_folder("stores") as folder:
        async with await EmbeddedPostgres.open(folder / "home") as server:
            admin = await asyncpg.connect(server.url("postgres", "postgres"))
            for size in sizes:
                await admin.execute("DROP DATABASE IF EXISTS ours")
                await admin.execute("CREATE DATABASE ours TEMPLATE keeps")
                await admin.execute("DROP DATABASE IF EXISTS peer")
                await admin.execute("CREATE DATABASE peer")
                pool: Any = {"min_size": 4, "max_size": 16}
                async with (
                    Keeps.open(database_url=server.url("keeps_app", "ours"), embedder=table) as keeps,
                    AsyncPostgresStore.from_conn_string(
                        server.url("postgres", "peer"), index=index, pool_config=pool
                    ) as peer,
                    KeepsStore(keeps, index=index) as ours,
                ):
                    await peer.setup()
                    await _filled(size, (ours, peer), table)
                    for name in ("ours", "peer"):
                        connection = await asyncpg.connect(server.url("postgres", name))
                        await connection.execute("VACUUM ANALYZE")
                        await connection.close()
                    rows += await _measured(size, ours, peer, table)
            await admin.close()
    return rows


def _place(number: int) -> tuple[str, str]:
    return "many", f"user-{number % USERS}"


async def _filled(size: int, stores: tuple[Any, Any], table: VectorTable) -> None:
    from langgraph.store.base import PutOp

    with Progress(transient=True) as bar:
        task = bar.add_task(f"storing {size:,} items in each", total=size)
        for start in range(0, size, BATCH):
            numbers = range(start, min(start + BATCH, size))
            texts = {number: text_of(number) for number in numbers}
            table.make(list(texts.values()))
            for store in stores:
                await store.abatch(
                    [PutOp(_place(number), str(number), {"text": text}) for number, text in texts.items()]
                )
            bar.advance(task, len(texts))


async def _measured(size: int, ours: Any, peer: Any, table: VectorTable) -> list[dict[str, Any]]:
    place = _place(3)
    queries = [text_of(50_000_000 + number) for number in range(COUNT)]
    new = [text_of(20_000_000 + number) for number in range(COUNT * (ROUNDS + 1) * len(LEAST))]
    table.make([*queries, *new])
    fresh = {id(ours): iter(new), id(peer): iter(new)}

    async def put(store: Any, number: int) -> None:
        await store.aput(("new", str(number % USERS)), f"{number}", {"text": next(fresh[id(store)])})

    async def get(store: Any, number: int) -> None:
        wanted = number * 7 % size
        assert await store.aget(_place(wanted), str(wanted)) is not None

    async def search(store: Any, number: int) -> None:
        await store.asearch(place, query=queries[number % COUNT], limit=TOP)

    rows: list[dict[str, Any]] = []
    works: dict[str, Work] = {"put": put, "get": get, "search": search}
    for what, work in works.items():
        for concurrent, least in LEAST.items():
            spent: list[tuple[float, float]] = []
            for _ in range(ROUNDS + 1):
                mine = await rate(COUNT, concurrent, lambda number, work=work: work(ours, number))
                theirs = await rate(COUNT, concurrent, lambda number, work=work: work(peer, number))
                spent.append((mine, theirs))
            chosen = spent[1:]  # the first warms up
            rows.append(
                {
                    "items": size,
                    "what": f"{what}, {concurrent} at once, /s",
                    "keeps": round(statistics.median(each[0] for each in chosen)),
                    "peer": round(statistics.median(each[1] for each in chosen)),
                    "ratio": round(statistics.median(each[0] / each[1] for each in chosen), 2),
                    "least": least,
                }
            )
    mine = [number for number in range(size) if _place(number) == place]
    matrix = np.stack([table._vector(text_of(number)) for number in mine])  # noqa: SLF001  of all, not of those kept
    found: dict[int, list[float]] = {id(ours): [], id(peer): []}
    for query in queries[:100]:
        truth = {str(mine[position]) for position in np.argsort(-(matrix @ table.vector(query)))[:TOP]}
        for store in (ours, peer):
            hits = await store.asearch(place, query=query, limit=TOP)
            found[id(store)].append(len(truth & {each.key for each in hits}) / TOP)
    recalls = [float(np.mean(found[id(store)])) for store in (ours, peer)]
    rows.append(
        {
            "items": size,
            "what": f"recall of the nearest {TOP} of {len(mine):,}",
            "keeps": round(recalls[0], 4),
            "peer": round(recalls[1], 4),
            "ratio": round(recalls[0], 4),
            "least": LEAST_RECALL,
        }
    )
    return rows

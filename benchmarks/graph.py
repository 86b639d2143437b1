"""Traversals of Keeps beside NetworkX on the same made-up graph, in the same run: the results must be equal.

    keeps bench graph [--entities 100000] [--relations 1000000] [--json]

The graph lies in PostgreSQL under row security and is asked as keeps_app; NetworkX holds it in the memory of this
process. Half of the edges are of one type, a quarter of each of two others; targets are skewed, so that there are hubs.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import networkx
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import temporary_folder
from keeps import Scope
from keeps.base.clock import utc_now
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps
from keeps.store.db.embedded import EmbeddedPostgres

STARTS = 40
DEPTH = 3
LIMIT = 10_000
KINDS = ("knows", "works_at", "owns")
console = Console(stderr=True)


def run(*, entities: int, relations: int, as_json: bool) -> int:
    """Exit code 1 where a result differs."""
    found = asyncio.run(_measured(entities, relations))
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        table = Table("what", "Keeps ms", "NetworkX ms", "ratio", "reached", "equal")
        for name, row in found.items():
            ratio = f"{row['keeps_ms'] / row['networkx_ms']:.1f}"
            table.add_row(
                name,
                f"{row['keeps_ms']:.2f}",
                f"{row['networkx_ms']:.2f}",
                ratio,
                str(row["reached"]),
                str(row["equal"]),
            )
        Console().print(table)
    return 0 if all(row["equal"] for row in found.values()) else 1


async def _measured(entities: int, relations: int) -> dict[str, Any]:
    random = np.random.default_rng(7)
    ids = [uuid4() for _ in range(entities)]
    sources = random.integers(0, entities, relations)
    targets = (entities * random.random(relations) ** 2).astype(np.int64)
    kinds = random.choice(3, relations, p=(0.5, 0.25, 0.25))
    # An edge is stored once: NetworkX knows no two of one type between two nodes, either.
    _, first = np.unique(np.stack((sources, targets, kinds)), axis=1, return_index=True)
    sources, targets, kinds = sources[first], targets[first], kinds[first]
    with temporary_folder("graph") as root:
        async with (
            await EmbeddedPostgres.open(root / "home") as server,
            await open_keeps(Settings(home=root, database_url=server.app_url, embedder="none")) as keeps,
        ):
            memory = keeps.memory(Scope("bench", "alice"))
            await memory.add_entity("seed")
            started = time.monotonic()
            with console.status("planting …"):
                await _plant(server.url("postgres"), ids, sources, targets, kinds)
            console.print(
                f"[dim]planted {entities:,} entities, {relations:,} relations in {time.monotonic() - started:.0f} s[/]"
            )
            graph: Any = networkx.MultiDiGraph()
            graph.add_nodes_from(range(entities))
            graph.add_edges_from((int(s), int(t), int(k)) for s, t, k in zip(sources, targets, kinds, strict=True))
            return await _compared(memory, graph, ids, random)


async def _compared(memory: Any, graph: Any, ids: list[UUID], random: Any) -> dict[str, Any]:
    number = {each: position for position, each in enumerate(ids)}
    simple, known = networkx.DiGraph(graph), networkx.DiGraph((s, t) for s, t, k in graph.edges(keys=True) if k == 0)
    known.add_nodes_from(graph.nodes)
    starts = [int(each) for each in random.integers(0, len(ids), STARTS)]
    pairs = list(itertools.pairwise(starts))
    found: dict[str, Any] = {}

    async def reach(start: int, **given: Any) -> dict[int, int]:
        result = await memory.traverse(ids[start], depth=DEPTH, limit=LIMIT, **given)
        assert not result.truncated
        return {number[each.entity_id]: depth for each, depth in zip(result.entities, result.depths, strict=True)}

    async def pattern(start: int) -> int:
        result = await memory.traverse(ids[start], path_pattern="* -knows-> * -knows-> * -works_at-> *", limit=LIMIT)
        return len(result.paths)

    async def shortest(pair: tuple[int, int]) -> int:
        result = await memory.shortest_path(ids[pair[0]], ids[pair[1]], direction="outgoing", max_depth=10)
        return len(result.paths[0]) - 1 if result.paths else -1

    def nx_pattern(start: int) -> int:
        count = 0
        for _, one, k in graph.out_edges(start, keys=True):
            for _, two, second in graph.out_edges(one, keys=True) if k == 0 and one != start else ():
                for _, three, m in graph.out_edges(two, keys=True) if second == 0 and two not in (start, one) else ():
                    count += m == 1 and three not in (start, one, two)
        return count

    def nx_shortest(pair: tuple[int, int]) -> int:
        try:
            return networkx.shortest_path_length(simple, *pair)
        except networkx.NetworkXNoPath:
            return -1

    def nx_reach(which: Any) -> Callable[[int], Any]:
        return lambda start: dict(networkx.single_source_shortest_path_length(which, start, cutoff=DEPTH))

    cases: list[tuple[str, list[Any], Callable[[Any], Awaitable[Any]], Callable[[Any], Any]]] = [
        ("depth 3, outgoing", starts, reach, nx_reach(simple)),
        ("depth 3, outgoing, one type", starts, lambda each: reach(each, relation_types=["knows"]), nx_reach(known)),
        ("pattern of 3 edges", starts, pattern, nx_pattern),
        ("shortest path, outgoing", pairs, shortest, nx_shortest),
    ]
    for name, asked, ours, theirs in cases:
        times: tuple[list[float], list[float]] = ([], [])
        equal, sizes = True, []
        for each in asked:
            started = time.perf_counter()
            mine = await ours(each)
            times[0].append(time.perf_counter() - started)
            started = time.perf_counter()
            expected = theirs(each)
            times[1].append(time.perf_counter() - started)
            equal = equal and mine == expected
            sizes.append(len(mine) if isinstance(mine, dict) else mine)
        found[name] = {
            "keeps_ms": 1e3 * statistics.median(times[0]),
            "networkx_ms": 1e3 * statistics.median(times[1]),
            "reached": int(statistics.median(sizes)),
            "equal": equal,
        }
    return found


async def _plant(url: str, ids: list[UUID], sources: Any, targets: Any, kinds: Any) -> None:
    connection = await asyncpg.connect(url)
    now = utc_now()
    await connection.execute(
        "INSERT INTO keeps.entities (tenant_id, entity_id, user_id, name, entity_type, aliases, properties, visibility,"
        " source, version, created_at, updated_at) SELECT 'bench', id, 'alice', 'entity ' || id, 'thing', '{}', '{}',"
        " 'private', 'user', 1, $2, $2 FROM unnest($1::uuid[]) AS id",
        ids,
        now,
    )
    for start in range(0, len(sources), 50_000):
        part = slice(start, start + 50_000)
        await connection.execute(
            "INSERT INTO keeps.relations (tenant_id, relation_id, user_id, source_id, target_id, relation_type,"
            " properties, weight, visibility, valid_from, event_id, version, created_at, updated_at) SELECT 'bench',"
            " gen_random_uuid(), 'alice', s, t, k, '{}', 1, 'private', $4, gen_random_uuid(), 1, $4, $4 FROM"
            " unnest($1::uuid[], $2::uuid[], $3::text[]) AS edge(s, t, k)",
            [ids[each] for each in sources[part]],
            [ids[each] for each in targets[part]],
            [KINDS[each] for each in kinds[part]],
            now,
        )
    await connection.execute("VACUUM ANALYZE keeps.entities")
    await connection.execute("VACUUM ANALYZE keeps.relations")
    await connection.close()

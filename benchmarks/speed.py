"""Speed of Keeps beside a floor of the same run: raw asyncpg as keeps_app, same tables and rows, RLS on, set_config.

    keeps bench speed [--sizes 10000,100000] [--1m] [--json]

Embedding is excluded: vectors come from a table. They have 32 hidden dimensions and noise, a spectrum near that of real
text;
each memory brings 25 token vectors. Medians; every ratio compares two things measured in the same minute. `many` is a
tenant of 20 users, `large` one user with a quarter of the rows. Beside LangGraph's store: `keeps bench stores`.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID
from zlib import crc32

import asyncpg
import numpy as np
from pgvector import HalfVector
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import temporary_folder
from keeps import Keeps, Scope
from keeps.base.clock import new_id, utc_now
from keeps.memory.memories.store import NewMemoryRow, written
from keeps.memory.memories.types import new_row
from keeps.memory.recall.conditions import select
from keeps.memory.recall.service import RecallService
from keeps.memory.recall.source import DatabaseSource
from keeps.models.embedder import Embedding, QueryEmbedding
from keeps.models.token_vectors import TOKEN_BYTES
from keeps.store.db.embedded import EmbeddedPostgres
from keeps_client.models import NewMemory, RecallRequest

DIMENSIONS = 384
BATCH = 500
USERS = 20
WORDS = [f"word{number}" for number in range(20_000)]


class VectorTable:
    """An embedder that makes up the vector of a text from its number: no model, and always the same."""

    model = "synthetic"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        random = np.random.default_rng(7)
        self._hidden = (random.normal(size=(32, DIMENSIONS)) / 32**0.5).astype(np.float32)
        self._tokens = random.integers(1, 255, size=TOKEN_BYTES * 40, dtype=np.uint8).tobytes()
        self._made: dict[str, Any] = {}

    def make(self, texts: Sequence[str]) -> None:
        """Make the vectors of these texts now, and forget those made before: what is timed later only looks them up."""
        self._made = {text: self._vector(text) for text in texts}

    def vector(self, text: str) -> Any:
        made = self._made.get(text)
        return self._vector(text) if made is None else made

    def _vector(self, text: str) -> Any:
        number = text.rpartition("#")[2]
        random = np.random.default_rng(int(number) if number.isdigit() else crc32(text.encode()))
        vector = random.normal(size=32).astype(np.float32) @ self._hidden
        vector += 0.3 * random.normal(size=DIMENSIONS).astype(np.float32)
        return vector / np.linalg.norm(vector)

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [
            Embedding(self.vector(text), self._tokens[len(text) % 15 * TOKEN_BYTES :][: 25 * TOKEN_BYTES])
            for text in texts
        ]

    async def embed_query(self, text: str) -> QueryEmbedding:
        tokens = np.random.default_rng(1).normal(size=(8, 128)).astype(np.float32) / 12
        return QueryEmbedding(self.vector(text), tokens, ("word1",) * 8)

    async def close(self) -> None: ...


def text_of(number: int) -> str:
    """About 18 words, common ones more often, and the number that its vector is made from."""
    random = np.random.default_rng(number)
    return " ".join(WORDS[int(rank)] for rank in np.minimum(random.zipf(1.3, 18), len(WORDS)) - 1) + f" #{number}"


def run(sizes: list[int], *, as_json: bool) -> int:
    rows = asyncio.run(_run(sizes))
    rows += _process_costs()
    if as_json:
        print(json.dumps(rows))
        return 0
    table = Table("size", "what", "Keeps", "floor or peer", "ratio", "note")
    for row in rows:
        table.add_row(*(str(row.get(name, "")) for name in ("size", "what", "keeps", "floor", "ratio", "note")))
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    return 0


async def _run(sizes: list[int]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    embedder = VectorTable()
    with temporary_folder("speed") as folder:
        async with await EmbeddedPostgres.open(folder / "home") as server:
            admin = await asyncpg.connect(server.url("postgres", "postgres"))
            for size in sizes:
                for name in ("ours", "raw"):
                    await admin.execute(f"DROP DATABASE IF EXISTS {name}")
                    await admin.execute(f"CREATE DATABASE {name} TEMPLATE keeps")
                async with Keeps.open(database_url=server.url("keeps_app", "ours"), embedder=embedder) as keeps:
                    raw = await _Raw.open(server.url("keeps_app", "raw"))
                    rows += await _writes(size, keeps, raw, embedder)
                    await _vacuum(server, "ours")
                    rows += await _recalls(size, keeps, server.url("keeps_app", "ours"), embedder)
                    await raw.close()
            await admin.close()
    return rows


class _Raw:
    """The floor: the least that stores the same rows, as keeps_app and under RLS."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self._sequence = 0

    @classmethod
    async def open(cls, url: str) -> _Raw:
        return cls(await asyncpg.create_pool(url, min_size=1, max_size=16, init=register_vector))

    async def introduce(self, scope: Scope) -> None:
        async with self._pool.acquire() as connection, connection.transaction():
            await self._become(connection, scope)
            await connection.execute(
                "INSERT INTO keeps.tenants (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING", scope.tenant_id
            )
            await connection.execute(
                "INSERT INTO keeps.users (tenant_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                scope.tenant_id,
                scope.user_id,
            )

    async def insert(self, scope: Scope, rows: Sequence[NewMemoryRow]) -> None:
        """One transaction: the settings, then a multi-row statement for each table."""
        images = json.dumps([row.row.as_json() for row in rows])
        start, self._sequence = self._sequence, self._sequence + len(rows)
        ids = [row.row.memory_id for row in rows]
        async with self._pool.acquire() as connection, connection.transaction():
            await self._become(connection, scope)
            await connection.execute(
                "INSERT INTO keeps.memories SELECT * FROM jsonb_populate_recordset(NULL::keeps.memories, $1::jsonb)",
                images,
            )
            await connection.execute(
                "INSERT INTO keeps.events (tenant_id, sequence, event_id, type, source, subject, time, user_id,"
                " visibility, data) SELECT $1, $2 + position, id, 'memory.written', 'raw', id::text, now(), $3,"
                " 'private', image FROM ROWS FROM (unnest($4::uuid[]), jsonb_array_elements($5::jsonb)) WITH ORDINALITY"
                " AS item(id, image, position)",
                scope.tenant_id,
                start,
                scope.user_id,
                ids,
                images,
            )
            await connection.execute(
                "INSERT INTO keeps.memory_words (tenant_id, memory_id, user_id, audience, life, agent, place, session,"
                " word_count, words, counts) SELECT $1, id, $2, $2, 'current', '', $6 + position, 0, 18, words, counts"
                " FROM unnest($3::uuid[], $4::text[], $5::bytea[]) WITH ORDINALITY AS item(id, words, counts,"
                " position)",
                scope.tenant_id,
                scope.user_id,
                ids,
                [row.words.words for row in rows],
                [row.words.counts for row in rows],
                start,
            )
            await connection.execute(
                "INSERT INTO keeps.memory_vectors (tenant_id, memory_id, model, user_id, audience, life, embedding,"
                " tokens) SELECT $1, id, 'synthetic', $2, $2, 'current', embedding, tokens FROM unnest($3::uuid[],"
                " $4::halfvec[], $5::bytea[]) AS item(id, embedding, tokens)",
                scope.tenant_id,
                scope.user_id,
                ids,
                [HalfVector(row.embedding.sentence) for row in rows if row.embedding],
                [row.embedding.tokens for row in rows if row.embedding],
            )

    async def close(self) -> None:
        await self._pool.close()

    @staticmethod
    async def _become(connection: Any, scope: Scope) -> None:
        await connection.execute(
            "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true)",
            scope.tenant_id,
            scope.user_id,
        )


async def _writes(size: int, keeps: Keeps, raw: _Raw, embedder: VectorTable) -> list[dict[str, Any]]:
    scopes = [Scope("many", f"user-{number}") for number in range(USERS)]
    large = Scope("large", "user")
    for scope in (*scopes, large):
        await raw.introduce(scope)
        await keeps.memory(scope).remember(f"hello #{0}")
    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(f"storing {size:,}", total=size)
        spent = {"keeps": 0.0, "raw": 0.0}
        counted = 0
        for start in range(0, size, BATCH):
            scope = large if start % (4 * BATCH) == 0 else scopes[start // BATCH % USERS]
            texts = [text_of(number) for number in range(start, start + BATCH)]
            embedder.make(texts)
            if start < 20_000:  # the floor is measured on the first of them, beside ours
                prepared = await _prepared(scope, texts, embedder)
                spent["raw"] += await _timed(lambda s=scope, p=prepared: raw.insert(s, p))
                took = await _timed(
                    lambda s=scope, t=texts: keeps.memory(s).remember_many(
                        [{"content": each} for each in t], index="now"
                    )
                )
                spent["keeps"] += took
                counted += BATCH
            else:
                await keeps.memory(scope).remember_many([{"content": each} for each in texts], index="now")
            progress.advance(bar, BATCH)
    rows = [_row(size, "batches of 500, rows/s", counted / spent["keeps"], counted / spent["raw"], "higher is better")]
    for concurrent, users, who in ((1, scopes, "20 users"), (16, scopes, "20 users"), (16, [large], "one user")):
        count = 600 if concurrent == 1 else 3_200
        first = 10_000_000 + size + concurrent * 100_000 * len(users)
        texts = [text_of(first + number) for number in range(count)]
        embedder.make(texts)
        owners = [users[number % len(users)] for number in range(count)]
        prepared = [(await _prepared(owner, [text], embedder))[0] for owner, text in zip(owners, texts, strict=True)]
        ours = await rate(count, concurrent, lambda n: keeps.memory(owners[n]).remember(texts[n]))
        floor = await rate(count, concurrent, lambda n: raw.insert(owners[n], [prepared[n]]))
        note = "row, event, words, vector; one commit each for the floor"
        rows.append(_row(size, f"single writes of {who}, {concurrent} at once, /s", ours, floor, note))
    return rows


async def _recalls(size: int, keeps: Keeps, url: str, embedder: VectorTable) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    connection = await asyncpg.connect(url)
    await register_vector(connection)
    recall = keeps.service(RecallService)
    database, caches = recall._database, recall._caches  # noqa: SLF001  the arm is measured apart from the rest
    for name, scope in (("many", Scope("many", "user-3")), ("large", Scope("large", "user"))):
        async with connection.transaction():
            await _Raw._become(connection, scope)  # noqa: SLF001
            stored = await connection.fetch(
                "SELECT memory_id, embedding FROM keeps.memory_vectors WHERE tenant_id = $1 AND audience = $2",
                scope.tenant_id,
                scope.user_id,
            )
        ids = [row["memory_id"] for row in stored]
        matrix = np.stack([row["embedding"].to_numpy().astype(np.float32) for row in stored])
        queries = [text_of(50_000_000 + number) for number in range(40)]
        embedder.make(queries)
        truth = [{ids[n] for n in np.argsort(-(matrix @ embedder.vector(query)))[:10]} for query in queries]
        found: list[float] = []

        async def arm(number: int, scope: Scope = scope, queries: list[str] = queries) -> list[UUID]:
            selection = select(RecallRequest(query="x"), scope, utc_now())
            async with database.scoped(scope) as tx:
                source = DatabaseSource(tx, selection, embedder.model, DIMENSIONS, caches)
                return list(await source.most_similar(embedder.vector(queries[number % 40]), 10))

        async def floor(number: int, sql: str, scope: Scope = scope, queries: list[str] = queries) -> list[Any]:
            async with connection.transaction(readonly=True):
                await _Raw._become(connection, scope)  # noqa: SLF001
                return await connection.fetch(sql, scope.tenant_id, HalfVector(embedder.vector(queries[number % 40])))

        for number in range(40):
            best = await arm(number)
            found.append(len(truth[number] & set(best)) / 10)
        exact = "SELECT memory_id FROM keeps.memory_vectors WHERE tenant_id = $1 ORDER BY embedding <=> $2 LIMIT 10"
        ours, floored = await _medians(arm, lambda n: floor(n, exact))
        note = f"recall@10 {np.mean(found):.4f}; floor: exact distance of all"
        rows.append(_row(size, f"{name}: nearest 10 of {len(ids):,}, ms", ours, floored, note, lower=True))
        memory = keeps.memory(scope)
        whole = await _median(40, lambda n: memory.recall(queries[n % 40], limit=10))
        rows.append(
            {
                "size": f"{size:,}",
                "what": f"{name}: whole recall, ms",
                "keeps": f"{whole:.2f}",
                "note": "words, vector, late interaction, neighbours, rows",
            }
        )
        whole = await rate(320, 16, lambda n: memory.recall(queries[n % 40], limit=10))
        rows.append({"size": f"{size:,}", "what": f"{name}: whole recalls, 16 at once, /s", "keeps": f"{whole:.0f}"})
    await connection.close()
    return rows


def _process_costs() -> list[dict[str, Any]]:
    """Time to import, beside a bare interpreter; memory of a process with the real model loaded."""

    def took(code: str) -> float:
        times = []
        for _ in range(5):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - started)
        return statistics.median(times)

    bare = took("pass")
    model = (
        "import asyncio, psutil\nfrom keeps.models.local import MiniLM\nasync def main():\n    model = MiniLM(); await"
        " model.embed(['some words of a usual length, as people write them'] * 64)\n   "
        " print(psutil.Process().memory_info().rss >> 20)\nasyncio.run(main())"
    )
    memory = subprocess.run([sys.executable, "-c", model], check=True, capture_output=True, text=True).stdout.strip()
    return [
        {
            "what": "import keeps, s",
            "keeps": f"{took('import keeps') - bare:.3f}",
            "floor": f"{bare:.3f}",
            "note": "over a bare interpreter",
        },
        {
            "what": "from keeps import Keeps, s",
            "keeps": f"{took('from keeps import Keeps') - bare:.3f}",
            "floor": f"{bare:.3f}",
        },
        {"what": "memory with the model loaded, MB", "keeps": memory},
    ]


async def _vacuum(server: EmbeddedPostgres, database: str) -> None:
    """As autovacuum does it within a minute: the visibility map makes the first pass index-only."""
    connection = await asyncpg.connect(server.url("postgres", database))
    await connection.execute("VACUUM (ANALYZE)")
    await connection.execute("CHECKPOINT")
    await connection.close()


async def _prepared(scope: Scope, texts: Sequence[str], embedder: VectorTable) -> list[NewMemoryRow]:
    embeddings = await embedder.embed(texts)
    return [
        written(new_row(NewMemory(content=text), scope, new_id(), utc_now()), embedding)
        for text, embedding in zip(texts, embeddings, strict=True)
    ]


async def _timed(work: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def _median(count: int, work: Callable[[int], Awaitable[Any]]) -> float:
    """Median milliseconds, one at a time, after ten to warm up."""
    for number in range(10):
        await work(number)
    return 1e3 * statistics.median([await _timed(lambda n=number: work(n)) for number in range(count)])


async def _medians(*works: Callable[[int], Awaitable[Any]]) -> list[float]:
    """Median milliseconds of works done in turn, one at a time: whatever the machine does meanwhile hits them all."""
    times: list[list[float]] = [[] for _ in works]
    for number in range(120):
        for work, spent in zip(works, times, strict=True):
            took = await _timed(lambda w=work, n=number: w(n))
            if number >= 20:
                spent.append(took)
    return [1e3 * statistics.median(each) for each in times]


async def rate(count: int, concurrent: int, work: Callable[[int], Awaitable[Any]]) -> float:
    """Return calls a second, `concurrent` at a time."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    return count / await _timed(lambda: asyncio.gather(*(worker() for _ in range(concurrent))))


def _row(size: int, what: str, ours: float, floor: float, note: str, *, lower: bool = False) -> dict[str, Any]:
    form = "{:.2f}" if lower else "{:,.0f}"
    return {
        "size": f"{size:,}",
        "what": what,
        "keeps": form.format(ours),
        "floor": form.format(floor),
        "ratio": f"{ours / floor:.2f}",
        "note": note,
    }

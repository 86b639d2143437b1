"""The plans that recall depends on, at a size where they matter: they must hold under RLS, as keeps_app."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any, cast

import asyncpg
import numpy as np
import pytest
from pgvector import HalfVector
from pgvector.asyncpg import register_vector

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.memory.recall import store
from keeps.memory.recall.caches import SignsCache, WordsCache
from keeps.memory.recall.conditions import select
from keeps.memory.recall.source import DatabaseSource
from keeps.memory.recall.store import QUERIES
from keeps.store.db.session import Database, Tx
from keeps_client.models import RecallRequest

ROWS, USERS = 20_000, 10
# Rows of 20 users, interleaved as real ones are; vectors of 32 hidden dimensions and noise, as real ones are; three
# words each.
PLANT = """
INSERT INTO keeps.tenants VALUES ('big'), ('other');
INSERT INTO keeps.users SELECT tenant, 'user-' || n FROM unnest(ARRAY['big', 'other']) AS tenant,
    generate_series(0, {users}) AS n;
CREATE TEMP TABLE made AS
SELECT CASE WHEN n % 4 = 0 THEN 'other' ELSE 'big' END AS tenant_id, gen_random_uuid() AS memory_id,
    'user-' || n % {users} AS user_id, n FROM generate_series(1, {rows}) AS n;
INSERT INTO keeps.memories (tenant_id, memory_id, user_id, kind, layer, content, content_type, metadata,
    tags, importance, visibility, content_hash, valid_from, version, created_at, updated_at)
SELECT tenant_id, memory_id, user_id, 'semantic', 'long_term', 'text ' || n, 'fact', '{{}}',
    '{{}}', 0.5, 'private', sha256(n::text::bytea), now() - n * interval '1 s', 1,
    now() - n * interval '1 s', now() FROM made;
"""
WORDS = """
INSERT INTO keeps.audience_words SELECT DISTINCT tenant_id, user_id, 'current', 0, 0, 0, 0 FROM made;
INSERT INTO keeps.memory_words SELECT tenant_id, memory_id, user_id, user_id, 'current', '', place, 0, 2,
    'common w' || n % 300, '\\x0101'
FROM (SELECT *, row_number() OVER (PARTITION BY tenant_id, user_id ORDER BY n) - 1 AS place FROM made) AS numbered;
UPDATE keeps.audience_words AS held SET memories = counted, words = 2 * counted, next_place = counted
FROM (SELECT tenant_id, user_id, count(*) AS counted FROM made GROUP BY 1, 2) AS made
WHERE made.tenant_id = held.tenant_id AND user_id = audience;
SELECT set_config('app.current_tenant', 'big', false);
SELECT keeps.fold_words(tenant_id, audience, life) FROM keeps.audience_words WHERE tenant_id = 'big';
"""


@pytest.fixture(scope="module")
async def big(server: Any, fresh_database: Any) -> AsyncGenerator[asyncpg.Connection]:
    name = await fresh_database()
    admin = await asyncpg.connect(server.url("postgres", name))
    await register_vector(admin)
    await admin.execute(PLANT.format(users=USERS, rows=ROWS))
    await admin.execute(WORDS)
    made = await admin.fetch("SELECT tenant_id, memory_id, user_id, n FROM made ORDER BY n")
    random = np.random.default_rng(3)
    hidden = random.normal(size=(32, 384)) / 32**0.5
    for start in range(0, ROWS, 5_000):
        part = made[start : start + 5_000]
        vectors = random.normal(size=(len(part), 32)) @ hidden + 0.3 * random.normal(size=(len(part), 384))
        await admin.execute(
            "INSERT INTO keeps.memory_vectors SELECT t, m, 'x', u, u, 'current', v, NULL"
            " FROM unnest($1::text[], $2::uuid[], $3::text[], $4::halfvec[]) AS item(t, m, u, v)",
            [row["tenant_id"] for row in part],
            [row["memory_id"] for row in part],
            [row["user_id"] for row in part],
            [HalfVector(v) for v in vectors],
        )
    await admin.execute(
        "VACUUM (ANALYZE) keeps.memory_vectors, keeps.memory_words, keeps.postings, keeps.audience_words,"
        " keeps.vector_bits, keeps.memories"
    )
    await admin.close()
    app = await asyncpg.connect(server.url("keeps_app", name))
    await register_vector(app)
    yield app
    await app.close()


async def plan(connection: asyncpg.Connection, sql: str, *values: Any, user: str = "user-3") -> str:
    async with connection.transaction():
        await connection.execute(
            "SELECT set_config('app.current_tenant', 'big', true), set_config('app.current_user', $1, true),"
            " set_config('plan_cache_mode', 'force_generic_plan', true)",
            user,
        )
        # Prepared: PostgreSQL explains a statement that is not by its values, whatever plans are asked for.
        await connection.execute(f"PREPARE explained AS {sql}")
        given = f"({', '.join(map(literal, values))})" if values else ""
        try:
            rows = await connection.fetch(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) EXECUTE explained{given}")
        finally:
            await connection.execute("DEALLOCATE explained")
        return "\n".join(row[0] for row in rows)


def literal(value: Any) -> str:
    if isinstance(value, list):
        value = "{" + ",".join(json.dumps(str(each)) for each in cast("list[object]", value)) + "}"
    elif isinstance(value, HalfVector):
        value = value.to_text()
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def words_plan_is_by_index(text: str) -> None:
    assert "Seq Scan" not in text.replace("Seq Scan on audience_words", "")  # a row for each audience
    assert "using postings_pkey" in text
    assert "memory_words_by_place" in text
    assert "using vector_bits_pkey" in text


async def test_postings_are_read_by_index_under_row_security(big: asyncpg.Connection) -> None:
    asked = "big", ["", "user-3"], ["current"]
    text = await plan(big, QUERIES["recall_words"].text, *asked, ["w3", "common"], "x", 52, 11, 1_000, 50_000)
    words_plan_is_by_index(text)
    text = await plan(big, QUERIES["recall_signs"].text, "big", "user-3", "current", "x", [1_024, 2_048])
    assert "using vector_bits_pkey" in text
    text = await plan(big, QUERIES["recall_vocabulary"].text, "big", "user-3", "current", ["c", "w1"], 1_000)
    assert "using postings_pkey" in text
    text = await plan(big, QUERIES["recall_newest_words"].text, *asked)
    assert "Seq Scan" not in text.replace("Seq Scan on audience_words", "")
    spots = ["user-3"] * 60, ["current"] * 60, list(range(60))
    text = await plan(big, QUERIES["recall_places_filtered"].text, "big", *spots, 60)
    assert "Index Scan using memory_words_by_place" in text
    assert "Seq Scan" not in text
    text = await plan(big, QUERIES["recall_near"].text, "big", *spots, "x", HalfVector(np.ones(384)), 60)
    assert "Index Scan using memory_words_by_place" in text
    assert "Index Scan using memory_vectors_pkey" in text
    assert "Seq Scan" not in text


async def test_without_statistics_each_candidate_is_looked_up(server: Any, fresh_database: Any) -> None:
    """As after an import into a new database: reading all vectors for each candidate took seconds of them."""
    name = await fresh_database()
    admin = await asyncpg.connect(server.url("postgres", name))
    await admin.execute("ALTER TABLE keeps.memories SET (autovacuum_enabled = false)")
    await admin.execute("ALTER TABLE keeps.memory_vectors SET (autovacuum_enabled = false)")
    await admin.execute(PLANT.format(users=1, rows=800))
    await admin.execute(
        "INSERT INTO keeps.memory_vectors SELECT tenant_id, memory_id, 'x', user_id, user_id, 'current', v,"
        " NULL FROM made, CAST(array_fill(n, ARRAY[384])::vector AS halfvec) AS v"
    )
    ids = [row["memory_id"] for row in await admin.fetch("SELECT memory_id FROM made WHERE tenant_id = 'big' LIMIT 50")]
    await admin.close()
    app = await asyncpg.connect(server.url("keeps_app", name))
    text = await plan(
        app, QUERIES["recall_candidates"].text, "big", [], [], [], ids, [], [], ["current"], "x", "false", user="user-0"
    )
    await app.close()
    assert "Rows Removed by Join Filter" not in text
    read = sum(int(float(rows) * int(loops)) for rows, loops in re.findall(r"actual rows=([\d.]+) loops=(\d+)", text))
    assert 3 * len(ids) <= read <= 20 * len(ids), text


async def test_accesses_of_others_do_not_slow_recall(server: Any, fresh_database: Any) -> None:
    """Counts of readings are of the tenant: nobody's look-up may go through those of the others."""
    name = await fresh_database()
    admin = await asyncpg.connect(server.url("postgres", name))
    await admin.execute(PLANT.format(users=2, rows=6_000))
    await admin.execute(
        "INSERT INTO keeps.memory_access (tenant_id, memory_id, access_count, last_accessed_at)"
        " SELECT tenant_id, memory_id, 1, now() FROM keeps.memories WHERE user_id = 'user-1'"
    )
    ids = [
        row["memory_id"]
        for row in await admin.fetch(
            "SELECT memory_id FROM keeps.memories WHERE tenant_id = 'big' AND user_id = 'user-0' LIMIT 10"
        )
    ]
    await admin.close()
    app = await asyncpg.connect(server.url("keeps_app", name))
    for statement, values in (
        ("recall_memories", ("big", ids)),
        ("recall_candidates", ("big", [], [], [], ids, [], [], ["current"], "x", "false")),
    ):
        text = await plan(app, QUERIES[statement].text, *values, user="user-0")
        removed = sum(int(rows) for rows in re.findall(r"Rows Removed by Filter: (\d+)", text))
        assert len(ids) == 10
        assert removed <= 10, text
    await app.close()


async def test_private_postings_are_read_by_index(server: Any, fresh_database: Any) -> None:
    """The planner expects to stop early, so a scan looks cheap to it if nearly all rows are of one user."""
    name = await fresh_database()
    admin = await asyncpg.connect(server.url("postgres", name))
    await admin.execute(PLANT.format(users=1, rows=6_000))
    await admin.execute(WORDS)
    await admin.execute("ANALYZE keeps.memory_words, keeps.postings, keeps.audience_words")
    await admin.close()
    app = await asyncpg.connect(server.url("keeps_app", name))
    asked = "big", ["", "user-0"], ["current"], ["w3"], None, 4, 11, 2_500, 50_000
    text = await plan(app, QUERIES["recall_words"].text, *asked, user="user-0")
    await app.close()
    words_plan_is_by_index(text)


async def test_without_tenant_nothing_is_scanned(big: asyncpg.Connection) -> None:
    lines = [row[0] for row in await big.fetch("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM keeps.memories")]
    assert any("One-Time Filter" in line or "never executed" in line or "rows=0" in line for line in lines)


async def test_lists_read_an_index_in_order(big: asyncpg.Connection) -> None:
    from datetime import UTC, datetime

    text = await plan(big, store.QUERIES["recall_memories"].text, "big", [])
    assert "Seq Scan" not in text
    from keeps.memory.memories.store import QUERIES as MEMORIES

    text = await plan(
        big, MEMORIES["memories_list"].text, "big", "user-3", None, None, 51, datetime.now(UTC), ["current", "archived"]
    )
    assert "memories_by_owner" in text
    assert "Seq Scan" not in text


async def test_stable_context_uses_its_own_index(big: asyncpg.Connection, server: Any) -> None:
    from keeps.memory.context.reading import PARTS, STANDING, STATEMENT

    given = "big", "user-3", "", list(PARTS), None, None, datetime.now(UTC), "x", 200, STANDING, "user-3"
    plans: list[str] = []
    admin = await asyncpg.connect(server.url("postgres", await big.fetchval("SELECT current_database()")))
    await admin.execute("LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET client_min_messages = log")
    await admin.execute("SET auto_explain.log_nested_statements = on; SET ROLE keeps_app")
    admin.add_log_listener(lambda _, message: plans.append(message.message))
    await admin.fetch(STATEMENT.text, *given)
    await admin.close()
    (standing,) = [each for each in plans if "'standing', NULL" in each]
    assert standing.count("memories_standing") >= 2
    assert not [each for each in plans if "Seq Scan on memories" in each]


async def test_pages_by_number_read_one_owners_rows(big: asyncpg.Connection) -> None:
    from keeps.memory.memories.store import QUERIES as MEMORIES

    now = datetime.now(UTC)
    for text in (
        await plan(big, MEMORIES["memories_count"].text, "big", "user-3", now),
        await plan(big, MEMORIES["memories_window"].text, "big", "user-3", now, 100, 50, False),
        await plan(big, MEMORIES["memory_subjects"].text, "big", "user-3", 100),
    ):
        assert "memories_by_owner" in text
        assert "Seq Scan" not in text


@pytest.mark.parametrize("parts_at_once", [64, 1])
@pytest.mark.parametrize("plan_cache_mode", ["force_custom_plan", "force_generic_plan"])
async def test_large_audience_returns_all_correct_rows(
    big: asyncpg.Connection, plan_cache_mode: str, parts_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PARTS_AT_ONCE", parts_at_once)

    class _Tx:
        scope, cell = Scope("big", "user-3"), "main"

        async def fetch(self, statement: Any, *values: Any) -> list[asyncpg.Record]:
            return await big.fetch(statement.text, *values)

        async def fetch_row(self, statement: Any, *values: Any) -> asyncpg.Record | None:
            return await big.fetchrow(statement.text, *values)

    tx = cast("Tx", _Tx())
    async with big.transaction():
        await big.execute(f"SET LOCAL plan_cache_mode = {plan_cache_mode}")
        await big.execute(
            "SELECT set_config('app.current_tenant', 'big', true), set_config('app.current_user', 'user-3', true)"
        )
        rows = await big.fetch("SELECT memory_id, embedding FROM keeps.memory_vectors WHERE tenant_id = 'big'")
        matrix = np.stack([row["embedding"].to_numpy().astype(np.float32) for row in rows])
        matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
        hits = 0
        selection = select(RecallRequest(query="x"), _Tx.scope, utc_now())
        for number in range(20):
            near, far = matrix[number * 50], matrix[number * 50 + 1]
            query = ((near + 0.7 * far) / np.linalg.norm(near + 0.7 * far)).astype(np.float32)
            truth = {rows[n]["memory_id"] for n in np.argsort(-(matrix @ query))[:10]}
            source = DatabaseSource(tx, selection, "x", 384, (SignsCache(), WordsCache()))
            found = await source.most_similar(query, 100)
            assert len(found) == 100
            hits += len(truth & set(list(found)[:10]))
    assert hits / 200 >= 0.99


async def test_sessions_use_generic_plans(database: Database, tenant: str) -> None:
    from keeps.store.db.statements import Statement

    async with database.scoped(Scope(tenant, "alice")) as tx:
        row = await tx.fetch_row(Statement("setting", "SELECT current_setting('plan_cache_mode') AS mode"))
    assert row["mode"] == "force_generic_plan"

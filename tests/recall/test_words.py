"""The lists that words are found by: after whatever happened to memories, they say what the memories say."""

from __future__ import annotations

import math
import random
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import numpy as np
import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.base.text.words import count_terms
from keeps.engine import Keeps, LocalMemory
from keeps.memory.indexing.service import Indexer
from keeps.memory.memories import store as memories
from keeps.memory.memories.changes import Changes
from keeps.memory.recall import store, words
from keeps.memory.recall.arms import ArmResults, score_text
from keeps.memory.recall.indexes import AudienceIndexes
from keeps.memory.recall.service import RecallService
from keeps.memory.recall.words import Postings
from keeps.memory.transfer.erasure import TenantService
from keeps.models.embedder import Embedding, QueryEmbedding
from keeps.store.db.session import Tx
from keeps.store.db.statements import Statement
from keeps.store.schema.files import read_sql_file
from keeps.store.schema.migrate import migrate
from keeps_client.models import RecallRequest
from tests.writing import in_write

VOCABULARY = [f"w{number}" for number in range(200)]
LISTED = """
SELECT audience, life, word, agent, get_byte(packed, at) << 24 | get_byte(packed, at + 1) << 16
    | get_byte(packed, at + 2) << 8 | get_byte(packed, at + 3) AS place, get_byte(packed, at + 10) AS count,
    get_byte(packed, at + 8) << 8 | get_byte(packed, at + 9) AS length
FROM keeps.postings, generate_series(0, octet_length(packed) - 1, 11) AS at WHERE tenant_id = $1
"""
HELD = """
SELECT memory_words.audience, memory_words.life, word, agent, place, get_byte(counts, number::integer - 1) AS count,
    word_count AS length
FROM keeps.memory_words JOIN keeps.audience_words USING (tenant_id, audience, life),
    unnest(string_to_array(memory_words.words, ' ')) WITH ORDINALITY AS said(word, number)
WHERE tenant_id = $1 AND place < folded_to
"""
COUNTED = """
SELECT audience, life, memories, words FROM keeps.audience_words WHERE tenant_id = $1 ORDER BY 1, 2
"""
COUNTED_ANEW = """
SELECT audience, life, count(*) AS memories, sum(word_count) AS words FROM keeps.memory_words WHERE tenant_id = $1
GROUP BY 1, 2 ORDER BY 1, 2
"""
SIGNED = """
SELECT audience, life, model, get_byte(packed, at) << 24 | get_byte(packed, at + 1) << 16 | get_byte(packed, at + 2)
    << 8 | get_byte(packed, at + 3) AS place, substring(packed FROM at + 5 FOR size - 4) AS signs
FROM keeps.vector_bits, generate_series(0, octet_length(packed) - 1, size) AS at WHERE tenant_id = $1
"""
MEANT = """
SELECT memory_words.audience, memory_words.life, model, place,
    substring(varbit_send(binary_quantize(embedding)::bit varying) FROM 5) AS signs
FROM keeps.memory_words JOIN keeps.memory_vectors USING (tenant_id, memory_id) WHERE tenant_id = $1
"""
WHERE_IT_BELONGS = """
SELECT count(*) FROM keeps.memories JOIN keeps.memory_words AS held USING (tenant_id, memory_id)
WHERE tenant_id = $1 AND (audience, life, agent) IS DISTINCT FROM (
    keeps.words_audience(visibility, deleted_at, memories.user_id),
    keeps.memory_life(deleted_at, superseded_by, archived_at), keeps.words_agent(kind, memories.agent_id))
"""


LEAVE = Statement("leave", "SELECT keeps.leave_lists($1)")


@pytest.fixture
async def superuser(server: Any) -> Any:
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    yield connection
    await connection.close()


async def check(connection: asyncpg.Connection, tenant: str) -> int:
    """That lists, signs, counts and memories say the same; returns how many entries the lists have."""
    signed = Counter(map(tuple, await connection.fetch(SIGNED, tenant)))
    assert signed == Counter(map(tuple, await connection.fetch(MEANT, tenant)))
    listed = Counter(map(tuple, await connection.fetch(LISTED, tenant)))
    assert listed == Counter(map(tuple, await connection.fetch(HELD, tenant)))
    assert await connection.fetch(COUNTED, tenant) == await connection.fetch(COUNTED_ANEW, tenant)
    assert await connection.fetchval(WHERE_IT_BELONGS, tenant) == 0
    return listed.total()


def texts(count: int, seed: int) -> list[str]:
    """Words are as frequent as in a language: few of them are most of a text."""
    chosen = np.random.default_rng(seed).zipf(1.4, (count, 12)) % len(VOCABULARY)
    return [" ".join(VOCABULARY[number] for number in row) + f" u{place}" for place, row in enumerate(chosen.tolist())]


class Made:
    """Vectors made from the letters of a text."""

    model, dimensions = "made", 24

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        return [Embedding(self._vector(text), None) for text in texts]

    async def embed_query(self, text: str) -> QueryEmbedding:
        return QueryEmbedding(self._vector(text), None, ())

    async def close(self) -> None: ...

    def _vector(self, text: str) -> Any:
        vector = np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dimensions).astype(np.float32)
        return vector / np.linalg.norm(vector)


async def test_postings_follow_all_changes(app_url: str, superuser: asyncpg.Connection, tenant: str) -> None:
    async with Keeps.open(database_url=app_url, embedder=Made()) as keeps:
        await _live(keeps.memory(Scope(tenant, "alice")), superuser, tenant)


async def _live(memory: LocalMemory, superuser: asyncpg.Connection, tenant: str) -> None:
    other = memory.keeps.memory(Scope(tenant, "bob", agent_id="helper"))
    receipts = await memory.remember_many([{"content": text} for text in texts(600, 1)], index="now")
    await other.remember_many(
        [{"content": text, "kind": "episodic", "visibility": "tenant"} for text in texts(400, 2)], index="later"
    )
    assert await check(superuser, tenant) > 4_000
    while await superuser.fetchval("SELECT count(*) FROM keeps.memory_pending WHERE tenant_id = $1", tenant):
        await memory.keeps.service(Indexer).index_user(other.scope)
    await check(superuser, tenant)
    chance = random.Random(3)
    for receipt in chance.sample(receipts, 48):
        match chance.randrange(6):
            case 0:
                await memory.forget(receipt.memory_id)
            case 1:
                await memory.forget(receipt.memory_id, hard=True)
            case 2:
                await memory.update(receipt.memory_id, content=f"changed {receipt.memory_id}")
            case 3:
                await memory.update(receipt.memory_id, visibility="tenant")
            case 4:
                await memory.forget(receipt.memory_id)
                await memory.restore(receipt.memory_id)
            case _:
                await memory.update(receipt.memory_id, tags=["told"])
    await check(superuser, tenant)
    await memory.remember_many([{"content": f"once more {text}"} for text in texts(300, 4)], index="later")
    while await superuser.fetchval("SELECT count(*) FROM keeps.memory_pending WHERE tenant_id = $1", tenant):
        await memory.keeps.service(Indexer).index_user(memory.scope)
    await check(superuser, tenant)
    (nearest,) = (await memory.recall("once more", scope="indexed", limit=1)).hits
    assert nearest.similarity is not None
    await memory.keeps.service(TenantService).erase_user(memory.scope, "alice")
    await check(superuser, tenant)
    assert {row["audience"] for row in await superuser.fetch(COUNTED, tenant)} == {""}
    await memory.keeps.service(TenantService).erase_tenant(Scope(tenant, "bob"))
    for table in ("postings", "audience_words", "memory_words", "vector_bits"):
        assert await superuser.fetchval(f"SELECT count(*) FROM keeps.{table} WHERE tenant_id = $1", tenant) == 0


@pytest.mark.load
async def test_postings_are_removed_in_bulk(
    app_url: str, superuser: asyncpg.Connection, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Keeps.open(database_url=app_url, embedder=Made()) as keeps:
        await _leave(keeps.memory(Scope(tenant, "alice")), superuser, tenant, monkeypatch)


async def _leave(
    memory: LocalMemory, superuser: asyncpg.Connection, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = memory.keeps.memory(Scope(tenant, "bob"))
    for who in (memory, other):
        await who.remember_many([{"content": text} for text in texts(600, 1)], index="now")
    text = "".join(f"# part {number}\n\n{said}\n\n" for number, said in enumerate(texts(700, 5))).encode()
    first = await memory.add_document(data=text, name="first.md")
    second = await memory.add_document(data=text.replace(b"u1", b"v1"), name="second.md")
    while await superuser.fetchval("SELECT count(*) FROM keeps.memory_pending WHERE tenant_id = $1", tenant):
        await memory.keeps.service(Indexer).index_user(memory.scope)
    before = await check(superuser, tenant)
    assert (await memory.delete_document(first.document.document_id)).removed > 100
    await check(superuser, tenant)
    assert (await memory.delete_document(second.document.document_id, hard=True)).removed > 500
    assert await check(superuser, tenant) < before
    ids = [each.memory_id for each in (await memory.list(limit=200)).items]
    await in_write(memory.keeps.database, other.scope, lambda tx: tx.execute(LEAVE, ids))
    await check(superuser, tenant)
    # With their older truths, of which PostgreSQL removes some before their turn comes.
    known: list[UUID] = []
    for said in ("once", "then", "now"):
        news = [{"content": f"{said} u{number}", "namespace": "n", "key": f"key {number}"} for number in range(260)]
        known = [each.memory_id for each in await memory.remember_many(news)]
    monkeypatch.setattr(memories, "REMOVED_AT_ONCE", 50)

    async def erase(tx: Tx) -> None:
        rows = [await memories.lock(tx, each) for each in known[:130]]
        await Changes("made", utc_now).erase(tx, [row for row in rows if row is not None])

    held = await check(superuser, tenant)
    await in_write(memory.keeps.database, memory.scope, erase)
    assert await check(superuser, tenant) < held


async def test_scores_equal_bm25_over_all_memories(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    said = texts(1_300, 5)
    for start in (0, 650):
        await memory.remember_many([{"content": text} for text in said[start : start + 650]], index="later")
    counts = [count_terms(text) for text in said]
    average = sum(each.total() for each in counts) / len(said)
    for number in range(20):
        question = " ".join(random.Random(number).sample(VOCABULARY[:40], 4) + VOCABULARY[number * 7 : number * 7 + 2])
        asked = count_terms(question)
        terms = list(asked)
        held = [sum(term in each for each in counts) for term in terms]
        expected = [
            sum(
                asked[term]
                * math.log(1 + (len(said) - n + 0.5) / (n + 0.5))
                * each[term]
                * 2.2
                / (each[term] + 1.2 * (0.25 + 0.75 * each.total() / average))
                for term, n in zip(terms, held, strict=True)
            )
            for each in counts
        ]
        found = await keeps.service(RecallService).recall(
            memory.scope, RecallRequest(query=question, scope="persistent", limit=60, explain=True)
        )
        got = {hit.memory.content: part.raw for hit in found.hits for part in _parts(hit) if part.name == "text"}
        for text, score in got.items():
            assert score == pytest.approx(expected[said.index(text)]), (question, text)
        best = sorted(zip(expected, said, strict=True), key=lambda each: -each[0])[:30]
        assert {text for score, text in best if score > best[-1][0] + 1e-9} <= got.keys()


async def test_stop_word_postings_are_skipped(app_url: str, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Keeps.open(database_url=app_url, embedder=Made()) as keeps:
        await _most_hold(keeps, tenant, monkeypatch)


async def _most_hold(keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeps.service(AudienceIndexes), "note", lambda _: None)  # The lists are read each time.
    memory = keeps.memory(Scope(tenant, "alice"))
    said = [f"harbour {'report ' * (number % 3 > 0)}{number % 7} w{number}" for number in range(600)]
    await memory.remember_many([{"content": text} for text in said], index="now")
    read: list[set[str]] = []

    def seen(held: Sequence[Postings], terms: Sequence[str]) -> Any:
        read.append({word for each in held for word in each.list_words})
        return words.read_matches(held, terms)

    monkeypatch.setattr("keeps.memory.recall.source.read_matches", seen)

    async def found(question: str, **more: Any) -> dict[str, Any]:
        asked = RecallRequest(query=question, limit=60, explain=True, **more)
        hits = (await keeps.service(RecallService).recall(memory.scope, asked)).hits
        return {hit.memory.content: hit.explanation.matched_terms for hit in hits if hit.explanation}

    every, rare = {"harbour", "report", "w17"}, "harbour report w17"
    whole = await found(rare)
    assert read[-1] == every, "of lists of up to 2,500 memories none is left out"
    monkeypatch.setattr(store, "COMMON_FROM", 100)
    short = await found(rare)
    assert read[-1] == {"w17"}
    assert said[17] in list(short)[:2], "its vectors say nothing"
    assert short[said[17]] == whole[said[17]] == ["harbour", "report", "w17"], "they are known all the same"
    assert len(await found("harbour report")) == 60, "where no word is rarer, all are read"
    assert read[-1] == {"harbour", "report"}
    monkeypatch.setattr(store, "MOST_ENTRIES", 750)
    assert len(await found("harbour report")) == 60
    assert len(read[-1]) == 1, "the shortest is always read"
    monkeypatch.setattr(store, "MOST_ENTRIES", 50_000)
    for more in ({"scope": "persistent"}, {"kinds": ("semantic",)}, {"as_of": utc_now()}):
        assert len(await found(rare, **more)) == 60, "they may be all that there is to find"
        assert read[-1] == every
    assert len(await found("harbourr")) == 60, "a misspelt word is looked for in the whole list"
    assert read[-1] == {"harbour"}
    await found(rare)
    assert read[-1] == {"w17"}
    monkeypatch.setattr(keeps.service(Indexer), "_embedder", None)
    await memory.remember("a harbour report, told last", index="later")
    await found(rare)
    assert read[-1] == every, "what has no vector is found by words alone"


async def test_memory_without_vector_is_found_by_frequent_words(
    keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeps.service(Indexer), "_embedder", None)
    monkeypatch.setattr(store, "COMMON_FROM", 100)
    memory = keeps.memory(Scope(tenant, "alice"))
    four = ["customer", "invoice", "shipment", "warehouse"]
    said = [" ".join(word for place, word in enumerate(four) if place != n % 4) + f" and more {n}" for n in range(700)]
    await memory.remember("A zebra", index="now")
    await memory.remember_many(
        [{"content": text} for text in [*said[:300], " ".join(four), *said[300:]]], index="later"
    )
    found = (await memory.recall("customer invoice shipment warehouse zebra", limit=10)).hits
    assert {hit.memory.content for hit in found[:2]} == {"A zebra", " ".join(four)}
    assert len(found) == 10


def test_word_read_in_one_audience_counts() -> None:
    """Of each of two words one audience has a short list, and the other a long one that was left out."""
    entries = np.array([(1, 1, 3, 1), (2, 2, 3, 9)], dtype=words.ENTRY).tobytes()

    def held(audience: str, rare: str, common: str) -> Postings:
        return Postings(audience, "current", 602, 2_000, 602, 602, [rare], [len(entries)], entries, [common], [600])

    found, asked = ArmResults(1_204), ["harbour", "report"]
    both = [held("", "harbour", "report"), held("alice", "report", "harbour")]
    score_text(found, words.read_matches(both, asked), Counter(asked), asked)
    assert found.all_words == pytest.approx(found.idf["harbour"] + found.idf["report"])
    assert found.scored.session.tolist() == [0] * 4, "nobody knows in how many conversations they are"
    score_text(found, words.read_matches(both[:1], asked), Counter(asked), asked)
    assert found.all_words == pytest.approx(found.idf["harbour"]), "what is read nowhere is asked of nobody"
    assert found.scored.session.tolist() == [0, 1]


def _parts(hit: Any) -> list[Any]:
    return [] if hit.explanation is None else hit.explanation.parts


async def test_selective_filter_finds_matches(memory: LocalMemory) -> None:
    await memory.remember_many([{"content": f"the harbour report {n}"} for n in range(900)], index="later")
    await memory.remember("a harbour, told last", tags=["rare"], index="later")
    await memory.remember("in the harbour where nobody looks, after many other words", tags=["rare"], index="later")
    found = await memory.recall("harbour report", tags=["rare"], scope="persistent", limit=5)
    assert len(found.hits) == 2


async def test_sparse_positions_are_compacted(app_url: str, superuser: asyncpg.Connection, tenant: str) -> None:
    async with Keeps.open(database_url=app_url, embedder=Made()) as keeps:
        await _close_up(keeps.memory(Scope(tenant, "alice")), superuser, tenant)


async def _close_up(memory: LocalMemory, superuser: asyncpg.Connection, tenant: str) -> None:
    await memory.remember_many([{"content": text} for text in texts(700, 6)], index="now")
    await superuser.execute(
        "UPDATE keeps.memory_words SET place = place + 20_000_000 WHERE tenant_id = $1 AND place >= 512", tenant
    )
    await superuser.execute(
        "UPDATE keeps.audience_words SET next_place = next_place + 20_000_000 WHERE tenant_id = $1", tenant
    )
    await memory.remember("and one more, w1 w2", index="later")
    await check(superuser, tenant)
    row = await superuser.fetchrow("SELECT * FROM keeps.audience_words WHERE tenant_id = $1", tenant)
    assert row is not None
    assert (row["memories"], row["next_place"], row["folded_to"]) == (701, 701, 512)
    assert (await memory.recall("one more", scope="persistent", limit=1)).hits[0].memory.content.startswith("and one")


async def test_agent_token_reads_no_postings_of_others(keeps: Keeps, tenant: str, raw: asyncpg.Connection) -> None:
    for agent in ("one", "two"):
        memory = keeps.memory(Scope(tenant, "alice", agent_id=agent))
        await memory.remember_many(
            [{"content": f"{agent}word {n}", "kind": "episodic"} for n in range(600)], index="later"
        )
    await keeps.memory(Scope(tenant, "alice")).remember("everybody's fact", index="later")
    async with raw.transaction():
        await raw.execute(
            "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', 'alice', true),"
            " set_config('app.bound_agent', 'one', true)",
            tenant,
        )
        words = {row["word"] for row in await raw.fetch("SELECT word FROM keeps.postings")}
        held = await raw.fetch("SELECT words FROM keeps.memory_words")
    assert "oneword" in words
    assert "twoword" not in words
    assert len(held) == 601
    bound = keeps.memory(Scope(tenant, "alice", agent_id="one", agent_bound=True))
    found = await bound.recall("twoword 7", scope="persistent", explain=True)
    assert all("two" not in hit.memory.content for hit in found.hits)
    assert all("twoword" not in hit.explanation.matched_terms for hit in found.hits if hit.explanation)


async def test_older_database_is_migrated(server: Any) -> None:
    """Up to the ninth revision words were kept by hashes: they are read anew from the memories."""
    name = f"keeps_{uuid4().hex[:8]}"
    superuser = await asyncpg.connect(server.url("postgres", "postgres"))
    await superuser.execute(f"CREATE DATABASE {name}")
    await superuser.close()
    superuser = await asyncpg.connect(server.url("postgres", name))
    await superuser.execute(read_sql_file("roles.sql"))
    await migrate(server.url("keeps_owner", name), "0009")
    await superuser.execute(
        """
        INSERT INTO keeps.tenants SELECT 't' || n FROM generate_series(0, 1) AS n;
        INSERT INTO keeps.users SELECT 't' || n % 2, 'u' || n FROM generate_series(0, 3) AS n;
        INSERT INTO keeps.memories (tenant_id, memory_id, user_id, kind, layer, content, content_type, metadata, tags,
            importance, visibility, content_hash, valid_from, version, created_at, updated_at, deleted_at)
        SELECT 't' || n % 2, gen_random_uuid(), 'u' || n % 4, 'episodic', 'short_term', 'running to harbour ' || n,
            'fact', '{"speaker": "Zoe"}', '{}', 0.5, CASE n % 3 WHEN 0 THEN 'tenant' ELSE 'private' END,
            sha256(n::text::bytea), now(), 1, now(), now(), CASE n % 7 WHEN 0 THEN now() END
        FROM generate_series(1, 6000) AS n;
        INSERT INTO keeps.memory_vectors (tenant_id, memory_id, model, user_id, audience, life, embedding, bits)
        SELECT tenant_id, memory_id, 'made', user_id, '', 'current', embedding, binary_quantize(embedding)::varbit
        FROM keeps.memories, CAST(ARRAY[sin(length(content)), cos(hashtext(content)), sin(hashtext(content)), -1]
            AS halfvec) AS embedding
        WHERE deleted_at IS NULL;
        """
    )
    await migrate(server.url("keeps_owner", name))
    for tenant in ("t0", "t1"):
        assert await check(superuser, tenant) > 4_000
        assert await superuser.fetchval("SELECT sum(octet_length(packed) / size) FROM keeps.vector_bits") > 5_000
        words = await superuser.fetch("SELECT words FROM keeps.memory_words WHERE tenant_id = $1", tenant)
        assert len(words) == 3_000
        assert {"run", "harbour", "zoe"} <= set(words[0]["words"].split(" "))
    await superuser.close()


async def test_write_cost_is_independent_of_size(server: Any, fresh_database: Any) -> None:
    """Plans that a connection makes while tables are empty must do when they are not."""
    name = await fresh_database()
    count = 400
    async with Keeps.open(database_url=server.url("keeps_app", name), embedder=Made()) as keeps:
        memory = keeps.memory(Scope("new", "alice"))
        for text in texts(count, 12):
            await memory.remember(text, index="now")
    superuser = await asyncpg.connect(server.url("postgres", name))
    read = """
        SELECT relname, indexrelname, idx_tup_read FROM pg_stat_user_indexes WHERE schemaname = 'keeps'
        UNION ALL SELECT relname, 'whole', seq_tup_read FROM pg_stat_user_tables WHERE schemaname = 'keeps'"""
    # A row of the tenant, of the user and of its audience is updated by each write: old versions of it are looked at.
    own = ("tenants", "users", "audience_words")
    rows = [tuple(row) for row in await superuser.fetch(read) if row[0] not in own]
    await superuser.close()
    assert [row for row in rows if row[2] > 20 * count] == []


async def test_hostile_text_does_not_block_postings(app_url: str, superuser: asyncpg.Connection, tenant: str) -> None:
    """The word of a list must fit into a page of an index, whatever somebody piles on a letter."""
    marks = [chr(code) for code in range(0xE31, 0xE4F) if code not in range(0xE3B, 0xE47)]
    piled = "ก" + "".join(random.Random(1).choices(marks, k=5_000))
    async with Keeps.open(database_url=app_url, embedder=Made()) as keeps:
        bob, alice = (keeps.memory(Scope(tenant, user)) for user in ("bob", "alice"))
        await bob.remember(piled, visibility="tenant", index="later")
        said = [{"content": text, "visibility": "tenant"} for text in texts(600, 13)]
        await alice.remember_many(said, index="later")
        await alice.remember("and one more", visibility="tenant", index="later")
    assert await superuser.fetchval("SELECT count(*) FROM keeps.postings WHERE tenant_id = $1", tenant) > 100

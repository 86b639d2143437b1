"""Keeps for the public suite agent-memory-integrity: its store for edits at rest, and its recall for injections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import asyncpg
from agmi.adapters.base import MemoryAdapter, Record
from agmi.adapters.semantic_base import MemoryItem, Retrieved, SemanticMemoryAdapter

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.models.embedder import Embedder
from keeps.store.events.service import EventService
from keeps_client.models import Anchor
from keeps_client.models.names import Trust

TENANT, OWNER, OTHER = "acme", "alice", "bob"


@dataclass(frozen=True)
class Rows:
    """A table that the suite edits: what names a slot, and what an edit moves to another slot."""

    table: str
    slot: str
    fixed: frozenset[str]
    where: str = "true"


EVENTS = Rows("events", "sequence", frozenset({"tenant_id", "sequence", "recorded_at", "user_id", "previous_hash"}))
MEMORIES = Rows("memories", "memory_id", frozenset({"tenant_id", "memory_id", "user_id", "content_hash"}))


class KeepsAtRest(MemoryAdapter):
    """The rows of one table of a database of its own, edited by whoever owns PostgreSQL.

    Runs in a thread without an event loop. `anchored`: an anchor is held outside after each genuine write.
    """

    detection_point = "audit"
    supports_replay = supports_metadata = supports_snapshot = True

    def __init__(self, server: Any, rows: Rows, *, anchored: bool, embedder: Embedder) -> None:
        self.name = f"keeps-{rows.table}"
        self._server, self._rows, self._anchored, self._embedder = server, rows, anchored, embedder
        self._anchors: list[Anchor] = []
        self._loop = asyncio.Runner()
        self._keeps: Keeps | None = None
        self._database = ""

    def setup(self) -> None:
        self._database, self._anchors = f"agmi_{uuid4().hex[:8]}", []
        self._run(self._execute(f"CREATE DATABASE {self._database} TEMPLATE keeps", database="postgres"))
        self._open()

    def teardown(self) -> None:
        self._close()
        self._run(self._execute(f"DROP DATABASE {self._database}", database="postgres"))

    def reload(self) -> None:
        self._close()
        self._open()

    def seed(self, n: int) -> None:
        self._remember(OWNER, [f"Seed {number} of alice." for number in range(n)])

    def seed_other(self, n: int) -> None:
        self._remember(OTHER, [f"Seed {number} of bob." for number in range(n)])

    def append_genuine(self) -> None:
        self._remember(OWNER, ["A later one of alice."])

    def read_all_raw(self) -> list[Record]:
        return self._read(OWNER)

    def read_other_raw(self) -> list[Record]:
        return self._read(OTHER)

    def write_raw(self, record: Record) -> None:
        held = self._read(OWNER)
        if record.seq < len(held):
            self._put(held[record.seq], record.fields)
        else:
            self._run(self._insert(record.fields))

    def delete_raw(self, seq: int) -> None:
        self._edit("DELETE FROM keeps.{table} WHERE {slot}", self._read(OWNER)[seq])

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        self._put(self._read(OWNER)[victim_seq], donor.fields)

    def read_meta(self, seq: int) -> dict[str, Any]:
        fields = self._read(OWNER)[seq].fields
        return {name: fields[name] for name in ("agent_id", "visibility", "source")}

    def write_meta(self, seq: int, meta: dict[str, Any]) -> None:
        assert meta["agmi_meta_tampered"]
        self._edit("UPDATE keeps.{table} SET agent_id = 'agmi_meta_tampered' WHERE {slot}", self._read(OWNER)[seq])

    def mutate_payload(self, record: Record) -> Record:
        said = record.fields["data"]["memory"] if self._rows is EVENTS else record.fields
        said["content"] += "  [TAMPERED]"
        return record

    def identity_of(self, record: Record) -> str:
        return str(record.fields[self._rows.slot])

    def payload_of(self, record: Record) -> str:
        return json.dumps(record.fields["data"] if self._rows is EVENTS else record.fields["content"], sort_keys=True)

    def owner_of(self, record: Record) -> str:
        return record.fields["user_id"]

    def snapshot_store(self) -> str:
        """Copy the whole database, as its files are copied while nothing runs."""
        copy = f"{self._database}_copy"
        self._close()
        self._run(self._execute(f"CREATE DATABASE {copy} TEMPLATE {self._database}", database="postgres"))
        self._open()
        return copy

    def restore_store(self, token: object) -> None:
        self._close()
        for statement in (f"DROP DATABASE {self._database}", f"ALTER DATABASE {token} RENAME TO {self._database}"):
            self._run(self._execute(statement, database="postgres"))
        self._open()

    def verify(self) -> bool:
        result = self._run(self._verified())
        self.verify_detail = result
        return result is None

    def end(self) -> None:
        """End the loop after the last attack."""
        self._loop.close()

    async def _verified(self) -> str | None:
        assert self._keeps is not None
        service, scope = self._keeps.service(EventService), Scope(TENANT, OWNER)
        chain = await service.verify_chain(scope, self._anchors)
        if chain.broken is not None:
            return f"event {chain.broken.sequence}: {chain.broken.problem}"
        rows = await service.verify(scope)
        return None if rows.equal else f"{rows.differences[0].table}: {rows.differences[0].problem}"

    def _remember(self, user: str, texts: list[str]) -> None:
        async def write() -> None:
            assert self._keeps is not None
            for text in texts:
                await self._keeps.memory(Scope(TENANT, user)).remember(text)
            if self._anchored:
                self._anchors.append(await self._keeps.service(EventService).chain_head(Scope(TENANT, user)))

        self._run(write())

    def _read(self, user: str) -> list[Record]:
        rows = self._run(
            self._fetch(
                f"SELECT to_jsonb(held)::text AS row FROM keeps.{self._rows.table} AS held"
                f" WHERE tenant_id = '{TENANT}' AND user_id = '{user}' ORDER BY {self._rows.slot}"
            )
        )
        return [Record(seq=number, fields=json.loads(row["row"])) for number, row in enumerate(rows)]

    def _put(self, slot: Record, fields: dict[str, Any]) -> None:
        moved = ", ".join(sorted(set(fields) - self._rows.fixed))
        self._edit(
            f"UPDATE keeps.{{table}} SET ({moved}) = (SELECT {moved}"
            " FROM jsonb_populate_record(NULL::keeps.{table}, $1::text::jsonb)) WHERE {slot}",
            slot,
            json.dumps(fields),
        )

    async def _insert(self, fields: dict[str, Any]) -> None:
        """Add a row that looks like the others, and count it."""
        if self._rows is EVENTS:
            await self._execute(
                f"UPDATE keeps.tenants SET last_sequence = last_sequence + 1 WHERE tenant_id = '{TENANT}'"
            )
            fields = {**fields, "sequence": fields["sequence"] + 1, "event_id": str(uuid4())}
        else:
            fields = {**fields, "memory_id": f"ffffffff-{str(uuid4())[9:]}", "content_hash": "\\x" + uuid4().hex * 2}
        await self._execute(
            f"INSERT INTO keeps.{self._rows.table} SELECT *"
            f" FROM jsonb_populate_record(NULL::keeps.{self._rows.table}, $1::text::jsonb)",
            json.dumps(fields),
        )

    def _edit(self, statement: str, record: Record, *values: object) -> None:
        slot = f"tenant_id = '{TENANT}' AND {self._rows.slot} = '{record.fields[self._rows.slot]}'"
        self._run(self._execute(statement.replace("{table}", self._rows.table).replace("{slot}", slot), *values))

    async def _execute(self, statement: str, *values: object, database: str = "") -> None:
        await self._fetch(statement, *values, database=database)

    async def _fetch(self, statement: str, *values: object, database: str = "") -> list[asyncpg.Record]:
        """Run a statement as PostgreSQL's administrator, whom no trigger stops."""
        connection = await asyncpg.connect(self._server.url("postgres", database or self._database))
        try:
            await connection.execute("SET session_replication_role = replica")
            return await connection.fetch(statement, *values)
        finally:
            await connection.close()

    def _open(self) -> None:
        async def opened() -> Keeps:
            url = self._server.url("keeps_app", self._database)
            return await Keeps.open(database_url=url, embedder=self._embedder).__aenter__()

        self._keeps = self._run(opened())

    def _close(self) -> None:
        if self._keeps is not None:
            self._run(self._keeps.close())
            self._keeps = None

    def _run(self, what: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run(what)


class KeepsRecall(SemanticMemoryAdapter):
    """Recall as an agent uses it, in a new tenant after each reset. Runs in a thread beside the engine's loop.

    The label of a write is stored as the trust of the memory, as an agent marks what it read (`metadata.trust`). Keeps
    has no signatures of memories, so those of the suite are not checked. `min_trust`: the filter of each recall.
    """

    name = "keeps-recall"

    def __init__(self, keeps: Keeps, loop: asyncio.AbstractEventLoop, *, min_trust: Trust | None = None) -> None:
        self._keeps, self._loop, self._tenant = keeps, loop, ""
        self._min_trust: Trust | None = min_trust

    def reset(self) -> None:
        self._tenant = f"agmi-{uuid4().hex[:12]}"

    def add_memory(self, item: MemoryItem) -> None:
        memory = self._keeps.memory(Scope(self._tenant, item.user_id))
        tags = [f"{name}={value}" for name, value in item.metadata.items()]
        metadata = {"trust": "low"} if item.source != "user" else {}
        self._run(memory.remember(item.text, role="user", metadata=metadata, tags=tags))

    def retrieve(self, query: str, user_id: str, k: int = 5) -> list[Retrieved]:
        return self._recall(query, user_id, k, {})

    def retrieve_where(self, query: str, user_id: str, where: dict[str, Any], k: int = 5) -> list[Retrieved]:
        return self._recall(query, user_id, k, {"tags": [f"{name}={value}" for name, value in where.items()]})

    def measured_on(self) -> str:
        return f"Keeps with its default model and its quarantine, min_trust={self._min_trust}"

    def _recall(self, query: str, user_id: str, k: int, filters: dict[str, Any]) -> list[Retrieved]:
        memory = self._keeps.memory(Scope(self._tenant, user_id))
        found = self._run(memory.recall(query, limit=k, min_trust=self._min_trust, **filters))
        return [Retrieved(hit.memory.content, hit.memory.user_id, hit.score) for hit in found.hits]

    def _run(self, what: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

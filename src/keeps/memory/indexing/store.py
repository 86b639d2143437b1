"""Run the statements of the index."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pgvector import HalfVector

from keeps.base.clock import new_id
from keeps.base.text.searched import embedded_text
from keeps.models.embedder import Embedding
from keeps.store.db.session import Database, Tx
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent

QUERIES = Statements("keeps.memory.indexing")


@dataclass(frozen=True, slots=True)
class PendingUser:
    """A user with memories that wait for a vector."""

    tenant_id: str
    user_id: str
    pending: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class PendingMemory:
    memory_id: UUID
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class Counts:
    """The contents of an installation. `vectors`: number of vectors by model."""

    tenants: int
    users: int
    memories: int
    events: int
    vectors: dict[str, int]


async def users_to_index(database: Database, model: str, at_most: int = 1_000) -> list[PendingUser]:
    found = await database.cells.everywhere(QUERIES["users_to_index"], model, at_most)
    return [PendingUser(**dict(row)) for rows in found.values() for row in rows]


async def counts(database: Database) -> Counts:
    by_cell = await database.cells.everywhere(QUERIES["installation_counts"])
    rows = [row for cell_rows in by_cell.values() for row in cell_rows]
    vectors = Counter[str]()
    for row in rows:
        vectors.update(json.loads(row["vectors"]))
    totals = {name: sum(row[name] for row in rows) for name in ("tenants", "users", "memories", "events")}
    return Counts(**totals, vectors=dict(vectors))


async def waiting(database: Database) -> tuple[int, datetime | None]:
    """Return how many memories and items wait for a vector, and the time since which the oldest waits."""
    by_cell = await database.cells.everywhere(QUERIES["index_waiting"])
    rows = [row for cell_rows in by_cell.values() for row in cell_rows]
    return sum(row["waiting"] for row in rows), min((row["since"] for row in rows if row["since"]), default=None)


async def queue_memories(tx: Tx, model: str) -> None:
    """Queue what has no vector of this model, such as after a change of the model."""
    await tx.execute(QUERIES["memories_queue"], tx.scope.tenant_id, tx.scope.user_id, model)


async def memories_to_index(tx: Tx, at_most: int) -> tuple[list[PendingMemory], list[UUID]]:
    """Return the first memories of the queue, and those in it that were forgotten meanwhile."""
    rows = await tx.fetch(QUERIES["memories_to_index"], tx.scope.tenant_id, tx.scope.user_id, at_most)
    waiting = [
        PendingMemory(
            row["memory_id"],
            row["version"],
            embedded_text(
                row["kind"], row["content"], json.loads(row["metadata"]), row["trigger_condition"], row["layer"]
            ),
        )
        for row in rows
        if row["version"] is not None
    ]
    return waiting, [row["memory_id"] for row in rows if row["version"] is None]


async def insert_vectors(
    tx: Tx,
    model: str,
    memories: Sequence[PendingMemory],
    embeddings: Sequence[Embedding],
    forgotten: Sequence[UUID],
    now: datetime,
) -> int:
    """Store vectors and return their number. Memories changed in the meantime are left for the next round."""
    rows = await tx.fetch(
        QUERIES["vectors_insert"],
        tx.scope.tenant_id,
        model,
        [memory.memory_id for memory in memories],
        [memory.version for memory in memories],
        [HalfVector(embedding.sentence) for embedding in embeddings],
        [embedding.tokens for embedding in embeddings],
    )
    tried = [*(memory.memory_id for memory in memories), *forgotten]
    await tx.execute(QUERIES["memory_pending_done"], tx.scope.tenant_id, tried, model)
    if rows:
        await events.append(
            tx,
            [
                NewEvent(
                    new_id(),
                    "memory.indexed",
                    str(row["memory_id"]),
                    now,
                    "private",
                    None,
                    {"key": row["key"], "index_type": "vector", "model": model, "memory_id": str(row["memory_id"])},
                )
                for row in rows
            ],
        )
    return len(rows)


async def delete_other_models(tx: Tx, model: str) -> None:
    await tx.execute(QUERIES["vectors_of_other_models_delete"], tx.scope.tenant_id, tx.scope.user_id, model)


async def delete_vectors(tx: Tx) -> None:
    await tx.execute(QUERIES["vectors_delete"], tx.scope.tenant_id, tx.scope.user_id)


async def users_with_other_models(database: Database, model: str) -> list[tuple[str, str]]:
    found = await database.cells.everywhere(QUERIES["users_with_other_models"], model)
    return [(row["tenant_id"], row["user_id"]) for rows in found.values() for row in rows]


async def server_version(database: Database) -> str:
    (row,) = await database.privileged_read(QUERIES["server_version"])
    return row["versions"]


async def storage_bytes(database: Database) -> int:
    found = await database.cells.everywhere(QUERIES["storage_bytes"])
    return sum(row["bytes"] for rows in found.values() for row in rows)

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


UserId = tuple[str, str]
"""A tenant and a user of it."""


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


async def users_to_index(
    database: Database, model: str, after: UserId = ("", ""), at_most: int = 1_000
) -> tuple[list[UserId], UserId | None]:
    """Return users with something that has no vector of the model, after one of them in the order of their ids.

    And the user to go on after; None at the end. Each cell is asked for up to `at_most`.
    """
    found = await database.cells.everywhere(QUERIES["users_to_index"], model, *after, at_most)
    pages = [[(row["tenant_id"], row["user_id"]) for row in rows] for rows in found.values()]
    go_on_after = min((page[-1] for page in pages if len(page) >= at_most), default=None)
    return [user for page in pages for user in page], go_on_after


async def users_waiting(database: Database, at_most: int = 1_000) -> list[UserId]:
    """Return users with something that waits for its first vector, at most so many a cell."""
    found = await database.cells.everywhere(QUERIES["users_waiting"], at_most)
    return [(row["tenant_id"], row["user_id"]) for rows in found.values() for row in rows]


async def waiting_of_user(tx: Tx) -> int:
    """Return how many memories and items of the user wait for a vector."""
    row = await tx.fetch_row(QUERIES["waiting_of_user"], tx.scope.tenant_id, tx.scope.user_id)
    return row["waiting"] if row else 0


async def counts(database: Database) -> Counts:
    by_cell = await database.cells.everywhere(QUERIES["installation_counts"])
    rows = [row for cell_rows in by_cell.values() for row in cell_rows]
    vectors = Counter[str]()
    for row in rows:
        vectors.update(json.loads(row["vectors"]))
    totals = {name: sum(row[name] for row in rows) for name in ("tenants", "users", "memories", "events")}
    return Counts(**totals, vectors=dict(vectors))


async def missing(database: Database, model: str) -> tuple[int, datetime | None]:
    """Return how many memories and items have no vector of the model, and since when the oldest waits for its first."""
    by_cell = await database.cells.everywhere(QUERIES["index_missing"], model)
    rows = [row for cell_rows in by_cell.values() for row in cell_rows]
    return sum(row["missing"] for row in rows), min((row["since"] for row in rows if row["since"]), default=None)


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


async def users_with_other_models(database: Database, model: str) -> list[UserId]:
    found = await database.cells.everywhere(QUERIES["users_with_other_models"], model)
    return [(row["tenant_id"], row["user_id"]) for rows in found.values() for row in rows]


async def server_version(database: Database) -> str:
    (row,) = await database.privileged_read(QUERIES["server_version"])
    return row["versions"]


async def storage_bytes(database: Database) -> int:
    found = await database.cells.everywhere(QUERIES["storage_bytes"])
    return sum(row["bytes"] for rows in found.values() for row in rows)

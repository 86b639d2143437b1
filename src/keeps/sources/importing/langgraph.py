"""The `store` table of LangGraph's PostgresStore, read by its URL. Items become items of Keeps' LangGraph store."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import asyncpg

from keeps.sources.importing.records import Record
from keeps_client.errors import UnavailableError, ValidationFailedError

NAME = "langgraph"
_SCHEMES = ("postgresql://", "postgres://")
_PAGE = 500
_CONNECT_SECONDS = 15
_COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = 'store' AND table_schema = ANY ($1)"
_ROWS = """
SELECT prefix, key, value::text AS value, ttl_minutes::float8 AS ttl_minutes FROM store
WHERE (prefix, key) > ($1, $2) AND (expires_at IS NULL OR expires_at > now())
ORDER BY prefix, key LIMIT $3
"""
_ROWS_WITHOUT_TTL = """
SELECT prefix, key, value::text AS value, NULL::float8 AS ttl_minutes FROM store
WHERE (prefix, key) > ($1, $2) ORDER BY prefix, key LIMIT $3
"""


def is_url(place: str) -> bool:
    return place.startswith(_SCHEMES)


async def records(url: str, owner: str | None) -> AsyncIterator[Record]:
    """Yield a record for each item; with an owner, for those whose namespace has it as a label.

    Raises UnavailableError without a connection, and ValidationFailedError without the table.
    """
    try:
        connection = await asyncpg.connect(url, timeout=_CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise UnavailableError(f"cannot connect to the database of LangGraph ({type(error).__name__})") from None
    try:
        schemas = await connection.fetchval("SELECT current_schemas(false)")
        columns = {row["column_name"] for row in await connection.fetch(_COLUMNS, schemas)}
        if not {"prefix", "key", "value"} <= columns:
            raise ValidationFailedError("the database has no table `store` of LangGraph: `prefix`, `key`, `value`")
        statement = _ROWS if {"expires_at", "ttl_minutes"} <= columns else _ROWS_WITHOUT_TTL
        prefix, key = "", ""
        while rows := await connection.fetch(statement, prefix, key, _PAGE):
            for row in rows:
                prefix, key = row["prefix"], row["key"]
                labels = prefix.split(".")
                if owner is None or owner in labels:
                    yield _record(prefix, key, row["value"], row["ttl_minutes"])
    finally:
        await connection.close()


def _record(prefix: str, key: str, text: str, ttl_minutes: float | None) -> Record:
    place = f"store[{prefix}/{key}]"
    value: object = json.loads(text)
    if not isinstance(value, dict):
        return Record(place, None, "its value is not an object")
    item = {"namespace": tuple(prefix.split(".")), "key": key, "value": value, "ttl_minutes": ttl_minutes}
    return Record(place, None, item=item)

"""Descriptions of the listed tables by the server, and the unneeded rights of a role.

Runs in the process that queries databases (keeps.sources.databases.host).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy

from keeps.sources.databases.values import plain


class RefusedError(Exception):
    """A refusal because of the server, or of what it reports."""


def described(connection: Any, job: dict[str, Any], rights: Callable[[Any], list[str]]) -> dict[str, Any]:
    """Return the listed tables as the server describes them.

    A description has columns with types and comments, keys, and sample values if allowed.
    """
    inspector = sqlalchemy.inspect(connection)
    default = inspector.default_schema_name
    tables: list[dict[str, Any]] = []
    for title, wanted in job["tables"].items():
        schema, _, name = title.rpartition(".")
        place = schema or None
        if not inspector.has_table(name, schema=place):
            raise RefusedError(
                f"there is no table {title!r}, or its role may not see it; if there was one, remove the database and"
                " add it with those it has"
            )
        columns = {column["name"]: column for column in inspector.get_columns(name, schema=place)}
        if missing := [column for column in wanted if wanted != "*" and column not in columns]:
            raise RefusedError(
                f"{title!r} has no column {missing[0]!r}; if it had one, remove the database and add it with those it"
                " has"
            )
        shown = list(columns) if wanted == "*" else list(wanted)
        samples = job["samples"].get(title, [])
        if missing := [column for column in samples if column not in shown]:
            raise RefusedError(f"{title!r}: samples need a column that may be queried, and {missing[0]!r} is not one")
        keys = inspector.get_pk_constraint(name, schema=place).get("constrained_columns") or []
        tables.append(
            {
                "name": name,
                "database_schema": None if job["dialect"] == "sqlite" else schema or default,
                "default": not schema or schema == default,
                "whole": wanted == "*",
                "comment": _comment(inspector, name, place),
                "columns": [
                    {
                        "name": column,
                        "type": _short(str(columns[column]["type"]), 100),
                        "comment": _short(columns[column].get("comment"), 300),
                        "key": column in keys,
                        "samples": _samples(connection, name, place, column) if column in samples else [],
                    }
                    for column in shown
                ],
                "references": [
                    {
                        "columns": key["constrained_columns"],
                        "table": key["referred_table"],
                        "to": key["referred_columns"],
                    }
                    for key in inspector.get_foreign_keys(name, schema=place)
                    if set(key["constrained_columns"]) <= set(shown)
                ],
            }
        )
    known = {table["name"]: {column["name"] for column in table["columns"]} for table in tables}
    for table in tables:  # A foreign key to an unlisted table would reveal it.
        table["references"] = [
            one for one in table["references"] if set(one["to"]) <= known.get(one["table"], set[str]())
        ]
    return {"tables": tables, "warnings": rights(connection)}


def _comment(inspector: Any, name: str, schema: str | None) -> str | None:
    try:
        return _short(inspector.get_table_comment(name, schema=schema).get("text"), 500)
    except NotImplementedError:
        return None


def _samples(connection: Any, name: str, schema: str | None, column: str) -> list[str]:
    table = sqlalchemy.table(name, sqlalchemy.column(column), schema=schema)
    chosen = table.c[column]
    found = connection.execute(sqlalchemy.select(chosen).where(chosen.is_not(None)).distinct().limit(3))
    return [_short(str(plain(row[0])), 50) or "" for row in found]


def _short(text: object, most: int) -> str | None:
    return None if text is None else " ".join(str(text).split())[:most]


def postgresql_rights(connection: Any) -> list[str]:
    warnings: list[str] = []
    role = connection.exec_driver_sql(
        "SELECT rolsuper, rolbypassrls, rolname FROM pg_catalog.pg_roles WHERE rolname = current_user"
    ).one()
    if role[0]:
        warning = f"the role {role[2]} is a superuser; use a role that may read only these tables"
        warnings.append(warning)
    writes = connection.exec_driver_sql(
        "SELECT count(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace"
        " WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
        " AND pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')"
    ).scalar()
    if writes and not role[0]:
        warnings.append(f"the role {role[2]} may write to {writes} tables; it needs to read only")
    return warnings


def mysql_rights(connection: Any) -> list[str]:
    granted = [str(row[0]).upper() for row in connection.exec_driver_sql("SHOW GRANTS")]
    if any("SUPER" in each or ("ALL PRIVILEGES" in each and " ON *.*" in each) for each in granted):
        return ["the user has all privileges; use one that may read only these tables"]
    words = ("ALL PRIVILEGES", "INSERT", "UPDATE", "DELETE", "DROP", "CREATE", "ALTER", "FILE")
    if any(word in each.partition(" ON ")[0] for each in granted for word in words):
        return ["the user may write; it needs to read only"]
    return []

# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Databases: live data, queried in plain language or in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keeps_client._sync.base import Doing
from keeps_client.models import DatabaseInfo, DatabaseRemoved, Page, QueryAudit, QueryResult
from keeps_client.models.databases import (
    ADD_DATABASE,
    LIST_DATABASES,
    LIST_QUERIES,
    QUERY_DATA,
    QUERY_SQL,
    REFRESH_DATABASE,
    REMOVE_DATABASE,
    AskedBy,
)


class Databases(Doing):
    """Methods for querying databases."""

    def add_database(
        self,
        name: str,
        url: str,
        *,
        tables: Mapping[str, Sequence[str] | str],
        purpose: str,
        samples: Mapping[str, Sequence[str]] | None = None,
        asked_by: AskedBy = "writer",
    ) -> DatabaseInfo:
        """Allow queries of tables of a database: `{"orders": ["id", "total"], "users": "*"}`. Needs the role admin.

        `url` (`postgresql://`, `mysql://`, `mariadb://`, `sqlite:////file`) is stored encrypted and never returned; use
        a role that may only read these tables. `samples`: columns of which three values may be shown to the LLM.
        `asked_by`: the role that a query needs.

        Raises NotConfiguredError if the server has no KEEPS_SECRET_KEYS, ForbiddenError if the database may not be
        reached.
        """
        return self._do(
            ADD_DATABASE, name=name, url=url, tables=tables, purpose=purpose, samples=samples, asked_by=asked_by
        )

    def list_databases(self) -> list[DatabaseInfo]:
        """Return the databases that you may query, with their tables."""
        return self._do(LIST_DATABASES)

    def refresh_database(self, name: str) -> DatabaseInfo:
        """Read the tables of a database again. Needs the role admin."""
        return self._do(REFRESH_DATABASE, name=name)

    def remove_database(self, name: str) -> DatabaseRemoved:
        """Remove a database and its credentials. Needs the role admin. Raises NotFoundError."""
        return self._do(REMOVE_DATABASE, name=name)

    def query_data(self, question: str, *, database: str | None = None, remember: bool = False) -> QueryResult:
        """Answer a question in plain language: the LLM writes SQL over the listed tables, which must pass the gate.

        If the SQL fails, the LLM gets a second attempt. `remember` stores the answer as a memory, with its time. Raises
        NotConfiguredError without an LLM, QueryRefusedError if the gate refuses, DatabaseFailedError if the database
        fails.
        """
        return self._do(QUERY_DATA, question=question, database=database, remember=remember)

    def query_sql(self, sql: str, *, database: str) -> QueryResult:
        """Run SQL: one SELECT over listed tables and columns, at most 1,000 rows.

        Raises QueryRefusedError, which names the broken rule, and DatabaseFailedError.
        """
        return self._do(QUERY_SQL, name=database, sql=sql)

    def list_queries(
        self, *, user_id: str | None = None, limit: int = 20, cursor: str | None = None
    ) -> Page[QueryAudit]:
        """Return the audit of database queries, newest first; an administrator may name another user."""
        return self._do(LIST_QUERIES, user_id=user_id, limit=limit, cursor=cursor)

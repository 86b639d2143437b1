"""Databases that can be queried, in plain language or in SQL, and the audit of queries."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from keeps_client.endpoint import Endpoint
from keeps_client.models.common import Cursor, Hundred, Id, Page, Text, Wire
from keeps_client.models.names import Name

DatabaseDialect = Literal["postgresql", "sqlite", "mysql"]
AskedBy = Literal["reader", "writer", "admin"]
QueryOutcome = Literal["allowed", "refused", "failed"]
Word = Annotated[Text, StringConstraints(min_length=1, max_length=255)]
Sql = Annotated[Text, StringConstraints(min_length=1, max_length=20_000)]
Question = Annotated[Text, StringConstraints(min_length=1, max_length=2_000)]
Columns = Annotated[tuple[Word, ...], Field(fail_fast=True, min_length=1, max_length=500)]


class NewDatabase(Wire):
    """A database that may be queried. `url`: `postgresql://`, `mysql://`, `mariadb://` or `sqlite:////file`, stored
    encrypted and never shown again. `tables`: `table` or `schema.table`, each with its columns, or "*" for all
    columns, including future ones. `samples`: columns of which a few values may be shown to the author of SQL.
    `asked_by`: the role that a query needs.
    """

    name: Name
    url: Annotated[Text, StringConstraints(min_length=8, max_length=2_000), Field(repr=False)]
    tables: Annotated[dict[Word, Columns | Literal["*"]], Field(min_length=1, max_length=500)]
    purpose: Annotated[Text, StringConstraints(min_length=1, max_length=500)]
    samples: Annotated[dict[Word, Columns], Field(max_length=500)] = Field(default_factory=dict[str, Columns])
    asked_by: AskedBy = "writer"


class DatabaseColumn(Wire):
    name: str
    type: str
    comment: str | None = None
    key: bool = False
    samples: tuple[str, ...] = ()


class DatabaseReference(Wire):
    columns: tuple[str, ...]
    table: str
    to: tuple[str, ...]


class DatabaseTable(Wire):
    """A table that may be queried, as its server describes it. `whole`: all of its columns may be queried."""

    name: str
    database_schema: str | None = None
    default: bool = True
    whole: bool = False
    comment: str | None = None
    columns: tuple[DatabaseColumn, ...]
    references: tuple[DatabaseReference, ...] = ()


class DatabaseInfo(Wire):
    """A database that may be queried. `location`: its address without credentials; `warnings`: unnecessary privileges
    of its role.
    """

    database_id: UUID
    tenant_id: str
    name: str
    dialect: DatabaseDialect
    location: str
    purpose: str
    asked_by: AskedBy
    tables: tuple[DatabaseTable, ...]
    warnings: tuple[str, ...] = ()
    described_at: datetime
    created_by: str
    created_at: datetime
    updated_at: datetime
    version: int


class DatabaseName(Wire):
    name: Id


class DatabaseRemoved(Wire):
    name: str
    removed: bool = True


class DataQuestion(Wire):
    """A question in plain language. `database`: its name; default: the one that fits. `remember`: store the answer as
    a memory, with its time.
    """

    question: Question
    database: Name | None = None
    remember: bool = False


class DatabaseQuery(Wire):
    """A query to one database: SQL, or a question in plain language."""

    sql: Sql | None = None
    question: Question | None = None
    remember: bool = False

    @model_validator(mode="after")
    def _one(self) -> DatabaseQuery:
        if (self.sql is None) == (self.question is None):
            raise ValueError("give sql or question")
        return self


class QueryResult(Wire):
    """Rows, and the SQL that returned them. `cut`: there were more rows, or longer values. Numbers that JSON cannot
    represent, times and bytes are text. All of it is untrusted data.
    """

    database: str
    sql: str
    tables: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut: bool
    took_ms: float
    question: str | None = None
    repaired: bool = False
    memory_id: UUID | None = None


class AuditQuery(Wire):
    user_id: Id | None = None
    limit: Hundred = 20
    cursor: Cursor = None


class QueryAudit(Wire):
    """The audit of a query. `rule`: the rule of the gate that refused it, or the kind of failure."""

    audit_id: UUID
    user_id: str
    agent_id: str | None = None
    database: str
    question: str | None = None
    sql: str | None = None
    outcome: QueryOutcome
    rule: str | None = None
    tables: tuple[str, ...] = ()
    rows: int = 0
    took_ms: int
    asked_at: datetime


ADD_DATABASE = Endpoint(
    "add_database",
    "POST",
    "/v1/databases",
    "admin",
    "databases",
    DatabaseInfo,
    "Register tables of a database for queries. Its URL is encrypted and never shown again.",
    body=NewDatabase,
    status=201,
    repeatable=False,
)
LIST_DATABASES = Endpoint(
    "list_databases",
    "GET",
    "/v1/databases",
    "reader",
    "databases",
    list[DatabaseInfo],
    "List the databases that you may query, with their tables.",
)
REFRESH_DATABASE = Endpoint(
    "refresh_database",
    "POST",
    "/v1/databases/{name}/refresh",
    "admin",
    "databases",
    DatabaseInfo,
    "Read the tables of a database again.",
    params=DatabaseName,
)
REMOVE_DATABASE = Endpoint(
    "remove_database",
    "DELETE",
    "/v1/databases/{name}",
    "admin",
    "databases",
    DatabaseRemoved,
    "Remove a database and its credentials.",
    params=DatabaseName,
)
QUERY_DATA = Endpoint(
    "query_data",
    "POST",
    "/v1/query",
    "reader",
    "databases",
    QueryResult,
    "Query in plain language: an LLM writes SQL, which passes the gate.",
    body=DataQuestion,
)
QUERY_SQL = Endpoint(
    "query_sql",
    "POST",
    "/v1/databases/{name}/query",
    "reader",
    "databases",
    QueryResult,
    "Query one database, in SQL that passes the gate or in plain language.",
    params=DatabaseName,
    body=DatabaseQuery,
)
LIST_QUERIES = Endpoint(
    "list_queries",
    "GET",
    "/v1/queries",
    "reader",
    "databases",
    Page[QueryAudit],
    "List your database queries, newest first; an administrator may name another user.",
    params=AuditQuery,
    bare=True,
)

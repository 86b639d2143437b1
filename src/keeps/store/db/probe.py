"""A check of tenant isolation before serving, run as the serving role."""

from __future__ import annotations

from dataclasses import dataclass

from keeps.base.telemetry.logs import log
from keeps.store.db.cell import Cell
from keeps.store.db.statements import Statement, Statements
from keeps.store.schema.revisions import HEAD
from keeps_client.errors import UnavailableError

_QUERIES = Statements("keeps.store.db", file_name="probe.sql")


NO_SIMD = (
    "this processor lacks instructions that the PostgreSQL programs need (AVX2 on x86-64, SVE on arm64); "
    "use a PostgreSQL of your own, built for this machine: set KEEPS_DATABASE_URL"
)

_LACKING = {
    "CockroachDB": "CockroachDB has no bit_hamming_ops, which search by meaning needs",
    "-YB-": "YugabyteDB has no LISTEN and NOTIFY, no deferrable constraints, and no GIN index over several columns",
}
"""Text in version() of engines that speak PostgreSQL's protocol, and what each lacks. Tried in 2026: ADR 41."""
CITUS = (
    "Citus is installed in this database: leave Keeps' tables undistributed, because Citus refuses policies with"
    " subqueries and does not tell shards the tenant of a transaction; to grow, add cells (keeps cells add)"
)


@dataclass(frozen=True, slots=True)
class Role:
    """The replication role of a server. `position` is how many bytes of the log it has."""

    standby: bool
    where: str
    position: int


async def probe(cell: Cell) -> None:
    """Raise UnavailableError, with what to do, unless isolation is enforced for the connected role.

    Checks versions and schema; that the role is no superuser, cannot bypass row security, owns no table and cannot
    become a role that does; that security is enabled and forced on every table; and that without a tenant no row is
    visible.
    """
    (server,) = await cell.privileged_read(_QUERIES["server"])
    check_engine(server["engine"])
    check_encoding(server["encoding"])
    if server["version"] < 150_000:
        raise UnavailableError(f"PostgreSQL {server['version'] // 10_000} is too old; Keeps needs 15 or newer")
    role = server["role"]
    if server["is_superuser"] or server["can_bypass"]:
        raise UnavailableError(
            f"refusing to serve: role {role} is a superuser or may bypass row-level security, so the database would"
            " not isolate tenants. Connect as keeps_app (`keeps migrate --admin-url …` creates it)"
        )
    if server["vector_version"] is None or tuple(map(int, server["vector_version"].split(".")[:2])) < (0, 8):
        raise UnavailableError(
            f"pgvector 0.8 or newer is needed, found {server['vector_version']}; run keeps migrate --admin-url … as its"
            " administrator"
        )
    if not server["has_schema"]:
        raise UnavailableError(
            "this database has no Keeps tables, or this role may not use them; run keeps migrate --admin-url …"
        )
    (schema,) = await cell.privileged_read(_QUERIES["schema_version"])
    revision = schema["version_num"]
    if revision < HEAD:
        raise UnavailableError(
            f"the schema is at revision {revision}, this Keeps needs {HEAD}; run keeps migrate --admin-url …"
        )
    if revision > HEAD:
        (oldest,) = await cell.privileged_read(_QUERIES["serves_from"])
        if oldest["revision"] > HEAD:
            raise UnavailableError(
                f"the schema is at revision {revision}, which this Keeps, at {HEAD}, cannot serve; install the release"
                " that it was migrated with, or restore a backup from before"
            )
        log().warning("the schema is newer than this Keeps, which may serve on it; upgrade soon", schema=revision)
    try:
        await cell.privileged_read(_QUERIES["distance"])
    except UnavailableError:
        raise UnavailableError(f"the database died computing one distance: {NO_SIMD}") from None
    tables = await cell.privileged_read(_QUERIES["tables"])
    for table in tables:
        if not (table["row_security"] and table["forced"]):
            raise UnavailableError(
                f"refusing to serve: row-level security is not enabled and forced on keeps.{table['name']}; run keeps"
                " migrate"
            )
        if table["owned"]:
            raise UnavailableError(
                f"refusing to serve: role {role} owns keeps.{table['name']} or may become its owner; connect as"
                " keeps_app"
            )
    for seen in await cell.privileged_read(_rows_without_tenant([each["name"] for each in tables if each["readable"]])):
        raise UnavailableError(
            f"refusing to serve: role {role} sees rows of keeps.{seen['name']} without a tenant; run keeps migrate to"
            " restore the policies"
        )


def check_engine(version: str) -> None:
    """Raise UnavailableError if `version`, the result of version(), names an engine that Keeps cannot use."""
    for name, lack in _LACKING.items():
        if name in version:
            raise UnavailableError(f"{lack}; Keeps needs PostgreSQL itself, 15 or newer, from any provider")


def check_encoding(encoding: str) -> None:
    """Raise UnavailableError unless a database stores text as UTF-8, which words and similarities need."""
    if encoding != "UTF8":
        raise UnavailableError(
            f"the encoding of this database is {encoding}; Keeps needs UTF8. Create another one:"
            " CREATE DATABASE keeps ENCODING 'UTF8' TEMPLATE template0"
        )


async def has_citus(cell: Cell) -> bool:
    (server,) = await cell.privileged_read(_QUERIES["server"])
    return server["citus"]


async def role_of(cell: Cell, seconds: float) -> Role:
    """Return the replication role of a server. Raises UnavailableError."""
    (row,) = await cell.privileged_read(_QUERIES["role"], seconds=seconds)
    where = f"{row['address']}:{row['port']}" if row["address"] else "a socket"
    return Role(row["standby"], where, row["position"])


def _rows_without_tenant(tables: list[str]) -> Statement:
    """Return the query for tables that show a row although no tenant is set.

    The names come from the catalogue.
    """
    quoted = [(name.replace("'", "''"), name.replace('"', '""')) for name in tables]
    asked = [f"SELECT '{text}' AS name WHERE EXISTS (SELECT FROM keeps.\"{table}\")" for text, table in quoted]  # noqa: S608  names of tables cannot be bound
    return Statement("rows_without_tenant", "\nUNION ALL ".join(asked))

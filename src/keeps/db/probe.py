"""Before serving: is the wall up? Asked as the role that serves."""

from __future__ import annotations

from keeps.db.session import Database
from keeps.db.statements import Statement, Statements
from keeps.schema.files import HEAD
from keeps_client.errors import UnavailableError

_QUERIES = Statements("keeps.db", file_name="probe.sql")


NO_SIMD = (
    "this processor lacks instructions that the PostgreSQL programs need (AVX2 on x86-64, SVE on arm64); "
    "use a PostgreSQL of your own, built for this machine: set KEEPS_DATABASE_URL"
)


async def probe(database: Database) -> None:
    """Raise UnavailableError, with what to do, unless isolation is enforced for the connected role.

    Checks versions and schema, that the role is no superuser, cannot bypass row security, owns no table and can become
    no role that does, that security is enabled and forced on every table, and that without a tenant no row is seen.
    """
    (server,) = await database.privileged_read(_QUERIES["server"])
    if server["version"] < 150_000:
        raise UnavailableError(f"PostgreSQL {server['version'] // 10_000} is too old; Keeps needs 15 or newer")
    role = server["role"]
    if server["is_superuser"] or server["can_bypass"]:
        raise UnavailableError(
            f"refusing to serve: role {role} is a superuser or may bypass row-level security, so the database would not"
            " keep tenants apart. Connect as keeps_app (keeps migrate --admin-url … makes it)"
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
    (schema,) = await database.privileged_read(_QUERIES["schema_version"])
    if schema["version_num"] != HEAD:
        raise UnavailableError(
            f"the schema is at revision {schema['version_num']}, this Keeps needs {HEAD}; run keeps migrate"
            " --admin-url …"
        )
    try:
        await database.privileged_read(_QUERIES["distance"])
    except UnavailableError:
        raise UnavailableError(f"the database died computing one distance: {NO_SIMD}") from None
    tables = await database.privileged_read(_QUERIES["tables"])
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
    for seen in await database.privileged_read(
        _rows_without_tenant([each["name"] for each in tables if each["readable"]])
    ):
        raise UnavailableError(
            f"refusing to serve: role {role} sees rows of keeps.{seen['name']} without a tenant; run keeps migrate to"
            " restore the policies"
        )


def _rows_without_tenant(tables: list[str]) -> Statement:
    """Which of these tables, whose names are the catalogue's own, show a row although no tenant is set."""
    quoted = [(name.replace("'", "''"), name.replace('"', '""')) for name in tables]
    asked = [f"SELECT '{text}' AS name WHERE EXISTS (SELECT FROM keeps.\"{table}\")" for text, table in quoted]  # noqa: S608  names of tables cannot be bound
    return Statement("rows_without_tenant", "\nUNION ALL ".join(asked))

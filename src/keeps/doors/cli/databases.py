"""databases: add, list, refresh, remove and query; secrets: the keys that seal their credentials."""

from __future__ import annotations

import os
import secrets as random
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from keeps.doors.cli.command import Answer, command, group, lines, print_table
from keeps.doors.cli.context import Target, err, out
from keeps.doors.cli.parsers import check_question
from keeps.memory.transfer.erasure import TenantService
from keeps.operate.freezing.service import FreezeService
from keeps.sources.databases.service import DatabaseService
from keeps_client.errors import ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import DatabaseInfo, QueryResult
    from keeps_client.models.databases import AskedBy, QueryAudit

app = typer.Typer()
databases = group()
secrets = group()
app.add_typer(databases, name="databases")
app.add_typer(secrets, name="secrets")
Name = Annotated[str, typer.Argument(help="Name of the database in Keeps.")]


@command(databases, may_make=True)
async def add(
    target: Target,
    name: Name,
    address: Annotated[
        str | None, typer.Argument(help="URL of the database. Default: KEEPS_DATABASE_TO_ASK, or a prompt.")
    ] = None,
    tables: Annotated[
        list[str],
        typer.Option("--table", help="orders, or users=id,name for some columns. Repeat for several."),
    ] = ...,  # pyright: ignore[reportArgumentType]  it must be given
    purpose: Annotated[str, typer.Option(help="Purpose, which agents see.")] = ...,  # pyright: ignore[reportArgumentType]
    samples: Annotated[
        list[str] | None,
        typer.Option("--sample", help="Column of which the LLM may see three values, such as users.city."),
    ] = None,
    asked_by: Annotated[str, typer.Option(help="Role that may query it: reader, writer or admin.")] = "writer",
) -> Answer:
    """Let tables of a database be queried. Its URL is stored sealed under KEEPS_SECRET_KEYS, and never shown again."""
    place = address or os.environ.get("KEEPS_DATABASE_TO_ASK") or typer.prompt("URL of the database", hide_input=True)
    wanted: dict[str, Any] = {}
    for text in tables:
        table, some, columns = text.partition("=")
        wanted[table.strip()] = [one.strip() for one in columns.split(",") if one.strip()] if some else "*"
    shown: dict[str, list[str]] = {}
    for text in samples or ():
        table, _, column = text.rpartition(".")
        if not table:
            raise ValidationFailedError(f"--sample {text!r} names no column; write users.city")
        shown.setdefault(table, []).append(column)
    role: AskedBy = asked_by  # pyright: ignore[reportAssignmentType]  checked by the model
    async with target.memory() as memory:
        with err.status("connecting …"):
            info = await memory.add_database(name, place, tables=wanted, purpose=purpose, samples=shown, asked_by=role)
    return Answer(info, _info_lines(info))


@command(databases, "list")
async def list_databases(memory: Memory) -> Answer:
    """List the databases that you may query, with their tables."""
    empty = "No databases yet. [dim]`keeps databases add` adds one.[/]"
    return lines(await memory.list_databases(), _info_lines, empty=empty)


@command(databases)
async def refresh(memory: Memory, name: Name) -> Answer:
    """Read the tables of a database again."""
    info = await memory.refresh_database(name)
    return Answer(info, _info_lines(info))


@command(databases)
async def delete(memory: Memory, name: Name) -> str:
    """Delete a database and its credentials."""
    await memory.remove_database(name)
    return f"{escape(name)} is removed, with its credentials"


@command(databases)
async def ask(
    memory: Memory,
    question: Annotated[str, typer.Argument(help="In plain language.", callback=check_question)],
    database: Annotated[str | None, typer.Option("--of", help="Database to query. Default: the one that fits.")] = None,
    remember: Annotated[bool, typer.Option("--remember", help="Store the answer as a memory.")] = False,
) -> Answer:
    """Ask in plain language: the LLM writes SQL, which must pass the gate."""
    with err.status("asking …"):
        result = await memory.query_data(question, database=database, remember=remember)
    return _rows(result)


@command(databases)
async def sql(memory: Memory, name: Name, statement: Annotated[str, typer.Argument(help="One SELECT.")]) -> Answer:
    """Run SQL: one SELECT over listed tables and columns."""
    return _rows(await memory.query_sql(statement, database=name))


@command(databases)
async def queries(
    memory: Memory,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 100.")] = 20,
    of: Annotated[str | None, typer.Option("--of", help="User whose queries to list (administrators only).")] = None,
) -> Answer:
    """List the audit of database queries, newest first."""
    page = await memory.list_queries(user_id=of, limit=limit)
    return lines(page.items, _audit_line, empty="No queries yet.")


@command(secrets)
def new() -> None:
    """Create a key for KEEPS_SECRET_KEYS."""
    print(random.token_urlsafe(32))


@command(secrets)
async def rotate(target: Target) -> Answer:
    """Seal all credentials with the first of KEEPS_SECRET_KEYS; then the others may be removed. It can be repeated."""
    sealed = tenants = 0
    async with target.open() as keeps:
        after = ""
        while page := await keeps.service(TenantService).page(after, 100):
            for tenant in page:
                sealed += await keeps.service(DatabaseService).rotate(replace(target.scope, tenant_id=tenant.tenant_id))
            tenants += len(page)
            after = page[-1].tenant_id
        frozen = await keeps.service(FreezeService).reseal()
    text = f"re-encrypted {sealed} credentials in {tenants} tenants"
    if frozen:
        text += f", and the keys of {frozen} frozen tenants"
    return Answer({"sealed": sealed, "tenants": tenants, "frozen": frozen}, text)


def _info_lines(info: DatabaseInfo) -> str:
    about = f"{info.dialect} at {escape(info.location)}, for {info.asked_by}s  [dim]{escape(info.purpose)}[/]"
    tables = [
        f"   {escape(table.name)}: {escape(', '.join(column.name for column in table.columns))}"
        for table in info.tables
    ]
    warnings = [f"   [yellow]{escape(warning)}[/]" for warning in info.warnings]
    return "\n".join([f"[bold]{escape(info.name)}[/]  {about}", *tables, *warnings])


def _audit_line(audit: QueryAudit) -> str:
    colour = {"allowed": "green", "refused": "red"}.get(audit.outcome, "yellow")
    rule = f" ({audit.rule})" if audit.rule else ""
    return (
        f"{audit.asked_at:%Y-%m-%d %H:%M} [{colour}]{audit.outcome}[/]{escape(rule)}  {escape(audit.database)},"
        f" {audit.rows} rows, {audit.took_ms} ms  [dim]{escape(audit.question or audit.sql or '')}[/]"
    )


def _rows(result: QueryResult) -> Answer:
    def text() -> None:
        err.print(f"[dim]{escape(result.database)}: {escape(result.sql)}[/]")
        if result.rows:
            print_table(result.columns, result.rows)
        else:
            out.print("No rows.")
        if result.cut:
            err.print("[yellow]there are more rows[/]")

    return Answer(result, text)

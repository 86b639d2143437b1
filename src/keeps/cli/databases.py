"""databases: add, list, refresh, remove and query; secrets: the keys that seal their credentials."""

from __future__ import annotations

import os
import secrets as random
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from keeps.cli.context import Json, Target, err, out, print_json, run, targeted
from keeps.databases.service import DatabaseService
from keeps.transfer.erasure import TenantService
from keeps_client.errors import ValidationFailedError
from keeps_client.models import DatabaseInfo, QueryResult
from keeps_client.models.databases import AskedBy

databases_app = typer.Typer(help="Databases that can be asked: live data.", no_args_is_help=True)
secrets_app = typer.Typer(help="The keys that credentials of databases are kept under.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="What it is called here.")]


def register(app: typer.Typer) -> None:
    for command in (add, refresh, remove, ask, sql, queries):
        databases_app.command()(targeted(command))
    databases_app.command("list")(targeted(list_databases))
    secrets_app.command()(new)
    secrets_app.command()(targeted(rotate))
    app.add_typer(databases_app, name="databases")
    app.add_typer(secrets_app, name="secrets")


def add(
    name: Name,
    address: Annotated[
        str | None, typer.Argument(help="Its URL; asked for, or read from KEEPS_DATABASE_TO_ASK, if not given.")
    ] = None,
    tables: Annotated[
        list[str],
        typer.Option("--table", help="orders, or users=id,name for some columns. May be given several times."),
    ] = ...,  # pyright: ignore[reportArgumentType]  it must be given
    purpose: Annotated[str, typer.Option(help="What it is good for, as agents are told.")] = ...,  # pyright: ignore[reportArgumentType]
    samples: Annotated[
        list[str] | None, typer.Option("--sample", help="users.city: three values may be shown to the LLM.")
    ] = None,
    asked_by: Annotated[str, typer.Option(help="The role that asking needs: reader, writer or admin.")] = "writer",
    *,
    target: Target,
    as_json: Json = False,
) -> None:
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

    async def work() -> None:
        role: AskedBy = asked_by  # pyright: ignore[reportAssignmentType]  judged by the model
        async with target.memory() as memory:
            with err.status("connecting …"):
                info = await memory.add_database(
                    name, place, tables=wanted, purpose=purpose, samples=shown, asked_by=role
                )
        _print_one(info, as_json=as_json)

    run(work)


def list_databases(*, target: Target, as_json: Json = False) -> None:
    """List the databases that you may query, with their tables."""

    async def work() -> None:
        async with target.memory() as memory:
            databases = await memory.list_databases()
        if as_json:
            print_json([database.model_dump(mode="json") for database in databases])
            return
        if not databases:
            out.print("No databases yet. [dim]`keeps databases add` adds one.[/]")
        for database in databases:
            _print_database(database)

    run(work)


def refresh(name: Name, *, target: Target, as_json: Json = False) -> None:
    """Read the tables of a database again."""

    async def work() -> None:
        async with target.memory() as memory:
            info = await memory.refresh_database(name)
        _print_one(info, as_json=as_json)

    run(work)


def remove(name: Name, *, target: Target) -> None:
    """Remove a database and its credentials."""

    async def work() -> None:
        async with target.memory() as memory:
            await memory.remove_database(name)
        out.print(f"{escape(name)} is asked no more; its credentials are gone")

    run(work)


def ask(
    question: Annotated[str, typer.Argument(help="In plain language.")],
    database: Annotated[str | None, typer.Option("--of", help="Which database; else the one that fits.")] = None,
    remember: Annotated[bool, typer.Option("--remember", help="Keep the answer as a memory.")] = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Ask in plain language: the LLM writes SQL, which must pass the gate."""

    async def work() -> None:
        async with target.memory() as memory:
            with err.status("asking …"):
                found = await memory.query_data(question, database=database, remember=remember)
        _print_rows(found, as_json=as_json)

    run(work)


def sql(
    name: Name,
    statement: Annotated[str, typer.Argument(help="One SELECT.")],
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Run SQL: one SELECT over listed tables and columns."""

    async def work() -> None:
        async with target.memory() as memory:
            found = await memory.query_sql(statement, database=name)
        _print_rows(found, as_json=as_json)

    run(work)


def queries(
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 100.")] = 20,
    of: Annotated[str | None, typer.Option("--of", help="Another user's, for administrators.")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """List the audit of database queries, newest first."""

    async def work() -> None:
        async with target.memory() as memory:
            audits = (await memory.list_queries(user_id=of, limit=limit)).items
        if as_json:
            print_json([audit.model_dump(mode="json") for audit in audits])
            return
        if not audits:
            out.print("Nothing was asked yet.")
        for audit in audits:
            colour = {"allowed": "green", "refused": "red"}.get(audit.outcome, "yellow")
            rule = f" ({audit.rule})" if audit.rule else ""
            out.print(
                f"{audit.asked_at:%Y-%m-%d %H:%M} [{colour}]{audit.outcome}[/]{escape(rule)}  {escape(audit.database)},"
                f" {audit.rows} rows, {audit.took_ms} ms  [dim]{escape(audit.question or audit.sql or '')}[/]"
            )

    run(work)


def new() -> None:
    """Make a key for KEEPS_SECRET_KEYS."""
    print(random.token_urlsafe(32))


def rotate(*, target: Target, as_json: Json = False) -> None:
    """Seal all credentials with the first of KEEPS_SECRET_KEYS; then the others may be removed. It can be repeated."""

    async def work() -> None:
        done = tenants = 0
        async with target.open() as keeps:
            after = ""
            while page := await keeps.service(TenantService).page(after, 100):
                for each in page:
                    done += await keeps.service(DatabaseService).rotate(replace(target.scope, tenant_id=each.tenant_id))
                tenants += len(page)
                after = page[-1].tenant_id
        if as_json:
            print_json({"sealed": done, "tenants": tenants})
        else:
            out.print(f"{done} credentials sealed anew, in {tenants} tenants")

    run(work)


def _print_one(info: DatabaseInfo, *, as_json: bool) -> None:
    if as_json:
        print_json(info.model_dump(mode="json"))
    else:
        _print_database(info)


def _print_database(info: DatabaseInfo) -> None:
    out.print(
        f"[bold]{escape(info.name)}[/]  {info.dialect} at {escape(info.location)}, asked by {info.asked_by}s"
        f"  [dim]{escape(info.purpose)}[/]",
        highlight=False,
    )
    for table in info.tables:
        columns = ", ".join(each.name for each in table.columns)
        out.print(f"   {escape(table.name)}: {escape(columns)}", highlight=False)
    for each in info.warnings:
        out.print(f"   [yellow]{escape(each)}[/]")


def _print_rows(found: QueryResult, *, as_json: bool) -> None:
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    err.print(f"[dim]{escape(found.database)}: {escape(found.sql)}[/]", highlight=False)
    table = Table(*map(escape, found.columns))
    for row in found.rows:
        table.add_row(*("" if each is None else escape(str(each)) for each in row))
    out.print(table if found.rows else "No rows.")
    if found.cut:
        err.print("[yellow]there are more[/]")

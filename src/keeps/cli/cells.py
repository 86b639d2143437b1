"""cells: the PostgreSQL servers of one Keeps, and moving tenants between them."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column, Table

from keeps.cli.administration import tenants_app
from keeps.cli.context import DatabaseUrl, Home, Json, check_home, err, out, print_json, run
from keeps_client.errors import KeepsError, ValidationFailedError

if TYPE_CHECKING:
    from keeps.cells.moving import Progress as Moved
    from keeps.cells.service import CellService

cells_app = typer.Typer(
    help="Several PostgreSQLs, each with tenants of its own: list, add, weight, drain, remove.", no_args_is_help=True
)
Administrators = Annotated[
    list[str] | None,
    typer.Option(
        "--admin",
        envvar="KEEPS_CELL_ADMINS",
        help=(
            "The administrator of a cell, NAME=postgresql://postgres:…@host/database; several times, or in"
            " KEEPS_CELL_ADMINS with spaces between. Embedded cells need none."
        ),
        show_envvar=False,
    ),
]
Name = Annotated[str, typer.Argument(help="The name of the cell.")]
Weight = Annotated[int, typer.Option(help="Its share of new tenants, beside the other cells'.", min=0, max=1_000)]


def register(app: typer.Typer) -> None:
    for command in (list_cells, add, weight, drain, remove):
        cells_app.command("list" if command is list_cells else None)(command)
    app.add_typer(cells_app, name="cells")
    tenants_app.command()(move)


@asynccontextmanager
async def _cells(
    home: Path | None, database_url: str | None, administrators: list[str] | None
) -> AsyncGenerator[CellService]:
    from keeps.bootstrap import open_keeps
    from keeps.cells.service import CellService
    from keeps.settings import load_settings

    own = os.environ.get("KEEPS_ADMIN_URL")
    admin_urls: dict[str, str] = {} if own is None else {"main": own}
    for each in administrators or []:
        name, equals, url = each.partition("=")
        if not equals or not url.startswith(("postgresql://", "postgres://")):
            raise ValidationFailedError("--admin takes NAME=postgresql://postgres:…@host/database")
        admin_urls[name] = url
    check_home(home, database_url)
    settings = load_settings(home=home, database_url=database_url)
    async with await open_keeps(settings) as keeps:
        yield CellService(keeps, settings, admin_urls)


def list_cells(home: Home = None, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """List the cells and their contents. Exit code 1 if one cannot be used."""

    async def work() -> int:
        async with _cells(home, database_url, None) as cells:
            listed = await cells.list()
            left = await cells.left_over()
        if as_json:
            print_json([asdict(cell) for cell in listed])
        else:
            table = Table(Column("cell", no_wrap=True), "where", "weight", "tenants", "bytes", "state")
            for cell in listed:
                state = cell.problem or ("takes new tenants" if cell.weight else "takes no new tenants")
                held = ["" if count is None else f"{count:,}" for count in (cell.tenants, cell.bytes)]
                table.add_row(cell.name, cell.address, str(cell.weight), *held, state)
            out.print(table)
            for rows in left:
                out.print(
                    f"[yellow]•[/] {rows.cell} has rows of tenant {rows.tenant_id}, which is in {rows.is_in}:"
                    f" {'a copy on its way, or of a move that was ended' if rows.arriving else 'left by a move'};"
                    " repeat keeps tenants move to end it",
                    soft_wrap=True,
                )
            if len(listed) == 1:
                out.print("[dim]All tenants are here. `keeps cells add` makes another PostgreSQL a second cell.[/]")
        return 1 if any(cell.problem for cell in listed) else 0

    run(work)


def add(
    name: Name,
    admin_url: Annotated[
        str | None,
        typer.Option(
            help="A PostgreSQL as its administrator: roles, extensions and tables are made there. By default the one"
            " that --admin, or KEEPS_CELL_ADMINS, names."
        ),
    ] = None,
    url: Annotated[str | None, typer.Option(help="One that keeps migrate has made ready, as keeps_app.")] = None,
    folder: Annotated[Path | None, typer.Option(help="An embedded database in this folder, on this machine.")] = None,
    weight: Weight = 1,
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Make a PostgreSQL a cell.

    New tenants go there, too, by weight; its existing tenants become tenants of this Keeps. Its
    address is stored sealed, under KEEPS_SECRET_KEYS.
    """

    async def work() -> int:
        async with _cells(home, database_url, administrators) as cells:
            made = await cells.add(name, admin_url=admin_url, url=url, home=folder and folder.absolute(), weight=weight)
        if as_json:
            print_json(asdict(made))
        else:
            holds = made.problem or f"{made.tenants or 0:,} tenants, weight {made.weight}"
            out.print(f"cell {made.name} at {made.address}: {holds}", soft_wrap=True)
        return 1 if made.problem else 0

    run(work)


def weight(
    name: Name,
    weight: Annotated[int, typer.Argument(help="0: no new tenants.", min=0, max=1_000)],
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Set a cell's share of new tenants, relative to the others."""

    async def work() -> None:
        async with _cells(home, database_url, administrators) as cells:
            await cells.set_weight(name, weight)
        out.print(f"cell {name} has weight {weight}")

    run(work)


def drain(
    name: Name,
    move: Annotated[bool, typer.Option("--move", help="And move its tenants to the others, by their weights.")] = False,
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Give a cell no new tenants; with --move, also move its tenants to others. It can be repeated."""

    async def work() -> None:
        async with _cells(home, database_url, administrators) as cells:
            await cells.set_weight(name, 0)
            try:
                tenants = await cells.tenants(name)
            except KeepsError as error:
                if move:
                    raise
                out.print(
                    f"cell {name} takes no new tenants. How many are there is not known: {error.detail}", soft_wrap=True
                )
                return
            if not move:
                out.print(f"cell {name} takes no new tenants; {len(tenants):,} are there. --move takes them elsewhere")
                return
            for number, tenant_id in enumerate(tenants, 1):
                target = await cells.choose(name)
                with _shown(f"{number} of {len(tenants)}: {tenant_id}") as told:
                    await cells.move(tenant_id, target, told)
            out.print(f"cell {name} is empty; keeps cells remove {name} takes it out")

    run(work)


def remove(
    name: Name, administrators: Administrators = None, home: Home = None, database_url: DatabaseUrl = None
) -> None:
    """Remove an empty cell. Its database stays as it is."""

    async def work() -> None:
        async with _cells(home, database_url, administrators) as cells:
            await cells.remove(name)
        out.print(f"cell {name} is taken out; its database is still there")

    run(work)


def move(
    tenant_id: Annotated[str, typer.Argument(help="Which tenant.")],
    to: Annotated[str, typer.Option("--to", help="The cell where it shall be.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only see whether it can be done, and what moves.")
    ] = False,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Take back what a move that was ended half way has left.")
    ] = False,
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Move a tenant to another cell while it is used: its writers wait a moment, other callers notice nothing. After an
    interruption, repeat the command to continue.
    """

    async def work() -> int:
        async with _cells(home, database_url, administrators) as cells:
            if give_up:
                await cells.give_up(tenant_id, to)
                out.print(f"nothing of a move of tenant {tenant_id} to {to} is left; it is where it was")
                return 0
            with _shown(tenant_id) as told:
                done = await cells.move(tenant_id, to, told, dry_run=dry_run)
        if as_json:
            print_json(asdict(done))
            return 1 if done.left else 0
        rows = sum(done.rows.values())
        if done.source == to:
            out.print(f"tenant {tenant_id} is in {to} already")
        elif dry_run:
            out.print(f"tenant {tenant_id} can move from {done.source} to {to}: {rows:,} rows")
        else:
            out.print(
                f"tenant {tenant_id} is in {to}: {rows:,} rows; its writers waited {done.held_seconds:.2f} s;"
                f" {sum(done.left.values()):,} rows left in {done.source}"
            )
        return 1 if done.left else 0

    run(work)


@contextmanager
def _shown(what: str) -> Generator[Callable[[Moved], None]]:
    """Show the progress of a move on one line; in a file, a line for each step."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=err, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        last = ""

        def told(moved: Moved) -> None:
            nonlocal last
            total = moved.tables or None
            bar.update(task, description=f"{what}: {moved.step}", total=total, completed=moved.tables_ready)
            if not err.is_terminal and moved.step != last:
                err.print(f"{what}: {moved.step}", soft_wrap=True)
            last = moved.step

        yield told

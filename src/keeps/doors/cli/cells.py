"""cells: the PostgreSQL servers of one Keeps, and moving tenants between them."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from keeps.doors.cli.administration import tenants
from keeps.doors.cli.command import Answer, command, group, print_table, progress
from keeps.doors.cli.context import DatabaseUrl, Home, check_home, err, out
from keeps_client.errors import KeepsError, ValidationFailedError

if TYPE_CHECKING:
    from keeps.operate.cells.balance import BalancePlan
    from keeps.operate.cells.moving import Progress as Moved
    from keeps.operate.cells.rebalancing import Rebalance, RebalanceProgress
    from keeps.operate.cells.service import CellService

app = typer.Typer()
cells = group()
app.add_typer(cells, name="cells")
app.add_typer(tenants, name="tenants")  # `move` below is one more command of theirs
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
Weight = Annotated[int, typer.Option(help="Share of new tenants, relative to the other cells.", min=0, max=1_000)]


@asynccontextmanager
async def _open(
    home: Path | None, database_url: str | None, administrators: list[str] | None
) -> AsyncGenerator[CellService]:
    from keeps.base.settings import load_settings
    from keeps.bootstrap import open_keeps
    from keeps.operate.cells.service import CellService

    own = os.environ.get("KEEPS_ADMIN_URL")
    admin_urls: dict[str, str] = {} if own is None else {"main": own}
    for each in administrators or []:
        name, equals, url = each.partition("=")
        if not equals or not url.startswith(("postgresql://", "postgres://")):
            raise ValidationFailedError("--admin takes NAME=postgresql://postgres:…@host/database")
        admin_urls[name] = url
    check_home(home, database_url)
    settings = load_settings(home=home, database_url=database_url)
    if settings.router is not None:
        raise ValidationFailedError(
            f"{settings.router} leads to the shards of this Keeps (KEEPS_ROUTER), so cells are not used: add shards and"
            " move tenants with the router's own tools"
        )
    async with await open_keeps(settings) as keeps:
        yield CellService(keeps, settings, admin_urls)


@command(cells, "list")
async def list_cells(home: Home = None, database_url: DatabaseUrl = None) -> Answer:
    """List the cells and their contents. Exit code 1 if one cannot be used."""
    async with _open(home, database_url, None) as service:
        listed = await service.list()
        left = await service.left_over()

    def text() -> None:
        rows = [
            (
                cell.name,
                cell.address,
                cell.weight,
                *("" if count is None else f"{count:,}" for count in (cell.tenants, cell.bytes)),
                cell.problem or ("takes new tenants" if cell.weight else "takes no new tenants"),
            )
            for cell in listed
        ]
        print_table(["cell", "where", "weight", "tenants", "bytes", "state"], rows)
        for each in left:
            origin = "a copy in progress or interrupted" if each.arriving else "left behind by a move"
            out.print(
                f"[yellow]•[/] {each.cell} has rows of tenant {each.tenant_id}, which is in {each.is_in}: {origin};"
                " repeat `keeps tenants move` to finish"
            )
        if len(listed) == 1:
            out.print(
                "[dim]All tenants are here. `keeps cells add` adds another PostgreSQL server as a second cell.[/]"
            )

    return Answer(listed, text, failed=any(cell.problem for cell in listed))


@command(cells)
async def add(
    name: Name,
    admin_url: Annotated[
        str | None,
        typer.Option(
            help="URL of a PostgreSQL administrator, used to create roles, extensions and tables. Default: the one"
            " that --admin, or KEEPS_CELL_ADMINS, names."
        ),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="URL of a database that `keeps migrate` prepared, as keeps_app.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="An embedded database in this folder, on this machine.")] = None,
    weight: Weight = 1,
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> Answer:
    """Make a PostgreSQL a cell.

    New tenants go there, too, by weight; its existing tenants become tenants of this Keeps. Its
    address is stored sealed, under KEEPS_SECRET_KEYS.
    """
    async with _open(home, database_url, administrators) as service:
        cell = await service.add(name, admin_url=admin_url, url=url, home=folder and folder.absolute(), weight=weight)
    state = cell.problem or f"{cell.tenants or 0:,} tenants, weight {cell.weight}"
    return Answer(cell, f"cell {cell.name} at {cell.address}: {state}", failed=bool(cell.problem))


@command(cells)
async def weight(
    name: Name,
    weight: Annotated[int, typer.Argument(help="0: no new tenants.", min=0, max=1_000)],
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> str:
    """Set a cell's share of new tenants, relative to the others."""
    async with _open(home, database_url, administrators) as service:
        await service.set_weight(name, weight)
    return f"cell {name} has weight {weight}"


@command(cells)
async def drain(
    name: Name,
    move: Annotated[bool, typer.Option("--move", help="Also move its tenants to the other cells, by weight.")] = False,
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> str:
    """Give a cell no new tenants; with --move, also move its tenants to others. It can be repeated."""
    async with _open(home, database_url, administrators) as service:
        await service.set_weight(name, 0)
        try:
            tenant_ids = await service.tenants(name)
        except KeepsError as error:
            if move:
                raise
            return f"cell {name} takes no new tenants. Its tenants could not be counted: {error.detail}"
        if not move:
            return (
                f"cell {name} takes no new tenants; it still has {len(tenant_ids):,}. --move moves them to other cells"
            )
        for number, tenant_id in enumerate(tenant_ids, 1):
            other = await service.choose(name)
            with _show_steps(f"{number} of {len(tenant_ids)}: {tenant_id}") as report:
                await service.move(tenant_id, other, report)
    return f"cell {name} is empty; remove it with `keeps cells delete {name}`"


@command(cells)
async def rebalance(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the plan.")] = False,
    by: Annotated[
        Literal["size", "load"],
        typer.Option(help="What is balanced: estimated bytes, or writes and recalls of the last 7 days."),
    ] = "size",
    at_most: Annotated[int | None, typer.Option(help="Maximum number of moves of this run.", min=1)] = None,
    pause_at: Annotated[
        int, typer.Option(help="No move begins while a PostgreSQL has that many statements at work.", min=1)
    ] = 8,
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> Answer:
    """Move tenants until each cell is within 10 % of its share by weight, one at a time.

    It first finishes moves that were interrupted, and pauses under load. After an interruption, repeat the command.
    Exit code 1 if the cells are still not balanced.
    """
    from keeps.base.clock import utc_now
    from keeps.operate.cells.rebalancing import Rebalancer

    async with _open(home, database_url, administrators) as service:
        with _show_moves() as report:
            rebalancer = Rebalancer(service, utc_now, report, by=by, at_most=at_most, most_active=pause_at)
            done = await (rebalancer.look() if dry_run else rebalancer.run())
    reached = done.plan if done.after is None else done.after
    return Answer(
        _rebalance_value(done),
        lambda: _print_rebalance(done, dry_run=dry_run),
        failed=not dry_run and not reached.balanced,
    )


def _rebalance_value(done: Rebalance) -> dict[str, object]:
    """Return what --json prints."""
    now = done.plan if done.after is None else done.after
    return {
        "by": done.plan.by,
        "balanced": done.plan.balanced if done.after is None else done.after.balanced and not done.after.moves,
        "reason": now.reason,
        "cells": [asdict(cell) for cell in done.plan.cells],
        "planned": [asdict(move) for move in done.plan.moves],
        "unfinished": [asdict(each) for each in done.unfinished],
        "moved": [move.tenant_id for move in done.moved],
        "skipped": [move.tenant_id for move in done.skipped],
        "now": [{"name": cell.name, "tenants": cell.tenants, "amount": cell.amount} for cell in now.cells],
    }


def _print_rebalance(done: Rebalance, *, dry_run: bool) -> None:
    _print_cells(done.plan)
    for each in done.unfinished:
        out.print(
            f"the move of tenant {each.tenant_id} to {each.target} {'is unfinished' if dry_run else 'is finished'}"
        )
    if done.plan.moves:
        rows = [(move.tenant_id, move.source, move.target, f"{move.amount:,}") for move in done.plan.moves]
        print_table(["tenant", "from", "to", _unit(done.plan)], rows)
    for move in done.skipped:
        out.print(f"tenant {move.tenant_id} was no longer in {move.source}; it was left out")
    reached = done.plan if done.after is None else done.after
    moves = f"{len(done.plan.moves):,} move{'' if len(done.plan.moves) == 1 else 's'}"
    if reached.reason:
        out.print(f"[yellow]•[/] not within 10 %: {reached.reason}")
    elif not done.plan.moves:
        out.print("the cells are within 10 % of their shares; nothing to do")
    elif dry_run:
        out.print(f"{moves} would bring the cells within 10 % of their shares")
    elif reached.moves:
        out.print(f"{moves} done, but the tenants have changed meanwhile: repeat the command")
    else:
        out.print(f"{moves} done; the cells are within 10 % of their shares")


def _print_cells(plan: BalancePlan) -> None:
    unit = _unit(plan)
    print_table(
        ["cell", "weight", "tenants", unit, "share", "off by", "tenants after", f"{unit} after", "off by"],
        [
            (
                cell.name,
                cell.weight,
                f"{cell.tenants:,}",
                f"{cell.amount:,}",
                f"{cell.share:,}",
                f"{cell.deviation:+.0%}",
                f"{cell.tenants_after:,}",
                f"{cell.amount_after:,}",
                f"{cell.deviation_after:+.0%}",
            )
            for cell in plan.cells
        ],
    )


def _unit(plan: BalancePlan) -> str:
    return "bytes" if plan.by == "size" else "requests"


@contextmanager
def _show_moves() -> Generator[Callable[[RebalanceProgress], None]]:
    """Show the progress of a rebalance on one line; in a file, a line for each change of the state."""
    with progress() as bar:
        task = bar.add_task("", total=None)
        last = ""

        def report(now: RebalanceProgress) -> None:
            nonlocal last
            place = f"{now.number} of {now.moves}" if now.number else "unfinished"
            step = now.detail if now.move is None else now.move.step
            text = f"{place}: {now.tenant_id} to {now.target}: {now.state}{f' ({step})' if step else ''}"
            copied = now.move if now.move is not None and now.move.tables else None
            bar.update(
                task,
                description=text,
                total=copied and copied.tables,
                completed=copied.tables_ready if copied else 0,
            )
            if not err.is_terminal and text != last:
                err.print(text)
            last = text

        yield report


@command(cells)
async def delete(
    name: Name, administrators: Administrators = None, home: Home = None, database_url: DatabaseUrl = None
) -> str:
    """Delete an empty cell. Its database stays as it is."""
    async with _open(home, database_url, administrators) as service:
        await service.remove(name)
    return f"cell {name} is removed; its database still exists"


@command(cells)
async def export(
    engine: Annotated[str, typer.Option("--format", help="The router: pgdog or spqr.")],
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> str:
    """Print the cell of each tenant as the configuration of a sharding router, which can then replace the directory.

    Tenants are named by the SHA-256 of their ids, as in the directory.
    """
    from keeps.operate.cells.exporting import FORMATS

    if engine not in FORMATS:
        raise ValidationFailedError(f"--format is {engine!r}; it must be one of {', '.join(FORMATS)}")
    async with _open(home, database_url, administrators) as service:
        print(FORMATS[engine](await service.placements()), end="")
    return ""


@command(tenants)
async def move(
    tenant_id: Annotated[str, typer.Argument(help="Id of the tenant.")],
    to: Annotated[str, typer.Option("--to", help="The target cell.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check whether it is possible, and print what would move.")
    ] = False,
    give_up: Annotated[bool, typer.Option("--give-up", help="Clean up after an interrupted move.")] = False,
    administrators: Administrators = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> Answer:
    """Move a tenant to another cell while it is used: its writers wait a moment, other callers notice nothing. After an
    interruption, repeat the command to continue.
    """
    async with _open(home, database_url, administrators) as service:
        if give_up:
            await service.give_up(tenant_id, to)
            out.print(f"the move of tenant {tenant_id} to {to} is undone; the tenant is where it was")
            raise typer.Exit
        with _show_steps(tenant_id) as report:
            done = await service.move(tenant_id, to, report, dry_run=dry_run)
    rows = sum(done.rows.values())
    if done.source == to:
        text = f"tenant {tenant_id} is already in {to}"
    elif dry_run:
        text = f"tenant {tenant_id} can move from {done.source} to {to}: {rows:,} rows"
    else:
        text = (
            f"tenant {tenant_id} is now in {to}: {rows:,} rows; writes were paused for {done.held_seconds:.2f} s;"
            f" {sum(done.left.values()):,} rows left in {done.source}"
        )
    return Answer(done, text, failed=bool(done.left))


@contextmanager
def _show_steps(what: str) -> Generator[Callable[[Moved], None]]:
    """Show the progress of a move on one line; in a file, a line for each step."""
    with progress() as bar:
        task = bar.add_task(what, total=None)
        last = ""

        def report(moved: Moved) -> None:
            nonlocal last
            total = moved.tables or None
            bar.update(task, description=f"{what}: {moved.step}", total=total, completed=moved.tables_ready)
            if not err.is_terminal and moved.step != last:
                err.print(f"{what}: {moved.step}")
            last = moved.step

        yield report

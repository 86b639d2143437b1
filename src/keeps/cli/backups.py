"""backup: save the embedded database while it serves, and restore it to any later moment."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from keeps.cli.context import Home, Json, err, out, print_json, run
from keeps.clock import utc_now
from keeps.transfer.service import TransferService
from keeps_client.errors import NotConfiguredError, ValidationFailedError

if TYPE_CHECKING:
    from keeps.backups.folder import BackupFolder
    from keeps.backups.restoring import Checked
    from keeps.engine import Keeps

backup_app = typer.Typer(
    help="Backups of the embedded database: on, create, list, verify, restore, prune, off.", no_args_is_help=True
)
From = Annotated[
    Path | None, typer.Option("--from", help="The folder of backups; by default that of the home.", show_default=False)
]
KeyFile = Annotated[Path | None, typer.Option(help="The key of sealed backups.")]
Name = Annotated[str | None, typer.Option("--backup", help="One backup, by its name; by default the newest.")]
At = Annotated[
    str | None, typer.Option("--at", help="As it was at this time, such as 2026-11-24T09:30; UTC without a zone.")
]


def register(app: typer.Typer) -> None:
    for command in (on, off, create, list_backups, verify, restore, prune):
        backup_app.command("list" if command is list_backups else None)(command)
    app.add_typer(backup_app, name="backup")


def on(
    folder: Annotated[Path, typer.Argument(help="Where backups go: best on another disk.")],
    key_file: Annotated[
        Path | None, typer.Option(help="Seal the backups with the key in this file; it is made if it is not there.")
    ] = None,
    home: Home = None,
) -> None:
    """Set the folder for the home's backups.

    From the next start on its log is kept, too, so that any moment can be restored.
    """
    from keeps.backups.making import set_up
    from keeps.db.embedded import inspect_home

    place = embedded_home(home)
    fresh = key_file is not None and not key_file.exists()
    plan = set_up(place, folder, key_file, utc_now())
    out.print(f"backups of {place} go to {plan.folder}", soft_wrap=True)
    if fresh:
        out.print(
            f"[bold]Keep a copy of {plan.key_file} elsewhere.[/] Without it no backup can be opened.", soft_wrap=True
        )
    if plan.key_file is None:
        out.print("[dim]They are not sealed: whoever can read the folder can read every memory. --key-file seals.[/]")
    if inspect_home(place).running_pid is not None:
        out.print("The database is running: moments in between can be restored once it was stopped and started again.")


def off(home: Home = None) -> None:
    """Stop keeping the log. Existing backups stay."""
    from keeps.db.embedded.archiving import BACKUP_PLAN

    place = embedded_home(home)
    (place / BACKUP_PLAN).unlink(missing_ok=True)
    out.print(f"{place} is not backed up any more; backups that were made stay.")


def create(
    full: Annotated[bool, typer.Option("--full", help="A full one, also where an incremental one would do.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Make a backup while the server works: incremental for a week after a full one."""
    from keeps.backups.making import create as make
    from keeps.backups.making import plan_of
    from keeps.db.embedded import EmbeddedPostgres

    place = embedded_home(home)
    plan_of(place)

    async def work() -> None:
        with err.status("making a backup …") if err.is_terminal else nullcontext():
            async with await EmbeddedPostgres.open(place) as server:
                made = await make(server, utc_now, full=full)
        if as_json:
            print_json(made.model_dump(mode="json"))
            return
        out.print(
            f"[bold]{made.name}[/] · {made.kind} · {made.bytes / 1e6:,.1f} MB · {made.memories:,} memories of"
            f" {made.tenants:,} tenants · {(made.ended_at - made.began_at).total_seconds():.1f} s"
        )

    run(work)


def list_backups(folder: From = None, key_file: KeyFile = None, home: Home = None, as_json: Json = False) -> None:
    """List the backups, oldest first, and the end of the log."""
    source_folder = _folder(folder, key_file, home)
    backups = source_folder.backups()
    if as_json:
        print_json([backup.model_dump(mode="json") for backup in backups])
        return
    for damaged in source_folder.damaged():
        err.print(f"[red]{damaged} is damaged, or was made with another key: it is left out[/]")
    if not backups:
        out.print("No backup yet. [dim]`keeps backup create` makes one.[/]")
        return
    table = Table("name", "kind", "goes on from", "size", "memories", "took")
    for backup in backups:
        seconds = (backup.ended_at - backup.began_at).total_seconds()
        table.add_row(
            backup.name,
            backup.kind,
            backup.of or "",
            f"{backup.bytes / 1e6:,.1f} MB",
            f"{backup.memories:,}",
            f"{seconds:.1f} s",
        )
    out.print(table)
    segments = source_folder.segments()
    size = sum(source_folder.file("wal", segment + ".gz").stat().st_size for segment in segments)
    out.print(f"log: {len(segments)} segments, {size / 1e6:,.1f} MB{'; sealed' if source_folder.about.sealed else ''}")


def verify(
    name: Name = None,
    at: At = None,
    folder: From = None,
    key_file: KeyFile = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Restore a backup temporarily, and compare every row with the log of events. Exit code 1 if one differs."""
    from keeps.backups.restoring import verify as try_out

    source_folder = _folder(folder, key_file, home)

    async def work() -> int:
        with progress_line() as progress, tempfile.TemporaryDirectory(prefix="keeps-restored-") as place:
            restored, done = await try_out(
                source_folder, Path(place) / "home", opening, name=name, at=_moment(at), progress=progress
            )
        if as_json:
            print_json(
                {
                    "backups": restored.backups,
                    "moment": restored.moment.isoformat(),
                    "tenants": done.tenants,
                    "memories": restored.memories,
                    "erased_again": restored.erased_again,
                    "different": done.different,
                    "damaged": done.damaged,
                }
            )
        else:
            out.print(
                f"{' + '.join(restored.backups)} up to {restored.moment:%F %T} UTC: {restored.memories:,} memories of"
                f" {done.tenants:,} tenants, {restored.erased_again} erased again"
            )
            print_checked(done)
        return 0 if done.good else 1

    run(work)


def print_checked(checked: Checked) -> None:
    if checked.different:
        err.print(f"[red]rows differ from the log[/] of {', '.join(checked.different)}")
    if checked.damaged:
        err.print("[red]the database is damaged:[/]")
        err.print(checked.damaged, markup=False, highlight=False)
    if checked.good:
        out.print("[bold green]every table and index is whole, every row is what the log of events says[/]")


def restore(
    to: Annotated[Path, typer.Option("--to", help="The new home; with --tenant, where the work is done meanwhile.")],
    name: Name = None,
    at: At = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant, into the home that is in use.")] = None,
    into: Annotated[str | None, typer.Option("--as", help="The tenant that it becomes; by default the same.")] = None,
    folder: From = None,
    key_file: KeyFile = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Restore into a new home: the newest state, one backup, or a moment. Users erased since are erased again.

    With --tenant only one tenant is taken from there and added to --home, under its name or another. Existing data
    stays as it is.
    """
    from keeps.backups.restoring import restore as bring_back
    from keeps.backups.restoring import restored_for_a_while

    if into is not None and tenant is None:
        raise ValidationFailedError("--as names what a tenant becomes: say which with --tenant")
    source_folder = _folder(folder, key_file, home)
    moment, target = _moment(at), to.absolute()

    async def whole() -> None:
        with progress_line() as progress:
            done = await bring_back(source_folder, target, opening, name=name, at=moment, progress=progress)
        if as_json:
            print_json(
                {
                    "home": str(done.home),
                    "backups": done.backups,
                    "moment": done.moment.isoformat(),
                    "tenants": done.tenants,
                    "memories": done.memories,
                    "erased_again": done.erased_again,
                }
            )
            return
        out.print(
            f"[bold]{done.home}[/] is as it was at {done.moment:%F %T} UTC: {done.memories:,} memories of"
            f" {done.tenants:,} tenants; {done.erased_again} erased again",
            soft_wrap=True,
        )
        out.print(f"[dim]keeps serve --home {done.home} serves it; keeps backup on says where its own backups go.[/]")

    async def one() -> int:
        from keeps.scope import Scope

        place = embedded_home(home)
        with progress_line() as progress:
            async with (
                restored_for_a_while(source_folder, target, opening, name, moment, progress) as (source, done),
                opening(place, model=True) as keeps,
            ):
                progress(f"taking {tenant}")
                lines = [line async for line in source.service(TransferService).export(Scope(str(tenant)))]
                if not lines:
                    raise ValidationFailedError(f"tenant {tenant!r} holds nothing at {done.moment:%F %T} UTC")
                summary = await keeps.service(TransferService).import_lines(Scope(into or str(tenant)), lines)
        if as_json:
            print_json({"moment": done.moment.isoformat(), **summary.model_dump()})
        else:
            out.print(
                f"{into or tenant}, as {tenant} was at {done.moment:%F %T} UTC: {summary.stored:,} stored,"
                f" {summary.unchanged:,} there already, {summary.failed:,} failed"
            )
            for each in summary.errors[:20]:
                err.print(each, markup=False, highlight=False)
        return 1 if summary.failed else 0

    run(whole if tenant is None else one)


def prune(
    keep_days: Annotated[float, typer.Option(help="How long backups are kept. The newest always is.", min=0.0)] = 30.0,
    folder: From = None,
    key_file: KeyFile = None,
    home: Home = None,
) -> None:
    """Remove old backups, and the log that only they needed."""
    found = _folder(folder, key_file, home)
    with found.alone():
        gone, segments = found.prune(keep_days, utc_now())
    out.print(
        f"{len(gone)} backups and {segments} segments of the log removed" + (f": {', '.join(gone)}" if gone else "")
    )


@asynccontextmanager
async def opening(home: Path, url: str | None = None, *, model: bool = False) -> AsyncGenerator[Keeps]:
    """Open this home, whatever database the environment names; without a model nothing is embedded."""
    from keeps.bootstrap import open_keeps
    from keeps.settings import Settings, load_settings

    settings = load_settings({}, home=home) if model else Settings(home=home, database_url=url, embedder="none")
    keeps = await open_keeps(settings)
    try:
        yield keeps
    finally:
        await keeps.close()


def embedded_home(home: Path | None) -> Path:
    from keeps.settings import load_settings

    settings = load_settings(home=home)
    if settings.database_url is not None:
        raise NotConfiguredError(
            "KEEPS_DATABASE_URL names a PostgreSQL of your own: back it up with its own tools, such as pgBackRest"
            " (docs/running.md says how); keeps backup is for the embedded database"
        )
    return settings.home.expanduser().absolute()


def _folder(folder: Path | None, key_file: Path | None, home: Path | None) -> BackupFolder:
    from keeps.backups.folder import BackupFolder
    from keeps.backups.making import plan_of
    from keeps.backups.sealing import read_key

    if folder is None:
        plan = plan_of(embedded_home(home))
        folder, key_file = plan.folder, key_file or plan.key_file
    return BackupFolder.open(folder, None if key_file is None else read_key(key_file))


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValidationFailedError(f"--at {text!r} is no time; write it as 2026-11-24T09:30") from None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


@contextmanager
def progress_line(beginning: str = "restoring …") -> Generator[Callable[[str], None]]:
    """Show the current step on a terminal."""
    if not err.is_terminal:
        yield lambda _: None
        return
    with err.status(beginning) as status:
        yield lambda what: status.update(f"{what} …")

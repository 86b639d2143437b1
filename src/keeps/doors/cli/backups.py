"""backup: save the embedded database while it serves, and restore it to any later moment."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keeps.base.clock import utc_now
from keeps.doors.cli.command import Answer, command, group, print_table
from keeps.doors.cli.context import Home, err, out
from keeps.doors.cli.counts import counted
from keeps.doors.cli.parsers import time_option
from keeps.memory.transfer.service import TransferService
from keeps_client.errors import NotConfiguredError, ValidationFailedError

if TYPE_CHECKING:
    from keeps.engine import Keeps
    from keeps.operate.backups.folder import BackupFolder
    from keeps.operate.backups.restoring import Checked, Restored

app = typer.Typer()
backup = group()
app.add_typer(backup, name="backup")
From = Annotated[
    Path | None, typer.Option("--from", help="Folder of the backups. Default: that of the home.", show_default=False)
]
KeyFile = Annotated[Path | None, typer.Option(help="File with the key of encrypted backups.")]
Name = Annotated[str | None, typer.Option("--backup", help="Name of the backup. Default: the newest.")]
At = Annotated[datetime | None, time_option("State at that time.", "--at")]


@command(backup)
def on(
    folder: Annotated[Path, typer.Argument(help="Folder for backups, best on another disk.")],
    key_file: Annotated[
        Path | None,
        typer.Option(help="Encrypt the backups with the key in this file, which is created if it does not exist."),
    ] = None,
    home: Home = None,
) -> None:
    """Set the folder for the home's backups.

    From its next start, the database also archives its log, so that you can restore to any moment.
    """
    from keeps.doors.cli.background import stop
    from keeps.operate.backups.making import set_up
    from keeps.store.db.embedded import inspect_home

    place = embedded_home(home)
    fresh = key_file is not None and not key_file.exists()
    plan = set_up(place, folder, key_file, utc_now())
    out.print(f"backups of {place} go to {plan.folder}")
    if fresh:
        out.print(
            f"[bold]Keep a copy of {plan.key_file} elsewhere.[/] Without it no backup can be opened.", soft_wrap=True
        )
    if plan.key_file is None:
        out.print(
            "[dim]They are not encrypted: anyone with access to the folder can read all memories. Use --key-file.[/]"
        )
    stop(place)  # The next command starts the database anew, with its log.
    if inspect_home(place).running_pid is not None:
        out.print("The database is running. Restart it to be able to restore to any moment, not only to a backup.")


@command(backup)
def off(home: Home = None) -> None:
    """Turn backups off. Existing backups stay."""
    from keeps.doors.cli.background import stop
    from keeps.store.db.embedded.archiving import BACKUP_PLAN

    place = embedded_home(home)
    (place / BACKUP_PLAN).unlink(missing_ok=True)
    stop(place)
    out.print(f"{place} is no longer backed up; its existing backups stay.")


@command(backup)
async def create(
    full: Annotated[
        bool, typer.Option("--full", help="Make a full backup, even if an incremental one would be enough.")
    ] = False,
    home: Home = None,
) -> Answer:
    """Make a backup while the server works: incremental for a week after a full one."""
    from keeps.operate.backups.making import create as make
    from keeps.operate.backups.making import plan_of
    from keeps.store.db.embedded import EmbeddedPostgres

    place = embedded_home(home)
    plan_of(place)
    with err.status("making a backup …") if err.is_terminal else nullcontext():
        async with await EmbeddedPostgres.open(place) as server:
            made = await make(server, utc_now, full=full)
    return Answer(
        made,
        f"[bold]{made.name}[/] · {made.kind} · {made.bytes / 1e6:,.1f} MB · {counted(made.memories, 'memory')} of"
        f" {counted(made.tenants, 'tenant')} · {(made.ended_at - made.began_at).total_seconds():.1f} s",
    )


@command(backup, "list")
def list_backups(folder: From = None, key_file: KeyFile = None, home: Home = None) -> Answer:
    """List the backups, oldest first, and the end of the log."""
    source = _folder(folder, key_file, home)
    backups = source.backups()

    def text() -> None:
        for damaged in source.damaged():
            err.print(f"[red]{damaged} is damaged or was made with another key, so it is not listed[/]")
        if not backups:
            out.print("No backup yet. [dim]`keeps backup create` makes one.[/]")
            return
        rows = [
            (
                each.name,
                each.kind,
                each.of,
                f"{each.bytes / 1e6:,.1f} MB",
                f"{each.memories:,}",
                f"{(each.ended_at - each.began_at).total_seconds():.1f} s",
            )
            for each in backups
        ]
        print_table(["name", "kind", "based on", "size", "memories", "took"], rows)
        segments = source.segments()
        size = sum(source.file("wal", f"{segment}.gz").stat().st_size for segment in segments)
        out.print(f"log: {len(segments)} segments, {size / 1e6:,.1f} MB{'; encrypted' if source.about.sealed else ''}")

    return Answer(backups, text)


@command(backup)
async def verify(
    name: Name = None, at: At = None, folder: From = None, key_file: KeyFile = None, home: Home = None
) -> Answer:
    """Restore a backup temporarily, and compare every row with the log of events. Exit code 1 if one differs."""
    from keeps.operate.backups.restoring import verify as try_out

    source = _folder(folder, key_file, home, complete=True)
    with progress_line() as report, tempfile.TemporaryDirectory(prefix="keeps-restored-") as place:
        restored, done = await try_out(source, Path(place) / "home", opening, name=name, at=at, progress=report)

    def text() -> None:
        out.print(
            f"{' + '.join(restored.backups)} up to {restored.moment:%F %T} UTC:"
            f" {_contents(restored.memories, done.tenants, restored.erased_again)}"
        )
        print_checked(done)

    about = _about(restored) | {"tenants": done.tenants, "different": done.different, "damaged": done.damaged}
    return Answer(about, text, failed=not done.good)


def _contents(memories: int, tenants: int, erased_again: int) -> str:
    """Return what a restored home contains."""
    text = f"{counted(memories, 'memory')} of {counted(tenants, 'tenant')}"
    return f"{text}; {erased_again} erased again" if erased_again else text


def _about(restored: Restored) -> dict[str, object]:
    return {
        "backups": restored.backups,
        "moment": restored.moment.isoformat(),
        "tenants": restored.tenants,
        "memories": restored.memories,
        "erased_again": restored.erased_again,
    }


def print_checked(checked: Checked) -> None:
    if checked.different:
        err.print(f"[red]rows differ from the event log[/] in {', '.join(checked.different)}")
    if checked.damaged:
        err.print("[red]the database is damaged:[/]")
        err.print(checked.damaged, markup=False)
    if checked.good:
        out.print("[bold green]all tables and indexes are intact, and all rows match the event log[/]")


@command(backup)
async def restore(
    to: Annotated[Path, typer.Option("--to", help="The new home; with --tenant, a working folder.")],
    name: Name = None,
    at: At = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant, into the home that is in use.")] = None,
    into: Annotated[str | None, typer.Option("--as", help="Name of the restored tenant. Default: the same.")] = None,
    folder: From = None,
    key_file: KeyFile = None,
    home: Home = None,
) -> Answer:
    """Restore into a new home: the newest state, one backup, or a moment. Users erased since are erased again.

    With --tenant only one tenant is taken from there and added to --home, under its name or another. Existing data
    stays as it is.
    """
    from keeps.operate.backups.restoring import restore as restore_all

    if into is not None and tenant is None:
        raise ValidationFailedError("--as names the restored tenant; also name the original with --tenant")
    source, moment, target = _folder(folder, key_file, home, complete=True), at, to.absolute()
    if tenant is not None:
        return await _restore_tenant(source, embedded_home(home), target, name, moment, tenant, into or tenant)
    with progress_line() as report:
        done = await restore_all(source, target, opening, name=name, at=moment, progress=report)
    text = (
        f"[bold]{done.home}[/] is restored to {done.moment:%F %T} UTC:"
        f" {_contents(done.memories, done.tenants, done.erased_again)}\n"
        f"[dim]Check it: keeps events verify --home {done.home} --tenant …\n"
        f"Then serve it: keeps serve --home {done.home}\n"
        f"It has no backups yet: keeps backup on FOLDER --home {done.home}[/]"
    )
    return Answer({"home": str(done.home), **_about(done)}, text)


async def _restore_tenant(
    source: BackupFolder,
    home: Path,
    target: Path,
    name: str | None,
    moment: datetime | None,
    tenant: str,
    into: str,
) -> Answer:
    from keeps.base.scope import Scope
    from keeps.operate.backups.restoring import restored_for_a_while

    with progress_line() as report:
        async with (
            restored_for_a_while(source, target, opening, name, moment, report) as (restored, done),
            opening(home, model=True) as keeps,
        ):
            report(f"taking {tenant}")
            exported = [line async for line in restored.service(TransferService).export(Scope(tenant))]
            if not exported:
                raise ValidationFailedError(f"tenant {tenant!r} has no data at {done.moment:%F %T} UTC")
            summary = await keeps.service(TransferService).import_lines(Scope(into), exported)

    def text() -> None:
        out.print(
            f"{into}, from {tenant} at {done.moment:%F %T} UTC: {summary.stored:,} stored,"
            f" {summary.unchanged:,} unchanged, {summary.failed:,} failed"
        )
        for error in summary.errors[:20]:
            err.print(error, markup=False)

    value = {"moment": done.moment.isoformat(), **summary.model_dump()}
    return Answer(value, text, failed=bool(summary.failed))


@command(backup)
def prune(
    keep_days: Annotated[
        float, typer.Option(help="Days to keep backups. The newest one always stays.", min=0.0)
    ] = 30.0,
    folder: From = None,
    key_file: KeyFile = None,
    home: Home = None,
) -> None:
    """Remove old backups, and the log that only they needed."""
    source = _folder(folder, key_file, home)
    with source.alone():
        gone, segments = source.prune(keep_days, utc_now())
    out.print(
        f"removed {counted(len(gone), 'backup')} and {counted(segments, 'log segment')}"
        + (f": {', '.join(gone)}" if gone else "")
    )


@asynccontextmanager
async def opening(home: Path, url: str | None = None, *, model: bool = False) -> AsyncGenerator[Keeps]:
    """Open this home, whatever database the environment names; without a model nothing is embedded."""
    from keeps.base.settings import Settings, load_settings
    from keeps.bootstrap import open_keeps

    settings = load_settings({}, home=home) if model else Settings(home=home, database_url=url, embedder="none")
    keeps = await open_keeps(settings)
    try:
        yield keeps
    finally:
        await keeps.close()


def embedded_home(home: Path | None) -> Path:
    from keeps.base.settings import load_settings

    settings = load_settings(home=home)
    if settings.database_url is not None:
        raise NotConfiguredError(
            "KEEPS_DATABASE_URL names a PostgreSQL of your own: back it up with its own tools, such as pgBackRest"
            " (docs/running.md says how); keeps backup is for the embedded database"
        )
    return settings.home.expanduser().absolute()


def _folder(folder: Path | None, key_file: Path | None, home: Path | None, *, complete: bool = False) -> BackupFolder:
    """Return the folder of backups. `complete`: end the background process, which archives its log up to now."""
    from keeps.doors.cli.background import stop
    from keeps.operate.backups.folder import BackupFolder
    from keeps.operate.backups.making import plan_of
    from keeps.operate.backups.sealing import read_key

    if folder is None:
        place = embedded_home(home)
        plan = plan_of(place)
        if complete:
            stop(place)
        folder, key_file = plan.folder, key_file or plan.key_file
    return BackupFolder.open(folder, None if key_file is None else read_key(key_file))


@contextmanager
def progress_line(beginning: str = "restoring …") -> Generator[Callable[[str], None]]:
    """Show the current step on a terminal."""
    if not err.is_terminal:
        yield lambda _: None
        return
    with err.status(beginning) as status:
        yield lambda what: status.update(f"{what} …")

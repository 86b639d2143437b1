"""migrate, doctor, status, reindex."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import TimeRemainingColumn

from keeps.doors.cli.backups import embedded_home, opening, print_checked, progress_line
from keeps.doors.cli.command import Answer, command, lines, progress
from keeps.doors.cli.context import DatabaseUrl, Home, Target, check_home, err, out
from keeps.memory.indexing.service import Indexer
from keeps_client.errors import ValidationFailedError

if TYPE_CHECKING:
    from keeps.engine import Keeps

app = typer.Typer()
MARKS = {"ok": "[green]✓[/]", "note": "[yellow]•[/]", "failed": "[bold red]✗[/]"}


@command(app)
async def status(target: Target) -> Answer:
    """Show the stored data, the state of the index, and the users of the server (as they were before this command).

    At --url: the status of the server and of your memory.
    """
    from keeps.base.settings import load_settings
    from keeps.doors.cli.remote import report_server
    from keeps.store.db.embedded import inspect_home
    from keeps.store.db.pool import address_of

    if target.url:
        return _report(await report_server(target))
    settings = load_settings(home=target.home, database_url=target.database_url)
    report: dict[str, Any] = {}
    if settings.database_url:
        report["database"] = address_of(settings.database_url)
    else:
        home = inspect_home(settings.home)
        report |= {
            "home": str(home.home),
            "data": str(home.data),
            "server": f"running, process {home.running_pid}" if home.running_pid else "not running",
            "used_by_processes": home.lease_pids,
        }
        if not home.exists:
            return _report(report | {"server": "nothing stored here yet"})
    async with target.open() as keeps:
        index = await keeps.status()
    report |= {
        "tenants": index.counts.tenants,
        "users": index.counts.users,
        "memories": index.counts.memories,
        "events": index.counts.events,
        "model": index.model,
        "vectors": index.counts.vectors,
        "pending": index.pending,
        "lag_seconds": round(index.lag_seconds, 1),
    }
    return _report(report)


@command(app)
async def doctor(target: Target) -> Answer:
    """Check everything that can be wrong, and say how to fix it; at --url what the server shows.

    Exit code 1 if something is.
    """
    from keeps.base.settings import load_settings
    from keeps.doors.cli.checks import run_checks
    from keeps.doors.cli.remote import check_server

    if target.url:
        checks = await check_server(target)
    else:
        check_home(target.home, target.database_url)
        checks = await run_checks(load_settings(home=target.home, database_url=target.database_url))
    shown = [f"{MARKS[check.state]} [bold]{check.name}[/]  {escape(check.finding)}" for check in checks]
    return Answer(checks, "\n".join(shown), failed=any(check.state == "failed" for check in checks))


async def _plan(admin_url: str | None) -> str:
    from keeps.store.db.provision import as_administrator
    from keeps.store.db.statements import Statements
    from keeps.store.schema.migrate import steps

    if admin_url is None:
        raise ValidationFailedError(
            "--plan looks at a PostgreSQL of your own: give --admin-url. An embedded home is brought up to date when it"
            " is opened"
        )
    probe = Statements("keeps.store.db", file_name="probe.sql")
    there = await as_administrator(admin_url, probe["schema_there"])
    rows = await as_administrator(admin_url, probe["schema_version"]) if there[0]["there"] else []
    current = rows[0]["version_num"] if rows else None
    found = steps(current)
    text = f"schema is at revision {current or 'none'}; {len(found) or 'nothing'} to do"
    return "\n".join([text, *(f"  {each.revision}  {each.what}" for each in found)])


@command(app)
async def migrate(
    admin_url: Annotated[
        str | None,
        typer.Option(
            envvar="KEEPS_ADMIN_URL",
            show_envvar=True,
            help=(
                "PostgreSQL as its administrator, to make roles, extensions and tables:"
                " postgresql://postgres:…@host/database"
            ),
        ),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be done.")] = False,
    old_programs: Annotated[
        Path | None,
        typer.Option(
            help="For a home that an older PostgreSQL made: the folder with that one's programs, such as pip install"
            " --target makes it."
        ),
    ] = None,
    keep_old: Annotated[
        bool, typer.Option("--keep-old", help="With --old-programs: leave the data from before where it is.")
    ] = False,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> str:
    """Bring the database to the newest schema. For your own PostgreSQL, give --admin-url or KEEPS_ADMIN_URL once
    (others on the machine see arguments, not variables); it prints the URL to serve with.

    A home that an older PostgreSQL made is upgraded with --old-programs: copied, and every row compared with the log
    of events, before the old data is removed. Exit code 1 where one differs."""
    from keeps.base.settings import load_settings
    from keeps.store.db.provision import made_up_passwords, prepare
    from keeps.store.schema.files import HEAD

    if plan:
        return await _plan(admin_url)
    if old_programs is not None:
        return await _upgrade(embedded_home(home), old_programs, keep_old=keep_old)
    if admin_url is None:
        if load_settings(home=home, database_url=database_url).database_url:
            raise ValidationFailedError(
                "keeps_app may not change tables: give --admin-url, the URL of the database's administrator"
            )
        async with Target(home, None, may_make=True).open():
            return f"schema is at revision {HEAD}"
    passwords = {
        "keeps_owner": os.environ.get("KEEPS_OWNER_PASSWORD"),
        "keeps_app": os.environ.get("KEEPS_APP_PASSWORD"),
    }
    app_url = await prepare(admin_url, made_up_passwords() | {role: word for role, word in passwords.items() if word})
    err.print(f"schema is at revision {HEAD}; the password of keeps_app was set. Serve with:")
    print(f"KEEPS_DATABASE_URL={app_url}")
    return ""


async def _upgrade(home: Path, old_programs: Path, *, keep_old: bool) -> str:
    from keeps.operate.backups.upgrading import upgrade

    with progress_line("upgrading …") as progress:
        done = await upgrade(home, old_programs, opening, keep_old=keep_old, progress=progress)
    out.print(f"[bold]{home}[/] is of PostgreSQL {done.after} now, {done.before} before")
    print_checked(done.checked)
    if done.old_data is not None:
        out.print(f"The data from before is in {done.old_data}: remove it when you trust the new.")
    if not done.checked.good:
        raise typer.Exit(1)
    return ""


async def make_vectors(keeps: Keeps) -> int:
    """Make all missing vectors; return their number."""
    from keeps.base.scope import Scope

    stored = 0
    with progress(TimeRemainingColumn()) as bar:
        task = bar.add_task("indexing", total=(await keeps.status()).pending)
        while waiting := await keeps.service(Indexer).users_to_index():
            before = stored
            for each in waiting:
                stored += await keeps.service(Indexer).index_user(
                    Scope(each.tenant_id, each.user_id), lambda count: bar.advance(task, count)
                )
            if stored == before:
                break
    return stored


@command(app)
async def reindex(
    keeps: Keeps,
    drop_old: Annotated[
        bool,
        typer.Option(
            "--drop-old/--keep-old", help="Remove the vectors of other models when the new ones are complete."
        ),
    ] = True,
) -> Answer:
    """Make the missing vectors, as after a change of the embedding model.

    Recall continues meanwhile; it can be repeated.
    """
    stored = await make_vectors(keeps)
    if drop_old:
        await keeps.service(Indexer).drop_other_models()
    index = await keeps.status()
    return Answer(
        {"stored": stored, "model": index.model, "pending": index.pending},
        f"[bold]{stored:,}[/] vectors stored; model {index.model}; {index.pending:,} pending",
    )


def _report(report: dict[str, Any]) -> Answer:
    def line(name: str) -> str:
        value = report[name]
        return f"[dim]{name.replace('_', ' '):>18}[/]  {f'{value:,}' if isinstance(value, int) else escape(str(value))}"

    return lines(report, line, value=report)

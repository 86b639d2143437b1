"""migrate, doctor, status, reindex."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

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
    """Show what is stored, and the state of the index.

    And the processes that use the home, as they were before this command. At --url: the status of the server and of
    your memory.
    """
    from keeps.base.settings import load_settings
    from keeps.doors.cli.background import running
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
            "background": ", ".join(f"process {each}" for each in running(home.home).values()) or "none",
        }
        if not home.exists:
            return _report(report | {"server": "nothing stored yet"})
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
async def doctor(
    target: Target,
    counts: Annotated[
        bool,
        typer.Option(
            "--counts", help="Also count all rows of every tenant, and correct counters and quotas that differ."
        ),
    ] = False,
) -> Answer:
    """Check the installation and explain how to fix problems.

    With --url, check the server. Exit code 1 if a check fails.
    """
    from keeps.base.settings import load_settings
    from keeps.doors.cli.checks import run_checks
    from keeps.doors.cli.remote import check_server

    if target.url:
        if counts:
            raise ValidationFailedError("--counts needs the database; run it where the server runs, without --url")
        checks = await check_server(target)
    else:
        check_home(target.home, target.database_url)
        settings = load_settings(home=target.home, database_url=target.database_url)
        checks = await run_checks(settings, counts=counts)
    shown = [f"{MARKS[check.state]} [bold]{check.name}[/]  {escape(check.finding)}" for check in checks]
    return Answer(checks, "\n".join(shown), failed=any(check.state == "failed" for check in checks))


async def _plan(admin_url: str | None) -> str:
    from keeps.store.db.provision import as_administrator
    from keeps.store.db.statements import Statements
    from keeps.store.schema.migrate import steps

    if admin_url is None:
        raise ValidationFailedError(
            "--plan needs --admin-url, for your own PostgreSQL. An embedded home is migrated when it is opened"
        )
    probe = Statements("keeps.store.db", file_name="probe.sql")
    there = await as_administrator(admin_url, probe["schema_there"])
    rows = await as_administrator(admin_url, probe["schema_version"]) if there[0]["there"] else []
    current = rows[0]["version_num"] if rows else None
    found = steps(current)
    text = f"schema is at revision {current or 'none'}; pending revisions: {len(found)}"
    return "\n".join([text, *(f"  {each.revision}  {each.what}" for each in found)])


@command(app)
async def migrate(
    admin_url: Annotated[
        str | None,
        typer.Option(
            envvar="KEEPS_ADMIN_URL",
            show_envvar=True,
            help=(
                "URL of a PostgreSQL administrator, used to create roles, extensions and tables:"
                " postgresql://postgres:…@host/database"
            ),
        ),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only print the steps.")] = False,
    old_programs: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the programs of the older PostgreSQL, as `pip install --target` creates it, to upgrade a"
            " home of that version."
        ),
    ] = None,
    keep_old: Annotated[
        bool, typer.Option("--keep-old", help="With --old-programs: do not remove the old data.")
    ] = False,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> str:
    """Bring the database to the newest schema. For your own PostgreSQL, give --admin-url or KEEPS_ADMIN_URL once
    (others on the machine see arguments, not variables); it prints the URL to serve with. KEEPS_APP_PASSWORD and
    KEEPS_OWNER_PASSWORD set the passwords of the roles; without them, roles that exist keep theirs.

    A home that an older PostgreSQL made is upgraded with --old-programs: copied, and every row compared with the log
    of events, before the old data is removed. Exit code 1 where one differs."""
    from keeps.base.settings import load_settings
    from keeps.store.db.pool import address_of
    from keeps.store.db.provision import given_passwords, prepare
    from keeps.store.schema.revisions import HEAD

    if plan:
        return await _plan(admin_url)
    if old_programs is not None:
        return await _upgrade(embedded_home(home), old_programs, keep_old=keep_old)
    settings = load_settings(home=home, database_url=database_url)
    if settings.router_shards:
        return await _migrate_shards([name for name, _ in settings.router_shards], admin_url)
    if admin_url is None:
        if settings.database_url:
            raise ValidationFailedError(
                "keeps_app cannot change tables: give the URL of the database's administrator as --admin-url"
            )
        async with Target(home, None, may_make=True).open():
            return f"schema is at revision {HEAD}"
    passwords = given_passwords()
    app_url = await prepare(admin_url, passwords)
    if app_url is None:
        err.print(
            f"schema is at revision {HEAD}; the password of keeps_app is unchanged (KEEPS_APP_PASSWORD changes it)"
        )
        return ""
    if "keeps_app" in passwords:  # the caller has it, and logs of a job would keep it
        app_url = address_of(app_url).replace("keeps_app@", "keeps_app:…@")
        which = "given"
    else:
        which = "new"
    err.print(f"schema is at revision {HEAD}; the {which} password of keeps_app was set. Serve with:")
    print(f"KEEPS_DATABASE_URL={app_url}")
    return ""


async def _migrate_shards(names: Sequence[str], admin_url: str | None) -> str:
    """Bring every shard behind a router to the newest schema, as the administrators that KEEPS_CELL_ADMINS names."""
    from keeps.store.db.provision import given_passwords, prepare
    from keeps.store.schema.revisions import HEAD

    if admin_url is not None:
        raise ValidationFailedError(
            "KEEPS_ROUTER is set, so the administrators of all shards are needed: name them in KEEPS_CELL_ADMINS, and"
            " leave --admin-url and KEEPS_ADMIN_URL out"
        )
    given = (each.partition("=") for each in os.environ.get("KEEPS_CELL_ADMINS", "").split())
    admins = {name: url for name, _, url in given}
    if missing := [name for name in names if not admins.get(name)]:
        raise ValidationFailedError(
            f"KEEPS_CELL_ADMINS names no administrator of the shard {', '.join(missing)}; write"
            " a=postgresql://postgres:…@host/database b=postgresql://…"
        )
    passwords = given_passwords()
    for name in names:
        url = await prepare(admins[name], passwords)
        err.print(f"shard {name}: schema is at revision {HEAD}")
        if url is not None and "keeps_app" not in passwords:
            print(f"{name}={url}")  # A new role, whose generated password nobody knows yet.
    return ""


async def _upgrade(home: Path, old_programs: Path, *, keep_old: bool) -> str:
    from keeps.doors.cli.background import stop
    from keeps.operate.backups.upgrading import upgrade

    stop(home)  # Whoever uses it still is named by the refusal.
    with progress_line("upgrading …") as progress:
        done = await upgrade(home, old_programs, opening, keep_old=keep_old, progress=progress)
    out.print(f"[bold]{home}[/] is upgraded from PostgreSQL {done.before} to {done.after}")
    print_checked(done.checked)
    if done.old_data is not None:
        out.print(f"The old data is in {done.old_data}: delete it when the upgraded database works.")
    if not done.checked.good:
        raise typer.Exit(1)
    return ""


async def make_vectors(keeps: Keeps) -> int:
    """Make all missing vectors; return their number."""
    with progress(TimeRemainingColumn()) as bar:
        task = bar.add_task("indexing", total=(await keeps.status()).pending)
        return await keeps.service(Indexer).index_all(lambda count: bar.advance(task, count))


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
    """Create missing vectors, for example after changing the model.

    Recall keeps working meanwhile. You can interrupt and repeat this command.
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
        return f"[dim]{name.replace('_', ' '):>18}[/]  {escape(_shown(report[name]))}"

    return lines(report, line, value=report)


def _shown(value: object) -> str:
    match value:
        case int():
            return f"{value:,}"
        case dict() | list():
            counts = cast("dict[str, int] | list[object]", value)
            shown = [f"{n:,} of {name}" for name, n in counts.items()] if isinstance(counts, dict) else map(str, counts)
            return ", ".join(shown) or "none"
        case _:
            return str(value)

"""migrate, doctor, status, reindex."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from keeps.cli.backups import embedded_home, opening, print_checked, progress_line
from keeps.cli.context import DatabaseUrl, Home, Json, Target, check_home, err, out, print_json, run, targeted
from keeps.indexing.service import Indexer
from keeps_client.errors import ValidationFailedError

if TYPE_CHECKING:
    from keeps.engine import Keeps


def register(app: typer.Typer) -> None:
    app.command()(targeted(status))
    app.command()(targeted(doctor))
    app.command()(migrate)
    app.command()(reindex)


def status(*, target: Target, as_json: Json = False) -> None:
    """Show the stored data, the state of the index, and the users of the server (as they were before this command).

    At --url: the status of the server and of your memory.
    """

    async def work() -> int:
        from keeps.cli.remote import report_server
        from keeps.db.embedded import inspect_home
        from keeps.db.pool import address_of
        from keeps.settings import load_settings

        if target.url:
            _print_report(await report_server(target), as_json=as_json)
            return 0
        settings = load_settings(home=target.home, database_url=target.database_url)
        report: dict[str, Any] = {}
        if settings.database_url:
            report["database"] = address_of(settings.database_url)
        else:
            home_report = inspect_home(settings.home)
            report |= {
                "home": str(home_report.home),
                "data": str(home_report.data),
                "server": f"running, process {home_report.running_pid}" if home_report.running_pid else "not running",
            }
            report["used_by_processes"] = home_report.lease_pids
            if not home_report.exists:
                report["server"] = "nothing stored here yet"
                _print_report(report, as_json=as_json)
                return 0
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
        _print_report(report, as_json=as_json)
        return 0

    run(work)


def doctor(*, target: Target, as_json: Json = False) -> None:
    """Check everything that can be wrong, and say how to fix it; at --url what the server shows.

    Exit code 1 if something is.
    """

    async def work() -> int:
        from keeps.cli.checks import run_checks
        from keeps.cli.remote import check_server
        from keeps.settings import load_settings

        if target.url:
            checks = await check_server(target)
        else:
            check_home(target.home, target.database_url)
            checks = await run_checks(load_settings(home=target.home, database_url=target.database_url))
        if as_json:
            print_json([asdict(check) for check in checks])
        else:
            for check in checks:
                mark = {"ok": "[green]✓[/]", "note": "[yellow]•[/]", "failed": "[bold red]✗[/]"}[check.state]
                line = f"{mark} [bold]{check.name}[/]  {escape(check.finding)}"
                out.print(line, highlight=False, emoji=False, soft_wrap=not out.is_terminal)
        return 1 if any(check.state == "failed" for check in checks) else 0

    run(work)


async def _print_plan(admin_url: str | None) -> None:
    from keeps.db.provision import as_administrator
    from keeps.db.statements import Statements
    from keeps.schema.migrate import steps

    if admin_url is None:
        raise ValidationFailedError(
            "--plan looks at a PostgreSQL of your own: give --admin-url. An embedded home is brought up to date when it"
            " is opened"
        )
    probe = Statements("keeps.db", file_name="probe.sql")
    there = await as_administrator(admin_url, probe["schema_there"])
    rows = await as_administrator(admin_url, probe["schema_version"]) if there[0]["there"] else []
    current = rows[0]["version_num"] if rows else None
    found = steps(current)
    out.print(f"schema is at revision {current or 'none'}; {len(found) or 'nothing'} to do")
    for each in found:
        out.print(f"  {each.revision}  {each.what}", highlight=False)


def migrate(
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
) -> None:
    """Bring the database to the newest schema. For your own PostgreSQL, give --admin-url or KEEPS_ADMIN_URL once
    (others on the machine see arguments, not variables); it prints the URL to serve with.

    A home that an older PostgreSQL made is upgraded with --old-programs: copied, and every row compared with the log
    of events, before the old data is removed. Exit code 1 where one differs."""

    async def work() -> int | None:
        from keeps.db.provision import made_up_passwords, prepare
        from keeps.schema.files import HEAD
        from keeps.settings import load_settings

        if plan:
            await _print_plan(admin_url)
            return None
        if old_programs is not None:
            return await _upgrade(embedded_home(home), old_programs, keep_old=keep_old)
        if admin_url is None:
            if load_settings(home=home, database_url=database_url).database_url:
                raise ValidationFailedError(
                    "keeps_app may not change tables: give --admin-url, the URL of the database's administrator"
                )
            async with Target(home, None, may_make=True).open():
                out.print(f"schema is at revision {HEAD}")
            return None
        passwords = {
            "keeps_owner": os.environ.get("KEEPS_OWNER_PASSWORD"),
            "keeps_app": os.environ.get("KEEPS_APP_PASSWORD"),
        }
        app_url = await prepare(
            admin_url, made_up_passwords() | {role: word for role, word in passwords.items() if word}
        )
        err.print(f"schema is at revision {HEAD}; the password of keeps_app was set. Serve with:")
        print(f"KEEPS_DATABASE_URL={app_url}")
        return None

    run(work)


async def _upgrade(home: Path, old_programs: Path, *, keep_old: bool) -> int:
    from keeps.backups.upgrading import upgrade

    with progress_line("upgrading …") as progress:
        done = await upgrade(home, old_programs, opening, keep_old=keep_old, progress=progress)
    out.print(f"[bold]{home}[/] is of PostgreSQL {done.after} now, {done.before} before", soft_wrap=True)
    print_checked(done.checked)
    if done.old_data is not None:
        out.print(f"The data from before is in {done.old_data}: remove it when you trust the new.", soft_wrap=True)
    return 0 if done.checked.good else 1


async def make_vectors(keeps: Keeps) -> int:
    """Make all missing vectors; return their number."""
    from keeps.scope import Scope

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    stored = 0
    with Progress(*columns, console=err, disable=not err.is_terminal) as bar:
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


def reindex(
    drop_old: Annotated[
        bool,
        typer.Option(
            "--drop-old/--keep-old", help="Remove the vectors of other models when the new ones are complete."
        ),
    ] = True,
    home: Home = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Make the missing vectors, as after a change of the embedding model.

    Recall continues meanwhile; it can be repeated.
    """

    async def work() -> None:
        async with Target(home, database_url).open() as keeps:
            stored = await make_vectors(keeps)
            if drop_old:
                await keeps.service(Indexer).drop_other_models()
            index = await keeps.status()
        if as_json:
            print_json({"stored": stored, "model": index.model, "pending": index.pending})
        else:
            out.print(f"[bold]{stored:,}[/] vectors stored; model {index.model}; {index.pending:,} pending")

    run(work)


def _print_report(report: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    for name, value in report.items():
        shown = (
            f"{value:,}"
            if isinstance(value, int)
            else ", ".join(f"{k} {v:,}" for k, v in value.items())
            if isinstance(value, dict)
            else value
        )
        out.print(f"[dim]{name.replace('_', ' '):>18}[/]  {shown}")

"""import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from keeps.cli.context import (
    DEFAULT_TENANT_ID,
    DEFAULT_USER_ID,
    Agent,
    DatabaseUrl,
    Home,
    Json,
    Target,
    Tenant,
    User,
    err,
    out,
    print_json,
    run,
)
from keeps.importing.formats import Format, read
from keeps.importing.service import Summary, run_import
from keeps_client.errors import ValidationFailedError

SHOWN_REJECTIONS = 20


def register(app: typer.Typer) -> None:
    app.command("import")(import_files)


def import_files(
    path: Annotated[Path, typer.Argument(help="A file or a folder.")],
    form: Annotated[
        str, typer.Option("--format", help="auto, chat (OpenAI-style JSON or JSONL), locomo, markdown or text.")
    ] = "auto",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is indexed.")] = True,
    tenant: Tenant = DEFAULT_TENANT_ID,
    user: User = DEFAULT_USER_ID,
    agent: Agent = None,
    home: Home = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Bring in chats, LoCoMo, Markdown folders or plain text. Stop and repeat it as you like: nothing is stored twice."""
    if form not in get_args(Format):
        raise ValidationFailedError(f"unknown --format {form!r}; there are {', '.join(get_args(Format))}")
    chosen: Any = form

    async def work() -> int:
        records = list(read(path, chosen))
        target = Target(home, database_url, tenant, user, agent)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        async with target.open() as keeps:
            with Progress(*columns, console=err, disable=not err.is_terminal) as bar:
                storing = bar.add_task("storing ", total=sum(record.memory is not None for record in records))
                summary = await run_import(
                    keeps.memory(target.scope), records, lambda count: bar.advance(storing, count)
                )
                if wait:
                    pending = sum(
                        each.pending
                        for each in await keeps.indexer.users_to_index()
                        if (each.tenant_id, each.user_id) == (tenant, user)
                    )
                    indexing = bar.add_task("indexing", total=pending)
                    await keeps.indexer.index_user(target.scope, lambda count: bar.advance(indexing, count))
        _print(summary, as_json=as_json)
        return 1 if summary.rejected and not summary.stored else 0

    run(work)


def _print(summary: Summary, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "statuses": summary.statuses,
                "rejected": [{"place": place, "problem": problem} for place, problem in summary.rejected],
            }
        )
        return
    counted = (
        " · ".join(f"{count:,} {status}" for status, count in summary.statuses.most_common()) or "nothing to store"
    )
    out.print(f"[bold]{counted}[/]" + (f" · [red]{len(summary.rejected):,} rejected[/]" if summary.rejected else ""))
    for place, problem in summary.rejected[:SHOWN_REJECTIONS]:
        err.print(f"  {place}: {problem}", markup=False, highlight=False)
    if len(summary.rejected) > SHOWN_REJECTIONS:
        err.print(f"  and {len(summary.rejected) - SHOWN_REJECTIONS:,} more; --json lists them all")

"""import, export."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, get_args

import typer
from rich.progress import TimeRemainingColumn

from keeps.doors.cli.command import Answer, command, progress
from keeps.doors.cli.context import Target, err, in_process, out
from keeps.memory.indexing.service import Indexer
from keeps.memory.transfer.service import TransferService
from keeps.sources.importing.formats import Format, read
from keeps.sources.importing.service import Summary, run_import
from keeps_client.errors import ConflictError, ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Memory as Stored

app = typer.Typer()
SHOWN_REJECTIONS = 20


@command(app, "import", may_make=True)
async def import_files(
    target: Target,
    path: Annotated[Path, typer.Argument(help="A file or a folder.")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help=(
                "auto, chat (OpenAI-style JSON or JSONL), locomo, markdown, text, or keeps (what `keeps export` wrote)."
            ),
        ),
    ] = "auto",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is indexed.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing; say what would be.")] = False,
) -> Answer:
    """Import chats, LoCoMo, Markdown folders, plain text, or an export.

    You can interrupt and repeat it: nothing is stored twice.
    """
    if form == "keeps" or (form == "auto" and _is_export(path)):
        if not path.is_file():
            raise ValidationFailedError(f"no file {path}")
        return await _import_export(path, target, dry_run=dry_run)
    if form not in get_args(Format):
        raise ValidationFailedError(f"unknown --format {form!r}; there are {', '.join(get_args(Format))}, keeps")
    chosen: Any = form

    from keeps.sources.importing.markdown import is_markdown_memory, read_folder

    memory_folder = form in ("auto", "markdown") and is_markdown_memory(path)
    records = list(read_folder(path) if memory_folder else read(path, chosen))
    if dry_run:
        good = sum(record.memory is not None for record in records)
        wrong = [(item.place, item.problem or "cannot be stored") for item in records if item.memory is None]
        notes = [(item.place, item.note) for item in records if item.note is not None]
        planned = Summary(Counter({"would be stored": good} if good else {}), wrong, notes)
        return _summary(planned, failed=bool(wrong and not good))
    async with target.memory() as memory:
        with progress(TimeRemainingColumn()) as bar:
            storing = bar.add_task("storing ", total=sum(record.memory is not None for record in records))
            summary = await run_import(memory, records, lambda count: bar.advance(storing, count))
            if wait and in_process(memory):
                indexer, owner = memory.keeps.service(Indexer), (target.tenant, target.user)
                waiting = await indexer.users_to_index()
                pending = sum(item.pending for item in waiting if (item.tenant_id, item.user_id) == owner)
                indexing = bar.add_task("indexing", total=pending)
                await indexer.index_user(target.scope, lambda count: bar.advance(indexing, count))
    return _summary(summary, failed=bool(summary.rejected and not summary.stored))


def _is_export(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return re.match(rb"\s*\{\s*\"type\":\s*\"[a-z_]+\",\s*\"row\":\s*\{", file.read(200)) is not None


@command(app)
async def export(
    target: Target,
    file: Annotated[Path | None, typer.Argument(help="Where to; standard output if not given.")] = None,
    form: Annotated[
        str, typer.Option("--format", help="jsonl: everything of a tenant; markdown: a user's memories, as a folder.")
    ] = "jsonl",
    only_user: Annotated[str | None, typer.Option(help="Only this user's data, not the whole tenant's.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
) -> None:
    """Write a tenant's data as JSON lines: memories, graph, sessions, plans, task contexts, working memory. Or with
    --format markdown the memories of --user as a folder that people can read and edit. `keeps import` takes both back.
    Only you can read what is written; a file that is there stays, unless --overwrite.
    """
    if form == "jsonl" and file is not None and file.is_file() and not overwrite:
        raise ConflictError(f"{file} is there already; name another file, or add --overwrite")
    if form == "markdown":
        if file is None:
            raise ValidationFailedError("name a folder: keeps export FOLDER --format markdown")

        from keeps.sources.importing.markdown import write_folder

        async with target.memory() as memory:
            count = write_folder(file, [each async for each in _memories(memory)])
        err.print(f"[dim]{count:,} memories in {file}[/]")
        return
    if form != "jsonl":
        raise ValidationFailedError(f"unknown --format {form!r}; there are jsonl and markdown")
    count = 0
    with _private(file) if file else nullcontext(sys.stdout) as stream:
        async with target.memory() as memory:
            if in_process(memory):
                async for line in memory.keeps.service(TransferService).export(target.scope, only_user):
                    stream.write(line)
                    count += 1
            else:
                for line in await memory.admin.export_lines(user_id=only_user):
                    stream.write(line + "\n")
                    count += 1
    err.print(f"[dim]{count:,} lines[/]")


@contextmanager
def _private(path: Path) -> Generator[TextIO]:
    """Open a file that only its owner can read, and that gets its name when it is complete.

    A target that is not a regular file is written to directly.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8") as stream:
            yield stream
        return
    target = path.resolve()
    descriptor, partial = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            yield stream
        Path(partial).rename(target)
    finally:
        Path(partial).unlink(missing_ok=True)


async def _memories(memory: Memory) -> AsyncIterator[Stored]:
    cursor: str | None = None
    while True:
        page = await memory.list(limit=200, cursor=cursor)
        for each in page.items:
            yield each
        cursor = page.next_cursor
        if cursor is None:
            return


async def _import_export(path: Path, target: Target, *, dry_run: bool) -> Answer:
    with path.open(encoding="utf-8", errors="replace") as lines:  # noqa: ASYNC230  nobody else waits for this loop
        async with target.memory() as memory:
            summary = await memory.admin.import_lines(lines, dry_run=dry_run)

    def text() -> None:
        stored = "would be stored" if dry_run else "stored"
        out.print(
            f"[bold]{summary.stored:,} {stored}[/] · {summary.unchanged:,} there already · {summary.failed:,} failed"
        )
        for error in summary.errors[:SHOWN_REJECTIONS]:
            err.print(error, markup=False)

    return Answer(summary.model_dump(), text, failed=bool(summary.failed))


def _summary(summary: Summary, *, failed: bool) -> Answer:
    def text() -> None:
        counts = " · ".join(f"{count:,} {status}" for status, count in summary.statuses.most_common())
        rejected = f" · [red]{len(summary.rejected):,} rejected[/]" if summary.rejected else ""
        out.print(f"[bold]{counts or 'nothing to store'}[/]{rejected}")
        for rows in (summary.rejected, summary.notes):
            for place, reason in rows[:SHOWN_REJECTIONS]:
                err.print(f"  {place}: {reason}", markup=False)
            if len(rows) > SHOWN_REJECTIONS:
                err.print(f"  and {len(rows) - SHOWN_REJECTIONS:,} more; --json lists them all")

    value = {
        "statuses": summary.statuses,
        "rejected": [{"place": place, "problem": problem} for place, problem in summary.rejected],
        "notes": [{"place": place, "note": note} for place, note in summary.notes],
    }
    return Answer(value, text, failed=failed)

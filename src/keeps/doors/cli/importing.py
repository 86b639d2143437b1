"""import, export."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
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
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Memory as Stored

app = typer.Typer()
SHOWN_REJECTIONS = 20
DIFFERS = (
    "What differs stays as it is stored: an import changes nothing that is there, and no option makes it do so. To take"
    " a line's memory, forget the stored one for good (`keeps forget ID --hard`) and import again, or change it with"
    " `keeps update ID`."
)
LINE_TYPE = re.compile(r'\{"type": "([a-z_]+)"')


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
        if "user" in target.explicit:
            raise ValidationFailedError(
                "an export keeps the users of its lines, so --user has no effect here: leave it out"
            )
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
    file: Annotated[Path | None, typer.Argument(help="Where to; standard output if it is not given, or -.")] = None,
    form: Annotated[
        str, typer.Option("--format", help="jsonl: everything of a tenant; markdown: a user's memories, as a folder.")
    ] = "jsonl",
    only_user: Annotated[str | None, typer.Option(help="Only this user's data, not the whole tenant's.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", "--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a tenant's data as JSON lines: memories, graph, sessions, plans, task contexts, working memory. Or with
    --format markdown the memories of --user as a folder that people can read and edit. `keeps import` takes both back.
    Only you can read what is written; a file that is there stays, unless --overwrite.
    """
    file = None if file == Path("-") else file
    if form == "markdown":
        await _export_folder(target, file, only_user)
        return
    if form != "jsonl":
        raise ValidationFailedError(f"unknown --format {form!r}; there are jsonl and markdown")
    if only_user is None and "user" in target.explicit:
        raise ValidationFailedError(
            f"--user says who asks, not whose data is written: --only-user {target.user} exports this user's; without"
            " either, all of the tenant's is written"
        )
    if file is not None and file.is_file() and not overwrite:
        raise ConflictError(f"{file} is there already; name another file, or add --overwrite (or --force)")
    counts: Counter[str] = Counter()
    with _private(file) if file else nullcontext(sys.stdout) as stream:
        async with target.memory() as memory:
            if in_process(memory):
                async for line in memory.keeps.service(TransferService).export(target.scope, only_user):
                    stream.write(line)
                    counts[_type_of(line)] += 1
            else:
                for line in await memory.admin.export_lines(user_id=only_user):
                    stream.write(line + "\n")
                    counts[_type_of(line)] += 1
        if not counts:
            raise _nothing_of(target.tenant, only_user)
    err.print(f"[dim]{counts_text(counts)}[/]")


async def _export_folder(target: Target, folder: Path | None, only_user: str | None) -> None:
    if folder is None:
        raise ValidationFailedError("name a folder: keeps export FOLDER --format markdown")

    from keeps.sources.importing.markdown import write_folder

    if only_user is not None:
        target = replace(target, user=only_user)
    async with target.memory() as memory:
        memories = [each async for each in _memories(memory)]
    if not memories:
        raise _nothing_of(target.tenant, target.user)
    count = write_folder(folder, memories)
    err.print(f"[dim]{count:,} {'memory' if count == 1 else 'memories'} in {folder}[/]")


def _nothing_of(tenant: str, user: str | None) -> NotFoundError:
    what = f"user {user} of tenant {tenant}" if user else f"tenant {tenant}"
    return NotFoundError(f"{what} has nothing to export, so nothing is written; `keeps tenants list` lists the tenants")


def _type_of(line: str) -> str:
    match = LINE_TYPE.match(line)
    return match[1] if match else "line"


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts of lines by their type as text, such as "4 memories, 1 session"."""
    return ", ".join(
        f"{count:,} {_plural(name) if count != 1 else name}".replace("_", " ") for name, count in counts.items()
    )


def _plural(name: str) -> str:
    if name == "working_memory":
        return "working_memory_keys"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


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
        differs = f" · [yellow]{summary.differs:,} differs[/]" if summary.differs else ""
        out.print(
            f"[bold]{summary.stored:,} {stored}[/] · {summary.unchanged:,} there already{differs} ·"
            f" {summary.failed:,} failed"
        )
        if summary.differs:
            err.print(DIFFERS)
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

"""import, export."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from keeps.doors.cli.command import Answer, command, progress
from keeps.doors.cli.context import Target, err, in_process, out
from keeps.doors.cli.counts import counted, counts_text
from keeps.memory.indexing.service import Indexer
from keeps.memory.transfer.service import TransferService
from keeps.sources.importing import langgraph
from keeps.sources.importing.formats import FORMATS, read
from keeps.sources.importing.service import Records, Summary, run_import
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Memory as Stored

app = typer.Typer()
SHOWN_REJECTIONS = 20
DIFFERS = (
    "An import never changes stored data. To replace a memory with the one in the file, delete the stored one"
    " (`keeps forget ID --hard`) and import again, or change it with `keeps update ID`."
)
NAMES = ", ".join([*FORMATS, langgraph.NAME, "keeps"])
LINE_TYPE = re.compile(r'\{"type": "([a-z_]+)"')


@command(app, "import", may_make=True, shared=False)
async def import_files(
    target: Target,
    place: Annotated[str, typer.Argument(metavar="PATH", help="A file, a folder, a zip archive, or LangGraph's URL.")],
    form: Annotated[
        str, typer.Option("--format", help=f"auto, or one of {NAMES} (what `keeps export` wrote).")
    ] = "auto",
    owner: Annotated[
        str | None,
        typer.Option(help="Only the records of this user of the other product. Default: the first that it names."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is indexed.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Store nothing; print what would be stored.")] = False,
) -> Answer:
    """Import chats, memories of other products, notes, or an export.

    Everything becomes the memory of --user. You can interrupt and repeat it: nothing is stored twice.
    """
    if form == langgraph.NAME or (form == "auto" and langgraph.is_url(place)):
        return await _import_records(target, langgraph.records(place, owner), None, wait=wait, dry_run=dry_run)
    path = Path(place)
    if form == "keeps" or (form == "auto" and _is_export(path)):
        if target.space is not None:
            raise ValidationFailedError("--space has no effect on an export, whose lines name their owners; omit it")
        if "user" in target.explicit:
            raise ValidationFailedError("--user has no effect on an export, whose lines name their users; omit it")
        return await _import_export(path, target, dry_run=dry_run)
    if form != "auto" and form not in FORMATS:
        raise ValidationFailedError(f"unknown --format {form!r}; choose from {NAMES}")

    from keeps.sources.importing.markdown import is_markdown_memory, read_folder

    memory_folder = form in ("auto", "markdown") and is_markdown_memory(path)
    records = read_folder(path) if memory_folder else read(path, form)
    first = next(records, None)  # so that a file of no known format starts no database
    return await _import_records(target, chain([first] if first else [], records), owner, wait=wait, dry_run=dry_run)


async def _import_records(target: Target, records: Records, owner: str | None, *, wait: bool, dry_run: bool) -> Answer:
    async with target.memory() as memory:
        with progress() as bar:
            storing = bar.add_task("reading " if dry_run else "storing ", total=None)
            summary = await run_import(
                memory, records, lambda count: bar.advance(storing, count), owner=owner, dry_run=dry_run
            )
            if wait and not dry_run and in_process(memory):
                indexer = memory.keeps.service(Indexer)
                indexing = bar.add_task("indexing", total=await indexer.waiting_of(target.scope))
                await indexer.index_user(target.scope, lambda count: bar.advance(indexing, count))
    failed = bool(summary.rejected and len(summary.rejected) == summary.read)
    return _summary(summary, failed=failed, dry_run=dry_run)


def _is_export(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return re.match(rb"\s*\{\s*\"type\":\s*\"[a-z_]+\",\s*\"row\":\s*\{", file.read(200)) is not None


@command(app, shared=False)
async def export(
    target: Target,
    file: Annotated[Path | None, typer.Argument(help="File to write. Default, or with -: standard output.")] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="jsonl: all data of a tenant. Of one user: markdown, okf (folders), mem0, mcp-memory (files).",
        ),
    ] = "jsonl",
    only_user: Annotated[str | None, typer.Option(help="Only this user's data, not the whole tenant's.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", "--force", help="Replace an existing file.")] = False,
) -> None:
    """Export a tenant's data, or a user's for other products.

    All of it: memories, graph, sessions, plans, task contexts, working memory. Or with another
    format the memories of --user: markdown as a folder that people can read and edit. `keeps import` reads all of them.
    Only you can read the file. An existing file is not replaced without --overwrite.
    """
    file = None if file == Path("-") else file
    if form != "jsonl":
        await _export_memories(target, form, file, only_user, overwrite=overwrite)
        return
    if target.space is not None:
        raise ValidationFailedError(f"`keeps spaces export {target.space}` exports a space")
    if only_user is None and "user" in target.explicit:
        raise ValidationFailedError(
            f"--user says who asks, not whose data is written: --only-user {target.user} exports this user's; without"
            " either, all of the tenant's is written"
        )
    check_absent(file, overwrite=overwrite)
    counts: Counter[str] = Counter()
    tenant, (tenant_id, target) = target.tenant, target.by_path()
    with private_file(file) if file else nullcontext(sys.stdout) as stream:
        async with target.memory() as memory:
            if in_process(memory):
                async for line in memory.keeps.service(TransferService).export(target.scope, only_user):
                    stream.write(line)
                    counts[_type_of(line)] += 1
            else:
                for line in await memory.admin.export_lines(user_id=only_user, tenant_id=tenant_id):
                    stream.write(line + "\n")
                    counts[_type_of(line)] += 1
        if not counts:
            raise _nothing_of(tenant, only_user)
    err.print(f"[dim]{counts_text(counts)}[/]")


def check_absent(file: Path | None, *, overwrite: bool) -> None:
    if file is not None and file.is_file() and not overwrite:
        raise ConflictError(f"{file} already exists; choose another file, or add --overwrite (or --force)")


async def _export_memories(
    target: Target, form: str, place: Path | None, only_user: str | None, *, overwrite: bool
) -> None:
    """Write one user's own memories as a folder or a file."""
    from keeps.sources.importing.exports import TEXTS, write_okf
    from keeps.sources.importing.markdown import write_folder

    folders = {"markdown": write_folder, "okf": write_okf}
    if form not in folders and form not in TEXTS:
        raise ValidationFailedError(f"unknown --format {form!r}; choose jsonl, {', '.join([*folders, *TEXTS])}")
    if form in folders and place is None:
        raise ValidationFailedError(f"name a folder: keeps export FOLDER --format {form}")
    check_absent(place, overwrite=overwrite)
    if only_user is not None:
        target = replace(target, user=only_user)
    async with target.memory() as memory:
        memories = [stored async for stored in _memories(memory) if stored.user_id == target.scope.user_id]
    if not memories:
        raise _nothing_of(target.tenant, target.user)
    if place is not None and form in folders:
        folders[form](place, memories)
    else:
        with private_file(place) if place else nullcontext(sys.stdout) as stream:
            stream.writelines(TEXTS[form](memories))
    err.print(f"[dim]{counted(len(memories), 'memory')} in {place or 'standard output'}[/]")


def _nothing_of(tenant: str, user: str | None) -> NotFoundError:
    what = f"user {user} of tenant {tenant}" if user else f"tenant {tenant}"
    return NotFoundError(f"{what} has no data to export; `keeps tenants list` lists the tenants")


def _type_of(line: str) -> str:
    match = LINE_TYPE.match(line)
    return match[1] if match else "line"


@contextmanager
def private_file(path: Path) -> Generator[TextIO]:
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
    if not path.is_file():  # noqa: ASYNC240
        raise ValidationFailedError(f"no file {path}")
    with path.open(encoding="utf-8", errors="replace") as lines:  # noqa: ASYNC230  nobody else waits for this loop
        async with target.memory() as memory:
            summary = await memory.admin.import_lines(lines, dry_run=dry_run)

    def text() -> None:
        stored = "would be stored" if dry_run else "stored"
        differs = f" · [yellow]{summary.differs:,} different from the stored data[/]" if summary.differs else ""
        out.print(
            f"[bold]{summary.stored:,} {stored}[/] · {summary.unchanged:,} unchanged{differs} ·"
            f" {summary.failed:,} failed"
        )
        if summary.differs:
            err.print(DIFFERS)
        for error in summary.errors[:SHOWN_REJECTIONS]:
            err.print(error, markup=False)

    return Answer(summary.model_dump(), text, failed=bool(summary.failed))


def _summary(summary: Summary, *, failed: bool, dry_run: bool) -> Answer:
    def text() -> None:
        counts = " · ".join(f"{count:,} {status}" for status, count in summary.statuses.most_common() if count)
        rejected = f" · [red]{len(summary.rejected):,} rejected[/]" if summary.rejected else ""
        facts = f" · {counted(summary.facts, 'fact')} {'stated' if dry_run else 'learnt'}" if summary.facts else ""
        out.print(f"{summary.read:,} read: [bold]{counts or 'nothing to store'}[/]{facts}{rejected}")
        for rows in (summary.rejected, summary.notes):
            for place, reason in rows[:SHOWN_REJECTIONS]:
                err.print(f"  {place}: {reason}", markup=False)
            if len(rows) > SHOWN_REJECTIONS:
                err.print(f"  and {len(rows) - SHOWN_REJECTIONS:,} more; --json lists them all")

    value = {
        "read": summary.read,
        "stored": summary.stored,
        "known": summary.known,
        "refused": len(summary.rejected),
        "facts": summary.facts,
        "statuses": {status: count for status, count in summary.statuses.items() if count},
        "rejected": [{"place": place, "problem": problem} for place, problem in summary.rejected],
        "notes": [{"place": place, "note": note} for place, note in summary.notes],
    }
    return Answer(value, text, failed=failed)

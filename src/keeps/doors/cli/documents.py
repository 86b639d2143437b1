"""documents: add, sync, list, read, search and delete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer
from rich.markup import escape

from keeps.doors.cli.command import Answer, command, group, lines, progress
from keeps.doors.cli.context import Json, err, out
from keeps.doors.cli.counts import counted
from keeps.doors.cli.parsers import check_question
from keeps_client.errors import KeepsError, NotConfiguredError, UnavailableError, ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Document, DocumentHit, DocumentReceipt
    from keeps_client.models.documents import FolderStep

app = typer.Typer()
documents = group()
app.add_typer(documents, name="documents")
PassageTokens = Annotated[
    int | None,
    typer.Option("--passage-tokens", help="Maximum tokens of a passage, 64 to 508. Default: as before, or 256."),
]
DocumentId = Annotated[UUID, typer.Argument(help="The id that `keeps documents list` prints.")]


@command(documents, may_make=True)
async def add(
    memory: Memory,
    files: Annotated[list[Path], typer.Argument(help="Text, Markdown, CSV, JSON, e-mail, HTML, PDF, DOCX, XLSX.")],
    title: Annotated[str | None, typer.Option(help="Title. Default: the title in the file.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Repeat for several.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Only this user can read it.")] = False,
    passage_tokens: PassageTokens = None,
    source: Annotated[
        str | None,
        typer.Option(help="Source of the document; adding it again creates a new version. Default: its path."),
    ] = None,
    *,
    as_json: Json = False,
) -> Answer:
    """Add files, or new versions of them.

    Rejected files are named, and the others are stored. Exit code 1 if one is rejected.
    """
    for option, value in (("--title", title), ("--source", source)):
        if value is not None and len(files) > 1:
            raise ValidationFailedError(f"{option} applies to one document; give one file")
    results: list[dict[str, object]] = []
    for number, file in enumerate(files, 1):
        try:
            with err.status(f"{number} of {len(files)}: {file.name} …"):
                receipt = await memory.add_document(
                    file=file,
                    title=title,
                    tags=tags,
                    visibility="private" if private else "tenant",
                    passage_tokens=passage_tokens,
                    source=source,
                )
        except UnavailableError:
            raise
        except KeepsError as error:
            detail = error.detail
            if file.is_dir():
                detail = f"{str(file)!r} is a folder: add it with `keeps documents sync {file}`"
            elif isinstance(error, NotConfiguredError):
                detail = f"{str(file)!r}: {detail}"
            results.append({"file": str(file), "error": detail})
            err.print(f"[red]rejected[/]  {escape(detail)}")
        else:
            results.append({"file": str(file), **receipt.model_dump(mode="json")})
            if not as_json:
                out.print(_receipt_line(receipt))
    return Answer(results, failed=any("error" in each for each in results))


@command(documents, may_make=True)
async def sync(
    memory: Memory,
    folder: Annotated[Path, typer.Argument(help="Folder to read, with its subfolders.")],
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose file no longer exists.")] = False,
    name: Annotated[
        str | None, typer.Option("--as", help="Prefix of their sources. Default: the path of the folder.")
    ] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Repeat for several.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Only this user can read them.")] = False,
    passage_tokens: PassageTokens = None,
    *,
    as_json: Json = False,
) -> Answer:
    """Synchronize documents with a folder; only changes are sent. Exit code 1 if a file is rejected."""
    with progress(transient=True) as bar:
        task = bar.add_task("looking", total=None)

        def report(step: FolderStep, total: int) -> None:
            bar.update(task, description=escape(step.path[-40:]), advance=1, total=total)
            if not as_json and step.action != "unchanged":
                out.print(_step_line(step))

        result = await memory.sync_documents(
            folder,
            name=name,
            prune=prune,
            tags=tags or (),
            passage_tokens=passage_tokens,
            visibility="private" if private else "tenant",
            progress=report,
        )
    counts = Counter(step.action for step in result.steps)
    text = ", ".join(f"{count} {action}" for action, count in counts.items()) or "no files"
    text += f"; {result.others} in unsupported formats skipped" if result.others else ""
    text += "\n[dim]--prune removes documents whose file is gone[/]" if counts["gone"] else ""
    return Answer(result, text, failed=counts["refused"] > 0)


@command(documents, "list")
async def list_documents(
    memory: Memory, limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 100.")] = 20
) -> Answer:
    """List the documents, newest first."""
    page = await memory.list_documents(limit=limit)
    return lines(page.items, _document_line, empty="No documents yet. [dim]`keeps documents add FILE` adds one.[/]")


@command(documents)
async def search(
    memory: Memory,
    query: Annotated[str, typer.Argument(help="A question, or words.", callback=check_question)],
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of passages, 1 to 50.")] = 5,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only of documents with this tag.")] = None,
) -> Answer:
    """Find passages, best first, with their place in the document."""
    result = await memory.search_documents(query, limit=limit, tags=tags)
    text = "\n".join(_hit_lines(place, hit) for place, hit in enumerate(result.hits, 1))
    if result.nothing_known:
        text = f"[dim]No passage answers this; these are the closest.[/]\n{text}" if text else "No passage matches."
    return Answer(result, text)


@command(documents)
async def read(
    memory: Memory,
    document_id: DocumentId,
    start: Annotated[int, typer.Option(help="The first character.")] = 0,
    length: Annotated[int, typer.Option(help="Number of characters, at most 100,000.")] = 20_000,
) -> Answer:
    """Print a document's text, or a range of it."""
    document = await memory.read_document(document_id, start=start, length=length)
    end = document.start + len(document.text)
    rest = end < document.characters
    note = f"{end:,} of {document.characters:,} characters; continue with --start {end}" if rest else ""
    return Answer(document, escape(document.text), note)


@command(documents)
async def delete(
    memory: Memory,
    document_id: DocumentId,
    hard: Annotated[bool, typer.Option("--hard", help="Delete for good, also from the log.")] = False,
) -> Answer:
    """Delete a document, and its passages that no other document contains."""
    deleted = await memory.delete_document(document_id, hard=hard)
    also = f"; {deleted.kept} stay because another document contains them" if deleted.kept else ""
    return Answer(deleted, f"deleted, with {deleted.removed} passages{also}")


def _document_line(document: Document) -> str:
    pages = f", {document.pages} pages" if document.pages else ""
    return (
        f"[bold]{escape(document.title)}[/]  {document.format}{pages}, {document.passages} passages,"
        f" v{document.version}  [dim]{escape(document.source or '')} {document.document_id}[/]"
    )


def _hit_lines(place: int, hit: DocumentHit) -> str:
    first, *others = hit.citations
    page = f", page {first.page}" if first.page is not None else ""
    path = " > ".join(dict.fromkeys((first.title, *first.headings)))
    text = (
        f"[bold]{place}.[/] {escape(path)}{page}  [dim]characters {first.start}-{first.end} of"
        f" {first.document_id} {escape(first.source or '')}[/]\n   {escape(hit.content)}"
    )
    also = ", ".join(each.source or f"{each.title} ({each.document_id})" for each in others)
    return f"{text}\n   [dim]also in {escape(also)}[/]" if also else text


def _step_line(step: FolderStep) -> str:
    colour = "red" if step.action == "refused" else "bold"
    detail = f" (was {step.detail})" if step.action == "renamed" else f": {step.detail}" if step.detail else ""
    return f"[{colour}]{step.action}[/]  {escape(step.path + detail)}{_notes(step.notes)}"


def _receipt_line(receipt: DocumentReceipt) -> str:
    return (
        f"[bold]{receipt.status}[/]  {escape(receipt.document.title)}: {counted(receipt.stored, 'passage')} stored,"
        f" {receipt.known} unchanged, {receipt.removed} removed  [dim]{receipt.document.document_id}[/]"
        + _notes(receipt.notes)
    )


def _notes(notes: Iterable[str]) -> str:
    return "".join(f"\n   [yellow]{escape(note)}[/]" for note in notes)

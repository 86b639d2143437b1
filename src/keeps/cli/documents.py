"""documents: add, sync, list, read, search and delete."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from keeps.cli.context import Json, Target, err, out, print_json, run, targeted
from keeps_client.errors import KeepsError, NotConfiguredError, UnavailableError, ValidationFailedError
from keeps_client.models import Document, DocumentReceipt
from keeps_client.models.documents import FolderStep

documents_app = typer.Typer(help="Documents: what can be looked up, and cited.", no_args_is_help=True)
PassageTokens = Annotated[
    int | None, typer.Option("--passage-tokens", help="How long a passage is at most, 64 to 508; as before, or 256.")
]
DocumentId = Annotated[UUID, typer.Argument(help="The id that `keeps documents list` prints.")]


def register(app: typer.Typer) -> None:
    for command in (add, sync, search, read, delete):
        documents_app.command()(targeted(command))
    documents_app.command("list")(targeted(list_documents))
    app.add_typer(documents_app, name="documents")


def add(
    files: Annotated[list[Path], typer.Argument(help="Text, Markdown, CSV, JSON, e-mail, HTML, PDF, DOCX, XLSX.")],
    title: Annotated[str | None, typer.Option(help="What it is called; as it calls itself, if not given.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="May be given several times.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Only this user may read it.")] = False,
    passage_tokens: PassageTokens = None,
    source: Annotated[
        str | None, typer.Option(help="Where it comes from: added again under it, it is a new version. Else its path.")
    ] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Add files, or new versions of them.

    Refused files are named; the others are stored. Exit code 1 if one was refused.
    """

    async def work() -> int:
        if title is not None and len(files) > 1:
            raise ValidationFailedError("--title names one document; give one file")
        if source is not None and len(files) > 1:
            raise ValidationFailedError("--source names one document; give one file")
        results: list[dict[str, object]] = []
        async with target.memory() as memory:
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
                        detail = f"{str(file)!r} is a folder: `keeps documents sync {file}` brings it in"
                    elif isinstance(error, NotConfiguredError):
                        detail = f"{str(file)!r}: {detail}"
                    results.append({"file": str(file), "error": detail})
                    err.print(f"[red]refused[/]  {escape(detail)}", highlight=False)
                else:
                    results.append({"file": str(file), **receipt.model_dump(mode="json")})
                    if not as_json:
                        _print_receipt(receipt)
        if as_json:
            print_json(results)
        return int(any("error" in each for each in results))

    run(work)


def sync(
    folder: Annotated[Path, typer.Argument(help="Its files in known formats, also in folders within.")],
    prune: Annotated[bool, typer.Option("--prune", help="Remove documents whose file is gone.")] = False,
    name: Annotated[
        str | None,
        typer.Option("--as", help="What their sources begin with, else the folder's path."),
    ] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="May be given several times.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Only this user may read them.")] = False,
    passage_tokens: PassageTokens = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Synchronize documents with a folder; only changes are sent. Exit code 1 if a file was refused."""

    async def work() -> int:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        async with target.memory() as memory:
            with Progress(*columns, console=err, transient=True) as bar:
                task = bar.add_task("looking", total=None)

                def told(step: FolderStep, total: int) -> None:
                    bar.update(task, description=escape(step.path[-40:]), advance=1, total=total)
                    if not as_json and step.action != "unchanged":
                        _print_step(step)

                done = await memory.sync_documents(
                    folder,
                    name=name,
                    prune=prune,
                    tags=tags or (),
                    passage_tokens=passage_tokens,
                    visibility="private" if private else "tenant",
                    progress=told,
                )
        counts = Counter(each.action for each in done.steps)
        if as_json:
            print_json(done.model_dump(mode="json"))
        else:
            said = ", ".join(f"{count} {action}" for action, count in counts.items()) or "no files"
            out.print(f"{said}{f'; {done.others} of other formats left out' if done.others else ''}")
            if counts["gone"]:
                out.print("[dim]--prune removes documents whose file is gone[/]")
        return int(counts["refused"] > 0)

    run(work)


def list_documents(
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 100.")] = 20,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """List the documents, newest first."""

    async def work() -> None:
        async with target.memory() as memory:
            documents = (await memory.list_documents(limit=limit)).items
        if as_json:
            print_json([document.model_dump(mode="json") for document in documents])
            return
        if not documents:
            out.print("No documents yet. [dim]`keeps documents add FILE` adds one.[/]")
        for document in documents:
            _print_document(document)

    run(work)


def search(
    query: Annotated[str, typer.Argument(help="A question, or words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many passages, 1 to 50.")] = 5,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Only of documents with this tag.")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Show the passages that answer best, and their places."""

    async def work() -> None:
        async with target.memory() as memory:
            result = await memory.search_documents(query, limit=limit, tags=tags)
        if as_json:
            print_json(result.model_dump(mode="json"))
            return
        if result.nothing_known:
            out.print("[dim]Nothing speaks of this; these come nearest.[/]" if result.hits else "No document has this.")
        for place, hit in enumerate(result.hits, 1):
            where = hit.citations[0]
            page = f", page {where.page}" if where.page is not None else ""
            path = " > ".join(dict.fromkeys((where.title, *where.headings)))
            out.print(
                f"[bold]{place}.[/] {escape(path)}{page}  [dim]characters {where.start}-{where.end} of"
                f" {where.document_id} {escape(where.source or '')}[/]"
            )
            out.print(f"   {escape(hit.content)}")
            if len(hit.citations) > 1:
                also = (each.source or f"{each.title} ({each.document_id})" for each in hit.citations[1:])
                out.print(f"   [dim]also in {escape(', '.join(also))}[/]")

    run(work)


def read(
    document_id: DocumentId,
    start: Annotated[int, typer.Option(help="The first character.")] = 0,
    length: Annotated[int, typer.Option(help="How many, at most 100,000.")] = 20_000,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Print a document's text, or a range of it."""

    async def work() -> None:
        async with target.memory() as memory:
            document = await memory.read_document(document_id, start=start, length=length)
        if as_json:
            print_json(document.model_dump(mode="json"))
            return
        out.print(escape(document.text), highlight=False)
        if document.start + len(document.text) < document.characters:
            shown = document.start + len(document.text)
            err.print(f"[dim]{shown:,} of {document.characters:,} characters; go on with --start {shown}[/]")

    run(work)


def delete(
    document_id: DocumentId,
    hard: Annotated[bool, typer.Option("--hard", help="For good, and from the log.")] = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Remove a document and the passages that no other one has."""

    async def work() -> None:
        async with target.memory() as memory:
            gone = await memory.delete_document(document_id, hard=hard)
        if as_json:
            print_json(gone.model_dump(mode="json"))
        else:
            also = f"; {gone.kept} stay, since another document says them" if gone.kept else ""
            out.print(f"deleted, with {gone.removed} passages{also}")

    run(work)


def _print_document(document: Document) -> None:
    pages = f", {document.pages} pages" if document.pages else ""
    out.print(
        f"[bold]{escape(document.title)}[/]  {document.format}{pages}, {document.passages} passages,"
        f" v{document.version}  [dim]{escape(document.source or '')} {document.document_id}[/]"
    )


def _print_step(step: FolderStep) -> None:
    colour = "red" if step.action == "refused" else "bold"
    said = f" (was {step.detail})" if step.action == "renamed" else f": {step.detail}" if step.detail else ""
    out.print(f"[{colour}]{step.action}[/]  {escape(step.path + said)}", highlight=False)
    for each in step.notes:
        out.print(f"   [yellow]{escape(each)}[/]")


def _print_receipt(receipt: DocumentReceipt) -> None:
    out.print(
        f"[bold]{receipt.status}[/]  {escape(receipt.document.title)}: {receipt.stored} passages stored,"
        f" {receipt.known} known, {receipt.removed} removed  [dim]{receipt.document.document_id}[/]"
    )
    for each in receipt.notes:
        out.print(f"   [yellow]{escape(each)}[/]")

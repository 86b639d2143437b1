"""remember, recall, list, get, update, forget, restore, history."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Annotated, Any

import typer
from pydantic import JsonValue
from rich.markup import escape
from rich.table import Column, Table

from keeps.cli.context import Json, Target, err, out, print_json, run, targeted
from keeps_client.errors import ValidationFailedError
from keeps_client.models import Hit, Memory, Receipt
from keeps_client.models.memories import MemoryOrder

MemoryId = Annotated[str, typer.Argument(help="The id that `remember` and `list` print.")]
Namespace = Annotated[str | None, typer.Option(help="Namespace of the key.")]
Key = Annotated[str | None, typer.Option(help="Key within the namespace.")]

AWAY = {
    "embedder": "the embedding model was away: found by words only",
    "reranker": "the reranker did not answer in time: in the order without it",
}


def register(app: typer.Typer) -> None:
    app.command()(targeted(remember))
    app.command()(targeted(recall))
    app.command("list")(targeted(list_memories))
    app.command()(targeted(get))
    app.command()(targeted(update))
    app.command()(targeted(forget))
    app.command()(targeted(restore))
    app.command()(targeted(history))


def remember(
    content: Annotated[str, typer.Argument(help="What to remember; - reads standard input.")],
    kind: Annotated[str, typer.Option(help="semantic, episodic or procedural.")] = "semantic",
    namespace: Namespace = None,
    key: Key = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; repeat for more.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1; estimated if not given.")] = None,
    metadata: Annotated[str | None, typer.Option(help="A JSON object.")] = None,
    visibility: Annotated[str, typer.Option(help="private, or tenant for all its users.")] = "private",
    session: Annotated[str | None, typer.Option(help="The conversation it belongs to.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    role: Annotated[str | None, typer.Option(help="user, assistant, system or tool.")] = None,
    ttl_days: Annotated[float | None, typer.Option(help="Expires after so many days.")] = None,
    valid_from: Annotated[datetime | None, typer.Option(help="True since (UTC).")] = None,
    if_version: Annotated[
        int | None, typer.Option(help="Only if this version is stored; 0: only if nothing is.")
    ] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Store one memory."""
    arguments: dict[str, Any] = {
        "kind": kind,
        "namespace": namespace,
        "key": key,
        "tags": tuple(tag or ()),
        "importance": importance,
        "visibility": visibility,
        "session_id": session,
        "role": role,
        "ttl_days": ttl_days,
        "valid_from": valid_from,
        "if_version": if_version,
        "metadata": _metadata(metadata, speaker),
    }

    async def work() -> None:
        text = sys.stdin.read() if content == "-" else content
        async with target.memory() as memory:
            _print_receipt(await memory.remember(text, **arguments), as_json=as_json)

    run(work)


def recall(
    query: Annotated[str, typer.Argument(help="The question.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many hits, 1 to 200.")] = 10,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; repeat for more.")] = None,
    namespace: Namespace = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; repeat for any of several.")] = None,
    session: Annotated[str | None, typer.Option(help="Only from this conversation.")] = None,
    since: Annotated[datetime | None, typer.Option(help="True since then or later (UTC).")] = None,
    until: Annotated[datetime | None, typer.Option(help="True since before then (UTC).")] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option(help="What was true and known then (UTC), also if it was changed or forgotten since."),
    ] = None,
    valid_at: Annotated[datetime | None, typer.Option(help="What was true then (UTC), as it is known now.")] = None,
    filters: Annotated[str | None, typer.Option(help='JSON, such as {"importance": {"gte": 0.7}}.')] = None,
    include_superseded: Annotated[bool, typer.Option(help="Older truths, too.")] = False,
    include_archived: Annotated[
        bool | None, typer.Option(help="Search archived memories: always, never, or (default) where hits are weak.")
    ] = None,
    min_relevance: Annotated[float | None, typer.Option(help="Leave out what is less relevant, 0 to 1.")] = None,
    provider: Annotated[
        list[str] | None, typer.Option(help="Ask only this provider, such as postgres; repeat for more.")
    ] = None,
    timezone: Annotated[str | None, typer.Option(help="Where the user lives, such as Europe/Berlin or +02:00.")] = None,
    explain: Annotated[bool, typer.Option(help="Show every number of each score.")] = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Ask a question. Prints what is true now, best first."""
    kinds: Any = kind

    async def work() -> None:
        async with target.memory() as memory:
            result = await memory.recall(
                query,
                limit=limit,
                kinds=kinds,
                namespace=namespace,
                tags=tag,
                session_id=session,
                since=since,
                until=until,
                as_of=as_of,
                valid_at=valid_at,
                filters=_json_object("filters", filters),
                include_superseded=include_superseded,
                include_archived=include_archived,
                min_relevance=min_relevance,
                providers=provider,
                timezone=timezone,
                explain=explain,
            )
        if as_json:
            print_json(result.model_dump(mode="json"))
            return
        if not result.hits and min_relevance:
            out.print("Nothing fits so well. [dim]Without --min-relevance the nearest are shown.[/]")
        elif not result.hits and as_of:
            out.print(f"Nothing was known at {as_of}. [dim]--valid-at asks what was true then, as it is known now.[/]")
        elif not result.hits and any((kind, namespace, tag, session, since, until, valid_at, filters, provider)):
            out.print("Nothing of that sort found. [dim]With fewer options there may be more.[/]")
        elif not result.hits:
            out.print("Nothing found. [dim]Is it the right --tenant and --user? `keeps list` shows what there is.[/]")
        elif result.nothing_known:
            out.print("[dim]Perhaps none of these answers the question; they are the nearest:[/]")
        for place, hit in enumerate(result.hits, 1):
            print_hit(place, hit)
        words = "".join(
            f" ({AWAY.get(each, f'{each} did not answer')})" for each in result.failed_providers if result.partial
        )
        err.print(
            f"[dim]{len(result.hits)} {'hit' if len(result.hits) == 1 else 'hits'} in {result.took_ms:.1f} ms{words}[/]"
        )

    run(work)


def list_memories(
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; repeat for more.")] = None,
    namespace: Namespace = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; repeat for any of several.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 200.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    filters: Annotated[str | None, typer.Option(help='JSON, such as {"deleted_at": {"exists": true}}.')] = None,
    order: Annotated[
        MemoryOrder, typer.Option(help="created (newest first), importance, recency or name.")
    ] = "created",
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """List memories, newest first or in another order."""

    async def work() -> None:
        chosen: list[Any] = [] if filters is None else [_json_object("filters", filters)]
        chosen += [{"kind": {"in": kind}}] if kind else []
        chosen += [{"namespace": {"eq": namespace}}] if namespace else []
        chosen += [{"OR": [{"tags": {"contains": each}} for each in tag]}] if tag else []
        async with target.memory() as memory:
            page = await memory.list(
                filters={"AND": chosen} if chosen else None, order=order, limit=limit, cursor=cursor
            )
        if as_json:
            print_json(page.model_dump(mode="json"))
            return
        if not page.items and chosen:
            out.print("Nothing of that sort. [dim]`keeps list` without options shows what there is.[/]")
            return
        if not page.items:
            out.print('Nothing here yet. [dim]Try: keeps remember "Alice is allergic to peanuts."[/]')
            return
        identity = Column("id", no_wrap=True, min_width=36)
        table = Table(identity, "since", "kind", "content", box=None, header_style="dim")
        for item in page.items:
            table.add_row(str(item.memory_id), f"{item.valid_from:%Y-%m-%d}", item.kind, escape(_short(item)))
        out.print(table)
        if page.next_cursor:
            err.print(f"[dim]more: --cursor {page.next_cursor}[/]", soft_wrap=True)

    run(work)


def get(
    memory_id: MemoryId,
    as_of: Annotated[datetime | None, typer.Option(help="As it was known then (UTC).")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Show one memory completely."""

    async def work() -> None:
        async with target.memory() as memory:
            stored = await memory.get(memory_id, as_of=as_of)
        if as_json:
            print_json(stored.model_dump(mode="json"))
            return
        for name, value in stored.model_dump(mode="json").items():
            if value not in (None, [], {}):
                out.print(
                    f"[dim]{name:>17}[/] "
                    f" {escape(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))}"
                )

    run(work)


def update(
    memory_id: MemoryId,
    content: Annotated[str | None, typer.Option(help="The new truth; the old one stays readable.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Replaces the tags; repeat for more.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    visibility: Annotated[str | None, typer.Option(help="private or tenant.")] = None,
    if_version: Annotated[int | None, typer.Option(help="Only if this version is stored.")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Correct or change a memory."""
    changes = {
        "content": content,
        "tags": tuple(tag) if tag else None,
        "importance": importance,
        "visibility": visibility,
    }
    arguments: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}

    async def work() -> None:
        async with target.memory() as memory:
            _print_receipt(await memory.update(memory_id, if_version=if_version, **arguments), as_json=as_json)

    run(work)


def forget(
    memory_id: Annotated[str | None, typer.Argument(help="Which; or give --namespace and --key.")] = None,
    namespace: Namespace = None,
    key: Key = None,
    hard: Annotated[bool, typer.Option(help="For good: content, vectors and event payloads go now.")] = False,
    if_version: Annotated[int | None, typer.Option(help="Only if this version is stored.")] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Forget a memory: hidden now, restorable for 30 days."""

    async def work() -> None:
        async with target.memory() as memory:
            receipt = await memory.forget(memory_id, namespace=namespace, key=key, hard=hard, if_version=if_version)
        _print_receipt(receipt, as_json=as_json)
        if receipt.status == "forgotten" and not hard and not as_json:
            err.print(f"[dim]undo within 30 days: keeps restore {receipt.memory_id}[/]", soft_wrap=True)

    run(work)


def restore(
    memory_id: MemoryId,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Bring back a forgotten memory."""

    async def work() -> None:
        async with target.memory() as memory:
            _print_receipt(await memory.restore(memory_id), as_json=as_json)

    run(work)


def history(
    memory_id: MemoryId,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Show everything that happened to a memory, oldest first."""

    async def work() -> None:
        async with target.memory() as memory:
            events = await memory.history(memory_id)
        if as_json:
            print_json([event.model_dump(mode="json") for event in events])
            return
        for event in events:
            row: Any = event.data.get("memory") or {}
            what = (
                "(content erased)"
                if event.data.get("redacted") or event.type == "memory.erased"
                else f"v{row.get('version')} {row.get('content')}"
            )
            out.print(
                f"[dim]{event.sequence:>6}  {event.time:%Y-%m-%d %H:%M:%S}[/]  {event.type:<18} {escape(what[:100])}"
            )

    run(work)


def print_hit(place: int, hit: Hit) -> None:
    """Print one hit on a line or two, with its explanation if there is one."""
    memory = hit.memory
    out.print(f"[bold]{place:>3}[/]  [green]{hit.score:5.2f}[/]  {escape(_short(memory, 160))}")
    if hit.passage is not None and hit.passage.start > 0:
        shown = " ".join(memory.content[hit.passage.start : hit.passage.end].split())
        out.print(f"            [italic]… {escape(shown if len(shown) <= 400 else shown[:399] + '…')}[/]")
    labels = [f"{memory.valid_from:%Y-%m-%d}", memory.kind]
    if hit.relevance is not None:
        labels.append(f"relevance {hit.relevance:.2f}")
    if memory.superseded_by:
        labels.append("superseded")
    if memory.archived_at:
        labels.append("archived")
    if memory.visibility == "tenant":
        labels.append(f"shared by {memory.user_id}")
    out.print(f"            [dim]{' · '.join([*labels, *memory.tags])}  {memory.memory_id}[/]", soft_wrap=True)
    if hit.explanation is not None:
        for part in hit.explanation.parts:
            raw = "—" if part.raw is None else f"{part.raw:.3f}"
            out.print(
                f"     [cyan]{part.name:<24}[/] raw {raw:>8}  norm {part.normalised:5.2f} × {part.weight:4.2f} ="
                f" {part.points:6.3f}  [dim]rank {part.rank}[/]",
                soft_wrap=True,
            )
        if hit.explanation.matched_terms:
            out.print(
                f"     [dim]stems in common: {escape(', '.join(hit.explanation.matched_terms[:12]))}[/]", soft_wrap=True
            )


def _print_receipt(receipt: Receipt, *, as_json: bool) -> None:
    if as_json:
        print_json(receipt.model_dump(mode="json"))
        return
    index = "" if receipt.indexed or receipt.status in ("forgotten", "restored") else "  [dim]vector to follow[/]"
    version = f" v{receipt.memory.version}" if receipt.memory is not None else ""
    out.print(f"[bold]{receipt.status}[/]  {receipt.memory_id}{version}{index}")


def _short(memory: Memory, width: int = 90) -> str:
    speaker = memory.metadata.get("speaker")
    text = " ".join((f"{speaker}: " if isinstance(speaker, str) else "").split() + memory.content.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _metadata(text: str | None, speaker: str | None) -> dict[str, JsonValue] | None:
    found = _json_object("metadata", text)
    if speaker is not None:
        found = {**(found or {}), "speaker": speaker}
    return found


def _json_object(name: str, text: str | None) -> dict[str, JsonValue] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValidationFailedError(f"--{name} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValidationFailedError(f"--{name} must be a JSON object")
    return value

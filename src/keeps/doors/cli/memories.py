"""remember, recall, list, get, update, forget, restore, history."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import JsonValue
from rich.markup import escape

from keeps.doors.cli.command import Answer, command, json_object, lines, more, or_stdin, table
from keeps.doors.cli.context import Target, out
from keeps.doors.cli.identifiers import memory_id_of
from keeps.doors.cli.parsers import check_question, time_option
from keeps_client.errors import ValidationFailedError
from keeps_client.models.memories import MemoryOrder

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Event, Hit, RecallResult, Receipt
    from keeps_client.models import Memory as Stored

app = typer.Typer()
MemoryId = Annotated[
    str, typer.Argument(help="The id that `remember`, `recall` and `list` print; its first 8 characters will do.")
]
Namespace = Annotated[str | None, typer.Option(help="Namespace of the key.")]
Key = Annotated[str | None, typer.Option(help="Key within the namespace.")]

AWAY = {
    "embedder": "the embedding model was away: found by words only",
    "reranker": "the reranker did not answer in time: in the order without it",
}


@command(app, may_make=True)
async def remember(
    memory: Memory,
    content: Annotated[str, typer.Argument(help="What to remember; - reads standard input.", callback=or_stdin)],
    kind: Annotated[str, typer.Option(help="semantic, episodic or procedural.")] = "semantic",
    namespace: Namespace = None,
    key: Key = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; repeat for more.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1; estimated if not given.")] = None,
    metadata: Annotated[
        dict[str, JsonValue] | None, typer.Option(help="A JSON object.", parser=json_object, metavar="JSON")
    ] = None,
    visibility: Annotated[str, typer.Option(help="private, or tenant for all its users.")] = "private",
    session: Annotated[str | None, typer.Option(help="The conversation it belongs to.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    role: Annotated[str | None, typer.Option(help="user, assistant, system or tool.")] = None,
    ttl_days: Annotated[float | None, typer.Option(help="Expires after so many days.")] = None,
    valid_from: Annotated[datetime | None, time_option("True since.")] = None,
    if_version: Annotated[
        int | None, typer.Option(help="Only if this version is stored; 0: only if nothing is.")
    ] = None,
) -> Answer:
    """Store one memory."""
    arguments: dict[str, Any] = {"kind": kind, "visibility": visibility, "role": role}
    receipt = await memory.remember(
        content,
        namespace=namespace,
        key=key,
        tags=tuple(tag or ()),
        importance=importance,
        session_id=session,
        ttl_days=ttl_days,
        valid_from=valid_from,
        if_version=if_version,
        metadata=metadata if speaker is None else {**(metadata or {}), "speaker": speaker},
        **arguments,
    )
    return _receipt(receipt)


@command(app)
async def recall(
    memory: Memory,
    target: Target,
    query: Annotated[str, typer.Argument(help="The question.", callback=check_question)],
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many hits, 1 to 200.")] = 10,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; repeat for more.")] = None,
    namespace: Namespace = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; repeat for any of several.")] = None,
    session: Annotated[str | None, typer.Option(help="Only from this conversation.")] = None,
    since: Annotated[datetime | None, time_option("True since then or later.")] = None,
    until: Annotated[datetime | None, time_option("True since before then.")] = None,
    as_of: Annotated[
        datetime | None,
        time_option("What was true and known then, also if it was changed or forgotten since."),
    ] = None,
    valid_at: Annotated[datetime | None, time_option("What was true then, as it is known now.")] = None,
    filters: Annotated[
        dict[str, JsonValue] | None,
        typer.Option(help='JSON, such as {"importance": {"gte": 0.7}}.', parser=json_object, metavar="JSON"),
    ] = None,
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
) -> Answer:
    """Ask a question. Prints what is true now, best first."""
    kinds: Any = kind
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
        filters=filters,
        include_superseded=include_superseded,
        include_archived=include_archived,
        min_relevance=min_relevance,
        providers=provider,
        timezone=timezone,
        explain=explain,
    )
    if min_relevance:
        nothing = "Nothing fits so well. [dim]Without --min-relevance the nearest are shown.[/]"
    elif as_of:
        nothing = (
            f"Nothing was known at {as_of:%Y-%m-%d %H:%M} UTC. [dim]--valid-at asks what was true then, as it is known"
            " now.[/]"
        )
    elif any((kind, namespace, tag, session, since, until, valid_at, filters, provider)):
        nothing = "Nothing of that sort found. [dim]With fewer options there may be more.[/]"
    else:
        nothing = "Nothing found. [dim]`keeps list` shows what there is.[/]"
        if not result.hits and not (await memory.list(limit=1)).items:
            nothing = _nothing_here(target)
    away = [AWAY.get(name, f"{name} did not answer") for name in result.failed_providers if result.partial]
    hits = f"{len(result.hits)} {'hit' if len(result.hits) == 1 else 'hits'}"
    note = f"{hits} in {result.took_ms:.1f} ms" + "".join(f" ({each})" for each in away)
    return Answer(result, lambda: _print_hits(result, nothing), note)


@command(app, "list")
async def list_memories(
    memory: Memory,
    target: Target,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; repeat for more.")] = None,
    namespace: Namespace = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; repeat for any of several.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 200.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    filters: Annotated[
        dict[str, JsonValue] | None,
        typer.Option(help='JSON, such as {"deleted_at": {"exists": true}}.', parser=json_object, metavar="JSON"),
    ] = None,
    order: Annotated[
        MemoryOrder, typer.Option(help="created (newest first), importance, recency or name.")
    ] = "created",
) -> Answer:
    """List memories, newest first or in another order."""
    chosen: list[Any] = [] if filters is None else [filters]
    chosen += [{"kind": {"in": kind}}] if kind else []
    chosen += [{"namespace": {"eq": namespace}}] if namespace else []
    chosen += [{"OR": [{"tags": {"contains": each}} for each in tag]}] if tag else []
    page = await memory.list(filters={"AND": chosen} if chosen else None, order=order, limit=limit, cursor=cursor)
    empty = (
        "Nothing of that sort. [dim]`keeps list` without options shows what there is.[/]"
        if chosen
        else _nothing_here(target)
    )
    return table(
        page.items,
        ["id", "since", "kind", "content"],
        lambda item: (item.memory_id, f"{item.valid_from:%Y-%m-%d}", item.kind, _short(item)),
        empty=empty,
        value=page,
        note=more(page.next_cursor),
    )


@command(app)
async def get(
    memory: Memory,
    target: Target,
    memory_id: MemoryId,
    as_of: Annotated[datetime | None, time_option("As it was known then.")] = None,
) -> Answer:
    """Show one memory completely."""
    stored = await memory.get(await memory_id_of(memory, target, memory_id), as_of=as_of)
    fields = {name: value for name, value in stored.model_dump(mode="json").items() if value not in (None, [], {})}

    def line(name: str) -> str:
        value = fields[name]
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return f"[dim]{name:>17}[/]  {escape(shown)}"

    return lines(fields, line, value=stored)


@command(app)
async def update(
    memory: Memory,
    target: Target,
    memory_id: MemoryId,
    content: Annotated[str | None, typer.Option(help="The new truth; the old one stays readable.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Replaces the tags; repeat for more.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    visibility: Annotated[str | None, typer.Option(help="private or tenant.")] = None,
    if_version: Annotated[int | None, typer.Option(help="Only if this version is stored.")] = None,
) -> Answer:
    """Correct or change a memory."""
    changes: dict[str, Any] = {
        "content": content,
        "tags": tuple(tag) if tag else None,
        "importance": importance,
        "visibility": visibility,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    chosen = await memory_id_of(memory, target, memory_id)
    return _receipt(await memory.update(chosen, if_version=if_version, **changes))


@command(app)
async def forget(
    memory: Memory,
    target: Target,
    memory_id: Annotated[str | None, typer.Argument(help="Which; or give --namespace and --key.")] = None,
    namespace: Namespace = None,
    key: Key = None,
    hard: Annotated[bool, typer.Option(help="For good: content, vectors and event payloads go now.")] = False,
    if_version: Annotated[int | None, typer.Option(help="Only if this version is stored.")] = None,
) -> Answer:
    """Forget a memory: hidden now, restorable for 30 days."""
    if memory_id is None and not (namespace and key):
        raise ValidationFailedError("say what to forget: a MEMORY_ID, or --namespace and --key")
    chosen = None if memory_id is None else await memory_id_of(memory, target, memory_id)
    receipt = await memory.forget(chosen, namespace=namespace, key=key, hard=hard, if_version=if_version)
    undo = receipt.status == "forgotten" and not hard
    return _receipt(receipt, f"undo within 30 days: keeps restore {receipt.memory_id}" if undo else "")


@command(app)
async def restore(memory: Memory, target: Target, memory_id: MemoryId) -> Answer:
    """Bring back a forgotten memory."""
    return _receipt(await memory.restore(await memory_id_of(memory, target, memory_id)))


@command(app)
async def history(memory: Memory, target: Target, memory_id: MemoryId) -> Answer:
    """Show everything that happened to a memory, oldest first."""

    def line(event: Event) -> str:
        row: Any = event.data.get("memory") or {}
        erased = event.data.get("redacted") or event.type == "memory.erased"
        what = "(content erased)" if erased else f"v{row.get('version')} {row.get('content')}"
        return f"[dim]{event.sequence:>6}  {event.time:%Y-%m-%d %H:%M:%S}[/]  {event.type:<18} {escape(what[:100])}"

    return lines(await memory.history(await memory_id_of(memory, target, memory_id)), line)


def _nothing_here(target: Target) -> str:
    """Say whose memories there are none of, and how to list users and tenants."""
    first = 'keeps remember "Alice is allergic to peanuts."'
    if target.url and target.token and not {"tenant", "user"} & target.explicit:
        return f"Nothing here yet. [dim]Try: {first}[/]"
    whose = escape(f"user {target.user} of tenant {target.tenant} has no memories")
    users = "" if target.url else "`keeps tenants users` lists the users of a tenant, "
    return (
        f"Nothing here yet: {whose}. [dim]Is it the right --tenant and --user? {users}`keeps tenants list` all tenants."
        f" Try: {first}[/]"
    )


def _print_hits(result: RecallResult, nothing: str) -> None:
    if not result.hits:
        out.print(nothing)
    elif result.nothing_known:
        out.print("[dim]Perhaps none of these answers the question; they are the nearest:[/]")
    for place, hit in enumerate(result.hits, 1):
        print_hit(place, hit)


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
    out.print(f"            [dim]{' · '.join([*labels, *memory.tags])}  {memory.memory_id}[/]")
    if hit.explanation is not None:
        for part in hit.explanation.parts:
            raw = "—" if part.raw is None else f"{part.raw:.3f}"
            out.print(
                f"     [cyan]{part.name:<24}[/] raw {raw:>8}  norm {part.normalised:5.2f} × {part.weight:4.2f} ="
                f" {part.points:6.3f}  [dim]rank {part.rank}[/]",
                soft_wrap=True,
            )
        if hit.explanation.matched_terms:
            out.print(f"     [dim]stems in common: {escape(', '.join(hit.explanation.matched_terms[:12]))}[/]")


def _receipt(receipt: Receipt, note: str = "") -> Answer:
    index = "" if receipt.indexed or receipt.status in ("forgotten", "restored") else "  [dim]vector to follow[/]"
    version = f" v{receipt.memory.version}" if receipt.memory is not None else ""
    return Answer(receipt, f"[bold]{receipt.status}[/]  {receipt.memory_id}{version}{index}", note)


def _short(memory: Stored, width: int = 90) -> str:
    speaker = memory.metadata.get("speaker")
    text = " ".join((f"{speaker}: " if isinstance(speaker, str) else "").split() + memory.content.split())
    return text if len(text) <= width else text[: width - 1] + "…"

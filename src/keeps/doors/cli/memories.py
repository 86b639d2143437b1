"""remember, recall, list, get, update, forget, restore, history."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import JsonValue
from rich.markup import escape

from keeps.doors.cli.command import Answer, command, json_object, lines, more, or_stdin
from keeps.doors.cli.context import Target
from keeps.doors.cli.hits import note_of, print_hits, short
from keeps.doors.cli.identifiers import memory_id_of
from keeps.doors.cli.parsers import Spaces, check_question, time_option
from keeps_client.errors import ValidationFailedError
from keeps_client.models.costs import MemoryCost
from keeps_client.models.memories import MemoryOrder

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Event, MemoryReader, Receipt
    from keeps_client.models import Memory as Stored

app = typer.Typer()
MemoryId = Annotated[str, typer.Argument(help="The id that `list` prints, or its beginning, of at least 8 characters.")]
Namespace = Annotated[str | None, typer.Option(help="Namespace of the key.")]
Key = Annotated[str | None, typer.Option(help="Key within the namespace.")]

AWAY = {
    "embedder": "the embedding model was not available: matched by words only",
    "reranker": "the reranker did not answer in time: not reranked",
}


@command(app, may_make=True)
async def remember(
    memory: Memory,
    content: Annotated[str, typer.Argument(help="Text of the memory; - reads standard input.", callback=or_stdin)],
    kind: Annotated[str, typer.Option(help="semantic, episodic or procedural.")] = "semantic",
    namespace: Namespace = None,
    key: Key = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; repeat for more.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1. Default: estimated.")] = None,
    metadata: Annotated[
        dict[str, JsonValue] | None, typer.Option(help="A JSON object.", parser=json_object, metavar="JSON")
    ] = None,
    visibility: Annotated[
        str, typer.Option(help="private, or tenant to share it with all users of the tenant.")
    ] = "private",
    session: Annotated[str | None, typer.Option(help="Id of the conversation.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Name of the speaker.")] = None,
    role: Annotated[str | None, typer.Option(help="user, assistant, system or tool.")] = None,
    ttl_days: Annotated[float | None, typer.Option(help="Days until it expires.")] = None,
    valid_from: Annotated[datetime | None, time_option("Time from which it is true.")] = None,
    if_version: Annotated[
        int | None, typer.Option(help="Write only if this version is stored; 0: only if nothing is stored.")
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
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of hits, 1 to 200.")] = 10,
    kind: Annotated[list[str] | None, typer.Option(help="Only memories of this kind; repeat for more.")] = None,
    namespace: Namespace = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only memories with this tag; repeat to accept any of several.")
    ] = None,
    session: Annotated[str | None, typer.Option(help="Only from this conversation.")] = None,
    since: Annotated[datetime | None, time_option("Only memories that are true since this time or later.")] = None,
    until: Annotated[datetime | None, time_option("Only memories that are true since before this time.")] = None,
    as_of: Annotated[
        datetime | None,
        time_option("Memories as stored at that time, even if changed or forgotten since."),
    ] = None,
    valid_at: Annotated[datetime | None, time_option("Memories that were true at that time, as stored now.")] = None,
    filters: Annotated[
        dict[str, JsonValue] | None,
        typer.Option(help='JSON, such as {"importance": {"gte": 0.7}}.', parser=json_object, metavar="JSON"),
    ] = None,
    include_superseded: Annotated[bool, typer.Option(help="Include superseded memories.")] = False,
    include_archived: Annotated[
        bool | None, typer.Option(help="Search archived memories: always, never, or (default) if hits are weak.")
    ] = None,
    min_relevance: Annotated[float | None, typer.Option(help="Leave out hits with a lower relevance, 0 to 1.")] = None,
    min_trust: Annotated[
        str | None,
        typer.Option(help="Only memories of this level or above: user, agent, shared, document or tool (all)."),
    ] = None,
    provider: Annotated[
        list[str] | None, typer.Option(help="Search only this provider, such as postgres; repeat for more.")
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="Time zone of the user, such as Europe/Berlin or +02:00.")
    ] = None,
    spaces: Spaces = None,
    explain: Annotated[bool, typer.Option(help="Show the parts of each score.")] = False,
) -> Answer:
    """Search memories. Prints those that are true now, best first."""
    kinds: Any = kind
    least_trust: Any = min_trust
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
        min_trust=least_trust,
        providers=provider,
        timezone=timezone,
        spaces=spaces,
        explain=explain,
    )
    if min_relevance:
        nothing = "No memory is that relevant. [dim]Omit --min-relevance to see the closest ones.[/]"
    elif as_of:
        nothing = (
            f"Nothing was stored at {as_of:%Y-%m-%d %H:%M} UTC. [dim]--valid-at finds what was true then, as stored"
            " now.[/]"
        )
    elif (
        any((kind, min_trust, namespace, tag, session, since, until, valid_at, filters, provider)) or spaces is not None
    ):
        nothing = "No memories found. [dim]Use fewer filters to find more.[/]"
    else:
        nothing = "Nothing found. [dim]`keeps list` lists your memories.[/]"
        if not result.hits and not (await memory.list(limit=1)).items:
            nothing = _nothing_here(target)
    away = [AWAY.get(name, f"{name} did not answer") for name in result.failed_providers if result.partial]
    note = note_of(result) + "".join(f" ({each})" for each in away)
    return Answer(result, lambda: print_hits(result, nothing), note)


@command(app, "list")
async def list_memories(
    memory: Memory,
    target: Target,
    kind: Annotated[list[str] | None, typer.Option(help="Only memories of this kind; repeat for more.")] = None,
    namespace: Namespace = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only memories with this tag; repeat to accept any of several.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 200.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Cursor that the previous page printed.")] = None,
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
    empty = "No memories match. [dim]`keeps list` without options lists all.[/]" if chosen else _nothing_here(target)

    def line(item: Stored) -> str:
        labels = [f"{item.valid_from:%Y-%m-%d}", item.kind]
        labels += [f"{item.namespace}/{item.key}"] if item.key else []
        labels += [f"said in {item.session_id}"] if item.session_id and item.kind == "episodic" else []
        about = escape(" · ".join([*labels, *item.tags]))
        return f"{escape(short(item, 160))}\n  [dim]{about}  {item.memory_id}[/]"

    return lines(page.items, line, empty=empty, value=page, note=more(page.next_cursor))


@command(app)
async def get(
    memory: Memory,
    target: Target,
    memory_id: MemoryId,
    as_of: Annotated[datetime | None, time_option("State at that time.")] = None,
) -> Answer:
    """Show one memory completely.

    Also who can read it, and why. Administrators also see the keys that can.
    """
    stored = await memory.get(await memory_id_of(memory, target, memory_id), as_of=as_of)
    fields = {name: value for name, value in stored.model_dump(mode="json").items() if value not in (None, [], {})}

    def line(name: str) -> str:
        value = fields[name]
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return f"[dim]{name:>17}[/]  {escape(shown)}"

    text = [line(name) for name in fields]
    if as_of is None:
        text += [
            f"[dim]{'readable by':>17}[/]  {_reader(reader)}" for reader in await memory.list_readers(stored.memory_id)
        ]
    cost = MemoryCost.of(stored.metadata)
    text += [] if cost is None else [f"[dim]made by an LLM: {escape(cost.text)}[/]"]
    return Answer(stored, "\n".join(text))


@command(app)
async def update(
    memory: Memory,
    target: Target,
    memory_id: MemoryId,
    content: Annotated[str | None, typer.Option(help="The new text; the old one stays in the history.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Replace the tags; repeat for more.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    visibility: Annotated[str | None, typer.Option(help="private or tenant.")] = None,
    if_version: Annotated[int | None, typer.Option(help="Write only if this version is stored.")] = None,
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
    memory_id: Annotated[str | None, typer.Argument(help="Id of the memory; or give --namespace and --key.")] = None,
    namespace: Namespace = None,
    key: Key = None,
    hard: Annotated[bool, typer.Option(help="Delete for good: content, vectors and event contents, at once.")] = False,
    if_version: Annotated[int | None, typer.Option(help="Write only if this version is stored.")] = None,
) -> Answer:
    """Hide a memory at once. You can restore it for 30 days."""
    if memory_id is None and not (namespace and key):
        raise ValidationFailedError("name the memory to forget: MEMORY_ID, or --namespace and --key")
    chosen = None if memory_id is None else await memory_id_of(memory, target, memory_id)
    receipt = await memory.forget(chosen, namespace=namespace, key=key, hard=hard, if_version=if_version)
    if hard:
        await target.end_background()
    notes = []
    if receipt.status == "forgotten" and not hard:
        notes.append(f"undo within 30 days: keeps restore {receipt.memory_id}")
    if receipt.remains_in is not None:
        option = " --hard" if hard else ""
        notes.append(f"the message it came from still contains it: keeps forget {receipt.remains_in}{option}")
    return _receipt(receipt, "\n".join(notes), "deleted permanently" if hard else "")


@command(app)
async def restore(memory: Memory, target: Target, memory_id: MemoryId) -> Answer:
    """Restore a forgotten memory."""
    return _receipt(await memory.restore(await memory_id_of(memory, target, memory_id)))


@command(app)
async def history(memory: Memory, target: Target, memory_id: MemoryId) -> Answer:
    """Show all changes of a memory, oldest first."""

    def line(event: Event) -> str:
        row: Any = event.data.get("memory") or {}
        erased = event.data.get("redacted") or event.type == "memory.erased"
        what = "(content erased)" if erased else f"v{row['version']} {row.get('content')}" if "version" in row else ""
        return f"[dim]{event.sequence:>6}  {event.time:%Y-%m-%d %H:%M:%S}[/]  {event.type:<18} {escape(what[:100])}"

    return lines(await memory.history(await memory_id_of(memory, target, memory_id)), line)


def _reader(reader: MemoryReader) -> str:
    """Return somebody who can read a memory, and why."""
    role = f", {reader.role}" if reader.role else ""
    ends = f", until {reader.expires_at:%Y-%m-%d}" if reader.expires_at else ""
    return f"{reader.reader_type} {escape(reader.reader_id)} [dim]({escape(reader.why)}{role}{ends})[/]"


def _nothing_here(target: Target) -> str:
    """Say whose memories there are none of, and how to list users and tenants."""
    first = 'keeps remember "Alice is allergic to peanuts."'
    if target.space is not None:
        return f"The space {escape(target.space)} has no memories. [dim]Try: {first} --space {escape(target.space)}[/]"
    if target.url and target.token and not {"tenant", "user"} & target.explicit:
        return f"No memories yet. [dim]Try: {first}[/]"
    whose = escape(f"user {target.user} of tenant {target.tenant} has no memories")
    users = "" if target.url else "`keeps tenants users` lists the users of a tenant, "
    return f"{whose}. [dim]Check --tenant and --user. {users}`keeps tenants list` lists all tenants. Try: {first}[/]"


def _receipt(receipt: Receipt, note: str = "", done: str = "") -> Answer:
    """Return what a write did. `done` names it if the status does not say enough."""
    index = "" if receipt.indexed or receipt.status in ("forgotten", "restored") else ", not yet indexed"
    memory = receipt.memory
    stored, version = ("", "") if memory is None else (f"  “{escape(short(memory))}”", f" v{memory.version}")
    text = f"[bold]{done or receipt.status}[/]{stored}  [dim]{receipt.memory_id}{version}{index}[/]"
    return Answer(receipt, text, note)

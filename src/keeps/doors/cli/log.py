"""events and webhooks: the log, and where it is sent."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from keeps.doors.cli.command import Answer, command, group, lines, table
from keeps.doors.cli.context import Json, Target, err, out
from keeps.doors.cli.parsers import time_option
from keeps_client.errors import NotConfiguredError, ValidationFailedError
from keeps_client.models.proof import MAX_ANCHORS

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Anchor, ChainVerification, Event, Verification

app = typer.Typer()
events = group()
webhooks = group()
app.add_typer(events, name="events")
app.add_typer(webhooks, name="webhooks")
Types = Annotated[
    list[str] | None, typer.Option("--type", help='Event type, such as memory.written or "memory.*"; repeat for more.')
]
Certificates = Annotated[
    Path | None,
    typer.Option(help="PEM file with the root certificate of the time stamp authority, and intermediate ones."),
]
WebhookId = Annotated[str, typer.Argument(help="The id that `keeps webhooks list` prints.")]


@command(events, "list")
async def list_events(
    memory: Memory,
    after: Annotated[int, typer.Option(help="Only events after this number.", min=0)] = 0,
    types: Types = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 200.")] = 50,
) -> Answer:
    """List events, oldest first."""
    page = await memory.events(after=after, types=types, limit=limit)
    note = f"next page: --after {page[-1].sequence}" if len(page) == limit else ""
    return lines(page, _event_line, empty="No events. [dim]Check --tenant and --user.[/]", note=note)


@command(events, shared=False)
async def follow(
    memory: Memory,
    after: Annotated[
        int | None, typer.Option(help="Only events after this number. Default: new events.", min=0)
    ] = None,
    types: Types = None,
    *,
    as_json: Json = False,
) -> None:
    """Print events as they happen, until Ctrl-C; with --json, one line for each."""
    err.print("[dim]waiting for events; Ctrl-C stops[/]")
    async for event in memory.subscribe(after=after, types=types):
        if as_json:
            print(event.model_dump_json(), flush=True)
        else:
            out.print(_event_line(event))


@command(events)
async def verify(
    memory: Memory,
    anchor: Annotated[Path | None, typer.Option(help="File of anchors that the log must contain.")] = None,
    tsa_certificates: Certificates = None,
) -> Answer:
    """Compare the tenant's rows with its events, byte by byte, and verify the chain of its log.

    Exit code 1 if rows differ or the chain is broken. Only anchors show that the whole database was rolled back.
    """
    started = time.monotonic()
    with err.status("replaying …"):
        result = await memory.admin.verify_events()
        anchors = [] if anchor is None else _anchors_of(anchor, result.tenant_id, tsa_certificates)
        for first in range(0, len(anchors) if result.chain.intact else 0, MAX_ANCHORS):
            chain = await memory.admin.verify_chain(anchors[first : first + MAX_ANCHORS])
            result = result.model_copy(update={"chain": chain, "equal": result.equal and chain.intact})
            if not chain.intact:
                break
    seconds = time.monotonic() - started
    note = "" if result.events or not result.equal else "this tenant has no events; check --tenant"
    return Answer(result, _verification(result, seconds), note, failed=not result.equal)


@command(events)
async def replay(
    target: Target,
    until: Annotated[datetime | None, time_option("Only events up to this time.")] = None,
    into: Annotated[
        str | None, typer.Option(help="Rebuild the tenant's tables in this new schema of the database.")
    ] = None,
    admin_url: Annotated[
        str | None,
        typer.Option(
            envvar="KEEPS_ADMIN_URL",
            help="URL of a PostgreSQL administrator who may create a schema; not needed for the embedded database.",
        ),
    ] = None,
) -> Answer:
    """Rebuild the tenant's memories, state and graph from its events alone; without --into only count the rows."""
    done = ""
    if into is None:
        async with target.memory() as memory:
            tables = await memory.admin.replay_events(until=until)
    else:
        from keeps.store.events.rebuild import rebuild

        if target.url:
            raise ValidationFailedError("--into needs direct access to the database and does not work with --url")
        async with target.open() as keeps:
            url = admin_url or keeps.admin_url
            if url is None:
                raise NotConfiguredError("--into creates a schema: give the administrator's URL with --admin-url")
            tables = await rebuild(url, into, target.tenant, until)
        done = f"\nrebuilt in schema {escape(into)}; it has no row security, so drop it when you are done"
    return Answer(tables, "\n".join(f"  {each.table:<20}{each.rows:>12,} rows" for each in tables) + done)


@command(events)
async def retire(
    memory: Memory,
    older_than_days: Annotated[float, typer.Option(help="Age in days of the events to remove, at least 30.", min=30)],
) -> Answer:
    """Remove old events of all tenants that replay does not need. `as_of` and subscribers cannot go back before
    them."""
    result = await memory.admin.retire_events(older_than_days)
    return Answer(
        result,
        f"{result.removed:,} events recorded before {result.before:%Y-%m-%d} are removed; {result.kept:,} stay"
        " because replay needs them",
    )


@command(webhooks, may_make=True)
async def add(
    memory: Memory, receiver: Annotated[str, typer.Argument(help="URL to send events to.")], types: Types = None
) -> Answer:
    """Send the tenant's events to a URL while `keeps serve` runs.

    The secret that signs them is printed only this once.
    """
    chosen: Any = tuple(types or ("*",))
    webhook = await memory.admin.add_webhook(receiver, types=chosen)

    def text() -> None:
        err.print(f"webhook [bold]{webhook.webhook_id}[/]; store this secret now, it is not shown again:")
        print(webhook.secret)

    return Answer(webhook, text)


@command(webhooks, "list")
async def list_webhooks(memory: Memory) -> Answer:
    """List the tenant's webhooks, newest first."""
    return table(
        await memory.admin.list_webhooks(),
        ["webhook", "url", "types", "up to", "failures", "state"],
        lambda each: (
            each.webhook_id,
            each.url,
            ", ".join(each.types),
            each.position,
            each.failures,
            f"{each.last_error}, next attempt at {each.next_attempt_at:%H:%M:%S}" if each.attempts else "fine",
        ),
        empty="No webhooks. [dim]`keeps webhooks add URL` adds one.[/]",
    )


@command(webhooks)
async def delete(memory: Memory, webhook_id: WebhookId) -> Answer:
    """Delete a webhook."""
    webhook = await memory.admin.remove_webhook(webhook_id)
    return Answer(webhook, f"webhook {webhook.webhook_id} is removed")


@command(webhooks)
async def retry(memory: Memory, webhook_id: WebhookId) -> Answer:
    """Send the failed events of a webhook again, and all events after the first of them."""
    webhook = await memory.admin.retry_webhook(webhook_id)
    return Answer(webhook, f"webhook {webhook.webhook_id} is active again")


@command(webhooks)
async def failures(memory: Memory, webhook_id: WebhookId) -> Answer:
    """List the events that a webhook did not accept after all attempts."""
    return lines(
        await memory.admin.list_webhook_failures(webhook_id),
        lambda event: (
            f"  event {event.sequence}: {event.error} after {event.attempts} attempts, {event.failed_at:%Y-%m-%d %H:%M}"
        ),
        empty="No failures.",
    )


def _anchors_of(path: Path, tenant_id: str, certificates: Path | None) -> list[Anchor]:
    """Return the anchors of a tenant in a file, and verify their time stamps where there are certificates."""
    from keeps.store.anchors.files import read

    anchors = [anchor for anchor in read(path) if anchor.tenant_id == tenant_id]
    if not anchors:
        raise ValidationFailedError(f"{path} has no anchor of the tenant {tenant_id}")
    if certificates is not None:
        from keeps.store.anchors.stamps import verify_stamp

        for anchor in anchors:
            verify_stamp(anchor, certificates)
    return anchors


def _verification(result: Verification, seconds: float) -> str:
    tables = [f"  {name:<20}{rows:>12,} rows" for name, rows in result.compared.items()]
    speed = f"{result.events:,} events in {seconds:.1f} s, {result.events / max(seconds, 1e-9):,.0f} a second"
    if not result.differences:
        equal = f"[bold green]equal[/]: every row matches its events, byte for byte ({speed})"
        return "\n".join([*tables, equal, _chain(result.chain)])
    first = result.differences[0]
    columns = f", in {', '.join(first.columns)}" if first.problem == "differs" else ""
    row = escape(json.dumps(first.row, ensure_ascii=False))
    others = len(result.differences) - 1
    return "\n".join(
        [
            *tables,
            f"[bold red]different[/] ({speed}). The first difference:",
            f"  {first.table} {row}: {first.problem}{columns}",
            *([f"  and at least {others} more; --json lists them"] if others else []),
            _chain(result.chain),
        ]
    )


def _chain(chain: ChainVerification) -> str:
    if chain.broken is not None:
        return f"[bold red]broken[/]: event {chain.broken.sequence:,}: {chain.broken.problem}"
    if chain.hash is None:
        return "no event is in the chain yet"
    counts = [
        f"{count:,} {what}"
        for count, what in (
            (chain.redacted, "redacted"),
            (chain.older, "older than the chain"),
            (chain.anchors, "anchors confirmed"),
            (chain.anchors_retired, "anchors older than the log"),
        )
        if count
    ]
    return f"[bold green]linked[/] up to event {chain.last:,} {chain.hash}" + (
        f" ({', '.join(counts)})" if counts else ""
    )


def _event_line(event: Event) -> str:
    subject: Any = event.data.get("memory") or event.data.get("entity") or event.data.get("plan") or event.data
    text = (
        subject.get("content") or subject.get("name") or event.data.get("relation") or event.data.get("key") or ""
        if isinstance(subject, dict)
        else ""
    )
    short = str(text).replace("\n", " ")[:80]
    return (
        f"[dim]{event.sequence:>6}  {event.time:%Y-%m-%d %H:%M:%S}[/]  {event.type:<20} [dim]{escape(event.userid)}[/] "
        f" {escape(short)}"
    )

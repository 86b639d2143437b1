"""events and webhooks: the log, and where it is sent."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from keeps.cli.context import Json, Target, err, out, print_json, run, targeted
from keeps_client.errors import NotConfiguredError, ValidationFailedError
from keeps_client.models import Event

events_app = typer.Typer(help="The log of events: read, follow, verify, replay, retire.", no_args_is_help=True)
webhooks_app = typer.Typer(help="Where events are sent: add, list, remove, retry.", no_args_is_help=True)
Types = Annotated[
    list[str] | None, typer.Option("--type", help='Such as memory.written, or "memory.*"; repeat for more.')
]
WebhookId = Annotated[str, typer.Argument(help="The id that `keeps webhooks list` prints.")]


def register(app: typer.Typer) -> None:
    for command in (follow, verify, replay, retire):
        events_app.command()(targeted(command))
    events_app.command("list")(targeted(list_events))
    for command in (add, remove, retry, failures):
        webhooks_app.command()(targeted(command))
    webhooks_app.command("list")(targeted(list_webhooks))
    app.add_typer(events_app, name="events")
    app.add_typer(webhooks_app, name="webhooks")


def list_events(
    after: Annotated[int, typer.Option(help="Those after this number.", min=0)] = 0,
    types: Types = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many, 1 to 200.")] = 50,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """List events, oldest first."""

    async def work() -> None:
        async with target.memory() as memory:
            events = await memory.events(after=after, types=types, limit=limit)
        if as_json:
            print_json([event.model_dump(mode="json") for event in events])
            return
        if not events:
            out.print("No events. [dim]Is it the right --tenant and --user?[/]")
        for event in events:
            _print_event(event)
        if events:
            err.print(f"[dim]later ones: --after {events[-1].sequence}[/]")

    run(work)


def follow(
    after: Annotated[int | None, typer.Option(help="Those after this number; not given: those to come.", min=0)] = None,
    types: Types = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Print events as they happen, until Ctrl-C; with --json, one line for each."""

    async def work() -> None:
        async with target.memory() as memory:
            err.print("[dim]waiting for events; Ctrl-C ends[/]")
            async for event in memory.subscribe(after=after, types=types):
                if as_json:
                    print(event.model_dump_json(), flush=True)
                else:
                    _print_event(event)

    run(work)


def verify(*, target: Target, as_json: Json = False) -> None:
    """Compare the tenant's rows with its events, byte by byte. Exit code 1 if they differ."""

    async def work() -> int:
        started = time.monotonic()
        async with target.memory() as memory:
            with err.status("replaying …"):
                result = await memory.admin.verify_events()
        seconds = time.monotonic() - started
        if as_json:
            print_json(result.model_dump(mode="json"))
            return 0 if result.equal else 1
        for table, rows in result.compared.items():
            out.print(f"  {table:<16}{rows:>12,} rows")
        speed = f"{result.events:,} events in {seconds:.1f} s, {result.events / max(seconds, 1e-9):,.0f} a second"
        if result.equal and not result.events:
            err.print("[dim]this tenant has no events; is it the right --tenant?[/]")
        if result.equal:
            out.print(f"[bold green]equal[/]: every row is, to the byte, what its events tell ({speed})")
            return 0
        first = result.differences[0]
        out.print(f"[bold red]different[/] ({speed}). The first difference:")
        columns = f", in {', '.join(first.columns)}" if first.problem == "differs" else ""
        out.print(f"  {first.table} {escape(json.dumps(first.row, ensure_ascii=False))}: {first.problem}{columns}")
        if len(result.differences) > 1:
            out.print(f"  and at least {len(result.differences) - 1} more; --json lists them")
        return 1

    run(work)


def replay(
    until: Annotated[datetime | None, typer.Option(help="Only what happened up to then (UTC).")] = None,
    into: Annotated[
        str | None, typer.Option(help="Rebuild the tenant's tables in this new schema of the database.")
    ] = None,
    admin_url: Annotated[
        str | None,
        typer.Option(
            envvar="KEEPS_ADMIN_URL",
            help="PostgreSQL's administrator, who may make a schema; not needed for the embedded database.",
        ),
    ] = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Rebuild the tenant's memories, state and graph from its events alone; without --into only count the rows."""
    moment = until.replace(tzinfo=UTC) if until and until.tzinfo is None else until

    async def work() -> None:
        if into is None:
            async with target.memory() as memory:
                tables = await memory.admin.replay_events(until=moment)
        else:
            from keeps.events.rebuild import rebuild

            if target.url:
                raise ValidationFailedError("--into works on the database itself, not through --url")
            async with target.open() as keeps:
                url = admin_url or keeps.admin_url
                if url is None:
                    raise NotConfiguredError("--into makes a schema: give --admin-url of PostgreSQL's administrator")
                tables = await rebuild(url, into, target.tenant, moment)
        if as_json:
            print_json([each.model_dump(mode="json") for each in tables])
            return
        for each in tables:
            out.print(f"  {each.table:<16}{each.rows:>12,} rows")
        if into:
            out.print(f"rebuilt in schema {escape(into)}; it has no row security, so drop it when you are done")

    run(work)


def retire(
    older_than_days: Annotated[float, typer.Option(help="Recorded longer ago than so many days; at least 30.", min=30)],
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Remove old events of all tenants that replay does not need. `as_of` and subscribers cannot go back before
    them."""

    async def work() -> None:
        async with target.memory() as memory:
            result = await memory.admin.retire_events(older_than_days)
        if as_json:
            print_json(result.model_dump(mode="json"))
        else:
            out.print(
                f"{result.removed:,} events recorded before {result.before:%Y-%m-%d} are removed; replay still needs"
                f" {result.kept:,}"
            )

    run(work)


def add(
    receiver: Annotated[str, typer.Argument(help="The URL to send events to.")],
    types: Types = None,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Send the tenant's events to a URL, as long as `keeps serve` runs.

    The secret that signs them is printed only this once.
    """

    async def work() -> None:
        async with target.memory() as memory:
            wanted: Any = tuple(types or ("*",))
            made = await memory.admin.add_webhook(receiver, types=wanted)
        if as_json:
            print_json(made.model_dump(mode="json"))
            return
        err.print(f"webhook [bold]{made.webhook_id}[/]; keep the secret, it is shown this once:", soft_wrap=True)
        print(made.secret)

    run(work)


def list_webhooks(*, target: Target, as_json: Json = False) -> None:
    """List the tenant's webhooks, newest first."""

    async def work() -> None:
        async with target.memory() as memory:
            webhooks = await memory.admin.list_webhooks()
        if as_json:
            print_json([webhook.model_dump(mode="json") for webhook in webhooks])
            return
        if not webhooks:
            out.print("No webhooks. [dim]`keeps webhooks add URL` adds one.[/]")
            return
        table = Table(
            Column("webhook", no_wrap=True), "url", "types", "up to", "failures", "state", box=None, header_style="dim"
        )
        for webhook in webhooks:
            state = f"{webhook.last_error}, again at {webhook.next_attempt_at:%H:%M:%S}" if webhook.attempts else "fine"
            table.add_row(
                str(webhook.webhook_id),
                escape(webhook.url),
                ", ".join(webhook.types),
                str(webhook.position),
                str(webhook.failures),
                state,
            )
        out.print(table)

    run(work)


def remove(webhook_id: WebhookId, *, target: Target, as_json: Json = False) -> None:
    """Remove a webhook."""
    _change(webhook_id, target, "remove", "is removed", as_json=as_json)


def retry(webhook_id: WebhookId, *, target: Target, as_json: Json = False) -> None:
    """Send the failed events of a webhook again, and all events after the first of them."""
    _change(webhook_id, target, "retry", "tries again", as_json=as_json)


def failures(webhook_id: WebhookId, *, target: Target, as_json: Json = False) -> None:
    """List the events that a webhook did not accept after all attempts."""

    async def work() -> None:
        async with target.memory() as memory:
            events = await memory.admin.list_webhook_failures(webhook_id)
        if as_json:
            print_json([event.model_dump(mode="json") for event in events])
            return
        if not events:
            out.print("No failures.")
        for event in events:
            out.print(
                f"  event {event.sequence}: {event.error} after {event.attempts} attempts,"
                f" {event.failed_at:%Y-%m-%d %H:%M}"
            )

    run(work)


def _change(webhook_id: str, target: Target, verb: str, done: str, *, as_json: bool) -> None:
    async def work() -> None:
        async with target.memory() as memory:
            changed = await getattr(memory.admin, f"{verb}_webhook")(webhook_id)
        if as_json:
            print_json(changed.model_dump(mode="json"))
        else:
            out.print(f"webhook {changed.webhook_id} {done}")

    run(work)


def _print_event(event: Event) -> None:
    told: Any = event.data.get("memory") or event.data.get("entity") or event.data.get("plan") or event.data
    text = (
        told.get("content") or told.get("name") or event.data.get("relation") or event.data.get("key") or ""
        if isinstance(told, dict)
        else ""
    )
    short = str(text).replace("\n", " ")[:80]
    out.print(
        f"[dim]{event.sequence:>6}  {event.time:%Y-%m-%d %H:%M:%S}[/]  {event.type:<20} [dim]{escape(event.userid)}[/] "
        f" {escape(short)}",
        highlight=False,
        soft_wrap=True,
    )

"""context, say, notes, end, insights, audit, sources: conversations and prompts."""

from __future__ import annotations

import json
import sys
from typing import Annotated, cast, get_args

import typer
from pydantic import JsonValue
from rich.markup import escape
from rich.table import Table

from keeps.cli.context import Json, Target, err, out, print_json, run, targeted
from keeps_client.checked import validated
from keeps_client.errors import ValidationFailedError
from keeps_client.models import ContextResult, Insights, NewSource
from keeps_client.models.context import SectionName, SourceKind

sources_app = typer.Typer(help="What can be looked up, as agents are told: add, list, remove.", no_args_is_help=True)
audit_app = typer.Typer(help="Looks at what a memory keeps.", no_args_is_help=True)
Session = Annotated[str | None, typer.Option("--session", "-s", help="The conversation.")]
SessionId = Annotated[str, typer.Argument(help="The conversation.")]


def register(app: typer.Typer) -> None:
    for command in (context, say, notes, end, insights):
        app.command()(targeted(command))
    for command in (add, remove):
        sources_app.command()(targeted(command))
    sources_app.command("list")(targeted(list_sources))
    audit_app.command()(targeted(junk))
    app.add_typer(sources_app, name="sources")
    app.add_typer(audit_app, name="audit")


def context(
    query: Annotated[str, typer.Argument(help="The message that the LLM is about to get.")],
    session: Session = None,
    budget: Annotated[int, typer.Option("--budget-tokens", "--budget", help="Tokens.", min=50, max=200_000)] = 4_000,
    sections: Annotated[
        list[str] | None,
        typer.Option("--section", help="Only this part, such as long_term or documents. May be given several times."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option("--timezone", help="Where the user lives, such as Europe/Berlin or +02:00.")
    ] = None,
    explain: Annotated[
        bool, typer.Option(help="How it came about: sources, times, what was left out and why.")
    ] = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Print the context for a prompt: Markdown within a budget of tokens."""

    async def work() -> None:
        async with target.memory() as memory:
            result = await memory.context(
                query,
                session_id=session,
                budget_tokens=budget,
                timezone=timezone,
                explain=explain,
                sections=cast("list[SectionName] | None", sections),
            )
        if as_json:
            print_json(result.model_dump(mode="json"))
            return
        if result.text:
            print(result.text)
        else:
            err.print("Nothing is known that would help, or needed. [dim]Is it the right --tenant and --user?[/]")
        if explain:
            _explain(result)
        elif result.degraded:
            err.print(f"[yellow]degraded[/]: {', '.join(result.degraded_sources)}")

    run(work)


def say(
    session: SessionId,
    content: Annotated[str, typer.Argument(help="What was said; - reads messages as JSON lines from stdin.")],
    role: Annotated[str, typer.Option(help="user, assistant, system or tool.")] = "user",
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Store a message of a conversation; print the facts that were found in it."""
    messages = _lines() if content == "-" else [{"role": role, "content": content}]

    async def work() -> None:
        async with target.memory() as memory:
            receipt = await memory.store_exchange(messages, session_id=session)
        if as_json:
            print_json(receipt.model_dump(mode="json"))
            return
        out.print(
            f"{len(receipt.messages) - receipt.recalled} stored, {receipt.notes.message_count} messages in this"
            " conversation"
        )
        facts = [(each.status, each.memory.content) for each in receipt.facts if each.memory]
        for status, content in dict.fromkeys(facts):
            out.print(f"  [green]{status}[/]  {escape(content)}", highlight=False)

    run(work)


def notes(session: SessionId, *, target: Target, as_json: Json = False) -> None:
    """Show the notes of a conversation: summary, decisions, action items, the last messages."""

    async def work() -> None:
        async with target.memory() as memory:
            session_notes = await memory.session_notes(session)
        if as_json:
            print_json(session_notes.model_dump(mode="json") if session_notes else None)
            return
        if session_notes is None:
            out.print(f'Nothing was said in {session!r}. [dim]keeps say {session} "…"[/]')
            return
        out.print(
            f"[bold]{session_notes.message_count} messages[/], fresh until {session_notes.expires_at:%Y-%m-%d %H:%M}",
            highlight=False,
        )
        out.print(session_notes.summary or "[dim]no summary yet: it rolls on every five messages[/]", highlight=False)
        for note in session_notes.items:
            out.print(f"  [cyan]{note.kind.replace('_', ' ')}[/]  {escape(note.text)}", highlight=False)

    run(work)


def end(session: SessionId, *, target: Target, as_json: Json = False) -> None:
    """End a conversation: its summary is stored now, its important parts in an hour."""

    async def work() -> None:
        async with target.memory() as memory:
            receipt = await memory.end_session(session)
        if as_json:
            print_json(receipt.model_dump(mode="json"))
        elif receipt.memory:
            out.print(receipt.memory.content, markup=False, highlight=False)

    run(work)


def insights(*, target: Target, as_json: Json = False) -> None:
    """Show statistics of your own memory: totals, growth, use, decay ahead, junk, storage, index lag."""

    async def work() -> None:
        async with target.memory() as memory:
            report = await memory.insights()
        if as_json:
            print_json(report.model_dump(mode="json"))
        else:
            _print_insights(report)

    run(work)


def junk(*, target: Target, as_json: Json = False) -> None:
    """Show what a promotion run would promote now, and the share of small talk and mere questions. Changes nothing."""

    async def work() -> None:
        async with target.memory() as memory:
            report = await memory.audit_junk()
        if as_json:
            print_json(report.model_dump(mode="json"))
            return
        out.print(
            f"would be promoted now: {report.would_promote}, of it junk {report.would_promote_junk}", highlight=False
        )
        out.print(f"promoted before: {report.promoted}, of it junk {report.promoted_junk}", highlight=False)
        out.print(f"junk share: {report.junk_share:.1%}", highlight=False)
        for text in report.examples:
            out.print(f"  {text}", markup=False, highlight=False)

    run(work)


def add(
    name: Annotated[str, typer.Argument(help="What agents call it.")],
    kind: Annotated[str, typer.Option(help=f"One of: {', '.join(get_args(SourceKind))}.")],
    purpose: Annotated[str, typer.Option(help="What it is good for, in a sentence.")],
    private: Annotated[bool, typer.Option(help="Only for this user; else for the tenant.")] = False,
    *,
    target: Target,
    as_json: Json = False,
) -> None:
    """Tell agents of a source that can be looked up."""

    async def work() -> None:
        async with target.memory() as memory:
            new = validated(NewSource, {"name": name, "kind": kind, "purpose": purpose})
            made = await memory.add_source(
                new.name, kind=new.kind, purpose=new.purpose, visibility="private" if private else "tenant"
            )
        if as_json:
            print_json(made.model_dump(mode="json"))
        else:
            out.print(f"agents are told of [bold]{escape(made.name)}[/] ({made.kind})")

    run(work)


def list_sources(*, target: Target, as_json: Json = False) -> None:
    """List the sources that agents are told of."""

    async def work() -> None:
        async with target.memory() as memory:
            sources = await memory.list_sources()
        if as_json:
            print_json([source.model_dump(mode="json") for source in sources])
            return
        for source in sources:
            out.print(
                f"[bold]{escape(source.name)}[/] ({source.kind}, {source.visibility}): {escape(source.purpose)}",
                highlight=False,
            )
        if not sources:
            out.print(
                'Agents are told of nothing. [dim]keeps sources add metrics --kind database --purpose "Users and orders'
                ' by day"[/]'
            )

    run(work)


def remove(name: Annotated[str, typer.Argument(help="Its name.")], *, target: Target) -> None:
    """Remove a source."""

    async def work() -> None:
        async with target.memory() as memory:
            await memory.remove_source(name)
        out.print(f"agents are no longer told of {name!r}")

    run(work)


def _lines() -> list[dict[str, JsonValue]]:
    try:
        return [json.loads(line) for line in sys.stdin if line.strip()]
    except json.JSONDecodeError as error:
        raise ValidationFailedError(
            f'stdin is not JSON lines ({error}); each line is like {{"role": "user", "content": "…"}}'
        ) from None


def _explain(result: ContextResult) -> None:
    err.print(
        f"\n[bold]{result.tokens} of {result.budget_tokens} tokens[/] ({result.tokenizer}), {result.took_ms:.0f} ms, of"
        f" it the router {result.router_ms:.1f} ms",
        highlight=False,
    )
    err.print(
        "signals: "
        + (", ".join(result.signals) or "none")
        + (f"; from {result.since:%Y-%m-%d} to {result.until:%Y-%m-%d}" if result.since and result.until else ""),
        highlight=False,
    )
    err.print(
        "sources: " + ", ".join(f"{name} {took:.0f} ms" for name, took in result.sources_ms.items()), highlight=False
    )
    for section in result.sections:
        err.print(
            f"  {section.title}: {len(section.items)} lines, {section.tokens} tokens, share {section.share_tokens}",
            highlight=False,
        )
    for left in result.left_out[:10]:
        err.print(
            f"  [dim]left out ({left.reason.replace('_', ' ')}): {left.section} {left.memory_id or ''} {left.tokens}"
            " tokens[/]",
            highlight=False,
        )
    if result.degraded:
        err.print(f"[yellow]degraded[/]: {', '.join(result.degraded_sources)}")


def _print_insights(found: Insights) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    rows: list[tuple[str, object]] = [
        ("memories", f"{found.total_memories:,} ({found.important_memories:,} important)"),
        ("by kind", _counts(found.by_kind)),
        ("by layer", _counts(found.by_layer)),
        ("by namespace", _counts(found.by_namespace)),
        ("tags", _counts(found.common_tags)),
        (
            "growth",
            (
                f"{found.growth_trend}; " + " ".join(str(week.memories) for week in found.growth)
                if found.growth
                else "none"
            ),
        ),
        ("never used", f"{found.never_used:,}"),
        (
            "fading",
            (
                f"{found.decay.within_a_day} in a day, {found.decay.within_a_week} in a week,"
                f" {found.decay.within_a_month} in a month; {found.decay.archived} archived"
            ),
        ),
        ("kept for long", f"{found.promoted:,} experiences, junk share {found.junk_share:.1%}"),
        ("older truths", f"{found.superseded:,} superseded, {found.forgotten:,} forgotten, {found.stale:,} stale"),
        ("index", f"{found.index_pending:,} wait, the oldest for {found.index_lag_seconds:.0f} s"),
    ]
    if found.llm_tokens:
        rows.append(("LLM tokens", f"{_counts(found.llm_tokens)} (of the tenant, 30 days)"))
    if found.storage:
        last = found.storage[-1]
        rows.append(("tenant", f"{last.memories:,} memories, {last.bytes / 1e6:.1f} MB, {last.events:,} events"))
    for name, value in rows:
        table.add_row(f"[bold]{name}[/]", escape(str(value)))
    out.print(table)
    for each in found.fading[:5]:
        when = each.fades_at.strftime("%Y-%m-%d")
        out.print(f"  fades {when}  {escape(' '.join(each.content.split())[:100])}", highlight=False)
    for used in found.most_used[:5]:
        out.print(f"  {used.access_count:>4} × {escape(' '.join(used.content.split())[:100])}", highlight=False)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name or '(none)'} {count:,}" for name, count in counts.items()) or "none"

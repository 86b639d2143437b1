"""context, say, notes, end, insights, audit, sources: conversations and prompts."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer
from pydantic import JsonValue
from rich.markup import escape
from rich.table import Table

from keeps.doors.cli.command import Answer, command, group, lines
from keeps.doors.cli.context import Target, err, out
from keeps.doors.cli.counts import counted
from keeps.doors.cli.parsers import Spaces, check_message
from keeps_client.checked import validated
from keeps_client.errors import ValidationFailedError
from keeps_client.models import NewSource
from keeps_client.models.context import SectionName, SourceKind

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import ContextResult, Insights

app = typer.Typer()
sources = group()
audit = group()
app.add_typer(sources, name="sources")
app.add_typer(audit, name="audit")
Session = Annotated[str | None, typer.Option("--session", "-s", help="Id of the conversation.")]
SessionId = Annotated[str, typer.Argument(help="Id of the conversation.")]
ALWAYS = "# Always: put this before the conversation"
FOR_THIS_QUESTION = "# For this question: put this at the end"


@command(app)
async def context(
    memory: Memory,
    query: Annotated[str, typer.Argument(help="The message that your LLM is about to answer.", callback=check_message)],
    session: Session = None,
    budget: Annotated[int, typer.Option("--budget-tokens", "--budget", help="Tokens.", min=50, max=200_000)] = 4_000,
    sections: Annotated[
        list[str] | None,
        typer.Option("--section", help="Only this section, such as long_term or documents; repeat for several."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option("--timezone", help="Time zone of the user, such as Europe/Berlin or +02:00.")
    ] = None,
    spaces: Spaces = None,
    explain: Annotated[bool, typer.Option(help="Show sources, times, and what was left out and why.")] = False,
) -> Answer:
    """Print the context for a prompt, within a token budget.

    It is Markdown in two parts: the same text for every question (`stable` in --json), and the text that this question
    found (`volatile`).
    """
    result = await memory.context(
        query,
        session_id=session,
        budget_tokens=budget,
        timezone=timezone,
        spaces=spaces,
        explain=explain,
        sections=cast("list[SectionName] | None", sections),
    )

    def text() -> None:
        parts = {ALWAYS: result.stable, FOR_THIS_QUESTION: result.volatile}
        if shown := [f"{head}\n{part}" for head, part in parts.items() if part]:
            print("\n\n".join(shown))
        elif result.text:
            print(result.text)
        else:
            err.print("No memory helps with this message, or it needs none. [dim]Check --tenant and --user.[/]")
        if explain:
            _explain(result)
        elif result.degraded:
            err.print(f"[yellow]degraded[/]: {', '.join(result.degraded_sources)}")

    return Answer(result, text)


@command(app, may_make=True)
async def say(
    target: Target,
    session: SessionId,
    content: Annotated[
        str, typer.Argument(help="Text of the message; - reads messages as JSON lines from standard input.")
    ],
    role: Annotated[str, typer.Option(help="user, assistant, system or tool.")] = "user",
) -> Answer:
    """Store a message of a conversation.

    Prints the facts that it contains.
    """
    messages = _read_messages() if content == "-" else [{"role": role, "content": content}]
    async with target.memory() as memory:
        receipt = await memory.store_exchange(messages, session_id=session)
    new, all_of_it = len(receipt.messages) - receipt.recalled, receipt.notes.message_count
    stored = f"{counted(new, 'message')} stored, {all_of_it} in this conversation"
    memories = [(fact.status, fact.memory) for fact in receipt.facts if fact.memory]
    facts = dict.fromkeys(
        (status if fact.valid_to is None else "no longer true", fact.content) for status, fact in memories
    )
    fact_lines = [f"  fact {status}: “[green]{escape(text)}[/]”" for status, text in facts]
    return Answer(receipt, "\n".join([stored, *fact_lines]))


@command(app)
async def notes(memory: Memory, session: SessionId) -> Answer:
    """Show the notes of a conversation.

    Summary, decisions, action items, the last messages.
    """
    stored = await memory.session_notes(session)
    if stored is None:
        return Answer(None, f'Conversation {session!r} has no messages. [dim]keeps say {session} "…"[/]')
    text = [
        f"[bold]{counted(stored.message_count, 'message')}[/], fresh until {stored.expires_at:%Y-%m-%d %H:%M}",
        escape(stored.summary) or "[dim]no summary yet: it is updated after every five messages[/]",
        *(f"  [cyan]{note.kind.replace('_', ' ')}[/]  {escape(note.text)}" for note in stored.items),
    ]
    return Answer(stored, "\n".join(text))


@command(app)
async def end(memory: Memory, session: SessionId) -> Answer:
    """End a conversation.

    Its summary is stored now, its important parts in an hour.
    """
    receipt = await memory.end_session(session)
    return Answer(receipt, escape(receipt.memory.content) if receipt.memory else "")


@command(app)
async def insights(memory: Memory) -> Answer:
    """Show statistics of your memories.

    Totals, growth, use, decay ahead, junk, storage, index lag.
    """
    report = await memory.insights()
    return Answer(report, lambda: _print_insights(report))


@command(audit)
async def junk(memory: Memory) -> Answer:
    """Show what a promotion run would promote now, and the share of small talk and mere questions. Changes nothing."""
    report = await memory.audit_junk()
    text = [
        f"would be promoted now: {report.would_promote}, including {report.would_promote_junk} junk",
        f"already promoted: {report.promoted}, including {report.promoted_junk} junk",
        f"junk share: {report.junk_share:.1%}",
        *(f"  {escape(example)}" for example in report.examples),
    ]
    return Answer(report, "\n".join(text))


@command(sources, may_make=True)
async def add(
    memory: Memory,
    name: Annotated[str, typer.Argument(help="Name that agents use.")],
    kind: Annotated[str, typer.Option(help=f"One of: {', '.join(get_args(SourceKind))}.")],
    purpose: Annotated[str, typer.Option(help="Purpose, in one sentence.")],
    private: Annotated[bool, typer.Option(help="Only for this user. Default: for the tenant.")] = False,
) -> Answer:
    """Add a source that agents can look up."""
    new = validated(NewSource, {"name": name, "kind": kind, "purpose": purpose})
    source = await memory.add_source(
        new.name, kind=new.kind, purpose=new.purpose, visibility="private" if private else "tenant"
    )
    return Answer(source, f"agents can now look up [bold]{escape(source.name)}[/] ({source.kind})")


@command(sources, "list")
async def list_sources(memory: Memory) -> Answer:
    """List the sources."""
    return lines(
        await memory.list_sources(),
        lambda source: f"[bold]{escape(source.name)}[/] ({source.kind}, {source.visibility}): {escape(source.purpose)}",
        empty=(
            'There are no sources. [dim]keeps sources add metrics --kind database --purpose "Users and orders by'
            ' day"[/]'
        ),
    )


@command(sources)
async def delete(memory: Memory, name: Annotated[str, typer.Argument(help="Name of the source.")]) -> str:
    """Delete a source."""
    await memory.remove_source(name)
    return f"agents no longer see {escape(name)}"


def _read_messages() -> list[dict[str, JsonValue]]:
    try:
        return [json.loads(line) for line in sys.stdin if line.strip()]
    except json.JSONDecodeError as error:
        raise ValidationFailedError(
            f'stdin is not JSON lines ({error}); each line is like {{"role": "user", "content": "…"}}'
        ) from None


def _explain(result: ContextResult) -> None:
    err.print(
        f"\n[bold]{result.stable_tokens + result.volatile_tokens} of {result.budget_tokens} tokens[/]"
        f" ({result.tokenizer}): stable {result.stable_tokens}, volatile {result.volatile_tokens};"
        f" {result.took_ms:.0f} ms, including the router's {result.router_ms:.1f} ms",
    )
    err.print(
        "signals: "
        + (", ".join(result.signals) or "none")
        + (f"; from {result.since:%Y-%m-%d} to {result.until:%Y-%m-%d}" if result.since and result.until else ""),
    )
    err.print("sources: " + ", ".join(f"{name} {took:.0f} ms" for name, took in result.sources_ms.items()))
    for section in result.sections:
        err.print(
            f"  {section.title}: {counted(len(section.items), 'line')}, {section.tokens} tokens,"
            f" share {section.share_tokens}",
        )
    for left in result.left_out[:10]:
        err.print(
            f"  [dim]left out ({left.reason.replace('_', ' ')}): {left.section} {left.memory_id or ''} {left.tokens}"
            " tokens[/]",
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
                f"{found.decay.within_a_day} within a day, {found.decay.within_a_week} within a week,"
                f" {found.decay.within_a_month} within a month; {found.decay.archived} archived"
            ),
        ),
        ("promoted", f"{found.promoted:,} experiences, junk share {found.junk_share:.1%}"),
        ("outdated", f"{found.superseded:,} superseded, {found.forgotten:,} forgotten, {found.stale:,} stale"),
        ("index", f"{found.index_pending:,} waiting, the oldest for {found.index_lag_seconds:.0f} s"),
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
        out.print(f"  fades {when}  {escape(' '.join(each.content.split())[:100])}")
    for used in found.most_used[:5]:
        out.print(f"  {used.access_count:>4} × {escape(' '.join(used.content.split())[:100])}")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name or '(none)'} {count:,}" for name, count in counts.items()) or "none"

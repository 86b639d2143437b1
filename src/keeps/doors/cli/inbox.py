"""inbox: memories that wait for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from keeps.base.text.fences import one_line
from keeps.doors.cli.command import Answer, command, group, lines

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import HeldMemory, Operation

app = typer.Typer()
inbox = group()
app.add_typer(inbox, name="inbox")
MemoryIds = Annotated[list[str], typer.Argument(help="The ids that `keeps inbox list` prints.")]
Source = Annotated[str, typer.Argument(help="Name of the source, as `keeps inbox list` prints it.")]
REASONS = {
    "instructions": "gives instructions to a model",
    "hidden_text": "hides text",
    "flood": "one of very many",
    "contradiction": "contradicts a more trusted memory",
}
SHOWN = 300


@command(inbox, "list")
async def list_inbox(
    memory: Memory,
    reason: Annotated[
        str | None, typer.Option(help="Only for this reason: instructions, hidden_text, flood or contradiction.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 200.")] = 20,
) -> Answer:
    """List the memories that wait for your decision, newest first."""
    wanted: Any = reason
    page = await memory.inbox(reason=wanted, limit=limit)
    return lines(page.items, _line, empty="Nothing waits for a decision.", value=page)


@command(inbox)
async def approve(memory: Memory, memory_ids: MemoryIds) -> Answer:
    """Let memories out of the inbox, so that they are found."""
    return _done(await memory.approve_held(memory_ids))


@command(inbox)
async def drop(memory: Memory, memory_ids: MemoryIds) -> Answer:
    """Forget memories that wait. They are deleted after 30 days."""
    return _done(await memory.drop_held(memory_ids))


@command(inbox, "trust-source")
async def trust_source(memory: Memory, source: Source) -> Answer:
    """Approve what waits from a source, and let its later memories in at once."""
    return _done(await memory.trust_source(source))


@command(inbox, "distrust-source")
async def distrust_source(memory: Memory, source: Source) -> Answer:
    """Trust a source no longer: its later memories may wait again."""
    gone = await memory.distrust_source(source)
    return Answer(gone, f"memories from {escape(gone.source)} may wait again")


@command(inbox)
async def sources(memory: Memory) -> Answer:
    """List the sources whose memories do not wait."""
    return lines(
        await memory.trusted_sources(),
        lambda each: f"{escape(each.source)}  [dim]since {each.trusted_at:%Y-%m-%d %H:%M}[/]",
        empty="No source is trusted. [dim]`keeps inbox trust-source NAME` adds one.[/]",
    )


def _line(held: HeldMemory) -> str:
    text = one_line(held.memory.content)
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    why = f"[yellow]{REASONS[held.held_for]}[/], from {escape(held.source)}, {held.memory.created_at:%Y-%m-%d %H:%M}"
    return f"[dim]{held.memory.memory_id}[/]  {why}\n  {escape(text)}"


def _done(operation: Operation) -> Answer:
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in operation.counts.items()) or "nothing"
    return Answer(operation, counts, f"undo: keeps operations undo {operation.operation_id}")

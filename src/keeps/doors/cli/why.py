"""why, why-not: what a memory came from, and why a question did not find it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from keeps.base.text.fences import one_line
from keeps.doors.cli.command import Answer, command

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Evidence, Operation, WhyNot
    from keeps_client.models import Memory as Stored

app = typer.Typer()
MemoryId = Annotated[str, typer.Argument(help="The id of a memory, as `keeps recall` prints it.")]
SHOWN = 200
HOW = {
    "message": "said in",
    "source": "summarised from",
    "merged": "merged from",
    "older": "before",
    "conversation": "told in",
}


@command(app)
async def why(memory: Memory, memory_id: MemoryId) -> Answer:
    """Show what a memory came from, and what changed it."""
    belief = await memory.why(memory_id)
    head = f"{_text(belief.memory)}\n[dim]trust: {belief.trust}[/]"
    nothing = "[dim]It came from no other memory: somebody stored it as it is.[/]"
    changes = [
        f"{event.time:%Y-%m-%d %H:%M}  {event.type}  [dim]by {escape(event.userid)}[/]" for event in belief.events
    ]
    return Answer(
        belief,
        "\n".join(
            [
                head,
                *(map(_evidence, belief.evidence) if belief.evidence else [nothing]),
                "[bold]Events[/]",
                *changes,
                *(["[bold]Jobs and decisions[/]", *map(_operation, belief.operations)] if belief.operations else []),
            ]
        ),
    )


@command(app, "why-not")
async def why_not(
    memory: Memory,
    memory_id: MemoryId,
    question: Annotated[str, typer.Argument(help="The question that did not find it.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="Number of hits, 1 to 200.")] = 10,
    kind: Annotated[list[str] | None, typer.Option(help="As of `keeps recall`; repeat for more.")] = None,
    scope: Annotated[str, typer.Option(help="As of `keeps recall`.")] = "all",
    min_trust: Annotated[str | None, typer.Option(help="As of `keeps recall`.")] = None,
    min_relevance: Annotated[float | None, typer.Option(help="As of `keeps recall`.")] = None,
    in_context: Annotated[bool, typer.Option("--context", help="Look for it in a context, too.")] = False,
    budget_tokens: Annotated[int, typer.Option(help="With --context: its size.")] = 4_000,
) -> Answer:
    """Show at which step a question lost a memory."""
    options: dict[str, Any] = {
        "limit": limit,
        "kinds": kind,
        "scope": scope,
        "min_trust": min_trust,
        "min_relevance": min_relevance,
    }
    given = {name: value for name, value in options.items() if value is not None}
    lost = await memory.why_not(memory_id, question, context=in_context, budget_tokens=budget_tokens, **given)
    return Answer(lost, _lost(lost))


def _lost(lost: WhyNot) -> str:
    place = "it is found" if lost.lost_at == "nowhere" else f"lost at: {lost.lost_at.replace('_', ' ')}"
    return f"[bold]{place}[/]\n{escape(lost.reason)}"


def _evidence(each: Evidence) -> str:
    text = "[dim]deleted[/]" if each.memory is None else f"{_text(each.memory)} [dim]trust: {each.trust}[/]"
    return f"{'  ' * each.depth}{HOW[each.how]} [dim]{each.memory_id}[/] {text}"


def _text(memory: Stored) -> str:
    speaker = memory.metadata.get("speaker")
    who = speaker if isinstance(speaker, str) else memory.role or memory.user_id
    text = one_line(memory.content)
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return f"{memory.valid_from:%Y-%m-%d %H:%M} {escape(who)}: {escape(text)}"


def _operation(operation: Operation) -> str:
    return (
        f"{operation.started_at:%Y-%m-%d %H:%M}  {operation.job} {operation.status}  [dim]{operation.operation_id}[/]"
    )

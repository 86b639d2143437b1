"""The hits of a recall as text. It imports no model, since `quick` prints hits that are read from JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from keeps.doors.cli.consoles import out
from keeps.doors.cli.counts import counted

if TYPE_CHECKING:
    from keeps_client.models import Hit, RecallResult
    from keeps_client.models import Memory as Stored

SPACE = "(space) "
"""Beginning of the user ids that own the memories of spaces."""


def note_of(result: RecallResult) -> str:
    """Return the number of hits and the time that they took."""
    return f"{counted(len(result.hits), 'hit')} in {result.took_ms:.1f} ms"


def print_hits(result: RecallResult, nothing: str) -> None:
    if not result.hits:
        out.print(nothing)
    elif result.nothing_known:
        out.print("[dim]These may not answer the question; they are the closest matches:[/]")
    for place, hit in enumerate(result.hits, 1):
        print_hit(place, hit)


def print_hit(place: int, hit: Hit) -> None:
    """Print one hit on a line or two, with its explanation if there is one."""
    memory = hit.memory
    out.print(f"[bold]{place:>3}[/]  [green]{hit.score:5.2f}[/]  {escape(short(memory, 160))}")
    if hit.passage is not None and hit.passage.start > 0:
        shown = " ".join(memory.content[hit.passage.start : hit.passage.end].split())
        out.print(f"            [italic]… {escape(shown if len(shown) <= 400 else shown[:399] + '…')}[/]")
    labels = [f"{memory.valid_from:%Y-%m-%d}", memory.kind]
    if hit.relevance is not None:
        labels.append(f"relevance {hit.relevance:.2f}")
    if memory.superseded_by:
        labels.append("superseded")
    elif hit.newer_id is not None:
        labels.append("changed by a later memory")
    if memory.archived_at:
        labels.append("archived")
    if memory.visibility == "tenant":
        labels.append(f"shared by {memory.user_id}")
    if memory.user_id.startswith(SPACE):
        labels.append(f"space {memory.user_id.removeprefix(SPACE)}")
    out.print(f"            [dim]{escape(' · '.join([*labels, *memory.tags]))}  {memory.memory_id}[/]")
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


def short(memory: Stored, width: int = 90) -> str:
    speaker = memory.metadata.get("speaker")
    text = " ".join((f"{speaker}: " if isinstance(speaker, str) else "").split() + memory.content.split())
    return text if len(text) <= width else text[: width - 1] + "…"

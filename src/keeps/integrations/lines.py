"""Memories as lines of an answer to a model, within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from keeps.integrations.budgets import LEFT_FOR_THE_FRAME, SHOWN_CHARACTERS, fitting, start_of, tokens
from keeps.integrations.marks import marked
from keeps_client.models import Memory
from keeps_client.models.recall import WEAK_RELEVANCE

MOST_TAGS = 10
CUT = " …"


def lines_of(hits: Sequence[tuple[Memory, float | None]], budget: int, name_of: Callable[[Memory], str]) -> str:
    """Return memories within a budget, with a note about what is missing.

    Long memories are cut; if that is not enough, the last ones are left out.

    Args:
        hits: Memories, each with its relevance to the question, best first.
        name_of: Returns the name that a line begins with.
    """
    room = budget - LEFT_FOR_THE_FRAME
    lines: list[str] = []
    for characters in (room * 6, room * 3 // len(hits), SHOWN_CHARACTERS, SHOWN_CHARACTERS // 4):
        lines = [_line(memory, relevance, characters, name_of(memory)) for memory, relevance in hits]
        if sum(map(len, lines)) <= room * 6 and tokens("\n".join(lines)) <= room:
            break
    shown = fitting([{"": line} for line in lines], budget)
    notes = [f"{len(hits) - shown} more match."] if shown < len(hits) else []
    notes += ["Texts that end in … are truncated."] if any(CUT in line for line in lines[:shown]) else []
    if notes:
        notes.append("To see more, call again with a higher max_tokens, a lower limit or a narrower query.")
    return "\n".join([start_of(line, budget) for line in lines[:shown]] + [f"({' '.join(notes)})"] * bool(notes))


def _line(memory: Memory, relevance: float | None, characters: int, name: str) -> str:
    """Return one memory as a line, marked if it is only weakly relevant to the question."""
    weak = "(may be related) " if relevance is not None and relevance < WEAK_RELEVANCE else ""
    tags = f", tags {', '.join(memory.tags[:MOST_TAGS])}" if memory.tags else ""
    content = " ".join(memory.content[: characters + 1].split())
    content = content[:characters] + CUT if len(memory.content) > characters else content
    content = marked(memory, content)
    return f"- {name}: {weak}{content} (importance {memory.importance:g}{tags}, id {memory.memory_id})"

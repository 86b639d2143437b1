"""share, unshare: copies of memories in spaces and for other agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from keeps.doors.cli.command import Answer, command
from keeps.doors.cli.context import Target
from keeps.doors.cli.hits import short
from keeps.doors.cli.identifiers import memory_id_of
from keeps_client.errors import ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Receipt

app = typer.Typer()
MemoryId = Annotated[str, typer.Argument(help="The id of the original, or its beginning, of at least 8 characters.")]
ToSpace = Annotated[str | None, typer.Option(metavar="NAME", help="The space; its members can read the copy.")]
ToAgent = Annotated[str | None, typer.Option(metavar="NAME", help="The agent, which is another one of the same user.")]


@command(app)
async def share(
    memory: Memory, target: Target, memory_id: MemoryId, to_space: ToSpace = None, to_agent: ToAgent = None
) -> Answer:
    """Share a memory: store a copy in a space, or for another agent.

    The copy is a memory of its own; later changes of the original do not reach it.
    """
    option = _option(to_space, to_agent)
    chosen = await memory_id_of(memory, target, memory_id)
    receipt = await memory.share_memory(chosen, space=to_space, agent_id=to_agent)
    return _receipt(receipt, f"undo: keeps unshare {chosen} {option}")


@command(app)
async def unshare(
    memory: Memory, target: Target, memory_id: MemoryId, to_space: ToSpace = None, to_agent: ToAgent = None
) -> Answer:
    """Forget the copy of a memory that was shared. The original stays."""
    _option(to_space, to_agent)
    chosen = await memory_id_of(memory, target, memory_id)
    return _receipt(await memory.unshare_memory(chosen, space=to_space, agent_id=to_agent))


def _option(to_space: str | None, to_agent: str | None) -> str:
    """Return the option that names the target. Raises ValidationFailedError unless there is one."""
    if (to_space is None) == (to_agent is None):
        raise ValidationFailedError("name one target: --to-space, or --to-agent")
    return f"--to-space {to_space}" if to_agent is None else f"--to-agent {to_agent}"


def _receipt(receipt: Receipt, note: str = "") -> Answer:
    stored = "" if receipt.memory is None else f"  “{escape(short(receipt.memory))}”"
    return Answer(receipt, f"[bold]{receipt.status}[/]{stored}  [dim]{receipt.memory_id}[/]", note)

"""requests: the log of recalls and contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from keeps.doors.cli.command import Answer, command, group, lines, more
from keeps.doors.cli.counts import counted
from keeps_client.errors import KeepsError

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import RequestDetail

app = typer.Typer()
requests = group()
app.add_typer(requests, name="requests")
SHOWN = 20


@command(requests, "list")
async def list_requests(
    memory: Memory,
    kind: Annotated[Literal["recall", "context"] | None, typer.Option(help="Only requests of this kind.")] = None,
    found_nothing: Annotated[bool, typer.Option("--found-nothing", help="Only requests without a hit.")] = False,
    all_users: Annotated[
        bool, typer.Option("--all", help="Requests of all users of the tenant (administrators only).")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number, 1 to 100.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="Cursor that the previous page printed.")] = None,
) -> Answer:
    """List recalls and contexts, newest first."""
    page = await memory.list_requests(
        kind=kind, found_nothing=found_nothing, all_users=all_users, limit=limit, cursor=cursor
    )
    return lines(
        page.items,
        lambda one: (
            f"[dim]{one.asked_at:%Y-%m-%d %H:%M:%S}  {one.kind}, {counted(one.hits, 'hit')} in {one.took_ms:.0f} ms,"
            f" {escape(one.user_id)}  {one.request_id}[/]\n  {escape(one.query[:200])}"
        ),
        empty="No requests. [dim]They are logged unless KEEPS_REQUEST_LOG_DAYS is 0.[/]",
        value=page.items,
        note=more(page.next_cursor),
    )


@command(requests)
async def show(
    memory: Memory,
    request_id: Annotated[str, typer.Argument(help="The id that `keeps requests list` prints.")],
) -> Answer:
    """Show one request, with the memories that it returned as they were then."""
    request = await memory.get_request(request_id)
    text = [
        f"[bold]{escape(request.query)}[/]",
        (
            f"[dim]{request.asked_at:%Y-%m-%d %H:%M:%S}  {request.kind} by {request.door}, {request.took_ms:.0f} ms,"
            f" {counted(request.hits, 'hit')}, {request.left_out} left out[/]"
        ),
    ]
    for place, hit in enumerate(request.answer[:SHOWN], 1):
        text.append(f"{place:>3}. {escape(await _text(memory, request, str(hit.memory_id)))}")
    if len(request.answer) > SHOWN:
        text.append(f"[dim]{len(request.answer) - SHOWN} more characters: --json[/]")
    return Answer(request, "\n".join(text))


async def _text(memory: Memory, request: RequestDetail, memory_id: str) -> str:
    """Return the text of a memory at the time of a request."""
    try:
        return (await memory.get(memory_id, as_of=request.asked_at)).content
    except KeepsError:
        return f"({memory_id} was erased, or is older than the event log)"

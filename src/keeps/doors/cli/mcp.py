"""mcp: Keeps for clients of the Model Context Protocol, over standard input and output."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from keeps.base.door import enter
from keeps.doors.cli.command import command
from keeps.doors.cli.context import Target
from keeps_client.errors import NotConfiguredError

app = typer.Typer()
Tools = Literal["memory", "graph"]


@command(app, may_make=True, shared=False)
async def mcp(
    target: Target,
    tools: Annotated[
        Tools, typer.Option(help="memory, or graph: the nine tools of the reference memory server.")
    ] = "memory",
) -> None:
    """Serve memory over the Model Context Protocol (MCP).

    It uses standard input and output: enter this command in the MCP client. The options set whose memory it is; the
    model cannot. `keeps serve` offers the same at /mcp.
    """
    try:
        from keeps.integrations.mcp import graph_server, memory_server
    except ImportError as error:
        raise NotConfiguredError(str(error)) from None

    enter("mcp")
    async with target.memory() as memory:
        serve = memory_server if tools == "memory" else graph_server
        await serve(lambda: memory).run_stdio_async()

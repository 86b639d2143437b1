"""hook: memory for coding agents that run a command at events."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from keeps.doors.cli.command import command
from keeps.doors.cli.context import Home
from keeps.doors.cli.hook_client import EVENTS, run

app = typer.Typer()


@command(app)
async def hook(
    event: Annotated[str, typer.Argument(help=f"{', '.join(EVENTS)}.")],
    home: Home = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant.")] = None,
    user: Annotated[str | None, typer.Option(help="The user whose memory it is.")] = None,
) -> None:
    """Answer a hook of a coding agent.

    It reads the agent's JSON from standard input and prints JSON with `additionalContext`, or nothing. `keeps setup`
    writes this command into the agent's settings. It never fails, so that the agent goes on without memory.
    """
    options = {"--home": None if home is None else str(home), "--tenant": tenant, "--user": user}
    arguments = [event, *(word for name, value in options.items() if value for word in (name, value))]
    if not run(arguments):
        print(f"keeps hook: unknown event {event!r}; choose from {', '.join(EVENTS)}", file=sys.stderr)

"""What every command shares: who asks, which database, how to print, how to fail."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from keeps.scope import DEFAULT_TENANT_ID, DEFAULT_USER_ID, Scope

if TYPE_CHECKING:
    from keeps.engine import Keeps, ScopedMemory

Home = Annotated[
    Path | None, typer.Option(envvar="KEEPS_HOME", help="Folder of the embedded database.", rich_help_panel="Database")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        envvar="KEEPS_DATABASE_URL",
        help="PostgreSQL to use instead of the embedded one.",
        rich_help_panel="Database",
        show_envvar=False,
    ),
]
Tenant = Annotated[str, typer.Option(help="Whose memory: the tenant.", rich_help_panel="Scope")]
User = Annotated[str, typer.Option(help="Whose memory: the user.", rich_help_panel="Scope")]
Agent = Annotated[str | None, typer.Option(help="The agent that acts.", rich_help_panel="Scope")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

out = Console()
err = Console(stderr=True)

__all__ = [
    "DEFAULT_TENANT_ID",
    "DEFAULT_USER_ID",
    "Agent",
    "DatabaseUrl",
    "Home",
    "Json",
    "Target",
    "Tenant",
    "User",
    "err",
    "out",
    "print_json",
    "run",
]


@dataclass(frozen=True, slots=True)
class Target:
    """The database and the scope that a command works on."""

    home: Path | None
    database_url: str | None
    tenant: str = DEFAULT_TENANT_ID
    user: str = DEFAULT_USER_ID
    agent: str | None = None

    @property
    def scope(self) -> Scope:
        return Scope(tenant_id=self.tenant, user_id=self.user, agent_id=self.agent)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Keeps]:
        """An open Keeps, with a note on stderr while a first start takes its time."""
        from keeps.engine import Keeps

        with err.status("opening the database …") if err.is_terminal else nullcontext():
            keeps = await Keeps.open(self.home, database_url=self.database_url)
        try:
            yield keeps
        finally:
            await keeps.close()

    @asynccontextmanager
    async def memory(self) -> AsyncGenerator[ScopedMemory]:
        scope = self.scope
        async with self.open() as keeps:
            yield keeps.memory(scope)


def run(work: Callable[[], Coroutine[Any, Any, int | None]]) -> None:
    """Run a command's coroutine; its number is the exit code."""
    code = asyncio.run(work())
    if code:
        raise typer.Exit(code)


def print_json(value: Any) -> None:
    """One JSON document on stdout, as it is: no colours, no wrapping."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str, indent=2) + "\n")

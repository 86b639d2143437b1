"""Options of all commands, and what they mean: scope, database, output."""

from __future__ import annotations

import asyncio
import difflib
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keeps.base.defaults import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from keeps.doors.cli.consoles import PlainConsole as PlainConsole
from keeps.doors.cli.consoles import err as err
from keeps.doors.cli.consoles import out as out
from keeps_client.errors import NotFoundError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from keeps.base.scope import Scope
    from keeps.engine import Keeps, LocalMemory
    from keeps_client import Memory, MemoryClient


def folder_of(given: str) -> Path:
    """Parse an option that names a folder."""
    if not given.strip():
        raise typer.BadParameter("must name a folder; omit it for the default folder")
    return Path(given)


Home = Annotated[
    Path | None,
    typer.Option(
        envvar="KEEPS_HOME",
        help="Folder of the embedded database.",
        metavar="PATH",
        parser=folder_of,
        rich_help_panel="Database",
    ),
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
Tenant = Annotated[
    str, typer.Option(envvar="KEEPS_TENANT_ID", help="The tenant.", rich_help_panel="Scope", show_envvar=False)
]
User = Annotated[
    str, typer.Option(envvar="KEEPS_USER_ID", help="The acting user.", rich_help_panel="Scope", show_envvar=False)
]
Agent = Annotated[
    str | None,
    typer.Option(envvar="KEEPS_AGENT_ID", help="The acting agent.", rich_help_panel="Scope", show_envvar=False),
]
Space = Annotated[
    str | None,
    typer.Option(help="Work in this space, of which the user is a member.", rich_help_panel="Scope"),
]
Url = Annotated[
    str | None,
    typer.Option(
        envvar="KEEPS_URL",
        help="Use this server instead of a database.",
        rich_help_panel="Database",
        show_envvar=False,
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        envvar="KEEPS_TOKEN", help="JSON Web Token or API key for --url.", rich_help_panel="Database", show_envvar=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True, slots=True)
class Target:
    """The database or server, and the scope, of a command."""

    home: Path | None = None
    database_url: str | None = field(default=None, repr=False)
    url: str | None = None
    token: str | None = field(default=None, repr=False)
    tenant: str = DEFAULT_TENANT_ID
    user: str = DEFAULT_USER_ID
    agent: str | None = None
    space: str | None = None
    explicit: frozenset[str] = frozenset()
    """The options that were typed, not taken from the environment or a default."""
    may_make: bool = False
    """True if the command may be the first in a new home."""
    shared: bool = True
    """True if the command may use the background process."""

    def by_path(self) -> tuple[str | None, Target]:
        """Return the tenant for the path of a request, and the target without it; None where headers name it.

        The credentials may be an operator's, who belongs to another tenant.
        """
        if self.url and self.token and self.tenant != DEFAULT_TENANT_ID:
            return self.tenant, replace(self, tenant=DEFAULT_TENANT_ID)
        return None, self

    @property
    def scope(self) -> Scope:
        """Return the scope, with all roles: whoever may use the database itself may do everything."""
        from keeps.base.scope import Scope, in_space
        from keeps_client.validation import named_space

        scope = Scope(self.tenant, self.user, self.agent, roles=frozenset({"operator"}))
        return scope if self.space is None else in_space(scope, named_space(self.space))

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Keeps]:
        """Open a Keeps, with a note on stderr while a first start takes its time."""
        from keeps.engine import Keeps

        check_home(self.home, self.database_url, may_make=self.may_make)
        if not self.url and os.environ.get("KEEPS_URL"):
            err.print("[dim]KEEPS_URL is ignored: this command opens the database directly[/]")
        with err.status("opening the database …") if err.is_terminal else nullcontext():
            keeps = await Keeps.open(self.home, database_url=self.database_url)
        try:
            yield keeps
        finally:
            await keeps.close()

    @asynccontextmanager
    async def memory(self) -> AsyncGenerator[Memory]:
        """Provide the memory of the scope: at --url, by the background process, or in process."""
        scope = self.scope
        client = self.client() if self.url else await self._background()
        if client is not None:
            async with client:
                yield client if self.space is None else client.for_space(self.space)
        else:
            async with self.open() as keeps:
                yield keeps.memory(scope)

    async def _background(self) -> MemoryClient | None:
        """Return the memory by way of the background process; None if there is none for this command."""
        if not (self.shared and self.tenant.isascii() and (self.agent or "").isascii()):  # A header holds no others.
            return None
        from keeps.base.settings import load_settings
        from keeps.doors.cli.background import background_of
        from keeps.doors.cli.background_client import BackgroundClient

        background = background_of(load_settings(home=self.home, database_url=self.database_url))
        if background is None:
            return None
        if not background.answers():
            check_home(self.home, self.database_url, may_make=self.may_make)
            with err.status("opening the database …") if err.is_terminal else nullcontext():
                if not await background.start():
                    return None  # Opening it here fails as well, and says why.
        return BackgroundClient(background, self)

    async def end_background(self) -> None:
        """End the processes in the background of the home: they may have read what was erased."""
        from keeps.base.settings import load_settings
        from keeps.doors.cli.background import stop

        if not self.url:
            home = load_settings(home=self.home, database_url=self.database_url).home
            await asyncio.to_thread(stop, home.expanduser().absolute())

    def client(self) -> MemoryClient:
        from keeps.base.settings import check_variables
        from keeps_client import MemoryClient

        if not self.url:
            raise AssertionError("no --url")
        check_variables(os.environ)
        # With a token, the token says who asks; who names somebody is heard, and refused where it is somebody else.
        tenant = None if self.token and self.tenant == DEFAULT_TENANT_ID else self.tenant
        user = None if self.token and self.user == DEFAULT_USER_ID else self.user
        return MemoryClient(self.url, token=self.token, tenant_id=tenant, user_id=user, agent_id=self.agent)


_noted: set[Path] = set()
"""Homes of which this command has said that it makes them."""


def check_home(home: Path | None, database_url: str | None, *, may_make: bool = False) -> None:
    """Refuse a misspelt home, instead of making a new, empty database.

    Raises NotFoundError if a named home has neither a database nor settings. `may_make`: make it, with a note on
    stderr.
    """
    from keeps.base.settings import load_settings
    from keeps.store.db.embedded.places import server_place

    if home is None or load_settings(home=home, database_url=database_url).database_url is not None:
        return
    home = home.expanduser().absolute()
    if server_place(home) is not None:
        return
    similar = _similar_home(home)
    if may_make or (home / "keeps.toml").exists():
        if home in _noted:
            return
        _noted.add(home)
        err.print(
            f"creating a new database in {home}" + (f"; another exists in {similar}" if similar else ""), style="dim"
        )
        return
    meant = f"did you mean {similar}?" if similar else "check the spelling;"
    raise NotFoundError(f"no Keeps home at {home}: {meant} `keeps remember` or `keeps serve` would create it")


def _similar_home(home: Path) -> Path | None:
    """Return a home beside a missing one whose name is spelt much like it."""
    from keeps.store.db.embedded.places import server_place

    try:
        names = [each.name for each in home.parent.iterdir() if each.is_dir() and each != home]
    except OSError:
        return None
    close = difflib.get_close_matches(home.name, names, 3, 0.6)
    return next((home.parent / name for name in close if server_place(home.parent / name) is not None), None)


def in_process(memory: Memory) -> TypeIs[LocalMemory]:
    """Return whether a memory is the engine's own, which can show progress. Loads neither kind."""
    return hasattr(memory, "keeps")

"""up, down: the background process that commands on an embedded home share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from keeps.base.settings import load_settings
from keeps.doors.cli.background import background_of, process_of, running, stop
from keeps.doors.cli.command import Answer, command
from keeps.doors.cli.context import Home, check_home
from keeps_client.errors import NotConfiguredError, UnavailableError

if TYPE_CHECKING:
    from keeps.base.settings import Settings

app = typer.Typer()


@command(app)
async def up(home: Home = None) -> Answer:
    """Start the background process that makes commands fast.

    The first command also starts it.
    """
    settings = load_settings(home=home)
    background = background_of(settings)
    if background is None:
        raise NotConfiguredError(_why_none(settings))
    check_home(home, None, may_make=True)
    was_there = background.answers()
    if not was_there and not await background.start():
        raise UnavailableError(
            f"it did not start; run `keeps status --home {background.home}` for the reason, or see {background.log}"
        )
    process = process_of(background.lock)
    state = "is already running" if was_there else "is running"
    return Answer(
        {"home": str(background.home), "process": process, "started": not was_there},
        f"Keeps {state} in the background for [bold]{escape(str(background.home))}[/], process {process}. It ends after"
        f" {_shown(settings.background_seconds)} without a command, or with `keeps down`.",
    )


@command(app)
async def down(home: Home = None) -> Answer:
    """Stop the background process.

    It finishes running commands first.
    """
    place = load_settings(home=home).home.expanduser().absolute()
    ended = await asyncio.to_thread(stop, place)
    if left := running(place):
        raise UnavailableError(f"process {', '.join(map(str, left.values()))} does not stop")
    number = "process " + ", ".join(map(str, ended))
    return Answer(
        {"home": str(place), "ended": ended},
        f"Stopped {number}." if ended else f"No background process for {escape(str(place))}.",
    )


def _why_none(settings: Settings) -> str:
    if settings.database_url is not None:
        return "commands connect to KEEPS_DATABASE_URL directly; only an embedded database has a background process"
    if settings.background_seconds == 0:
        return "KEEPS_BACKGROUND_SECONDS is 0: commands open the database themselves"
    return (
        f"{settings.home} has no background process: others may change it or a folder above it, or a setting"
        " names a path in the current folder; commands open the database themselves"
    )


def _shown(seconds: int) -> str:
    if seconds % 60:
        return f"{seconds} seconds"
    return "a minute" if seconds == 60 else f"{seconds // 60} minutes"

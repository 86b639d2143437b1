"""The door through which a call came: the library, HTTP, MCP, a command, or the console."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

DoorName = Literal["library", "http", "mcp", "cli", "console"]
_door: ContextVar[DoorName] = ContextVar("keeps.door", default="library")


def current_door() -> DoorName:
    return _door.get()


def is_looking() -> bool:
    """Return whether the call is one of the console, which counts as no use and is not logged."""
    return _door.get() == "console"


def enter(door: DoorName) -> None:
    """Set the door of all calls of this process that set no other."""
    _door.set(door)


@contextmanager
def through(door: DoorName) -> Generator[None]:
    """Set the door of the calls in the block."""
    token = _door.set(door)
    try:
        yield
    finally:
        _door.reset(token)

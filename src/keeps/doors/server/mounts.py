"""Other protocols served by Keeps: plain ASGI below a path, behind the same edge, over the caller's memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from keeps.base.scope import DEFAULT_USER_ID
from keeps.base.settings import Settings
from keeps.engine import Keeps
from keeps.store.access.rates import Rates


class Mount:
    """A protocol served below a path; its class defines `__call__`, an ASGI app."""

    paths: tuple[str, ...] = ()
    """The paths that it answers; one that ends in a slash includes all below it."""
    challenge: str | None = None
    """The URL at which a client without credentials learns how to get some."""
    in_spaces: bool = False
    """True if the header X-Space-ID names the space that a call works in."""
    some_user: str | None = DEFAULT_USER_ID
    """The user for credentials that may act for any user, when no header names one; None: a header must."""

    def __init__(self) -> None:
        self._keeps: Keeps | None = None
        self._rates: Rates | None = None

    def public(self, settings: Settings, origin: str) -> Mapping[str, object]:  # noqa: ARG002
        """Return documents by path that need no authentication. `origin` is such as https://keeps.example."""
        return {}

    @asynccontextmanager
    async def running(self, keeps: Keeps, rates: Rates | None) -> AsyncGenerator[None]:
        """Run while the server runs."""
        self._keeps, self._rates = keeps, rates
        yield

    def end(self) -> None:
        """End long-lived responses, since the server is about to stop."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raise NotImplementedError

"""Other protocols served by Keeps: plain ASGI below a path, behind the same edge, over the caller's memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from keeps.access.rates import Rates
from keeps.engine import Keeps
from keeps.scope import DEFAULT_USER_ID
from keeps.settings import Settings


class Mounted(Protocol):
    """A mounted protocol.

    - `paths`: the paths that it answers; one that ends in a slash includes all below it.
    - `public`: documents without authentication, each a function of an origin such as https://keeps.example.
    - `challenge`: the URL at which a client without credentials learns how to get some.
    - `some_user`: the user for credentials that may act for any user, when no header names one; None: a header must.
    """

    @property
    def paths(self) -> tuple[str, ...]: ...

    @property
    def challenge(self) -> str | None: ...

    @property
    def some_user(self) -> str | None: ...

    def public(self, settings: Settings, origin: str) -> Mapping[str, object]: ...

    def running(self, keeps: Keeps, rates: Rates | None) -> AbstractAsyncContextManager[None]:
        """Run while the server runs."""
        ...

    def end(self) -> None:
        """End long-lived answers, since the server is about to stop."""
        ...

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


class PlainMount:
    """A protocol that answers each request independently, without a task or a public document."""

    challenge = None
    some_user = DEFAULT_USER_ID

    def __init__(self) -> None:
        self._keeps: Keeps | None = None
        self._rates: Rates | None = None

    def public(self, settings: Settings, origin: str) -> Mapping[str, object]:  # noqa: ARG002
        return {}

    @asynccontextmanager
    async def running(self, keeps: Keeps, rates: Rates | None) -> AsyncGenerator[None]:
        self._keeps, self._rates = keeps, rates
        yield

    def end(self) -> None:
        """Do nothing, since every answer ends by itself."""

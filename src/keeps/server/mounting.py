"""Other protocols beside Keeps' own: plain ASGI below a path, behind the same edge, over the memory of whoever asks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from keeps.access.rates import Rates
from keeps.engine import Keeps
from keeps.scope import DEFAULT_USER_ID
from keeps.settings import Settings


class Mounted(Protocol):
    """`paths`: what it answers; one that ends in a slash, and all below it. `public`: documents that anybody may read,
    each the JSON that it answers, for an origin such as https://keeps.example. `challenge`: where a client that has no
    credentials reads how to get some. `some_user`: for whom credentials act that may act for any user, where a request
    does not say so by a header; None: it must."""

    @property
    def paths(self) -> tuple[str, ...]: ...

    @property
    def challenge(self) -> str | None: ...

    @property
    def some_user(self) -> str | None: ...

    def public(self, settings: Settings, origin: str) -> Mapping[str, object]: ...

    def running(self, keeps: Keeps, rates: Rates | None) -> AbstractAsyncContextManager[None]:
        """While the server runs."""
        ...

    def end(self) -> None:
        """The server is about to stop: what has no end of its own ends."""
        ...

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...


class PlainMount:
    """One that answers each request by itself: it has nothing that runs, and no document of its own."""

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
        """No answer is without end."""

"""Answers that go on for long: each ends soon after the credential that opened it, or the user whose it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

from keeps.access.identity import Authenticator
from keeps.db.session import Database
from keeps.scope import Scope
from keeps.telemetry.logs import log
from keeps.tenants import store
from keeps_client.errors import ForbiddenError, KeepsError, UnauthenticatedError, ValidationFailedError

CHECK_SECONDS = 1.5
"""Between two checks. With access.identity.KEY_SECONDS it must stay well below the 10 seconds that are promised."""


@dataclass(slots=True, eq=False)
class OpenStream:
    """One answer on its way, and the task that sends it."""

    task: asyncio.Task[object]
    headers: Mapping[str, str]
    scope: Scope
    some_user: str | None
    user_since: datetime | None = None
    """When the user's row was made, from the first check that found one."""
    ended: bool = False

    def end(self) -> None:
        self.ended = True
        self.task.cancel()


class OpenStreams:
    """All answers of this process that have begun and go on."""

    def __init__(self) -> None:
        self._streams: set[OpenStream] = set()

    def add(self, stream: OpenStream) -> None:
        self._streams.add(stream)

    def remove(self, stream: OpenStream) -> None:
        self._streams.discard(stream)

    @asynccontextmanager
    async def checked(self, authenticator: Authenticator, database: Database) -> AsyncGenerator[None]:
        """End streams whose credential or user has gone, for as long as the server runs."""
        task = asyncio.create_task(self._check_all(authenticator, database))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _check_all(self, authenticator: Authenticator, database: Database) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            users: dict[tuple[str, str], datetime | None] = {}
            for stream in list(self._streams):
                try:
                    if stream in self._streams and not await _is_valid(stream, authenticator, database, users):
                        stream.end()
                except KeepsError as error:  # nothing is known: the database or the identity service is away
                    log().warning("a stream could not be checked", error=error.code)


async def _is_valid(
    stream: OpenStream,
    authenticator: Authenticator,
    database: Database,
    users: dict[tuple[str, str], datetime | None],
) -> bool:
    """Return whether a stream may go on. `users` keeps what this round has read, for streams of the same user."""
    try:
        scope = await authenticator.scope_of(stream.headers, some_user=stream.some_user, leeway_seconds=0)
    except (UnauthenticatedError, ForbiddenError, ValidationFailedError):
        return False
    if scope != stream.scope:
        return False
    user = scope.tenant_id, scope.user_id
    if user not in users:
        async with database.scoped(scope) as tx:
            users[user] = await store.user_since(tx)
    if stream.user_since is None:
        stream.user_since = users[user]
    return stream.user_since == users[user]

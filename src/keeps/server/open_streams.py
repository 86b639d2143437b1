"""Answers that go on for long: each ends soon after the credential that opened it, or the user whose it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from keeps.access.identity import Authenticator
from keeps.db.session import Database
from keeps.scope import Scope
from keeps.telemetry.logs import log
from keeps.tenants.store import QUERIES
from keeps_client.errors import ForbiddenError, KeepsError, UnauthenticatedError, ValidationFailedError

CHECK_SECONDS = 1.5
"""Between two checks. With access.identity.KEY_SECONDS it must stay well below the 10 seconds that are promised."""
CHECK_TIMEOUT_SECONDS = 3.0
CHECKED_AT_ONCE = 8
UNCHECKED_SECONDS = 9.0
"""After so long without a check a stream is ended: whoever reads it comes again, and is asked who they are."""


@dataclass(slots=True, eq=False)
class OpenStream:
    """One answer on its way, and the task that sends it."""

    task: asyncio.Task[object]
    headers: Mapping[str, str]
    scope: Scope
    some_user: str | None
    user_since: datetime | None = None
    """When the user's row was made, from the first check that found one."""
    checked_at: float = field(default_factory=time.monotonic)
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
            try:
                await self._check_once(authenticator, database)
            except Exception as error:  # noqa: BLE001  the next round looks again; without one no stream would end
                log().error("streams could not be checked", error=type(error).__name__)
            for stream in list(self._streams):
                if time.monotonic() - stream.checked_at > UNCHECKED_SECONDS:
                    log().warning("a stream is ended, since nobody could check it")
                    stream.end()

    async def _check_once(self, authenticator: Authenticator, database: Database) -> None:
        """End each stream whose credential or user has gone. All credentials are asked first, several at once; then all
        users in one statement, on Keeps' own connections: no tenant's load delays another's check."""
        places = asyncio.Semaphore(CHECKED_AT_ONCE)

        async def check(stream: OpenStream) -> bool | None:
            async with places:
                return await _credential_holds(stream, authenticator)

        streams = list(self._streams)
        held = [
            stream
            for stream, holds in zip(streams, await asyncio.gather(*map(check, streams)), strict=True)
            if self._goes_on(stream, holds)
        ]
        users = list({(stream.scope.tenant_id, stream.scope.user_id) for stream in held})
        if not users:
            return
        asked = [tenant_id for tenant_id, _ in users], [user_id for _, user_id in users]
        found = await database.cells.everywhere(QUERIES["users_since"], *asked, seconds=CHECK_TIMEOUT_SECONDS)
        since = {(row["tenant_id"], row["user_id"]): row["since"] for rows in found.values() for row in rows}
        whole = len(found) == len(await database.cells.all())
        for stream in held:
            user = stream.scope.tenant_id, stream.scope.user_id
            if user not in since and not whole:
                continue  # the cell that would know is away
            if stream.user_since is None:
                stream.user_since = since.get(user)
            if stream.user_since != since.get(user):
                stream.end()
            stream.checked_at = time.monotonic()

    def _goes_on(self, stream: OpenStream, holds: bool | None) -> bool:
        """Return whether a stream is to be looked at further; end it where its credential has gone."""
        if holds is False and stream in self._streams:
            stream.end()
        return holds is True and stream in self._streams


async def _credential_holds(stream: OpenStream, authenticator: Authenticator) -> bool | None:
    """Return whether the credential that opened a stream still says the same; None where nobody can tell."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
            scope = await authenticator.scope_of(stream.headers, some_user=stream.some_user, leeway_seconds=0)
    except (UnauthenticatedError, ForbiddenError, ValidationFailedError):
        return False
    except (KeepsError, TimeoutError) as error:  # the database or the identity service is away
        log().warning("a stream could not be checked", error=getattr(error, "code", "timeout"))
        return None
    return scope == stream.scope

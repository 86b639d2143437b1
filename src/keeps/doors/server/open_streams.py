"""Long responses: each ends soon after its credential, or after its user is erased."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.store.access.identity import Authenticator
from keeps.store.db.session import Database
from keeps.store.tenants.store import QUERIES
from keeps_client.errors import ForbiddenError, KeepsError, UnauthenticatedError, ValidationFailedError

CHECK_SECONDS = 1.5
"""Seconds between two checks. With access.identity.KEY_SECONDS they must stay well below the promised 10 seconds."""
CHECK_TIMEOUT_SECONDS = 3.0
CONCURRENT_CHECKS = 8
UNCHECKED_SECONDS = 9.0
"""Seconds without a check after which a stream is ended: its reader reconnects, and is authenticated again."""


@dataclass(slots=True, eq=False)
class OpenStream:
    """One response, and the task that sends it."""

    task: asyncio.Task[object]
    headers: Mapping[str, str]
    scope: Scope
    some_user: str | None
    user_since: datetime | None = None
    """Time at which the user's row was created, from the first check that found one."""
    checked_at: float = field(default_factory=time.monotonic)
    ended: bool = False

    def end(self) -> None:
        self.ended = True
        self.task.cancel()


class OpenStreams:
    """All responses of this process that have begun and go on."""

    def __init__(self) -> None:
        self._streams: set[OpenStream] = set()

    def add(self, stream: OpenStream) -> None:
        self._streams.add(stream)

    def remove(self, stream: OpenStream) -> None:
        self._streams.discard(stream)

    def end_unchecked(self, tenant_id: str) -> None:
        """End streams of a tenant that no check has seen yet, after an erasure: their user may be the erased one."""
        for stream in list(self._streams):
            if stream.user_since is None and stream.scope.tenant_id == tenant_id:
                stream.end()

    @asynccontextmanager
    async def checked(self, authenticator: Authenticator, database: Database) -> AsyncGenerator[None]:
        """End streams whose credential or user is gone, for as long as the server runs."""
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
            except Exception as error:  # noqa: BLE001  the next round checks again
                log().error("streams could not be checked", error=type(error).__name__)
            for stream in list(self._streams):
                if time.monotonic() - stream.checked_at > UNCHECKED_SECONDS:
                    log().warning("closed a stream because its credentials could not be checked")
                    stream.end()

    async def _check_once(self, authenticator: Authenticator, database: Database) -> None:
        """End each stream whose credential or user is gone.

        Credentials are checked first, several at once; then all users in one statement, on connections of Keeps' own:
        no tenant's load delays another's check.
        """
        slots = asyncio.Semaphore(CONCURRENT_CHECKS)

        async def check(stream: OpenStream) -> bool | None:
            async with slots:
                return await _is_credential_valid(stream, authenticator)

        streams = list(self._streams)
        results = zip(streams, await asyncio.gather(*map(check, streams)), strict=True)
        valid = [stream for stream, is_valid in results if self._stays_open(stream, is_valid)]
        users = list({(stream.scope.tenant_id, stream.scope.user_id) for stream in valid})
        if not users:
            return
        ids = [tenant_id for tenant_id, _ in users], [user_id for _, user_id in users]
        cells = await database.cells.everywhere(QUERIES["users_since"], *ids, seconds=CHECK_TIMEOUT_SECONDS)
        since = {(row["tenant_id"], row["user_id"]): row["since"] for rows in cells.values() for row in rows}
        all_answered = len(cells) == len(await database.cells.all())
        for stream in valid:
            user = stream.scope.tenant_id, stream.scope.user_id
            if user not in since and not all_answered:
                continue  # the user's cell may be away
            if stream.user_since is None:
                stream.user_since = since.get(user)
            if stream.user_since != since.get(user):
                stream.end()
            stream.checked_at = time.monotonic()

    def _stays_open(self, stream: OpenStream, is_valid: bool | None) -> bool:
        """Return whether a stream is to be checked further; end it if its credential is invalid."""
        if is_valid is False and stream in self._streams:
            stream.end()
        return is_valid is True and stream in self._streams


async def _is_credential_valid(stream: OpenStream, authenticator: Authenticator) -> bool | None:
    """Return whether the credential of a stream still gives the same scope; None if that cannot be checked."""
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_SECONDS):
            scope = await authenticator.scope_of(stream.headers, some_user=stream.some_user, leeway_seconds=0)
    except (UnauthenticatedError, ForbiddenError, ValidationFailedError):
        return False
    except (KeepsError, TimeoutError) as error:  # the database or the identity service is away
        log().warning("a stream could not be checked", error=getattr(error, "code", "timeout"))
        return None
    return scope == stream.scope

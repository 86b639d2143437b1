"""Reads the log of recalls and contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from keeps.base.clock import Clock
from keeps.base.cursors import read_cursor_of_id, write_cursor
from keeps.base.scope import Scope, check_id
from keeps.memory.requests import store
from keeps.memory.requests.activity import Activity, activity
from keeps.memory.requests.buffer import MAX_PER_USER, RequestBuffer
from keeps.store.access.roles import require
from keeps.store.db.session import Database
from keeps_client.errors import NotFoundError
from keeps_client.models import LoggedRequest, Page, RequestDetail
from keeps_client.models.requests import RequestQuery


class RequestService:
    """Lists and shows requests. Reading first writes what this process has buffered of the tenant."""

    def __init__(self, database: Database, buffer: RequestBuffer, clock: Clock) -> None:
        self._database = database
        self._buffer = buffer
        self._clock = clock

    async def page(self, scope: Scope, query: RequestQuery) -> Page[LoggedRequest]:
        """Return requests, newest first. Raises ForbiddenError for those of others, unless an administrator asks."""
        await self._buffer.flush(scope.tenant_id)
        place = read_cursor_of_id(query.cursor)
        before = None if place is None else place[1]
        if query.all_users:
            require(scope, "admin")
            requests = await self._of_all(scope, query, before)
        else:
            async with self._database.scoped(_owner(scope, query.user_id)) as tx:
                requests = await store.page(tx, query, before, query.limit + 1)
        last = requests[query.limit - 1] if len(requests) > query.limit else None
        return Page[LoggedRequest].model_construct(
            items=requests[: query.limit],
            next_cursor=None if last is None else write_cursor(last.asked_at, str(last.request_id)),
        )

    async def get(self, scope: Scope, request_id: UUID, user_id: str | None) -> RequestDetail:
        """Return one request. Raises NotFoundError, also for another user's, and ForbiddenError."""
        await self._buffer.flush(scope.tenant_id)
        async with self._database.scoped(_owner(scope, user_id)) as tx:
            request = await store.get(tx, request_id)
        if request is None:
            raise NotFoundError(f"no request {request_id}")
        return request

    async def activity(self, scope: Scope, days: int) -> Activity:
        """Return the user's requests of the last days, by hour or by day."""
        await self._buffer.flush(scope.tenant_id)
        now = self._clock()
        async with self._database.scoped(scope) as tx:
            return activity(await store.samples(tx, now - timedelta(days=days), MAX_PER_USER), now)

    async def _of_all(self, scope: Scope, query: RequestQuery, before: UUID | None) -> list[LoggedRequest]:
        """Return requests of all users of the tenant; each is read as its owner."""
        async with self._database.scoped(scope) as tx:
            owners = await store.owners(tx, query, before, query.limit + 1)
        by_owner: dict[str, list[UUID]] = {}
        for request_id, user_id in owners.items():
            by_owner.setdefault(user_id, []).append(request_id)
        requests: dict[UUID, LoggedRequest] = {}
        for user_id, request_ids in by_owner.items():
            requests |= {one.request_id: one for one in await self._of_owner(scope, user_id, request_ids)}
        return [requests[request_id] for request_id in owners if request_id in requests]

    async def _of_owner(self, scope: Scope, user_id: str, request_ids: Sequence[UUID]) -> list[LoggedRequest]:
        async with self._database.scoped(replace(scope, user_id=user_id)) as tx:
            return await store.named(tx, request_ids)


def _owner(scope: Scope, user_id: str | None) -> Scope:
    """Return the scope of the user whose requests are read. Raises ForbiddenError."""
    if user_id is None or user_id == scope.user_id:
        return scope
    require(scope, "admin")
    return Scope(scope.tenant_id, check_id("user_id", user_id))

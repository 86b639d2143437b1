"""The log of recalls and contexts."""

from __future__ import annotations

from uuid import UUID

from keeps_client.memory.base import Doing
from keeps_client.models import LoggedRequest, Page, RequestDetail
from keeps_client.models.requests import GET_REQUEST, LIST_REQUESTS, RequestKind


class Requests(Doing):
    """Requests of a user, where KEEPS_REQUEST_LOG_DAYS is not 0."""

    async def list_requests(
        self,
        *,
        user_id: str | None = None,
        all_users: bool = False,
        kind: RequestKind | None = None,
        found_nothing: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[LoggedRequest]:
        """Return recalls and contexts, newest first: your own, or as an administrator another user's or all.

        `found_nothing`: only those whose answer has no memory, or probably none that answers.
        """
        return await self._do(
            LIST_REQUESTS,
            user_id=user_id,
            all_users=all_users,
            kind=kind,
            found_nothing=found_nothing,
            limit=limit,
            cursor=cursor,
        )

    async def get_request(self, request_id: UUID | str, *, user_id: str | None = None) -> RequestDetail:
        """Return one request with the ids of the memories that it returned. Raises NotFoundError.

        `get(memory_id, as_of=request.asked_at)` returns a memory as it was then.
        """
        return await self._do(GET_REQUEST, request_id=request_id, user_id=user_id)

"""Requests since the last flush, written in batches: a recall or context never waits for its log."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any

from keeps.base.clock import Clock, new_id
from keeps.base.door import current_door, is_looking
from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.memory.requests import store
from keeps.store.db.session import Database
from keeps_client.errors import KeepsError
from keeps_client.models import ContextRequest, ContextResult, RecallRequest, RecallResult
from keeps_client.models.recall import WEAK_RELEVANCE

FLUSH_SECONDS = 2.0
MAX_BUFFERED = 2_000
MAX_ARGUMENTS_BYTES = 4_000
"""Longer arguments, such as filters with many values, are not logged."""
WRITTEN_AT_ONCE = 100
MAX_PER_USER = 1_000
"""Number of requests that a user keeps; the oldest go first."""
MAX_HITS = 100
"""Number of memories that are recorded of an answer."""


class RequestBuffer:
    """Notes recalls and contexts, and writes them a moment later, each tenant's in one statement.

    Bounded: beyond 2,000 requests of a process, further ones are dropped until they are written. Requests that cannot
    be written are dropped, and so are those of users who have stored nothing. Calls of the console are no requests.
    """

    def __init__(self, database: Database, clock: Clock, *, enabled: bool) -> None:
        self._database = database
        self._clock = clock
        self._enabled = enabled
        self._requests: dict[str, list[dict[str, Any]]] = {}
        self._size = 0
        self._task: asyncio.Task[None] | None = None

    def note_recall(self, scope: Scope, request: RecallRequest, result: RecallResult) -> None:
        if self._has_room():
            hits = [
                {"memory_id": str(hit.memory.memory_id), "relevance": hit.relevance} for hit in result.hits[:MAX_HITS]
            ]
            relevant = any(hit.relevance is None or hit.relevance >= WEAK_RELEVANCE for hit in result.hits)
            nothing = result.nothing_known or not relevant
            self._note(scope, "recall", request, result, len(result.hits), hits, [], nothing=nothing)

    def note_context(self, scope: Scope, request: ContextRequest, result: ContextResult) -> None:
        if self._has_room():
            hits = [
                {"memory_id": str(item.memory_id), "section": section.name}
                for section in result.sections
                for item in section.items
                if item.memory_id is not None
            ]
            omitted = [
                {"memory_id": str(item.memory_id), "section": item.section, "reason": item.reason}
                for item in result.left_out
                if item.memory_id is not None
            ]
            nothing = result.nothing_known or not hits
            self._note(
                scope, "context", request, result, len(hits), hits[:MAX_HITS], omitted[:MAX_HITS], nothing=nothing
            )

    def drop(self, tenant_id: str) -> None:
        """Forget what is buffered of a tenant, since something of it was erased."""
        self._size -= len(self._requests.pop(tenant_id, ()))

    async def flush(self, tenant_id: str | None = None) -> None:
        """Write the requests of a tenant, or of all."""
        for tenant in [tenant_id] if tenant_id is not None else list(self._requests):
            requests = self._requests.pop(tenant, [])
            self._size -= len(requests)
            if requests:
                try:
                    await self._write(tenant, requests)
                except KeepsError as error:
                    log().warning("requests not logged", requests=len(requests), error=error.code)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.flush()

    def _has_room(self) -> bool:
        return self._enabled and self._size < MAX_BUFFERED and not is_looking()

    def _note(
        self,
        scope: Scope,
        kind: str,
        request: RecallRequest | ContextRequest,
        result: RecallResult | ContextResult,
        hits: int,
        answer: list[dict[str, Any]],
        omitted: list[dict[str, Any]],
        *,
        nothing: bool,
    ) -> None:
        now: datetime = self._clock()
        arguments = request.model_dump(mode="json", exclude={"query"}, exclude_defaults=True)
        if len(json.dumps(arguments)) > MAX_ARGUMENTS_BYTES:
            arguments = {"omitted": f"more than {MAX_ARGUMENTS_BYTES} bytes"}
        self._requests.setdefault(scope.tenant_id, []).append(
            {
                "request_id": str(new_id()),
                "user_id": scope.acting,
                "agent_id": request.agent_id or scope.agent_id,
                "session_id": request.session_id or scope.session_id,
                "kind": kind,
                "door": current_door(),
                "query": request.query,
                "arguments": arguments,
                "asked_at": now.isoformat(),
                "took_ms": result.took_ms,
                "hits": hits,
                "left_out": len(omitted),
                "found_nothing": nothing,
                "answer": answer,
                "omitted": omitted,
            }
        )
        self._size += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._flush_later())

    async def _write(self, tenant_id: str, requests: list[dict[str, Any]]) -> None:
        for start in range(0, len(requests), WRITTEN_AT_ONCE):
            async for attempt in self._database.writing(Scope(tenant_id, requests[0]["user_id"])):
                async with attempt as tx:
                    await store.log(tx, requests[start : start + WRITTEN_AT_ONCE], MAX_PER_USER)

    async def _flush_later(self) -> None:
        while self._size:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

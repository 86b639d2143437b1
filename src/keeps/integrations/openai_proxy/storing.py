"""Stores exchanges in the background, and remembers whose the provider's ids are."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import ProxyMetrics
from keeps.doors.server.byte_budget import ByteBudget
from keeps.doors.server.concurrency import ConcurrencyLimits
from keeps.engine import Keeps
from keeps.memory.conversations.service import ConversationService
from keeps_client.errors import KeepsError, UnavailableError, ValidationFailedError

MOST_WAITING = 1_000
"""Exchanges that wait to be stored; further ones are dropped and counted."""
END_SECONDS = 10.0
"""Seconds for which a server that stops stores what waits."""
NAMESPACE = ("openai-proxy",)
ID_MINUTES = 45 * 24 * 60
"""Time for which ids are remembered. OpenAI stores responses for 30 days."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message of a user and the answer of the model. `so_far`: identifies the user's message in its conversation."""

    scope: Scope
    session_id: str
    so_far: str | None
    user_text: str
    assistant_text: str
    is_complete: bool


class Storing:
    """Stores exchanges, in order for each conversation, in tasks of its own."""

    def __init__(
        self,
        keeps: Keeps,
        most_characters: int,
        *,
        metrics: ProxyMetrics,
        limits: ConcurrencyLimits,
        budget: ByteBudget,
    ) -> None:
        self._keeps = keeps
        self._most_characters = most_characters
        self._metrics = metrics
        self._limits = limits
        self._budget = budget
        self._tasks: dict[asyncio.Task[None], tuple[Scope, str]] = {}

    def put(self, exchange: Exchange) -> None:
        """Store an exchange in the background. It is dropped if too many wait."""
        if not exchange.user_text and not exchange.assistant_text:
            return
        size = len(exchange.user_text) + len(exchange.assistant_text)
        if not self._has_room(exchange.scope, size):
            self._metrics.exchanges.labels("dropped").inc()
            return
        earlier = self._waiting(exchange.scope, exchange.session_id)
        self._start(self._store(exchange, earlier, size), (exchange.scope, exchange.session_id))

    async def close(self) -> None:
        """Wait for what is being stored; give up after some seconds."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=END_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def remember_ids(self, scope: Scope, ids: Sequence[str], session_id: str) -> None:
        """Record that ids of the provider belong to a user."""
        value = {"session_id": session_id}
        put = {"op": "put", "namespace": NAMESPACE, "value": value, "index": False, "ttl_minutes": ID_MINUTES}
        await self._keeps.memory(scope).batch_items([{**put, "key": upstream_id} for upstream_id in ids])

    async def sessions_of(self, scope: Scope, ids: Sequence[str]) -> list[str]:
        """Return the sessions of ids of the provider.

        Raises ValidationFailedError if one of them is not recorded for this user.
        """
        reads = [{"op": "get", "namespace": NAMESPACE, "key": upstream_id} for upstream_id in ids]
        items = [result.item for result in await self._keeps.memory(scope).read_items(reads)]
        sessions = [str(item.value["session_id"]) for item in items if item is not None]
        if len(sessions) < len(ids):
            raise ValidationFailedError(
                "previous_response_id, conversation and references to items must be ids that this user received through"
                " this proxy; one of them is no such id of this user"
            )
        return sessions

    async def last_user_text(self, scope: Scope, session_id: str) -> str:
        """Return the last message of the user in a conversation, once it is stored; empty without one."""
        if earlier := self._waiting(scope, session_id):
            await asyncio.wait(earlier)
        notes = await self._keeps.service(ConversationService).notes(scope, session_id)
        items = notes.items if notes else ()
        return next((note.text for note in reversed(items) if note.kind == "message" and note.role == "user"), "")

    def _start(self, work: Coroutine[Any, Any, None], conversation: tuple[Scope, str]) -> None:
        task = asyncio.create_task(work)
        self._tasks[task] = conversation
        task.add_done_callback(self._tasks.pop)

    def _has_room(self, scope: Scope, size: int) -> bool:
        """Reserve room for an exchange that waits. Return False if there is none."""
        if len(self._tasks) >= MOST_WAITING:
            return False
        try:
            self._budget.reserve(scope, size)
        except UnavailableError:
            return False
        return True

    def _waiting(self, scope: Scope, session_id: str) -> set[asyncio.Task[None]]:
        """Return the tasks that store earlier exchanges of a conversation."""
        return {task for task, other in self._tasks.items() if other == (scope, session_id)}

    async def _store(self, exchange: Exchange, earlier: set[asyncio.Task[None]], size: int) -> None:
        outcome = "failed"
        try:
            if earlier:
                await asyncio.wait(earlier)
            async with self._limits.slot(exchange.scope, writes=True):
                await self._write(exchange)
            outcome = "stored"
        except KeepsError as error:
            log().warning("an exchange of the proxy was not stored", error=error.code)
        except Exception as error:  # noqa: BLE001  a defect must not end in silence
            log().error("an exchange of the proxy was not stored", error=type(error).__name__)
        finally:
            self._budget.release(exchange.scope, size)
            self._metrics.exchanges.labels(outcome).inc()

    async def _write(self, exchange: Exchange) -> None:
        """Store both messages; each only once for the same place of the conversation."""
        memory = self._keeps.memory(exchange.scope)
        partial = {} if exchange.is_complete else {"metadata": {"partial": True}}
        messages: list[dict[str, Any]] = [
            {"role": "user", "content": exchange.user_text},
            {"role": "assistant", "content": exchange.assistant_text, **partial},
        ]
        for message in messages:
            message["content"] = message["content"][: self._most_characters]
            if not message["content"].strip():
                continue
            if exchange.so_far is None:
                await memory.store_exchange([message], session_id=exchange.session_id)
                continue
            with memory.idempotent(f"openai-proxy:{exchange.so_far}"):
                await memory.store_exchange([message], session_id=exchange.session_id)

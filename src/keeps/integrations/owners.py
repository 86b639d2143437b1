"""Maps a framework's users to their memories, in process or at a server, from any thread and event loop.

Frameworks run tools in their own loops, and call some methods without one. Database connections belong to one loop:
that of the engine that was passed, or else a loop in a background thread that all adapters of the process share.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from functools import lru_cache
from typing import Any, TypeVar

from keeps.background import BACKGROUND
from keeps.base.defaults import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.engine import Keeps
from keeps.integrations.storable import storable
from keeps_client import MemoryClient
from keeps_client.errors import ForbiddenError, KeepsError, UnauthenticatedError, UnavailableError
from keeps_client.memory.whole import Memory
from keeps_client.models import ContextResult

AnswerT = TypeVar("AnswerT")
RunT = TypeVar("RunT")
UserOf = str | Callable[[RunT], str] | None
"""The user: an id; a function of the framework's run; or None: the user of the token."""
SECONDS = 30.0
"""Maximum seconds that a framework waits for memory."""
RATE_WAIT_SECONDS = 5.0
"""Maximum wait for the rate limit; after that a model gets an error rather than waiting longer."""
NOT_ALLOWED = (ForbiddenError, UnauthenticatedError)
"""Errors of access, such as for another user than the token's. They are raised, not treated as unavailable memory."""
QUESTION_CHARACTERS = 10_000
"""Maximum length of the question for a context: the end of a longer message."""
log = logging.getLogger("keeps.integrations")


def place_of(keeps: Keeps | str | None, uri: str | None) -> Keeps | str | None:
    """Return the location of memories: `keeps`, or the part after the scheme of a URI from a command line.

    `keeps:` means the environment; `keeps:http://host:8765` means a server.
    """
    if uri is None:
        return keeps
    place = uri.partition(":")[2]
    return None if place in ("", "//") else place


class Owners:
    """Memories of the users of one tenant: `tenant_id`, else KEEPS_TENANT_ID, else the token's or the default one.

    Args:
        keeps: An open engine, used in the loop that opened it; or the address of a server, with its `token`; or None:
            KEEPS_URL and KEEPS_TOKEN if they are set, else the database of KEEPS_HOME or KEEPS_DATABASE_URL.
    """

    def __init__(
        self, keeps: Keeps | str | None = None, *, tenant_id: str | None = None, token: str | None = None
    ) -> None:
        self.tenant_id = tenant_id or os.environ.get("KEEPS_TENANT_ID") or None
        self._token = token or os.environ.get("KEEPS_TOKEN") or None
        self._url = keeps if isinstance(keeps, str) else os.environ.get("KEEPS_URL") or None if keeps is None else None
        self._keeps = keeps if isinstance(keeps, Keeps) else None
        self._given = self._keeps is not None
        self._opening = asyncio.Lock()
        self._loop = None if self._keeps is None else self._keeps.loop
        self._clients: dict[str | None, MemoryClient] = {}
        """By agent. All users share its connections."""
        self.failures: Counter[str] = Counter()
        """The number of failures of memory, by operation."""

    async def ask(
        self, user_id: str | None, work: Callable[[Memory], Awaitable[AnswerT]], *, agent_id: str | None = None
    ) -> AnswerT:
        """Return the result of `work` with the memory of a user; None: the user of the token.

        Raises KeepsError; UnavailableError after 30 seconds.
        """

        async def done() -> AnswerT:
            return await work(await self._memory(user_id, agent_id))

        return await self._bounded(done())

    async def run(self, work: Coroutine[Any, Any, AnswerT]) -> AnswerT:
        """Run a coroutine in the loop that owns the memory, called from any loop."""
        loop = self._home()
        if _running() is loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    def now(self, work: Coroutine[Any, Any, AnswerT]) -> AnswerT:
        """Run a coroutine without await, also inside a running loop.

        Raises asyncio.InvalidStateError in the loop of an engine that was passed, since it would wait for itself.
        """
        loop = self._home()
        if _running() is loop or not loop.is_running():
            work.close()
            raise asyncio.InvalidStateError(
                "a sync method cannot wait for the event loop of the Keeps that was given: it runs this very call, or"
                " does not run. Use the async method, or give an address, or nothing, to have one opened"
            )
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    async def close(self) -> None:
        """Close what this object opened; an engine that was passed stays open."""
        if self._loop is not None and not self._loop.is_closed():
            await self._bounded(self._closed())

    def close_now(self) -> None:
        """Close what this object opened, without await."""
        if self._loop is not None and not self._loop.is_closed():
            self.now(self._closed())

    def failed(self, what: str, error: Exception) -> None:
        """Count and log a failure of memory."""
        self.failures[what] += 1
        detail = error.detail if isinstance(error, KeepsError) else type(error).__name__
        log.warning("%s: %s", what, detail)

    async def _bounded(self, work: Coroutine[Any, Any, AnswerT]) -> AnswerT:
        try:
            async with asyncio.timeout(SECONDS):
                return await self.run(work)
        except TimeoutError:
            raise UnavailableError(f"memory did not answer within {SECONDS:.0f} s") from None

    def _home(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = BACKGROUND.loop()
        return self._loop

    async def _memory(self, user_id: str | None, agent_id: str | None) -> Memory:
        if self._url is not None:
            return self._client(user_id, agent_id)
        if self._keeps is None:
            async with self._opening:
                if self._keeps is None:
                    self._keeps = await BACKGROUND.take(load_settings())
        user_id = DEFAULT_USER_ID if user_id is None else user_id
        return self._keeps.memory(_scope(self.tenant_id or DEFAULT_TENANT_ID, user_id, agent_id))

    def _client(self, user_id: str | None, agent_id: str | None) -> MemoryClient:
        client = self._clients.get(agent_id)
        if client is None:
            assert self._url is not None
            client = self._clients[agent_id] = MemoryClient(
                self._url,
                token=self._token,
                tenant_id=self.tenant_id,
                agent_id=agent_id,
                rate_wait_seconds=RATE_WAIT_SECONDS,
            )
        return client if user_id is None else client.for_user(user_id)

    async def _closed(self) -> None:
        while self._clients:
            _, client = self._clients.popitem()
            await client.close()
        if self._keeps is not None and not self._given:
            keeps, self._keeps = self._keeps, None
            await BACKGROUND.leave(keeps)


def user_from(user_id: UserOf[RunT], run: RunT) -> str | None:
    """Return the user of a run. Raises ValueError if the function names none: its memory would be another user's."""
    if not callable(user_id):
        return user_id
    user: Any = user_id(run)
    if not isinstance(user, str) or not user:
        raise ValueError(f"the function for user_id returned {user!r}, not an id: the run does not name its user")
    return user


def question_of(text: str) -> str:
    """Return the part of a text that Keeps reads as a question: its end, without characters that cannot be stored."""
    return storable(text).replace("\ufffd", " ")[-QUESTION_CHARACTERS:].strip()


async def context_for(
    owners: Owners, user_id: str | None, message: str, *, session_id: str | None = None, budget_tokens: int
) -> ContextResult | None:
    """Return what is known for a message; None if the message is empty or memory is unavailable. Raises NOT_ALLOWED."""
    question = question_of(message)
    if not question:
        return None

    async def read(memory: Memory) -> ContextResult:
        return await memory.context(question, session_id=session_id, budget_tokens=budget_tokens)

    try:
        return await owners.ask(user_id, read)
    except NOT_ALLOWED:
        raise
    except KeepsError as error:
        owners.failed("context", error)
        return None


@lru_cache(maxsize=1_000)
def _scope(tenant_id: str, user_id: str, agent_id: str | None) -> Scope:
    return Scope(tenant_id, user_id, agent_id)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None

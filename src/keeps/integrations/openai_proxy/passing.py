"""Passes the answer of the provider on, and reads it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import aiohttp
from starlette.types import Receive, Send

from keeps.base.scope import Scope
from keeps.base.telemetry.metrics import ProxyMetrics
from keeps.doors.server.byte_budget import ByteBudget
from keeps.integrations.openai_proxy.answers import Answer, EventReader
from keeps.integrations.openai_proxy.upstream import Upstream, UpstreamError
from keeps_client.errors import UnavailableError

HELD_BYTES = 4 << 20
"""A longer answer that is not a stream is passed on without being read."""
LONG_ANSWER_BYTES = 256 << 10
"""Longer answers are read in a thread."""
EVENTS = "text/event-stream"
_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry", "openai-processing-ms", "openai-version")
"""Headers of an answer that reach the client. Others tell of the operator's account, or belong to the connection."""


class Passing:
    """The answer to one request."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._work: asyncio.Task[None] | None = None
        self._reserved = 0
        self._has_begun = False
        self.answer: Answer | None = None
        """Reads the text of the answer."""
        self.remember: Callable[[list[str]], Awaitable[None]] | None = None
        """Records the ids of what the provider created, before the client learns them."""
        self.was_accepted = False
        """True once the provider answered with success."""
        self.is_broken = False
        """True if the answer ended early, but not by the client."""

    def prepare(self, upstream: Upstream, budget: ByteBudget, scope: Scope, metrics: ProxyMetrics) -> None:
        self._upstream, self._budget, self._scope, self._metrics = upstream, budget, scope, metrics

    async def run(
        self, call: AbstractAsyncContextManager[aiohttp.ClientResponse], receive: Receive, until_answer: AsyncExitStack
    ) -> None:
        """Pass the answer on until it ends or the client disconnects.

        `until_answer`: resources that are released when the answer begins.
        """
        self._work = work = asyncio.create_task(self._pass_on(call, until_answer))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            has_left = not work.done()
        finally:
            work.cancel()
            gone.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)
            await until_answer.aclose()
            self._budget.release(self._scope, self._reserved)
        if has_left:
            self._metrics.calls.labels("left").inc()
        elif work.cancelled():
            self.is_broken = True
        else:
            work.result()

    def end(self) -> None:
        """End the answer, since the server is about to stop."""
        if self._work is not None:
            self._work.cancel()

    async def _pass_on(
        self, call: AbstractAsyncContextManager[aiohttp.ClientResponse], until_answer: AsyncExitStack
    ) -> None:
        async with call as response:
            await until_answer.aclose()
            self.was_accepted = response.status < 300
            outcome = "ok" if response.status < 400 else "refused" if response.status < 500 else "failed"
            try:
                if self.was_accepted and response.content_type == EVENTS:
                    await self._pass_events(response)
                else:
                    await self._pass_body(response)
            except (aiohttp.ClientError, TimeoutError, OSError):
                outcome = "broken"
                if not self._has_begun:
                    raise UpstreamError("the model provider's answer ended early; try again") from None
                self.is_broken = True
            finally:
                self._metrics.calls.labels(outcome).inc()

    async def _pass_events(self, response: aiohttp.ClientResponse) -> None:
        reader = None if self.answer is None else EventReader(self.answer)
        await self._begin(response, (b"x-accel-buffering", b"no"))
        async for piece in response.content.iter_any():
            if reader is not None:
                reader.see(piece)
            await self._remember_ids()
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pass_body(self, response: aiohttp.ClientResponse) -> None:
        """Pass on a body as a whole; in pieces if it is too long to be held."""
        pieces: list[bytes] = []
        async for piece in response.content.iter_any():
            pieces.append(piece)
            if not self._has_begun and self._holds(len(piece)):
                continue
            if response.status >= 400:
                raise UpstreamError("the model provider answered with an error that is too long")
            if not self._has_begun:
                await self._begin(response)
            await self._send({"type": "http.response.body", "body": b"".join(pieces), "more_body": True})
            pieces.clear()
        body = b"".join(pieces)
        if not self._has_begun:
            if response.status >= 400:
                body = self._upstream.without_key(body)
            elif self.answer is not None and len(body) > LONG_ANSWER_BYTES:
                await asyncio.to_thread(self.answer.read, body)
            elif self.answer is not None:
                self.answer.read(body)
            await self._remember_ids()
            await self._begin(response, (b"content-length", str(len(body)).encode()))
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _begin(self, response: aiohttp.ClientResponse, *more: tuple[bytes, bytes]) -> None:
        self._has_begun = True
        headers = [(name.encode(), response.headers[name].encode()) for name in _HEADERS if name in response.headers]
        await self._send({"type": "http.response.start", "status": response.status, "headers": [*headers, *more]})

    async def _remember_ids(self) -> None:
        if self.remember is not None and self.answer is not None and (ids := self.answer.new_ids()):
            await self.remember(ids)

    def _holds(self, size: int) -> bool:
        """Count more bytes of the answer. Return False when they are too many."""
        if self._reserved + size > HELD_BYTES:
            return False
        try:
            self._budget.reserve(self._scope, size)
        except UnavailableError:
            return False
        self._reserved += size
        return True


async def _disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass

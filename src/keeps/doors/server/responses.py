"""Sends the response of a request, with headers and limits that all responses share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keeps.doors.server.bodies import PIECE_BYTES
from keeps.doors.server.byte_budget import ByteBudget
from keeps.doors.server.open_streams import OpenStream, OpenStreams
from keeps.doors.server.problems import Problem, encode
from keeps.store.access.rates import Allowance

_ALWAYS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""Caches in between ignore `X-API-Key`, and would give one user's response to the next."""


class ResponseWriter:
    """Sends one response."""

    def __init__(self, scope: Scope, send: Send, request_id: str, streams: OpenStreams, budget: ByteBudget) -> None:
        self._scope = scope
        self._send = send
        self.request_id = request_id
        self.status = 499
        """Logged when the client disconnects before there is an answer."""
        self._streams = streams
        self._budget = budget
        self._task = asyncio.current_task()  # a response may send from others
        self._stream: OpenStream | None = None
        self._is_event_stream = False
        self._reserved = 0
        """Bytes of the body that are counted for the caller."""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = message["headers"]
            self._reserve(headers)
            self.status = message["status"]
            self._is_event_stream = any(
                name == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers
            )
            if self._is_event_stream:
                self._register()
            message["headers"] = [*headers, (b"x-request-id", self.request_id.encode()), *self._rates()]
            message["headers"] += [header for header in _ALWAYS if not any(name == header[0] for name, _ in headers)]
            await self._send(message)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if (more or len(body) > PIECE_BYTES) and self._stream is None:
            self._register()
        # The server waits before each piece until the one before is read; the connection ends where that takes long.
        for start in range(0, len(body) - PIECE_BYTES, PIECE_BYTES):
            piece = body[start : start + PIECE_BYTES]
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        last = body[max(0, (len(body) - 1) // PIECE_BYTES) * PIECE_BYTES :]
        await self._send({"type": "http.response.body", "body": last, "more_body": more})

    def counting(self, app: ASGIApp) -> ASGIApp:
        """Wrap an app so that its answer counts at its size in memory, before compression."""

        async def counting_app(scope: Scope, receive: Receive, send: Send) -> None:
            async def reserve_and_send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self._reserve(message["headers"])
                await send(message)

            await app(scope, receive, reserve_and_send)

        return counting_app

    def _reserve(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Count a long answer until it is sent. Raises UnavailableError when the same user leaves many unread."""
        scope = self._scope.get("keeps.scope")
        size = next((int(value) for name, value in headers if name == b"content-length"), 0)
        if size > PIECE_BYTES and scope is not None and not self._reserved:
            self._budget.reserve(scope, size)
            self._reserved = size

    def _register(self) -> None:
        """Register a long answer, so that its credentials are checked while it is sent."""
        credentials = self._scope.get("keeps.credentials")
        if self._task is not None and credentials is not None:
            headers, some_user = credentials
            self._stream = OpenStream(self._task, headers, self._scope["keeps.scope"], some_user)
            self._streams.add(self._stream)

    @property
    def was_ended(self) -> bool:
        """Return whether the answer's credentials ended while it was sent."""
        return self._stream is not None and self._stream.ended

    async def end(self) -> None:
        """End a stream of events in order; any other answer is cut off, which the closed connection shows."""
        if self._is_event_stream:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        if self._reserved:
            self._budget.release(self._scope["keeps.scope"], self._reserved)
        if self._stream is not None:
            self._streams.remove(self._stream)

    async def problem(self, problem: Problem, challenge: str | None = None) -> None:
        """Send a problem. `challenge` says where to get credentials."""
        if self.status != 499:
            return  # the answer has begun: all that is left is to end it
        self._scope["keeps.code"] = problem["code"]
        status, headers, body = encode(problem)
        if status == 401 and challenge is not None:
            header = (b"www-authenticate", f'Bearer resource_metadata="{challenge}"'.encode("latin-1", "replace"))
            headers = [header if name == b"www-authenticate" else (name, value) for name, value in headers]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    def _rates(self) -> list[tuple[bytes, bytes]]:
        allowance: Allowance | None = self._scope.get("keeps.allowance")
        if allowance is None:
            return []
        return [
            (b"ratelimit-limit", str(allowance.limit).encode()),
            (b"ratelimit-remaining", str(allowance.remaining).encode()),
            (b"ratelimit-reset", str(allowance.reset_seconds).encode()),
        ]

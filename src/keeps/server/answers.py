"""What goes back from the edge."""

from __future__ import annotations

import asyncio
import json

from keeps.access.rates import Allowance
from keeps.server.asgi import Message, Scope, Send
from keeps.server.open_streams import OpenStream, OpenStreams
from keeps.server.problems import Problem, encode


class Answer:
    """What goes back, with the headers that every answer has."""

    def __init__(self, scope: Scope, send: Send, request_id: str, streams: OpenStreams) -> None:
        self._scope = scope
        self._send = send
        self.request_id = request_id
        self.status = 499
        """The client went away before there was an answer."""
        self._streams = streams
        self._task = asyncio.current_task()  # a response may send from others
        self._stream: OpenStream | None = None
        self._of_events = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = message["headers"]
            self._of_events = any(
                name == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers
            )
            if self._of_events:
                self._begin()
            message["headers"] = [*headers, (b"x-request-id", self.request_id.encode()), *self._rates()]
        elif message.get("more_body") and self._stream is None:
            self._begin()
        await self._send(message)

    def _begin(self) -> None:
        """Have the credentials of an answer that goes on checked while it does."""
        asked = self._scope.get("keeps.asked")
        if self._task is not None and asked is not None:
            headers, some_user = asked
            self._stream = OpenStream(self._task, headers, self._scope["keeps.scope"], some_user)
            self._streams.add(self._stream)

    @property
    def was_ended(self) -> bool:
        """Whether the answer's credentials have gone while it was sent."""
        return self._stream is not None and self._stream.ended

    async def end(self) -> None:
        """End a stream of events in order; of anything else the rest is missing, which the closed connection says."""
        if self._of_events:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        if self._stream is not None:
            self._streams.remove(self._stream)

    async def json(self, document: object) -> None:
        body = json.dumps(document).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers.append((b"cache-control", b"no-store"))  # it names the host that this client called
        await self.send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def problem(self, problem: Problem, challenge: str | None = None) -> None:
        """`challenge`: where it is said how to get credentials."""
        if self.status != 499:
            return  # the answer has begun: all that is left is to end it
        status, headers, body = encode(problem)
        if status == 401 and challenge is not None:
            said = (b"www-authenticate", f'Bearer resource_metadata="{challenge}"'.encode("latin-1", "replace"))
            headers = [said if name == b"www-authenticate" else (name, value) for name, value in headers]
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

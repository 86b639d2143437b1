"""What goes back from the edge."""

from __future__ import annotations

import json

from keeps.access.rates import Allowance
from keeps.server.asgi import Message, Scope, Send
from keeps.server.problems import Problem, encode


class Answer:
    """What goes back, with the headers that every answer has."""

    def __init__(self, scope: Scope, send: Send, request_id: str) -> None:
        self._scope = scope
        self._send = send
        self.request_id = request_id
        self.status = 499
        """The client went away before there was an answer."""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = message["headers"]
            message["headers"] = [*headers, (b"x-request-id", self.request_id.encode()), *self._rates()]
        await self._send(message)

    async def json(self, document: object) -> None:
        body = json.dumps(document).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
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

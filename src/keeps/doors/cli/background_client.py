"""The memory of a scope by way of the background process."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Any

from keeps.doors.cli.background import Background
from keeps_client._requests import Answer, Call, asked
from keeps_client.errors import UnavailableError
from keeps_client.memory.http import HttpAdmin, MemoryClient
from keeps_client.memory.transport import Transport

if TYPE_CHECKING:
    from keeps.doors.cli.context import Target

ALIVE_SECONDS = 5.0
"""Time in which the process must answer the first request of a command."""
CALL_SECONDS = 3_600.0
"""Time limit of one request: in this process nothing would end it, either."""


class BackgroundClient(MemoryClient):
    """The memory of a scope, by way of the background process."""

    def __init__(self, background: Background, target: Target) -> None:
        super().__init__("http://localhost", tenant_id=target.tenant, user_id=target.user, agent_id=target.agent)
        self._transport = _Transport(background, self._transport)
        self._admin = HttpAdmin(self._transport)


class _Transport(Transport):
    """Sends calls over the Unix socket of a process, which is started again if it has ended."""

    def __init__(self, background: Background, of: Transport) -> None:
        super().__init__(of.base_url, of.headers, CALL_SECONDS, 1, of.query)
        self._background = background
        self._is_alive = False

    def _unanswered(self, failure: Exception | None) -> str:  # noqa: ARG002
        return (
            "the background process ended during this command; try again, or run without it: KEEPS_BACKGROUND_SECONDS=0"
        )

    async def _once(self, call: Call) -> Answer:
        if not self._is_alive:
            try:
                await self._exchange(Call("GET", "/health"), ALIVE_SECONDS)
            except TimeoutError:
                raise UnavailableError(
                    "the background process does not answer: stop it with `keeps down` and try again"
                ) from None
            self._is_alive = True
        return await self._exchange(call, CALL_SECONDS)

    async def _exchange(self, call: Call, seconds: float) -> Answer:
        connection = self._background.connect()
        if connection is None and await self._background.start():
            connection = self._background.connect()
        if connection is None:
            raise ConnectionError("the background process does not start")
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_unix_connection(sock=connection)
            try:
                writer.write(_request(call, asked(call.path, self.query), self.headers) + (call.body or b""))
                await writer.drain()
                received = await reader.read()
            finally:
                writer.close()
        return _response(received, call.method)


def _request(call: Call, path: str, headers: Mapping[str, str]) -> bytes:
    """Return the head of a request; its connection ends with the answer."""
    fields = {"Host": "localhost", "Connection": "close", **headers, **call.headers}
    if call.body is not None:
        fields |= {"Content-Type": call.media_type, "Content-Length": str(len(call.body))}
    lines = [f"{call.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode("ascii")


def _response(received: bytes, method: str) -> Answer:
    """Parse a whole response. Raises ConnectionError if it is cut off."""

    class Received:
        def makefile(self, *_: Any) -> io.BytesIO:
            return io.BytesIO(received)

    try:
        response = HTTPResponse(Received(), method=method)  # pyright: ignore[reportArgumentType]
        response.begin()
        body = response.read()
    except (HTTPException, ValueError) as error:
        raise ConnectionError(f"the answer is incomplete ({type(error).__name__})") from None
    return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, body)

"""HTTP connections that cannot be used up: a head has a size and a time, also before anybody says who they are.

uvicorn's httptools protocol limits neither: a header of 64 MiB is read whole, and a request that is never finished
keeps its connection for good.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 << 10
HEAD_SECONDS = 10.0
"""So long a request line and its headers may take, from the first byte or from the connection on."""
_ANSWERS = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


class GuardedProtocol(HttpToolsProtocol):
    """Answers 431 to a head that is too large and 408 to one that is too slow, and closes the connection."""

    _head_bytes = 0
    _reading_head = True
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._reading_head:
            self._head_bytes += len(data)
            # What is over the limit is not even parsed, unless the head has ended in it and a body follows.
            if self._head_bytes > MAX_HEAD_BYTES and b"\r\n\r\n" not in data[: MAX_HEAD_BYTES + 4]:
                self._refuse(431)
                return
            if self._deadline is None:
                self._expect_head()
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading_head = True

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._head_bytes = 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._reading_head = True

    def shutdown(self) -> None:
        # Streams have no end of their own: they are ended, and their readers go on at another server or later.
        end_streams = getattr(getattr(self.app, "state", None), "end_streams", None)
        if end_streams is not None:
            end_streams()
        super().shutdown()

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._refuse, 408)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int) -> None:
        self._stop_waiting()
        if self.transport is None or self.transport.is_closing():  # pyright: ignore[reportUnnecessaryComparison]
            return
        head = f"HTTP/1.1 {status} {_ANSWERS[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        self.transport.write(head.encode())
        self.transport.close()

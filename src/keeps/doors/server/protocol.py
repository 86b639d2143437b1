"""An HTTP protocol that limits heads and answers, so that clients cannot use up connections.

uvicorn's httptools protocol has no such limits: a header of 64 MiB is read whole, and a request that is never finished,
or an answer that is never read, keeps its connection forever.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES, MAX_HEADERS, MAX_PIPELINED = 64 << 10, 200, 50
HEAD_SECONDS = 10.0
"""Seconds for a request line and its headers, from the first byte or from the connection on.

The rest of a body after its answer has the same limit.
"""
UNREAD_SECONDS = 20.0
"""Seconds that a client may leave an answer unread; a connection buffers at most about 128 KiB of it."""
_ANSWERS = {408: "Request Timeout", 431: "Request Header Fields Too Large"}


class _RefusedError(Exception):
    """Ends the parsing of a refused request."""


class GuardedProtocol(HttpToolsProtocol):
    """An HTTP protocol with limits.

    It answers 431 to a head that is too large and 408 to one that is too slow, and closes the connection. It aborts
    connections whose answers are not read.
    """

    _head_bytes = 0
    _reading_head = True
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._expect_head()
        if (option := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
            # For what is left when nothing else is sent: the kernel counts from the last byte that was taken.
            with suppress(OSError):
                transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, round(UNREAD_SECONDS * 1_000))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._expect_reading(None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reading(self._break_off)

    def resume_writing(self) -> None:
        self._expect_reading(None)
        super().resume_writing()

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

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self.headers) < MAX_HEADERS:
            super().on_header(name, value)
        else:
            self._refuse(431)
            raise _RefusedError  # ends parsing

    def on_headers_complete(self) -> None:
        self._reading_head = False
        self._head_bytes = 0
        self._stop_waiting()
        if len(self.pipeline) >= MAX_PIPELINED:
            self._break_off()  # no client sends so many requests ahead of their answers
            raise _RefusedError
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._reading_head = True
        self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._expect_reading(self._break_off)
        elif not self._reading_head and self.cycle.response_complete and self._deadline is None:
            # The rest of the body is read and dropped, as long as it comes soon.
            self._deadline = self.loop.call_later(HEAD_SECONDS, self._break_off)

    def timeout_keep_alive_handler(self) -> None:
        if not self.transport.is_closing() and self.transport.get_write_buffer_size():
            self._break_off()
        else:
            super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

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

    def _expect_reading(self, otherwise: Callable[[], None] | None) -> None:
        """Schedule a callback for when the client does not read in time; None cancels it."""
        if self._unread is not None:
            self._unread.cancel()
        self._unread = None if otherwise is None else self.loop.call_later(UNREAD_SECONDS, otherwise)

    def _break_off(self) -> None:
        self.transport.abort()

    def _refuse(self, status: int) -> None:
        self._stop_waiting()
        if self.transport is None or self.transport.is_closing():  # pyright: ignore[reportUnnecessaryComparison]
            return
        head = f"HTTP/1.1 {status} {_ANSWERS[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        self.transport.write(head.encode())
        self.transport.close()

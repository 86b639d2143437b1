"""A cached response for callers without credentials, made rarely and in a thread."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

Prepare = Callable[[], Awaitable[object]]


class CachedResponse:
    """A response that is the same for everybody, plain and compressed.

    Args:
        make: Makes the content; called in a thread, by one request at a time.
        seconds: Seconds for which the content is cached; None: forever.
        prepare: Awaited on the event loop before `make`.
    """

    def __init__(
        self,
        make: Callable[[], bytes],
        media_type: str,
        *,
        seconds: float | None = None,
        cache_control: str = "no-store",
        prepare: Prepare | None = None,
    ) -> None:
        self._make = make
        self._prepare = prepare
        self._seconds = seconds
        self._headers = {"Content-Type": media_type, "Cache-Control": cache_control, "Vary": "Accept-Encoding"}
        self._cached: tuple[bytes, bytes] | None = None
        self._expires_at = 0.0
        self._lock = asyncio.Lock()

    async def response(self, request: Request) -> Response:
        plain, compressed = await self._content()
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(compressed, headers={**self._headers, "Content-Encoding": "gzip"})
        return Response(plain, headers=self._headers)

    async def _content(self) -> tuple[bytes, bytes]:
        async with self._lock:
            if self._cached is None or time.monotonic() >= self._expires_at:
                if self._prepare is not None:
                    await self._prepare()
                self._cached = await asyncio.to_thread(self._compressed)
                self._expires_at = float("inf") if self._seconds is None else time.monotonic() + self._seconds
            return self._cached

    def _compressed(self) -> tuple[bytes, bytes]:
        plain = self._make()
        return plain, gzip.compress(plain, 4, mtime=0)

"""HTTP transport by aiohttp, with one pool of persistent connections. The sync version is written by hand."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from copy import copy
from typing import TYPE_CHECKING, NoReturn, Self

from keeps_client._requests import RATE_WAIT_SECONDS, Answer, Call, asked, error_of, wait_seconds
from keeps_client.errors import UnavailableError

if TYPE_CHECKING:
    import aiohttp

STREAM_SECONDS = 60.0
WRONG_WITH = (
    "this client is async: write `async with MemoryClient(…) as memory`, or use the sync client: `from"
    " keeps_client.sync import MemoryClient`"
)
PIECE_BYTES = 1 << 19


class ContextKind:
    """Says how to open an async client where it is used as a plain context manager."""

    def __enter__(self) -> NoReturn:
        raise TypeError(WRONG_WITH)

    def __exit__(self, *raised: object) -> None:
        """Make `with` reach `__enter__`."""


class Transport:
    """Sends calls, and retries them if useful. Proxies and certificates come from the environment.

    aiohttp is imported by the first call: it takes longer than the rest of the client.
    """

    def __init__(
        self,
        base_url: str,
        headers: dict[str, str],
        timeout_seconds: float,
        max_connections: int,
        query: str = "",
        rate_wait_seconds: float = RATE_WAIT_SECONDS,
    ) -> None:
        """Configure a transport. `query` is the encoded part common to all addresses."""
        self._base_url = base_url
        self._headers = headers
        self._query = query
        self._timeout_seconds, self._max_connections = timeout_seconds, max_connections
        self._rate_wait_seconds = rate_wait_seconds
        self._session: aiohttp.ClientSession | None = None
        self._connections = self
        """The transport whose session is used."""

    def beside(self, headers: dict[str, str], query: str) -> Self:
        """Return a transport with other headers over the same connections. It need not be closed."""
        other = copy(self)
        other._headers, other._query, other._session = headers, query, None
        return other

    @property
    def base_url(self) -> str:
        """Return the address of the server."""
        return self._base_url

    @property
    def query(self) -> str:
        """Return the query of every call."""
        return self._query

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of every call."""
        return self._headers

    async def send(self, call: Call) -> Answer:
        """Send a call and return its response. Raises UnavailableError when nothing answers."""
        call = call.with_key()
        attempt = 0
        while True:
            attempt += 1
            answer: Answer | None = None
            failure: Exception | None = None
            try:
                answer = await self._once(call)
            except (TimeoutError, OSError) as error:
                failure = error.__cause__ if isinstance(error.__cause__, Exception) else error
            seconds = wait_seconds(attempt, answer, self._rate_wait_seconds) if call.repeatable else None
            if seconds is None:
                if answer is None:
                    raise UnavailableError(self._unanswered(failure)) from None
                return answer
            await asyncio.sleep(seconds)

    def _unanswered(self, failure: Exception | None) -> str:
        """Return what to tell the caller when nothing answered."""
        return f"{self._base_url} does not answer ({type(failure).__name__}); check that Keeps is running there"

    async def stream(self, call: Call) -> AsyncIterator[bytes]:
        """Yield the body of an endless response as it arrives.

        Raises UnavailableError when it ends too soon or is silent for a minute, and the error that the server names.
        """
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=STREAM_SECONDS)
        try:
            async with self._request(call, timeout) as response:
                if response.status >= 400:
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    raise error_of(Answer(response.status, headers, await response.read()))
                async for chunk in response.content.iter_any():
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as failure:
            raise UnavailableError(f"the stream ended ({type(failure).__name__})") from None

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _once(self, call: Call) -> Answer:
        """Send a call once. Raises OSError or TimeoutError when nothing answers."""
        import aiohttp

        try:
            async with self._request(call, aiohttp.ClientTimeout(total=self._timeout_seconds)) as response:
                body = await response.read()
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error)) from error
        return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, body)

    def _request(self, call: Call, timeout: aiohttp.ClientTimeout) -> aiohttp.client._RequestContextManager:  # pyright: ignore[reportPrivateUsage]
        from yarl import URL

        headers = {**self._headers, **call.headers}
        if call.body is not None:
            headers["Content-Type"] = call.media_type
        url = URL(self._base_url + asked(call.path, self._query), encoded=True)
        # A long body goes in pieces: sent as one, it would hold the event loop.
        body = io.BytesIO(call.body) if call.body is not None and len(call.body) > PIECE_BYTES else call.body
        return self._connections._opened().request(
            call.method, url, data=body, headers=headers, allow_redirects=False, timeout=timeout
        )

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._max_connections)
            self._session = aiohttp.ClientSession(connector=connector, trust_env=True)
        return self._session

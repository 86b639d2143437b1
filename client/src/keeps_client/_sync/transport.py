"""Bytes over HTTP, by urllib3: one pool of connections, kept open, safe to share between threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from typing import NoReturn
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.util import parse_url

from keeps_client._requests import RATE_WAIT_SECONDS, Answer, Call, asked, error_of, wait_seconds
from keeps_client.errors import UnavailableError

STREAM_SECONDS = 60.0
WRONG_WITH = (
    "this client is not async: write `with MemoryClient(…) as memory`, or take the async one:"
    " `from keeps_client import MemoryClient`"
)


class ContextKind:
    """Says how to open this client where it is used as an async context manager."""

    async def __aenter__(self) -> NoReturn:
        raise TypeError(WRONG_WITH)

    async def __aexit__(self, *raised: object) -> None:
        """Make `async with` reach `__aenter__`."""


class Transport:
    """Sends calls, again where that can help. Proxies and certificates come from the environment, as usual."""

    def __init__(
        self,
        base_url: str,
        headers: dict[str, str],
        timeout_seconds: float,
        max_connections: int,
        query: str = "",
        rate_wait_seconds: float = RATE_WAIT_SECONDS,
    ) -> None:
        """`query`: what every address says besides, as it is written in one."""
        self._base_url = base_url
        self._headers = headers
        self._query = query
        self._timeout = urllib3.Timeout(total=timeout_seconds)
        self._timeout_seconds, self._max_connections = timeout_seconds, max_connections
        self._rate_wait_seconds = rate_wait_seconds
        self._pool: urllib3.PoolManager | None = None
        self._opening = threading.Lock()
        self._connections = self
        """The transport whose connections are used."""

    def beside(self, headers: dict[str, str], query: str) -> Transport:
        """Return a transport that says something else over the same connections. It need not be closed."""
        limits = self._timeout_seconds, self._max_connections
        other = Transport(self._base_url, headers, *limits, query, self._rate_wait_seconds)
        other._connections = self._connections
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
        """What every call says."""
        return self._headers

    def send(self, call: Call) -> Answer:
        """Raises UnavailableError when nothing answers."""
        call = call.with_key()
        attempt = 0
        while True:
            attempt += 1
            answer: Answer | None = None
            failure: Exception | None = None
            try:
                answer = self._once(call)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                failure = error
            seconds = wait_seconds(attempt, answer, self._rate_wait_seconds) if call.repeatable else None
            if seconds is None:
                if answer is None:
                    raise UnavailableError(
                        f"{self._base_url} does not answer ({type(failure).__name__}); is Keeps serving there?"
                    ) from None
                return answer
            time.sleep(seconds)

    def stream(self, call: Call) -> Iterator[bytes]:
        """The body of an answer without end, as it comes. Raises UnavailableError where it ends too soon, or says
        nothing for a minute, and the error that the server names."""
        try:
            response = self._connections._opened().request(
                call.method,
                self._base_url + asked(call.path, self._query),
                headers={**self._headers, **call.headers},
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=30, read=STREAM_SECONDS),
                preload_content=False,
            )
            try:
                if response.status >= 400:
                    headers = {name.lower(): value for name, value in response.headers.items()}
                    raise error_of(Answer(response.status, headers, response.read()))
                while chunk := response.read1():
                    yield chunk
            finally:
                response.close()
        except (urllib3.exceptions.HTTPError, OSError) as failure:
            raise UnavailableError(f"the stream ended ({type(failure).__name__})") from None

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.clear()
            self._pool = None

    def _once(self, call: Call) -> Answer:
        headers = {**self._headers, **call.headers}
        if call.body is not None:
            headers["Content-Type"] = call.media_type
        response = self._connections._opened().request(
            call.method,
            self._base_url + asked(call.path, self._query),
            body=call.body,
            headers=headers,
            retries=False,
            redirect=False,
            timeout=self._timeout,
        )
        return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, response.data)

    def _opened(self) -> urllib3.PoolManager:
        with self._opening:
            if self._pool is None:
                proxy = self._proxy()
                size, certificates = self._max_connections, os.environ.get("SSL_CERT_FILE")
                self._pool = (
                    urllib3.ProxyManager(proxy, maxsize=size, block=True, ca_certs=certificates)
                    if proxy
                    else urllib3.PoolManager(maxsize=size, block=True, ca_certs=certificates)
                )
            return self._pool

    def _proxy(self) -> str | None:
        """What HTTP_PROXY, HTTPS_PROXY and NO_PROXY say of this address."""
        url = parse_url(self._base_url)
        if not url.host or proxy_bypass(url.host):
            return None
        return getproxies().get(url.scheme or "http")

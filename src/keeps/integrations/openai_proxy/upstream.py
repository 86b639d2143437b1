"""Calls of the model provider: one address, the operator's key, bounded in number and time."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import aiohttp

from keeps.base.fairness import FairSlots
from keeps.base.scope import Scope
from keeps.base.telemetry.metrics import ProxyMetrics
from keeps_client.errors import KeepsError, UnavailableError

CALLS, TENANT_CALLS, USER_CALLS = 256, 128, 32
"""Concurrent calls in all, of one tenant and of one user."""
TENANT_CALLS_BESIDE, USER_CALLS_BESIDE = 32, 8
"""Concurrent calls of a tenant or user while others call, too."""
WAIT_SECONDS = 20.0
CONNECT_SECONDS, PAUSE_SECONDS, TOTAL_SECONDS = 10.0, 600.0, 3_600.0
"""Limits for the connection, for a pause (a model may think before it answers), and for the whole call."""
PIECE_BYTES = 1 << 16


class UpstreamError(KeepsError):
    """The provider gave no answer that can be passed on."""

    code = "upstream_failed"
    status = 502


class UpstreamTimeoutError(UpstreamError):
    """The provider did not answer in time."""

    code = "upstream_timeout"
    status = 504


class Upstream:
    """The provider of the operator. It stores no cookies, follows no redirects and uses no other proxy."""

    def __init__(self, url: str, api_key: str | None) -> None:
        self._url = url
        self._key = api_key
        self._session: aiohttp.ClientSession | None = None
        self._tenants = FairSlots(CALLS, alone=TENANT_CALLS, beside=TENANT_CALLS_BESIDE)
        self._users = FairSlots(sys.maxsize, alone=USER_CALLS, beside=USER_CALLS_BESIDE)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Hold connections during the block."""
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=CALLS),
            timeout=aiohttp.ClientTimeout(
                total=TOTAL_SECONDS, sock_connect=CONNECT_SECONDS, sock_read=PAUSE_SECONDS, connect=None
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            read_bufsize=PIECE_BYTES,
        ) as self._session:
            yield
        self._session = None

    @asynccontextmanager
    async def call(
        self,
        scope: Scope,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        metrics: ProxyMetrics,
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """Yield the response of the provider, whose body is still to be read.

        Raises:
            UnavailableError: Too many calls are in progress.
            UpstreamError: The provider cannot be reached, redirects, or refuses the operator's key.
        """
        if self._session is None:
            raise UnavailableError("the server is starting or stopping; try again later")
        sent = {**headers, "Accept-Encoding": "identity", "User-Agent": "keeps"}
        if self._key is not None:
            sent["Authorization"] = f"Bearer {self._key}"
        async with self._slot(scope):
            metrics.open.inc()
            try:
                try:
                    response = await self._session.request(
                        method, f"{self._url}/{path}", data=body, headers=sent, allow_redirects=False
                    )
                except TimeoutError:
                    metrics.calls.labels("timeout").inc()
                    raise UpstreamTimeoutError("the model provider did not answer in time") from None
                except (aiohttp.ClientError, OSError, ValueError) as error:
                    metrics.calls.labels("unreachable").inc()
                    raise UpstreamError(
                        f"the model provider cannot be reached ({type(error).__name__}); try again later"
                    ) from None
                try:
                    _check(response, metrics)
                    yield response
                finally:
                    response.release()  # Closes the connection if the body was not read to its end.
            finally:
                metrics.open.dec()

    def without_key(self, body: bytes) -> bytes:
        """Return the body of an error without the operator's key."""
        return body if self._key is None else body.replace(self._key.encode(), b"[key]")

    @asynccontextmanager
    async def _slot(self, scope: Scope) -> AsyncGenerator[None]:
        user = f"{scope.tenant_id}\0{scope.user_id}"
        try:
            await self._users.take(user, WAIT_SECONDS)
            try:
                await self._tenants.take(scope.tenant_id, WAIT_SECONDS)
            except BaseException:
                self._users.leave(user)
                raise
        except TimeoutError:
            raise UnavailableError("too many calls of the model provider are in progress; try again later") from None
        try:
            yield
        finally:
            self._tenants.leave(scope.tenant_id)
            self._users.leave(user)


def _check(response: aiohttp.ClientResponse, metrics: ProxyMetrics) -> None:
    """Raise UpstreamError for an answer that concerns the operator, not the caller."""
    if response.status == 401:
        metrics.calls.labels("refused").inc()
        raise UpstreamError("the model provider refused the key of this server; its operator must check it")
    if 300 <= response.status < 400:
        metrics.calls.labels("failed").inc()
        raise UpstreamError("the model provider answered with a redirect, which is not followed")

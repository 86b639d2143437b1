"""Bytes over HTTP, by aiohttp: one pool of connections, kept open. This file has a sync sister by hand."""

from __future__ import annotations

import asyncio

import aiohttp
from yarl import URL

from keeps_client._requests import Answer, Call, wait_seconds
from keeps_client.errors import UnavailableError


class Transport:
    """Sends calls, again where that can help. Proxies and certificates come from the environment, as usual."""

    def __init__(self, base_url: str, headers: dict[str, str], timeout_seconds: float, max_connections: int) -> None:
        self._base_url = base_url
        self._headers = headers
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._max_connections = max_connections
        self._session: aiohttp.ClientSession | None = None

    async def send(self, call: Call) -> Answer:
        """Raises UnavailableError when nothing answers."""
        call = call.with_key()
        attempt = 0
        while True:
            attempt += 1
            answer: Answer | None = None
            failure: Exception | None = None
            try:
                answer = await self._once(call)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                failure = error
            seconds = wait_seconds(attempt, answer) if call.repeatable else None
            if seconds is None:
                if answer is None:
                    raise UnavailableError(
                        f"{self._base_url} does not answer ({type(failure).__name__}); is Keeps serving there?"
                    ) from failure
                return answer
            await asyncio.sleep(seconds)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _once(self, call: Call) -> Answer:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._max_connections)
            self._session = aiohttp.ClientSession(
                connector=connector, timeout=self._timeout, headers=self._headers, trust_env=True
            )
        headers = {**call.headers, "Content-Type": call.media_type} if call.body is not None else call.headers
        url = URL(self._base_url + call.path, encoded=True)
        async with self._session.request(
            call.method, url, data=call.body, headers=headers, allow_redirects=False
        ) as response:
            body = await response.read()
        return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, body)

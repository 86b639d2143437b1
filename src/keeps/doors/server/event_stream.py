"""Server-sent events. Each reader has its own task, so a slow one delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from keeps.store.events.feed import Subscription
from keeps.store.events.service import HEARTBEAT_SECONDS
from keeps_client.errors import UnavailableError
from keeps_client.models import Event

STALL_SECONDS = 20.0
"""Seconds after which a reader that takes nothing is cut off; it resumes after the last event that it got."""
MAX_SECONDS = 300.0
"""Maximum duration of a stream; readers reconnect by themselves, and are authenticated again."""
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class EventStream(Response):
    """A subscription as `text/event-stream`: `id` is the sequence, `event` the type, `data` the CloudEvent."""

    media_type = "text/event-stream"

    def __init__(self, subscription: Subscription) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._subscription = subscription

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        async with self._subscription:
            # Raises what is wrong with the position before the answer begins.
            first = await self._subscription.next_batch(0)
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            sending = asyncio.create_task(self._send_all(first, send))
            leaving = asyncio.create_task(_wait_for_disconnect(receive))
            try:
                await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                sending.cancel()
                leaving.cancel()
                await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send_all(self, batch: list[Event], send: Send) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + MAX_SECONDS
        try:
            while loop.time() < end:
                # An id alone is no event, but readers keep it: so they know where they are, also when all is filtered
                # out.
                body = _encode(batch) + b"id: %d\n\n" % self._subscription.position
                async with asyncio.timeout(STALL_SECONDS):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                batch = await self._subscription.next_batch(HEARTBEAT_SECONDS)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except UnavailableError:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            return  # ending without the end of the body closes the connection


def _encode(batch: Iterable[Event]) -> bytes:
    return b"".join(
        b"id: %d\nevent: %s\ndata: %s\n\n" % (event.sequence, event.type.encode(), event.model_dump_json().encode())
        for event in batch
    )


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

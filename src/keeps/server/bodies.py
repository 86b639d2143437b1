"""Bodies as they come: no longer than allowed, and not slower."""

from __future__ import annotations

import asyncio

from keeps.server.asgi import Message, Receive
from keeps_client.errors import PayloadTooLargeError, ValidationFailedError

BODY_SECONDS = 20.0
"""So long a body may pause while it is read."""


async def whole(receive: Receive, limit: int) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await _soon(receive)
        if message["type"] == "http.disconnect":
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise PayloadTooLargeError(f"a body has at most {limit:,} bytes")
        more = message.get("more_body", False)
    return b"".join(parts)


def again(body: bytes, receive: Receive) -> Receive:
    first = True

    async def replay() -> Message:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


async def _soon(receive: Receive) -> Message:
    """The next part of a body; whoever stops sending gives up."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await receive()
    except TimeoutError:
        raise ValidationFailedError(f"the body paused for more than {BODY_SECONDS:.0f} s") from None


def limited(receive: Receive, limit: int) -> Receive:
    size, more = 0, True

    async def counted() -> Message:
        nonlocal size, more
        message = await (_soon(receive) if more else receive())
        more = message.get("more_body", False)
        size += len(message.get("body", b""))
        if size > limit:
            raise PayloadTooLargeError(f"a body has at most {limit:,} bytes")
        return message

    return counted

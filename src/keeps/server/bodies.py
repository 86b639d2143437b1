"""Bodies as they come: no longer than allowed, and not slower."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from keeps.server.asgi import Message, Receive
from keeps.text.json_parts import JsonParts
from keeps_client.errors import PayloadTooLargeError, UnavailableError, ValidationFailedError

BODY_SECONDS, WHOLE_SECONDS = 20.0, 300.0
"""So long a body may pause while it is read, and so long it may take."""
HELD_BYTES = 64 << 20
"""So much of a tenant's bodies is held at once, while they come and while they are worked on."""


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


@asynccontextmanager
async def held_body(request: Request, tenant_id: str, most: int | None = None) -> AsyncGenerator[bytes]:
    """The body, which counts for its tenant until it is done with. Raises UnavailableError where a tenant sends too
    much at once. `most`: bytes that this one may have, where it is less than for others."""
    held: Counter[str] = request.app.state.held_bytes
    parts: list[bytes] = []
    size = 0
    try:
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                async for part in request.stream():
                    parts.append(part)
                    size += len(part)
                    held[tenant_id] += len(part)
                    if most is not None and size > most:
                        raise PayloadTooLargeError(f"a body has at most {most:,} bytes here")
                    if held[tenant_id] > HELD_BYTES:
                        raise UnavailableError("too much of this tenant is on its way; send it again later")
        except TimeoutError:
            raise ValidationFailedError(f"the body took longer than {WHOLE_SECONDS:.0f} s") from None
        given = b"".join(parts)
        parts.clear()
        yield given
    finally:
        held[tenant_id] -= size
        if not held[tenant_id]:
            del held[tenant_id]


def check_charset(request: Request) -> None:
    """A form is UTF-8: Starlette takes any codec of Python's that a sender names, and some are slow or fail."""
    _, options = parse_options_header(request.headers.get("content-type"))
    if options.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):
        raise ValidationFailedError("a form must be UTF-8; leave its charset out")


def few_parts(receive: Receive) -> Receive:
    """Of a body that is read as JSON, whatever it is said to be: its parts are counted as it comes."""
    parts = JsonParts()

    async def counted() -> Message:
        message = await receive()
        parts.see(message.get("body", b""))
        return message

    return counted


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

"""Request bodies, limited in size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from python_multipart.multipart import parse_options_header
from starlette.requests import Request

from keeps.server.asgi import Message, Receive
from keeps.server.held import HeldBytes
from keeps.text.json_parts import JsonParts
from keeps_client.errors import PayloadTooLargeError, ValidationFailedError

BODY_SECONDS, WHOLE_SECONDS = 20.0, 300.0
"""Seconds that a body may pause while it is read, and that it may take in all."""
PIECE_BYTES = 1 << 16
UPLOAD_BYTES = 4 << 20
"""Bytes that an upload counts for: it is written to disk, but holds a file and a connection open."""


async def short_body(receive: Receive, limit: int) -> bytes:
    """Return a body of at most `limit` bytes within `BODY_SECONDS`, for senders that are not authenticated yet."""
    body, more = b"", True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    break
                body += message.get("body", b"")
                if len(body) > limit:
                    raise PayloadTooLargeError(f"a body has at most {limit:,} bytes")
                more = message.get("more_body", False)
    except TimeoutError:
        raise ValidationFailedError(f"the body took longer than {BODY_SECONDS:.0f} s") from None
    return body


@asynccontextmanager
async def held_body(request: Request, most: int | None = None) -> AsyncGenerator[bytes]:
    """Read the body, and count it for its user until the block ends.

    Every body that is kept in memory is read here, after its sender was admitted. `most` limits this one further.
    Raises UnavailableError when a user or tenant sends too much at once.
    """
    budget: HeldBytes = request.app.state.held_bytes
    scope = request.scope["keeps.scope"]
    parts: list[bytes] = []
    size = 0
    try:
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                async for part in request.stream():
                    budget.take(scope, len(part))
                    parts.append(part)
                    size += len(part)
                    if most is not None and size > most:
                        raise PayloadTooLargeError(f"a body has at most {most:,} bytes here")
        except TimeoutError:
            raise ValidationFailedError(f"the body took longer than {WHOLE_SECONDS:.0f} s") from None
        given = b"".join(parts)
        parts.clear()
        yield given
    finally:
        budget.add(scope, -size)


@asynccontextmanager
async def uploading(request: Request) -> AsyncGenerator[None]:
    """Count an upload that is written to disk. Raises UnavailableError when a user sends too many at once."""
    held: HeldBytes = request.app.state.held_bytes
    with held.holding(request.scope["keeps.scope"], UPLOAD_BYTES):
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                yield
        except TimeoutError:
            raise ValidationFailedError(f"the body took longer than {WHOLE_SECONDS:.0f} s") from None


def check_charset(request: Request) -> None:
    """Raise for a form that is not UTF-8: Starlette accepts any codec that a sender names, and some are slow or
    fail.
    """
    _, options = parse_options_header(request.headers.get("content-type"))
    if options.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):
        raise ValidationFailedError("a form must be UTF-8; leave its charset out")


def few_parts(receive: Receive) -> Receive:
    """Return a `receive` that counts the parts of a JSON body as it arrives, whatever its content type."""
    parts = JsonParts()

    async def counted() -> Message:
        message = await receive()
        parts.see(message.get("body", b""))
        return message

    return counted


def again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays a body in pieces, between which other requests get a turn."""
    place: int | None = 0

    async def replay() -> Message:
        nonlocal place
        if place is None:
            return await receive()
        piece = body[place : place + PIECE_BYTES]
        place = place + PIECE_BYTES if place + PIECE_BYTES < len(body) else None
        await asyncio.sleep(0)
        return {"type": "http.request", "body": piece, "more_body": place is not None}

    return replay


async def _soon(receive: Receive) -> Message:
    """Return the next message of a body; a sender that pauses too long is refused."""
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

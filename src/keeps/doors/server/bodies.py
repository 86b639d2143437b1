"""Request bodies, limited in size and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from python_multipart.multipart import parse_options_header
from starlette.requests import Request
from starlette.types import Message, Receive

from keeps.base.text.json_parts import JsonParts
from keeps.doors.server.byte_budget import ByteBudget
from keeps_client.errors import PayloadTooLargeError, ValidationFailedError

BODY_SECONDS, WHOLE_SECONDS = 20.0, 300.0
"""Seconds that a body may pause while it is read, and that it may take in all."""
PIECE_BYTES = 1 << 16
UPLOAD_BYTES = 4 << 20
"""Bytes that an upload counts for: it is written to disk, but holds a file and a connection open."""


async def short_body(receive: Receive, limit: int) -> bytes:
    """Return a body of at most `limit` bytes within `BODY_SECONDS`, for senders that are not authenticated yet."""
    body, more = b"", True
    async with _within(BODY_SECONDS):
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            body += message.get("body", b"")
            if len(body) > limit:
                raise PayloadTooLargeError(f"a body has at most {limit:,} bytes")
            more = message.get("more_body", False)
    return body


@asynccontextmanager
async def buffered_body(request: Request, limit: int | None = None) -> AsyncGenerator[bytes]:
    """Read the body, and count it for its user until the block ends.

    Every body that is kept in memory is read here, after its sender was admitted. `limit` is a smaller number of bytes
    for this one. Raises UnavailableError when a user or tenant sends too much at once.
    """
    if not any(name in request.headers for name in ("content-length", "transfer-encoding")):
        yield b""
        return
    budget: ByteBudget = request.app.state.byte_budget
    scope = request.scope["keeps.scope"]
    parts: list[bytes] = []
    size = 0
    try:
        async with _within(WHOLE_SECONDS):
            async for part in request.stream():
                budget.reserve(scope, len(part))
                parts.append(part)
                size += len(part)
                if limit is not None and size > limit:
                    raise PayloadTooLargeError(f"a body has at most {limit:,} bytes here")
        body = b"".join(parts)
        parts.clear()
        yield body
    finally:
        budget.release(scope, size)


@asynccontextmanager
async def uploading(request: Request) -> AsyncGenerator[None]:
    """Count an upload that is written to disk. Raises UnavailableError when a user sends too many at once."""
    budget: ByteBudget = request.app.state.byte_budget
    with budget.reserved(request.scope["keeps.scope"], UPLOAD_BYTES):
        async with _within(WHOLE_SECONDS):
            yield


@asynccontextmanager
async def _within(seconds: float) -> AsyncGenerator[None]:
    """Raise ValidationFailedError if the block takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ValidationFailedError(f"the body took longer than {seconds:.0f} s") from None


def check_json(request: Request) -> None:
    """Raise unless the body is declared as JSON: a page of another site cannot send that without a preflight."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise ValidationFailedError("the body must be JSON, with the header Content-Type: application/json")


def check_charset(request: Request) -> None:
    """Raise for a form that is not UTF-8.

    Starlette accepts any codec that a sender names, and some are slow or fail.
    """
    _, options = parse_options_header(request.headers.get("content-type"))
    if options.get(b"charset", b"utf-8").lower() not in (b"utf-8", b"utf8"):
        raise ValidationFailedError("a form must be UTF-8; omit its charset")


def limit_json_parts(receive: Receive) -> Receive:
    """Return a `receive` that counts the parts of a JSON body as it arrives, whatever its content type."""
    parts = JsonParts()

    async def counted() -> Message:
        message = await receive()
        parts.see(message.get("body", b""))
        return message

    return counted


def replay_body(body: bytes, receive: Receive) -> Receive:
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


def message_at_hand(receive: Receive) -> Message | None:
    """Return the next message if it has arrived, without waiting; else None, and it is still to be received."""
    step = receive().__await__()
    try:
        next(step)
    except StopIteration as done:
        return done.value
    step.close()  # pyright: ignore[reportAttributeAccessIssue]  what a coroutine awaits can be closed
    return None


async def _receive_in_time(receive: Receive) -> Message:
    """Return the next message of a body. Raises ValidationFailedError for a sender that pauses too long."""
    if (message := message_at_hand(receive)) is not None:
        return message
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await receive()
    except TimeoutError:
        raise ValidationFailedError(f"the body paused for more than {BODY_SECONDS:.0f} s") from None


def limit_size(receive: Receive, limit: int) -> Receive:
    """Return a `receive` that raises for a body that is too long, or that pauses too long."""
    size, more = 0, True

    async def counted() -> Message:
        nonlocal size, more
        message = await (_receive_in_time(receive) if more else receive())
        more = message.get("more_body", False)
        size += len(message.get("body", b""))
        if size > limit:
            raise PayloadTooLargeError(f"a body has at most {limit:,} bytes")
        return message

    return counted

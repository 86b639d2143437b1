"""Memory over HTTP, with the same methods as the engine in process."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from types import TracebackType
from typing import Any, BinaryIO, Self
from urllib.parse import quote

from keeps_client._requests import (
    RATE_WAIT_SECONDS,
    Answer,
    Call,
    EventStreamParser,
    answer_of,
    call,
    call_of,
    error_of,
    reconnect_seconds,
    shown_caller,
)
from keeps_client.endpoint import AnswerT, Endpoint
from keeps_client.errors import RateLimitedError, UnavailableError, ValidationFailedError
from keeps_client.idempotency import idempotent
from keeps_client.memory.admin import Admin
from keeps_client.memory.events import joined
from keeps_client.memory.transport import ContextKind, Transport
from keeps_client.memory.whole import Memory
from keeps_client.models import DocumentReceipt, Event, ImportSummary, NewDocument
from keeps_client.uploads import receipt_of, upload_of
from keeps_client.validation import event_types, memory_kinds, named_id, named_space, position_of
from keeps_client.zones import named_zone

PIECE_BYTES = 4 << 20
"""Bytes of an import sent at once, below the limit of a request body."""


class HttpAdmin(Admin):
    """Administration over HTTP."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        return answer_of(endpoint, await self._transport.send(call_of(endpoint, fields)))

    async def export_lines(self, *, user_id: str | None = None, tenant_id: str | None = None) -> list[str]:
        """Return the tenant's data, or one user's, as JSON lines."""
        place = ("admin", "export") if tenant_id is None else ("admin", "tenants", tenant_id, "export")
        return _lines_of(await self._transport.send(call("GET", *place, query={"user_id": user_id})))

    async def import_lines(self, lines: Iterable[str], *, dry_run: bool = False) -> ImportSummary:
        """Store exported lines with their ids, in pieces of limited size; existing data stays as it is.

        With `dry_run` nothing is stored.
        """
        total = ImportSummary(stored=0, unchanged=0, failed=0, errors=[])
        for piece in _pieces(lines):
            path = "/v1/admin/import?dry_run=true" if dry_run else "/v1/admin/import"
            wanted = Call("POST", path, piece, "application/x-ndjson")
            answer = await self._transport.send(wanted)
            if answer.status >= 400:
                raise error_of(answer)
            part = ImportSummary.model_validate_json(answer.body)
            total = ImportSummary(
                stored=total.stored + part.stored,
                unchanged=total.unchanged + part.unchanged,
                differs=total.differs + part.differs,
                failed=total.failed + part.failed,
                errors=[*total.errors, *part.errors],
            )
        return total


class MemoryClient(Memory, ContextKind):
    """The memory of the token's user at a Keeps server.

    async with MemoryClient("http://127.0.0.1:8765", token="…") as memory:
        await memory.remember("Alice is allergic to peanuts.")

    `token` is a JWT or an API key. Without one, `tenant_id`, `user_id` and `agent_id` identify the caller, which only a
    server with KEEPS_AUTH=none accepts (`user_id` also works with an API key that may act for any user). Calls are
    retried if nothing answered or the server asked to wait; writes carry an Idempotency-Key, so that a retry has no
    further effect. `timezone` (such as "Europe/Berlin") is the user's time zone for calls without one. A call over the
    rate limit waits at most `rate_wait_seconds` for the next minute, then raises RateLimitedError. Connections stay
    open until `close`.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8765",
        *,
        token: str | None = None,
        tenant_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        timezone: str | None = None,
        timeout_seconds: float = 30.0,
        rate_wait_seconds: float = RATE_WAIT_SECONDS,
        max_connections: int = 100,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ValidationFailedError(f"{base_url!r} is not the URL of a server; write http://host:port")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        for name, value in (("tenant_id", tenant_id), ("user_id", user_id), ("agent_id", agent_id)):
            if value is not None:
                headers[f"X-{name[:-3].title()}-ID"] = named_id(name, value, 255)
        if timezone is not None:
            headers["X-Timezone"] = named_zone(timezone)
        headers, query = _of_user(headers, headers.get("X-User-ID"))
        if any("\n" in value or "\r" in value or not value.isascii() for value in headers.values()):
            raise ValidationFailedError("tokens and ids in headers must be ASCII without line breaks")
        self._transport = Transport(
            base_url.rstrip("/"), headers, timeout_seconds, max_connections, query, rate_wait_seconds
        )
        self._admin = HttpAdmin(self._transport)

    def __repr__(self) -> str:
        """Return the server and the caller, without the token."""
        return (
            f"<MemoryClient {shown_caller(self._transport.base_url, self._transport.headers, self._transport.query)}>"
        )

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Return a client configured by the environment.

        The variables are KEEPS_URL, KEEPS_TOKEN (a JWT or an API key), KEEPS_TENANT_ID, KEEPS_USER_ID, KEEPS_AGENT_ID.
        """
        variables = os.environ if environment is None else environment
        return cls(
            variables.get("KEEPS_URL") or "http://127.0.0.1:8765",
            token=variables.get("KEEPS_TOKEN") or None,
            tenant_id=variables.get("KEEPS_TENANT_ID") or None,
            user_id=variables.get("KEEPS_USER_ID") or None,
            agent_id=variables.get("KEEPS_AGENT_ID") or None,
        )

    @property
    def admin(self) -> HttpAdmin:
        return self._admin

    def idempotent(self, key: str) -> AbstractContextManager[None]:
        """Run each write inside the block once under this key, for 24 hours: see `Memory.idempotent`."""
        return idempotent(key)

    def for_user(self, user_id: str) -> MemoryClient:
        """Return another user's memory over the same connections, which close with this client.

        The server refuses operations that the token does not allow.
        """
        other = copy(self)
        other._transport = self._transport.beside(*_of_user(self._transport.headers, named_id("user_id", user_id, 255)))
        other._admin = HttpAdmin(other._transport)
        return other

    def for_space(self, space_id: str) -> MemoryClient:
        """Return the memory of a space over the same connections, which close with this client."""
        other = copy(self)
        headers = {**self._transport.headers, "X-Space-ID": named_space(space_id)}
        other._transport = self._transport.beside(headers, self._transport.query)
        other._admin = HttpAdmin(other._transport)
        return other

    async def export_space_lines(self, space_id: str) -> list[str]:
        """Return everything in a space, and its members, as JSON lines. For curators."""
        return _lines_of(await self._transport.send(call("GET", "spaces", named_space(space_id), "export")))

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def subscribe(
        self, *, after: int | None = None, types: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncIterator[Event]:
        """Yield events as they happen, in order and endlessly: those after number `after`, or new ones.

        No event is lost or repeated: the client reconnects and continues after the last event. Store
        the `sequence` of the last one you handled, and subscribe after it. Raises the errors of the server.
        """
        position = None if after is None else position_of(after)
        query = {"types": joined(event_types(types)), "kinds": joined(memory_kinds(kinds))}
        failures = 0
        while True:
            wanted = call("GET", "events", "stream", query={**query, "after": position})
            parser = EventStreamParser()
            try:
                async for chunk in self._transport.stream(wanted):
                    failures = 0
                    for sequence, data in parser.feed(chunk):
                        position = sequence
                        if data is not None:
                            yield Event.model_validate_json(data)
            except (UnavailableError, RateLimitedError):
                failures += 1
            await self._transport.pause(reconnect_seconds(failures))

    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        return answer_of(endpoint, await self._transport.send(call_of(endpoint, fields)))

    async def _upload(self, file: BinaryIO, name: str, new: NewDocument, media_type: str | None) -> DocumentReceipt:
        return receipt_of(await self._transport.send(upload_of(file, name, new, media_type)))


def _lines_of(answer: Answer) -> list[str]:
    """Return the lines of an export. Raises its error."""
    if answer.status >= 400:
        raise error_of(answer)
    # Not splitlines: a text may hold other line separators, such as U+2028, which JSON does not escape.
    return [line for line in answer.body.decode().split("\n") if line]


def _of_user(headers: Mapping[str, str], user_id: str | None) -> tuple[dict[str, str], str]:
    """Return headers and query that name a user: a header cannot hold every id."""
    others = {name: value for name, value in headers.items() if name not in ("X-User-ID", "X-Space-ID")}
    if user_id is None:
        return others, ""
    if user_id.isascii():
        return {**others, "X-User-ID": user_id}, ""
    return others, f"user_id={quote(user_id, safe='')}"


def _pieces(lines: Iterable[str], most: int = PIECE_BYTES) -> Iterable[bytes]:
    piece: list[bytes] = []
    size = 0
    for line in lines:
        encoded = line.rstrip("\n").encode()
        if piece and size + len(encoded) > most:
            yield b"\n".join(piece)
            piece, size = [], 0
        piece.append(encoded)
        size += len(encoded) + 1
    if piece:
        yield b"\n".join(piece)

"""A small sharding router for tests: it leads each transaction to one of several PostgreSQLs by its hint.

It understands the hints of PgDog and of SPQR, and refuses what a router cannot pass: a transaction without a hint,
statements outside a transaction, LISTEN, and named prepared statements.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

HINTS = {
    "pgdog": re.compile(r"SET LOCAL pgdog\.sharding_key TO '([^']*)'"),
    "spqr": re.compile(r"SET __spqr__sharding_key TO '([^']*)'"),
}
DISTRIBUTION = "SET __spqr__distribution TO 'keeps'"


@dataclass(frozen=True, slots=True)
class Backend:
    """A database behind the router, as keeps_app: the path of its server's socket, its name, and the password."""

    socket: str
    database: str
    password: str


@dataclass
class Router:
    """`lead`: the shard of a key. `passed`: the shard, key and text of each statement that was passed on."""

    engine: str
    backends: dict[str, Backend]
    lead: Callable[[str], str]
    port: int = 0
    passed: list[tuple[str, str, str]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"postgresql://keeps_app:unused@127.0.0.1:{self.port}/keeps"

    def shards_of(self, key: str) -> set[str]:
        """Return the shards that statements of a key were passed to."""
        return {shard for shard, passed, _ in self.passed if passed == key}


@asynccontextmanager
async def routing(router: Router) -> AsyncGenerator[Router]:
    """Run a router on a free port of loopback."""
    clients: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)
        client = Client(router, reader, writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await client.run()
        finally:
            client.close()
            clients.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    router.port = server.sockets[0].getsockname()[1]
    try:
        yield router
    finally:
        server.close()
        for each in clients:
            each.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


class Client:
    """A client's connection. `_status`: I outside a transaction, T in one, E in one that was refused."""

    def __init__(self, router: Router, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._router, self._reader, self._writer = router, reader, writer
        self._status, self._begin, self._key = "I", "", ""
        self._backend: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._pump: asyncio.Task[None] | None = None
        self._skipping = False
        """After an error of the extended protocol: everything until Sync is skipped."""

    async def run(self) -> None:
        while (code := await self._startup()) == 80877103:
            self._writer.write(b"N")  # no TLS
        if code != 196608:
            return
        self._send(b"R", struct.pack("!i", 0))
        self._send(b"S", b"server_version\x0018.0\0")
        self._send(b"S", b"server_encoding\0UTF8\0")
        self._send(b"S", b"standard_conforming_strings\0on\0")
        self._send(b"K", struct.pack("!ii", 1, 1))
        self._ready()
        while True:
            kind, body = await _message(self._reader)
            if kind == b"X":
                return
            await self._handle(kind, body)
            await self._writer.drain()

    async def _startup(self) -> int:
        (length,) = struct.unpack("!i", await self._reader.readexactly(4))
        body = await self._reader.readexactly(length - 4)
        return struct.unpack("!i", body[:4])[0]

    async def _handle(self, kind: bytes, body: bytes) -> None:
        text = body.rstrip(b"\0").decode() if kind == b"Q" else ""
        name, _, parsed = body.partition(b"\0") if kind == b"P" else (b"", b"", b"")
        statement = text or parsed.split(b"\0", 1)[0].decode()
        if self._skipping:
            self._skipping = kind != b"S"
            if kind == b"S":
                self._ready()
        elif name:
            self._refuse(kind, f"named prepared statement: {statement}")
        elif "LISTEN" in statement:
            self._refuse(kind, f"LISTEN: {statement}")
        elif self._backend is not None:
            await self._pass(kind, body, statement)
        elif kind == b"S" or (kind == b"Q" and self._answers(text)):
            self._ready()
        elif self._status == "T" and self._key:
            try:
                await self._connect()
            except ConnectionError:
                self._refuse(kind, f"shard {self._router.lead(self._key)} is down")
                return
            await self._pass(kind, body, statement)
        else:
            self._refuse(kind, f"no sharding key: {statement or kind.decode()}")

    def _answers(self, text: str) -> bool:
        """Answer what the router does itself before a transaction reaches its shard."""
        word = text.rstrip(";").split(" ", 1)[0]
        if word == "BEGIN" and self._status == "I":
            self._status, self._begin, self._key = "T", text, ""
        elif word in ("COMMIT", "ROLLBACK"):
            self._status, self._key = "I", ""
        elif self._status == "T" and (hint := HINTS[self._router.engine].fullmatch(text)):
            self._key, word = hint[1], "SET"
        elif not (self._status == "T" and self._router.engine == "spqr" and text == DISTRIBUTION):
            return False
        self._send(b"C", word.encode() + b"\0")
        return True

    async def _connect(self) -> None:
        shard = self._router.lead(self._key)
        reader, writer = await _authenticated(self._router.backends[shard])
        writer.write(_framed(b"Q", self._begin.encode() + b"\0"))
        while (await _message(reader))[0] != b"Z":
            pass
        self._shard, self._backend = shard, (reader, writer)
        self._pump = asyncio.create_task(self._relay(reader))

    async def _pass(self, kind: bytes, body: bytes, statement: str) -> None:
        assert self._backend is not None
        assert self._pump is not None
        if statement:
            self._router.passed.append((self._shard, self._key, statement))
        ends = statement in ("COMMIT", "ROLLBACK")
        self._backend[1].write(_framed(kind, body))
        if ends:
            await self._pump  # It ends with the transaction.
            self._backend[1].close()
            self._backend, self._status, self._key = None, "I", ""

    async def _relay(self, reader: asyncio.StreamReader) -> None:
        """Send the answers of a shard to the client until its transaction ends."""
        while True:
            kind, body = await _message(reader)
            self._send(kind, body)
            if kind == b"Z" and body == b"I":
                return

    def _refuse(self, kind: bytes, why: str) -> None:
        self._router.refused.append(why)
        fields = f"SERROR\0VERROR\0C0A000\0M{why}\0\0"
        self._send(b"E", fields.encode())
        if kind == b"Q":
            self._ready()
        else:
            self._skipping = True

    def _ready(self) -> None:
        self._send(b"Z", self._status.encode())

    def _send(self, kind: bytes, body: bytes) -> None:
        self._writer.write(_framed(kind, body))

    def close(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
        for writer in (self._writer, *([] if self._backend is None else [self._backend[1]])):
            writer.close()


def _framed(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind, length = struct.unpack("!ci", await reader.readexactly(5))
    return kind, await reader.readexactly(length - 4)


async def _authenticated(backend: Backend) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a database as keeps_app, by SCRAM-SHA-256 (RFC 5802)."""
    reader, writer = await asyncio.open_unix_connection(backend.socket)
    startup = struct.pack("!i", 196608) + f"user\0keeps_app\0database\0{backend.database}\0\0".encode()
    writer.write(struct.pack("!i", len(startup) + 4) + startup)
    first, mechanism = b"n=,r=routeroftests", b"SCRAM-SHA-256\0"
    while (message := await _message(reader))[0] != b"Z":
        kind, body = message
        if kind == b"E":
            writer.close()
            raise ConnectionError(body.decode())
        code = struct.unpack("!i", body[:4])[0] if kind == b"R" else 0
        if code == 10:
            initial = b"n,," + first
            writer.write(_framed(b"p", mechanism + struct.pack("!i", len(initial)) + initial))
        elif code == 11:
            challenge = dict(part.split(b"=", 1) for part in body[4:].split(b","))
            salt, rounds = base64.b64decode(challenge[b"s"]), int(challenge[b"i"])
            salted = hashlib.pbkdf2_hmac("sha256", backend.password.encode(), salt, rounds)
            client_key = hmac.digest(salted, b"Client Key", "sha256")
            final = b"c=biws,r=" + challenge[b"r"]
            signed = b",".join((first, body[4:], final))
            signature = hmac.digest(hashlib.sha256(client_key).digest(), signed, "sha256")
            proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
            writer.write(_framed(b"p", final + b",p=" + base64.b64encode(proof)))
    return reader, writer

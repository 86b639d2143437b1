"""Keeps over HTTP, beside a bare Starlette echo, the least possible service, and the engine in process, all in one run.

    keeps bench http [--json]

Each service is a process of its own (uvicorn, uvloop, httptools) and so is the load, a client of bare sockets.
Embedding is excluded: vectors come from a table. The least possible service is raw ASGI and asyncpg: one transaction
that names its tenant, an insert of a row with its vector, or an exact search; no events, no words, no checks. One user
has 1,000 memories. Medians in milliseconds, one at a time; rates a second, 16 at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Shown

from benchmarks import temporary_folder
from benchmarks.speed import BATCH, VectorTable, _vacuum, text_of
from keeps import Keeps, Scope
from keeps.store.db.embedded import EmbeddedPostgres

MEMORIES = 1_000
SECONDS = 4.0
QUESTIONS = [text_of(50_000_000 + number) for number in range(40)]
Request = Callable[[int], bytes]


def run(*, as_json: bool) -> int:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rows = runner.run(_run())
    if as_json:
        print(json.dumps(rows))
        return 0
    table = Shown("what", "Keeps over HTTP", "beside", "", "ratio")
    for row in rows:
        table.add_row(row["what"], row["keeps"], row["beside"], row["other"], row["ratio"])
    Console(width=130).print(table)
    return 0


async def _run() -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    with temporary_folder("http") as folder:
        async with await EmbeddedPostgres.open(folder / "home") as server:
            url = server.url("keeps_app", "keeps")
            embedder = VectorTable()  # each service has the same
            async with Keeps.open(database_url=url, embedder=embedder) as keeps:
                memory = keeps.memory(Scope("bench", "user"))
                for start in range(0, MEMORIES, BATCH):
                    texts = [text_of(number) for number in range(start, start + BATCH)]
                    await memory.remember_many([{"content": each} for each in texts], index="now")
                await memory.store("key", {"step": 1, "done": ["a", "b"]}, "plan")
                await keeps.memory(Scope("bench", "raw-writer")).remember("hello #0")
            await _vacuum(server, "keeps")
            async with (
                _service("keeps", url) as ours,
                _service("echo", url) as echo,
                _service("raw", url) as raw,
            ):
                in_process = json.loads(await _output("engine", url))
                loads = {
                    "working-memory get": (ours, _get("/v1/memory/working/plan/key")),
                    "working-memory put": (ours, _put),
                    "recall": (ours, lambda n: _post("/v1/recall", {"query": QUESTIONS[n % 40], "limit": 10})),
                    "remember": (
                        ours,
                        lambda n: _post("/v1/memories", {"content": text_of(60_000_000 + n)}, user="writer"),
                    ),
                    "remember of 20 users": (ours, _remember_of_many),
                    "echo": (
                        echo,
                        lambda n: _post("/echo", {"content": "a text of some words, as people write them", "n": n}),
                    ),
                    "raw search": (raw, lambda n: _post("/search", {"query": QUESTIONS[n % 40]})),
                    "raw add": (raw, lambda n: _post("/add", {"content": text_of(70_000_000 + n)})),
                }
                measured: dict[str, tuple[float, float]] = {}
                for name, (port, request) in loads.items():
                    measured[name] = (await _median(port, request), await _rate(port, request))
                for name in ("working-memory get", "working-memory put", "recall", "remember"):
                    median, rate = measured[name]
                    beside = [("engine in process", in_process[name]), ("Starlette echo", measured["echo"])]
                    if name in ("recall", "remember"):
                        other = "raw search" if name == "recall" else "raw add"
                        beside.append((f"least service: {other}", measured[other]))
                    for other, (their_median, their_rate) in beside:
                        rows.append(_row(f"{name}, 1 at a time, ms", median, other, their_median, "{:.2f}"))
                        rows.append(_row(f"{name}, 16 at once, /s", rate, other, their_rate, "{:,.0f}"))
                many, one = measured["remember of 20 users"][1], measured["remember"][1]
                rows.append(_row("remember of 20 users, 16 at once, /s", many, "of one user", one, "{:,.0f}"))
                sdk = json.loads(await _output("sdk", str(ours)))
                for name, (median, raw_median) in sdk.items():
                    rows.append(_row(f"{name}: working-memory get, ms", median, "bare sockets", raw_median, "{:.2f}"))
                    rows[-1]["ratio"] = f"+{median - raw_median:.2f} ms"
            rows += [await _workers(name, url, loads[name][1]) for name in ("recall", "remember")]
    return rows


async def _workers(name: str, url: str, request: Request) -> dict[str, str]:
    """Two processes behind one address beside one, in turn, so that whatever the machine does hits both."""
    async with _service("keeps", url) as one, _service("workers", url) as two:
        await _rate(two, request)  # connections are opened, caches filled
        rates = [(await _rate(one, request), await _rate(two, request)) for _ in range(3)]
    alone, both = (statistics.median(each) for each in zip(*rates, strict=True))
    return _row(f"{name}, 16 at once, /s, 2 workers", both, "1 worker", alone, "{:,.0f}")


def _row(what: str, ours: float, beside: str, theirs: float, form: str) -> dict[str, str]:
    return {
        "what": what,
        "keeps": form.format(ours),
        "beside": beside,
        "other": form.format(theirs),
        "ratio": f"{ours / theirs:.2f}",
    }


def _get(path: str) -> Request:
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Tenant-ID: bench\r\nX-User-ID: user\r\n\r\n".encode()
    return lambda _: request


def _post(
    path: str, body: Any, method: str = "POST", user: str = "user", more: str = "", tenant: str = "bench"
) -> bytes:
    encoded = json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Tenant-ID: {tenant}\r\nX-User-ID: {user}\r\n{more}"
        f"Content-Type: application/json\r\nContent-Length: {len(encoded)}\r\n\r\n"
    )
    return head.encode() + encoded


def _remember_of_many(number: int) -> bytes:
    """As the SDK sends it: with a key by which it may be sent again."""
    key = f"Idempotency-Key: {number}\r\n"
    body = {"content": text_of(80_000_000 + number)}
    return _post("/v1/memories", body, user=f"writer-{number % 20}", more=key)


def _put(number: int) -> bytes:
    return _post(f"/v1/memory/working/plan/key-{number % 50}", {"value": {"step": number}}, "PUT")


class _Connection(asyncio.Protocol):
    """A client that costs next to nothing: two cores are shared by load, service and database."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._answer: asyncio.Future[None] | None = None
        self._seen = b""

    @classmethod
    async def open(cls, port: int) -> _Connection:
        _, connection = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._seen += data
        head, found, body = self._seen.partition(b"\r\n\r\n")
        if not found or self._answer is None:
            return
        if head[:12] not in (b"HTTP/1.1 200", b"HTTP/1.1 201"):
            self._answer.set_exception(RuntimeError(head.decode()))
            return
        place = head.find(b"content-length: ") + 16
        if len(body) >= int(head[place : head.find(b"\r", place) if b"\r" in head[place:] else None]):
            self._seen = b""
            self._answer.set_result(None)

    def ask(self, request: bytes) -> asyncio.Future[None]:
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def close(self) -> None:
        self._transport.close()


async def _median(port: int, request: Request) -> float:
    connection = await _Connection.open(port)
    times = []
    for number in range(330):
        asked = request(1_000_000 + number)
        started = time.perf_counter()
        await connection.ask(asked)
        times.append(time.perf_counter() - started)
    connection.close()
    return 1e3 * statistics.median(times[30:])


async def _rate(port: int, request: Request) -> float:
    numbers = iter([request(2_000_000 + number) for number in range(40_000)])
    done, ends = 0, time.perf_counter() + SECONDS

    async def worker() -> None:
        nonlocal done
        connection = await _Connection.open(port)
        for asked in numbers:
            if time.perf_counter() > ends:
                break
            await connection.ask(asked)
            done += 1
        connection.close()

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(16)))
    return done / (time.perf_counter() - started)


@asynccontextmanager
async def _service(what: str, url: str) -> AsyncGenerator[int]:
    """A service in a process of its own; gives its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.http", what, url, str(port), env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    )
    try:
        for _ in range(400):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.05)
        yield port
    finally:
        process.terminate()
        await process.wait()


async def _output(what: str, argument: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.http", what, argument, stdout=asyncio.subprocess.PIPE
    )
    return (await process.communicate())[0].decode()


def _made() -> VectorTable:
    embedder = VectorTable()
    texts = [
        text_of(first + number) for first in (61_000_000, 62_000_000, 71_000_000, 72_000_000) for number in range(8_000)
    ]
    embedder.make([*QUESTIONS, *texts])
    return embedder


def _serve(app: Any, port: int, workers: int = 1) -> None:
    import uvicorn

    from keeps.doors.cli.workers import serve_by_workers

    config = uvicorn.Config(
        app,
        factory=workers > 1,
        workers=workers,
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        log_level="error",
        access_log=False,
        ws="none",
    )
    if workers > 1:
        listener = config.bind_socket()
        serve_by_workers(config, listener, lambda: None)
    else:
        uvicorn.Server(config).run()


def _keeps_app(url: str) -> Any:
    from keeps.base.settings import Settings
    from keeps.base.telemetry.logs import configure_logs
    from keeps.doors.server.app import create_app

    configure_logs("info")
    embedder = _made()
    return create_app(Settings(home=Path("unused")), lambda: Keeps.open(database_url=url, embedder=embedder))


def _echo_app() -> Any:
    from pydantic import BaseModel
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    class Echo(BaseModel):
        content: str
        n: int

    async def echo(request: Any) -> Response:
        body = Echo.model_validate_json(await request.body())
        return Response(body.model_dump_json(), media_type="application/json")

    return Starlette(routes=[Route("/echo", echo, methods=["POST"])])


def _raw_app(url: str) -> Any:
    """The least possible service."""
    import asyncpg
    from pgvector import HalfVector
    from pgvector.asyncpg import register_vector

    embedder = _made()
    state: dict[str, Any] = {}
    enter = "SELECT set_config('app.current_tenant', $1, true), set_config('app.current_user', $2, true)"
    search = (
        "SELECT m.memory_id, m.content, v.embedding <=> $2 AS distance FROM (SELECT memory_id, embedding FROM"
        " keeps.memory_vectors WHERE tenant_id = $1 ORDER BY embedding <=> $2 LIMIT 10) AS v JOIN keeps.memories AS m"
        " ON m.tenant_id = $1 AND m.memory_id = v.memory_id"
    )
    add = (
        "WITH m AS (INSERT INTO keeps.memories (tenant_id, memory_id, user_id, kind, layer, content, content_type,"
        " metadata, tags, importance, visibility, content_hash, valid_from, version, created_at, updated_at) VALUES"
        " ($1, gen_random_uuid(), $2, 'semantic', 'long_term', $3, 'fact', '{}', '{}', 0.5, 'private',"
        " sha256(convert_to($3, 'UTF8')), now(), 1, now(), now()) RETURNING memory_id) INSERT INTO keeps.memory_vectors"
        " (tenant_id, memory_id, model, user_id, audience, life, embedding) SELECT $1, memory_id, 'raw', $2, $2,"
        " 'current', $4 FROM m RETURNING memory_id::text"
    )

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            state["pool"] = await asyncpg.create_pool(url, min_size=1, max_size=10, init=register_vector)
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await state["pool"].close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        body = json.loads((await receive())["body"])
        async with state["pool"].acquire() as connection, connection.transaction():
            if scope["path"] == "/search":
                await connection.execute(enter, "bench", "user")
                rows = await connection.fetch(search, "bench", HalfVector(embedder.vector(body["query"])))
                answer: Any = [{"id": str(row[0]), "content": row[1], "score": 1 - row[2]} for row in rows]
            else:
                await connection.execute(enter, "bench", "user")
                text = body["content"]
                answer = {
                    "id": await connection.fetchval(add, "bench", "user", text, HalfVector(embedder.vector(text)))
                }
        encoded = json.dumps(answer).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(encoded)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": encoded})

    return app


async def _engine(url: str) -> dict[str, tuple[float, float]]:
    """The engine in process: the same operations, no HTTP."""
    embedder = _made()
    found: dict[str, tuple[float, float]] = {}
    async with Keeps.open(database_url=url, embedder=embedder) as keeps:
        memory, writer = keeps.memory(Scope("bench", "user")), keeps.memory(Scope("bench", "engine-writer"))
        works: dict[str, Callable[[int], Awaitable[Any]]] = {
            "working-memory get": lambda _: memory.retrieve("key", "plan"),
            "working-memory put": lambda n: memory.store(f"key-{n % 50}", {"step": n}, "plan"),
            "recall": lambda n: memory.recall(QUESTIONS[n % 40], limit=10),
            "remember": lambda n: writer.remember(text_of(80_000_000 + n)),
        }
        for name, work in works.items():
            times = []
            for number in range(330):
                started = time.perf_counter()
                await work(number)
                times.append(time.perf_counter() - started)
            done, ends = 0, time.perf_counter() + SECONDS

            async def worker(first: int, work: Callable[[int], Awaitable[Any]] = work) -> None:
                nonlocal done
                number = first
                while time.perf_counter() < ends:
                    await work(1_000 + number)
                    number += 16
                    done += 1

            started = time.perf_counter()
            await asyncio.gather(*(worker(number) for number in range(16)))
            found[name] = (1e3 * statistics.median(times[30:]), done / (time.perf_counter() - started))
    return found


async def _sdk(port: str) -> dict[str, list[float]]:
    """Measure the overhead of clients over bare sockets: the same get in turn, so that noise hits both."""
    from keeps_client import MemoryClient, sync

    url = f"http://127.0.0.1:{port}"
    request = _get("/v1/memory/working/plan/key")(0)
    connection = await _Connection.open(int(port))
    without = sync.MemoryClient(url, tenant_id="bench", user_id="user")
    found: dict[str, list[float]] = {}
    async with MemoryClient(url, tenant_id="bench", user_id="user") as client:

        async def by_async() -> None:
            await client.retrieve("key", "plan")

        async def by_sync() -> None:
            without.retrieve("key", "plan")

        for name, work in (("async client", by_async), ("sync client", by_sync)):
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(530):
                started = time.perf_counter()
                await work()
                times[0].append(time.perf_counter() - started)
                started = time.perf_counter()
                await connection.ask(request)
                times[1].append(time.perf_counter() - started)
            found[name] = [1e3 * statistics.median(each[30:]) for each in times]
    connection.close()
    without.close()
    return found


def main() -> None:
    match sys.argv[1:]:
        case ["keeps", url, port]:
            _serve(_keeps_app(url), int(port))
        case ["workers", url, port]:
            _serve(partial(_keeps_app, url), int(port), workers=2)
        case ["echo", _, port]:
            _serve(_echo_app(), int(port))
        case ["raw", url, port]:
            _serve(_raw_app(url), int(port))
        case ["engine", url]:
            print(json.dumps(asyncio.run(_engine(url))))
        case ["sdk", port]:
            print(json.dumps(asyncio.run(_sdk(port))))
        case _:
            sys.exit("keeps bench http runs this")


if __name__ == "__main__":
    main()

"""A real PostgreSQL for the run: one migrated template, cloned once; one tenant a test; everything as keeps_app."""

from __future__ import annotations

import asyncio
import faulthandler
import functools
import inspect
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from keeps.ai.embedder import Embedding
from keeps.ai.local import MiniLM
from keeps.bootstrap import open_keeps
from keeps.cells.service import CellService
from keeps.db.embedded import EmbeddedPostgres, inspect_home
from keeps.db.pool import open_pool
from keeps.db.session import Database
from keeps.engine import Keeps, LocalMemory
from keeps.indexing import service as indexing
from keeps.scope import Scope
from keeps.settings import load_settings
from tests import watchdog
from tests.serving import JWT_SECRET, serving

collect_ignore = [] if find_spec("google") and find_spec("google.adk") else ["integrations"]
"""Frameworks have an environment of their own: `make test-integrations`."""
SECRET_KEY = "a key for tests that is long enough and no secret"
HELD = pytest.StashKey[bool]()
SHORT = 2_000
END_SECONDS = 120
"""What the end of a run may take: its fixtures, and the threads that they leave."""
watchdog.install()
# How long an example takes on a busy machine says nothing.
settings.register_profile("keeps", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("keeps")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """No test may hold the event loop. `slow_step` says why one does."""
    if item.get_closest_marker("slow_step"):
        return (yield)
    with watchdog.watching():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:
    item.stash[HELD] = item.stash.get(HELD, False) or (
        call.excinfo is not None and call.excinfo.errisinstance(watchdog.HeldTheLoop)
    )
    if call.excinfo is not None and "from pytest-timeout" in str(call.excinfo.value):
        # The loop of all fixtures may be waiting for what was torn out of it: nothing after this would tell anything.
        item.session.shouldfail = f"{item.nodeid} hung, and could not be ended by its loop"
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish() -> Generator[None]:
    """What hung may be waited for once more, when fixtures end, and when threads do: not for ever."""
    faulthandler.dump_traceback_later(END_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    # Before those of executors, which wait for their threads.
    ended: Any = threading._register_atexit  # noqa: SLF001  # type: ignore
    ended(faulthandler.dump_traceback_later, END_SECONDS, exit=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """A test in which a step took too long runs once more: a machine that stood still does so once."""
    named = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**named)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if item.stash.get(HELD, False):
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**named)
    return True


_OPENED: list[Keeps] = []
indexing.RETRY_SECONDS = 0.2
"""A model that is away in a test comes back at once."""


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """What a test left for the index nobody asks for again, and the next ones would wait for it."""
    for each in _OPENED:
        each.indexer._waiting.clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


LONGEST_FIRST = ("server", "transfer", "faults", "lifecycle", "cli")
"""Folders whose files take longest: begun last, one of them would run on while the other processors rest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=place)
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            marker = item.get_closest_marker("timeout")
            item.obj = _ended(item.obj, (marker.args[0] if marker else float(item.config.getini("timeout"))) - 5)


def _ended(test: Callable[..., Awaitable[None]], seconds: float) -> Callable[..., Awaitable[None]]:
    """A test that hangs is ended by its loop. What ends it from outside leaves the loop to no further test."""

    @functools.wraps(test)
    async def bounded(*arguments: Any, **named: Any) -> None:
        async with asyncio.timeout(seconds):
            await test(*arguments, **named)

    return bounded


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def new_home() -> Iterator[Callable[..., Path]]:
    """Folders for databases, removed after the run with the data that the launcher put elsewhere."""
    root = Path(tempfile.mkdtemp(prefix="keeps-test-"))
    root.chmod(0o755)

    def make(name: str = "home") -> Path:
        return root / f"{name}-{uuid4().hex[:8]}"

    yield make
    for location in root.rglob("server.location"):
        shutil.rmtree(location.read_text().strip(), ignore_errors=True)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
async def template(anyio_backend: str, new_home: Callable[..., Path]) -> Path:
    """A home at the newest schema, whose server is stopped."""
    home = new_home("template")
    async with await EmbeddedPostgres.open(home):
        return home


@pytest.fixture
def made_home(template: Path, new_home: Callable[..., Path]) -> Callable[[str], Path]:
    """A home as a first start makes it, in a tenth of the time."""

    def make(name: str) -> Path:
        home = new_home(name)
        subprocess.run(["cp", "--archive", template, home], check=True)
        return home

    return make


@pytest.fixture(scope="session")
async def server(anyio_backend: str, new_home: Callable[..., Path]) -> AsyncIterator[EmbeddedPostgres]:
    async with thrown_away(new_home("run")) as opened:
        yield opened


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[None]:
    """A file system of its own in a new folder, where one may be mounted."""
    place.mkdir()
    options = f"size={megabytes}m,mode=755"
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {made.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@asynccontextmanager
async def thrown_away(home: Path) -> AsyncIterator[EmbeddedPostgres]:
    """A server whose data nobody needs afterwards."""
    opened = await EmbeddedPostgres.open(home)
    yield opened
    if (pid := inspect_home(home).running_pid) is not None:
        os.kill(pid, signal.SIGQUIT)  # at once, without writing down what is thrown away
    await opened.close()


@asynccontextmanager
async def admin(server: EmbeddedPostgres, database: str = "postgres") -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(server.url("postgres", database))
    try:
        yield connection
    finally:
        await connection.close()


@pytest.fixture(scope="session")
async def app_url(server: EmbeddedPostgres) -> str:
    """The database of the run, cloned from the migrated one, as keeps_app."""
    async with admin(server) as connection:
        await connection.execute("CREATE DATABASE keeps_test TEMPLATE keeps")
    return server.url("keeps_app", "keeps_test")


@pytest.fixture(scope="session")
async def fresh_database(server: EmbeddedPostgres) -> Callable[[], object]:
    """Makes another clone, for tests that count or break things; returns its name."""
    return lambda: cloned(server)


async def cloned(server: EmbeddedPostgres) -> str:
    name = f"keeps_{uuid4().hex[:8]}"
    async with admin(server) as connection:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE keeps")
    return name


@pytest.fixture(scope="session")
async def embedder(anyio_backend: str) -> AsyncIterator[MiniLM]:
    """The real model, loaded once for the run."""
    model = MiniLM()
    yield model
    await model.close()


class _Shared:
    """An embedder that engines may close, while the run goes on using it. The same short text it reads once: half of
    all that tests store was stored by another before."""

    def __init__(self, inner: MiniLM) -> None:
        self.model, self.dimensions = inner.model, inner.dimensions
        self.embed_query, self.spans = inner.embed_query, inner.spans
        self._inner = inner
        self._known: dict[str, Embedding] = {}

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        read = dict(zip(new, await self._inner.embed(new), strict=True))
        self._known.update((text, vectors) for text, vectors in read.items() if len(text) <= SHORT)
        return [read[text] if text in read else self._known[text] for text in texts]

    async def close(self) -> None: ...


@pytest.fixture(scope="session")
def shared(embedder: MiniLM) -> _Shared:
    return _Shared(embedder)


@pytest.fixture(scope="session")
async def keeps(server: EmbeddedPostgres, app_url: str, shared: _Shared) -> AsyncIterator[Keeps]:
    """With KEEPS_TEST_CELLS every tenant of the run is in a second cell, and the first only says so."""
    async with await (
        opened_on_two(server, shared)
        if os.environ.get("KEEPS_TEST_CELLS")
        else Keeps.open(database_url=app_url, embedder=shared)
    ) as opened:
        _OPENED.append(opened)
        yield opened
        indexing.SETTLE_SECONDS = 0.0


async def opened_on(url: str, embedder: _Shared) -> Keeps:
    settings = load_settings(database_url=url, given={"KEEPS_SECRET_KEYS": SECRET_KEY})
    return await open_keeps(settings, embedder=embedder)


async def opened_on_two(server: EmbeddedPostgres, embedder: _Shared) -> Keeps:
    async with admin(server) as connection:
        await connection.execute("CREATE DATABASE keeps_first TEMPLATE keeps")
    first = server.url("keeps_app", "keeps_first")
    opened = await opened_on(first, embedder)
    settings = load_settings(database_url=first, given={"KEEPS_SECRET_KEYS": SECRET_KEY})
    cells = CellService(opened, settings, {"main": server.url("postgres", "keeps_first")})
    await cells.add("second", url=server.url("keeps_app", "keeps_test"))
    await cells.set_weight("main", 0)
    return opened


@pytest.fixture(scope="session")
async def server_url(keeps: Keeps) -> AsyncIterator[str]:
    """A real HTTP server on a free port of loopback, around the engine of the run, that believes headers."""
    async with serving(keeps) as url:
        yield url


@pytest.fixture(scope="session")
async def secured_url(keeps: Keeps) -> AsyncIterator[str]:
    """The same, that asks for tokens or keys."""
    async with serving(
        keeps, auth="jwt+keys", jwt_secret=JWT_SECRET, reads_per_minute=1_000_000, writes_per_minute=1_000_000
    ) as url:
        yield url


@pytest.fixture(scope="session")
async def database(app_url: str) -> AsyncIterator[Database]:
    opened = Database(await open_pool(app_url, size=4))
    yield opened
    await opened.close()


@pytest.fixture
def tenant() -> str:
    return f"tenant-{uuid4().hex[:12]}"


@pytest.fixture
def memory(keeps: Keeps, tenant: str) -> LocalMemory:
    """Alice's memory, in a tenant of this test's own."""
    return keeps.memory(Scope(tenant, "alice"))


@pytest.fixture
async def raw(app_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A bare connection as keeps_app, for what an application with a defect might send."""
    connection = await asyncpg.connect(app_url)
    yield connection
    await connection.close()


async def until(condition: Callable[[], object], what: str, seconds: float = 30.0) -> None:
    """Wait until `condition` holds; fail saying what did not come about."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"not within {seconds} s: {what}"
        await asyncio.sleep(0.02)

"""A real PostgreSQL for the run: one migrated template, cloned once; one tenant a test; everything as keeps_app."""

from __future__ import annotations

import asyncio
import faulthandler
import functools
import gc
import inspect
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps, LocalMemory
from keeps.memory.indexing import service as indexing
from keeps.memory.indexing.service import Indexer
from keeps.models.local import MiniLM
from keeps.operate.cells.service import CellService
from keeps.store.db.embedded import EmbeddedPostgres, inspect_home
from keeps.store.db.pool import open_pool
from keeps.store.db.session import Database
from tests import watchdog
from tests.embedding import SwitchedEmbedder
from tests.routers.router import Backend, Router, routing
from tests.scripted_llm import script, scripted
from tests.serving import JWT_SECRET, serving

collect_ignore = [] if find_spec("google") and find_spec("google.adk") else ["integrations"]
"""Frameworks have an environment of their own: `make test-integrations`."""
APART = {"crewai": "crewai", "hermes": "hermes_cli", "strands": "strands"}
"""Folders of frameworks with an environment each, and the package that it has: `make test-crewai` and others."""
collect_ignore += [folder for folder, package in APART.items() if find_spec(package) is None]
if find_spec("playwright") is None:
    collect_ignore.append("browser")  # its packages come with `make browser`
__all__ = ["script", "scripted"]
SECRET_KEY = "a key for tests that is long enough and no secret"
FLAKY = "flaky"
HELD_THE_LOOP = pytest.StashKey[bool]()
RETRY = bool(os.environ.get("KEEPS_TEST_RETRY"))
"""Run a failed test once more, as CI does: a flaky test is reported with its failure, and does not fail the run."""
RAM_DISK, RAM_DISK_BYTES = Path("/dev/shm"), 6 << 30
END_SECONDS = 120
"""Limit for the end of a run: its fixtures, and the threads that they leave."""
MEANING = ("ai", "browser", "context", "crewai", "documents", "hermes", "integrations", "pages", "recall")
"""Folders whose tests use the real embedding model. Elsewhere the marker `meaning` does."""
LONGEST_FIRST = ("server", "transfer", "faults", "lifecycle", "cli")
"""Folders with the longest tests: started last, one of them would run on while the other processors rest."""
watchdog.install()
# How long an example takes on a busy machine says nothing.
settings.register_profile("keeps", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("keeps")
indexing.RETRY_SECONDS = 0.2
"""A model that is away in a test comes back at once."""
_MODEL = MiniLM()
_EMBEDDER = SwitchedEmbedder(_MODEL)
_ENGINES: list[Keeps] = []
_LOOPS: list[asyncio.AbstractEventLoop] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector of garbage off what lasts until the end: it would go over all of it again and again."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        folder = item.path.parent.name
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    items.sort(key=place)
    limit = float(config.getini("faulthandler_timeout"))
    for item in items:
        if item.path.parent.name in MEANING:
            item.add_marker("meaning")
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.obj = _bounded(item.obj, limit - 20)


def _bounded(test: Callable[..., Awaitable[None]], seconds: float) -> Callable[..., Awaitable[None]]:
    """Fail a test that hangs in its loop, with the place where it waits. The run goes on with the next test."""

    @functools.wraps(test)
    async def bounded(*arguments: Any, **named: Any) -> None:
        async with asyncio.timeout(seconds):
            await test(*arguments, **named)

    return bounded


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _EMBEDDER.real = item.get_closest_marker("meaning") is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that holds the event loop. The marker `slow_step` says why one may."""
    if item.get_closest_marker("slow_step"):
        return (yield)
    with watchdog.watching():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:
    item.stash[HELD_THE_LOOP] = item.stash.get(HELD_THE_LOOP, False) or (
        call.excinfo is not None and call.excinfo.errisinstance(watchdog.HeldTheLoop)
    )
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test; once more if a step took too long, since a machine that stands still does so once, or if `RETRY`.

    A hard hang (a loop that is blocked, a fixture that waits) ends the process through `faulthandler_timeout`, with all
    stacks. pytest-xdist then reports the test as failed and goes on in a new process.
    """
    named = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**named)
    with _tasks_printed_before_the_end(item):
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    failures = [report.longreprtext for report in reports if report.failed]
    if failures and (RETRY or item.stash[HELD_THE_LOOP]):
        with _tasks_printed_before_the_end(item):
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if not any(report.failed for report in reports):
            reports[0].user_properties.append((FLAKY, failures[0]))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**named)
    return True


@contextmanager
def _tasks_printed_before_the_end(item: pytest.Item) -> Iterator[None]:
    """Print the stacks of all tasks shortly before a test in which the loop only waits is ended from outside."""
    loop = next((loop for loop in reversed(_LOOPS) if not loop.is_closed()), None)
    limit = float(item.config.getini("faulthandler_timeout"))
    handle = loop and loop.call_later(limit - 5, _print_tasks, loop, item.nodeid)
    yield
    if handle:
        handle.cancel()


def _print_tasks(loop: asyncio.AbstractEventLoop, test: str) -> None:
    print(f"{test} hangs; tasks of the loop:", file=sys.__stderr__)
    for task in asyncio.all_tasks(loop):
        task.print_stack(file=sys.__stderr__)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the first failure of each test that passed when it was run again."""
    for report in terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("", []):
        for name, text in report.user_properties:
            if name == FLAKY and report.when == "setup":
                terminalreporter.section(f"FLAKY {report.nodeid}: failed, then passed", red=True)
                terminalreporter.write_line(text)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Stop indexing what a test left: no other test reads it, and the next ones would wait for it."""
    for engine in _ENGINES:
        indexer: Any = engine.service(Indexer)
        indexer._waiting.clear()
        if indexer._task is not None:
            indexer._task.cancel()
            indexer._task = None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish() -> Generator[None]:
    """Bound the end of a run: fixtures, then threads, may wait for what hung."""
    faulthandler.dump_traceback_later(END_SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    # Before those of executors, which wait for their threads.
    ended: Any = threading._register_atexit  # noqa: SLF001  # type: ignore
    ended(faulthandler.dump_traceback_later, END_SECONDS, exit=True)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


class Homes:
    """Folders for databases, which a test leaves behind and the run removes.

    They are in memory where there is room: a database that is thrown away need not reach a disk.
    """

    def __init__(self) -> None:
        in_memory = RAM_DISK.is_dir() and shutil.disk_usage(RAM_DISK).free > RAM_DISK_BYTES
        self._root = Path(tempfile.mkdtemp(prefix="keeps-test-", dir=RAM_DISK if in_memory else None))
        self._root.chmod(0o755)
        self.made: list[Path] = []

    def __call__(self, name: str = "home") -> Path:
        self.made.append(self._root / f"{name}-{uuid4().hex[:8]}")
        return self.made[-1]

    def remove(self, home: Path) -> None:
        """Remove a home whose server has ended, with the data that the launcher put elsewhere."""
        for location in home.rglob("server.location"):
            shutil.rmtree(location.read_text().strip(), ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)

    def close(self) -> None:
        self.remove(self._root)


@pytest.fixture(scope="session")
def new_home() -> Iterator[Homes]:
    homes = Homes()
    yield homes
    homes.close()


@pytest.fixture(autouse=True)
def _homes_removed(new_home: Homes) -> Iterator[None]:
    """Remove the homes that a test makes for itself when it ends."""
    before = len(new_home.made)
    yield
    for home in new_home.made[before:]:
        if not home.is_dir() or inspect_home(home).running_pid is None:
            new_home.remove(home)


@pytest.fixture(scope="session")
async def template(anyio_backend: str, new_home: Callable[..., Path]) -> Path:
    """A home at the newest schema, whose server is stopped."""
    home = new_home("template")
    async with await EmbeddedPostgres.open(home):
        return home


@pytest.fixture(scope="session")
def made_home(template: Path, new_home: Callable[..., Path]) -> Callable[..., Path]:
    """Copies of a home as a first start makes it, in a tenth of the time."""

    def make(name: str = "home") -> Path:
        home = new_home(name)
        subprocess.run(["cp", "--archive", template, home], check=True)
        return home

    return make


@pytest.fixture(scope="session")
async def server(anyio_backend: str, made_home: Callable[..., Path]) -> AsyncIterator[EmbeddedPostgres]:
    _LOOPS.append(asyncio.get_running_loop())
    async with thrown_away(made_home("run")) as opened:
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
    yield _MODEL
    await _MODEL.close()


@pytest.fixture(scope="session")
def shared(embedder: MiniLM) -> SwitchedEmbedder:
    """The embedder of the run's engines."""
    return _EMBEDDER


@pytest.fixture(scope="session")
async def keeps(server: EmbeddedPostgres, app_url: str, shared: SwitchedEmbedder) -> AsyncIterator[Keeps]:
    """With KEEPS_TEST_CELLS every tenant of the run is in a second cell, and the first only says so.

    With KEEPS_TEST_ROUTER=pgdog or spqr they are in the second shard behind a router.
    """
    async with AsyncExitStack() as stack:
        if engine := os.environ.get("KEEPS_TEST_ROUTER"):
            opening = opened_behind_a_router(
                server, shared, await stack.enter_async_context(second_of_two(engine, server))
            )
        elif os.environ.get("KEEPS_TEST_CELLS"):
            opening = opened_on_two(server, shared)
        else:
            opening = Keeps.open(database_url=app_url, embedder=shared)
        opened = await stack.enter_async_context(await opening)
        _ENGINES.append(opened)
        yield opened
        indexing.SETTLE_SECONDS = 0.0


async def opened_on(url: str, embedder: SwitchedEmbedder) -> Keeps:
    settings = load_settings(database_url=url, given={"KEEPS_SECRET_KEYS": SECRET_KEY})
    return await open_keeps(settings, embedder=embedder)


async def opened_on_two(server: EmbeddedPostgres, embedder: SwitchedEmbedder) -> Keeps:
    async with admin(server) as connection:
        await connection.execute("CREATE DATABASE keeps_first TEMPLATE keeps")
    first = server.url("keeps_app", "keeps_first")
    opened = await opened_on(first, embedder)
    settings = load_settings(database_url=first, given={"KEEPS_SECRET_KEYS": SECRET_KEY})
    cells = CellService(opened, settings, {"main": server.url("postgres", "keeps_first")})
    await cells.add("second", url=server.url("keeps_app", "keeps_test"))
    await cells.set_weight("main", 0)
    return opened


@asynccontextmanager
async def second_of_two(engine: str, server: EmbeddedPostgres) -> AsyncIterator[Router]:
    """A router that leads every tenant to the second of two databases, that of the run."""
    async with admin(server) as connection:
        await connection.execute("CREATE DATABASE keeps_first TEMPLATE keeps")
    backends = {"first": backend(server, "keeps_first"), "second": backend(server, "keeps_test")}
    async with routing(Router(engine, backends, lambda _: "second")) as router:
        yield router


async def opened_behind_a_router(server: EmbeddedPostgres, embedder: SwitchedEmbedder, router: Router) -> Keeps:
    given = {"KEEPS_ROUTER": router.engine, "KEEPS_SECRET_KEYS": SECRET_KEY}
    addresses = (f"{name}={server.url('keeps_app', each.database)}" for name, each in router.backends.items())
    settings = load_settings(database_url=router.url, given={**given, "KEEPS_ROUTER_SHARDS": " ".join(addresses)})
    return await open_keeps(settings, embedder=embedder)


def backend(server: EmbeddedPostgres, database: str) -> Backend:
    return Backend(str(server.socket / ".s.PGSQL.5432"), database, server.password("keeps_app"))


@pytest.fixture(scope="session")
async def server_url(keeps: Keeps) -> AsyncIterator[str]:
    """A real HTTP server on a free port of loopback, around the engine of the run, that believes headers."""
    async with serving(keeps) as url:
        yield url


@pytest.fixture(scope="session")
async def secured_url(keeps: Keeps) -> AsyncIterator[str]:
    """A real HTTP server that requires tokens or keys."""
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

"""The checks that every memory provider must pass. For pytest, in a test file of your own:

    class TestNotes(ProviderConformance):
        def factory(self, folder: Path) -> ProviderFactory:
            return NotesProvider

`keeps providers check` runs the same checks on the providers of an installation and prints a table.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from keeps.base.scope import Scope
from keeps.providers.answers import (
    BadAnswerError,
    checked_bool,
    checked_capabilities,
    checked_count,
    checked_entry,
    checked_keys,
    checked_matches,
)
from keeps.providers.contract import MemoryProvider, ProviderContext, ProviderFactory
from keeps_client.errors import ForbiddenError, PayloadTooLargeError, ValidationFailedError
from keeps_client.models import ProviderCapabilities

Open = Callable[[Scope], Awaitable[MemoryProvider]]
Plant = Callable[[Scope, str, str], Awaitable[None]]
"""Puts a text under a key for a scope; for a read-only provider through the source that it derives from."""
TICK_SECONDS = 0.01
MAX_TICKS = 100
VALUES: tuple[Any, ...] = (
    "text",
    "",
    0,
    -1.5,
    True,
    None,
    [],
    {},
    ["a", {"b": None}],
    {"deep": {"er": [1, 2, {"x": "y"}]}},
)
TEXTS = (
    "plain",
    "ünïcödé",
    "نص عربي",
    "עברית",
    "日本語のメモ",
    "emoji 🙂🏳️‍🌈",
    "tab\tand\nnew line",
    "back\\slash \"quotes\" 'single' `tick`",
    "--- front matter? ---",
    "%s {} $1",
)
KEYS = (
    "simple",
    "with space",
    "a/path/to/it",
    "dotted.key",
    "ключ",
    "キー",
    "🙂",
    "x" * 200,
    "UPPER",
    "--flag",
    "a'b\"c",
    "..",
    "../escape",
    "con",
    "a:b*c?",
)


class Subject:
    """A provider under test: a function that opens it for a scope, and one that fills it."""

    def __init__(self, opening: Open, plant: Plant | None = None) -> None:
        self.open = opening
        self._plant = plant

    async def plant(self, scope: Scope, key: str, text: str) -> None:
        if self._plant is not None:
            await self._plant(scope, key, text)
        else:
            await (await self.open(scope)).write(key, text)


def scope_of(user: str = "alice", tenant: str | None = None) -> Scope:
    return Scope(tenant or f"conformance-{uuid4().hex[:12]}", user)


async def check_contract(subject: Subject) -> None:
    """Check that capabilities are complete and constant, and an empty provider answers empty."""
    provider = await subject.open(scope_of())
    capabilities = provider.capabilities()
    assert capabilities == provider.capabilities()
    assert capabilities.tier in ("working", "persistent", "indexed")
    assert capabilities.content_types, "name the content types, or '*' for any"
    assert await provider.read("nothing") is None
    assert await provider.list_keys() == []
    assert await provider.delete("nothing") is False
    if capabilities.supports_search:
        assert await provider.search("anything") == []


async def check_values(subject: Subject) -> None:
    """Check that values are read as they were written, with their metadata; a second write replaces the first."""
    provider = await subject.open(scope_of())
    if provider.capabilities().read_only:
        try:
            await provider.write("key", "value")
        except ForbiddenError:
            return
        raise AssertionError("a read-only provider refuses writes with ForbiddenError")
    kind = next((each for each in provider.capabilities().content_types if each != "*"), "fact")
    for number, value in enumerate(VALUES):
        await provider.write(f"key-{number}", value, {"content_type": kind, "number": number})
        entry = await provider.read(f"key-{number}")
        assert entry is not None, f"value {value!r} is gone"
        assert (entry.key, entry.value, type(entry.value)) == (f"key-{number}", value, type(value))
        assert entry.metadata.get("number") == number
    await provider.write("key-0", "changed")
    entry = await provider.read("key-0")
    assert entry is not None
    assert entry.value == "changed"
    assert len(await provider.list_keys()) == len(VALUES)


async def check_unicode(subject: Subject) -> None:
    """Check that any text can be stored under any key, or is refused as a whole."""
    scope = scope_of()
    provider = await subject.open(scope)
    for number, text in enumerate(TEXTS):
        await subject.plant(scope, f"text-{number}", text)
        entry = await provider.read(f"text-{number}")
        assert entry is not None, f"{text!r} is gone"
        assert entry.value == text
    for key in KEYS:
        await subject.plant(scope, key, f"under {key}")
        entry = await provider.read(key)
        assert entry is not None, f"key {key!r} is gone"
        assert (entry.key, entry.value) == (key, f"under {key}")
    assert set(KEYS) <= set(await provider.list_keys())
    if not provider.capabilities().read_only:
        for key, value in (
            ("", "no key"),
            ("nul\x00", "x"),
            ("k", "nul\x00"),
            ("k", "\ud800"),
            ("x" * 2_000, "long key"),
        ):
            try:
                await provider.write(key, value)
            except ValidationFailedError:
                continue
            raise AssertionError(f"key {key[:20]!r} with value {value!r} must be refused with ValidationFailedError")
        assert await provider.read("k") is None


async def check_answers(subject: Subject) -> None:
    """Check that every result has its type and a bounded size, and does not block the event loop."""
    scope = scope_of()
    async with _responsive():
        provider = await subject.open(scope)
        for number in range(30):
            await subject.plant(scope, f"key-{number:02}", f"The lighthouse number {number}.")
    capabilities = provider.capabilities()
    assert isinstance(capabilities, ProviderCapabilities), "capabilities() returns ProviderCapabilities"
    try:
        checked_capabilities(capabilities, capabilities.provider_id)
        async with _responsive():
            checked_keys(await provider.list_keys())
            checked_entry(await provider.read("key-00"), "key-00")
            checked_entry(await provider.read("nothing"), "nothing")
            checked_count(await provider.rebuild())
            for limit in (1, 10, 200):
                if capabilities.supports_search:
                    checked_matches(await provider.search("lighthouse number", limit=limit), limit)
            checked_bool(await provider.delete("key-00"))
            checked_bool(await provider.delete("nothing"))
    except BadAnswerError as error:
        raise AssertionError(str(error)) from None


@asynccontextmanager
async def _responsive() -> AsyncGenerator[None]:
    """Fail when the event loop stops for a second while other threads continue, since something blocks it."""
    ticks = longest = 0
    over = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not over.wait(TICK_SECONDS):
            ticks += 1

    async def watch() -> None:
        nonlocal longest
        while not over.is_set():
            before = ticks
            await asyncio.sleep(TICK_SECONDS)
            longest = max(longest, ticks - before)

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    try:
        yield
        await asyncio.sleep(TICK_SECONDS)
    finally:
        over.set()
        await watching
    assert longest < MAX_TICKS, (
        f"the event loop stood still for about {longest * TICK_SECONDS:.1f} s; await, or work in a thread"
    )


async def check_search(subject: Subject) -> None:
    """Check that search finds entries, best first, within the limit; filters apply, and unknown ones are refused."""
    scope = scope_of()
    provider = await subject.open(scope)
    if not provider.capabilities().supports_search:
        return
    for number in range(12):
        await subject.plant(scope, f"filler/{number}", f"The number {number} is only a number.")
    await subject.plant(scope, "garden", "Tomatoes and basil grow beside the greenhouse.")
    found = await provider.search("where do the tomatoes grow", limit=5)
    assert found, "nothing was found"
    assert found[0].entry.key == "garden", "the entry with the words comes first"
    assert 1 <= len(found) <= 5
    assert len(await provider.search("number", limit=3)) <= 3
    assert all(each.entry.key.startswith("filler/") for each in await provider.search("number", {"prefix": "filler/"}))
    assert await provider.list_keys({"prefix": "gar"}) == ["garden"]
    assert await provider.search("tomatoes", {"content_types": ["no such type"]}) == []
    for wrong in ({"colour": "red"}, {"Prefix": "x"}):
        try:
            await provider.search("tomatoes", wrong)
        except ValidationFailedError:
            continue
        raise AssertionError(f"the unknown filter {wrong} must be refused with ValidationFailedError")
    for odd in ("🙂", "'; DROP TABLE", "((", '"', "a" * 5_000, "*", "AND OR NOT"):
        await provider.search(odd, limit=2)


async def check_filters(subject: Subject) -> None:
    """Check that entries have the time of their write, and filters by time and metadata apply."""
    scope = scope_of()
    provider = await subject.open(scope)
    await subject.plant(scope, "one", "The ferry leaves the harbour at dawn.")
    first = await _written_at(provider, "one")
    second = first
    for _ in range(100):
        await subject.plant(scope, "two", "The other ferry leaves the harbour at noon.")
        second = await _written_at(provider, "two")
        if second > first:
            break
        await asyncio.sleep(0.05)  # the clock of what stores it may be a coarse one
    assert second > first, "what is written later must have a later updated_at"
    searches = provider.capabilities().supports_search
    for filters, wanted in (
        ({"since": second}, ["two"]),
        ({"until": second}, ["one"]),
        ({"since": first}, ["one", "two"]),
    ):
        assert await provider.list_keys(filters) == wanted, f"list_keys with {filters}"
        if searches:
            keys = sorted(match.entry.key for match in await provider.search("ferry harbour", filters))
            assert keys == wanted, f"search with {filters}"
    if provider.capabilities().read_only:
        return
    await provider.write("green", "The ferry is painted green.", {"colour": "green", "decks": 2})
    await provider.write("red", "The ferry is painted red.", {"colour": "red", "decks": 2})
    for metadata, wanted in (
        ({"colour": "green"}, ["green"]),
        ({"decks": 2}, ["green", "red"]),
        ({"colour": "blue"}, []),
        ({"decks": "2"}, []),
    ):
        assert await provider.list_keys({"metadata": metadata}) == wanted, f"list_keys with metadata {metadata}"
        if searches:
            keys = sorted(match.entry.key for match in await provider.search("ferry painted", {"metadata": metadata}))
            assert keys == wanted, f"search with metadata {metadata}"


async def _written_at(provider: MemoryProvider, key: str) -> datetime:
    entry = await provider.read(key)
    assert entry is not None
    assert entry.updated_at is not None, "an entry says when it was written: updated_at"
    assert entry.updated_at.tzinfo is not None, "updated_at has a time zone"
    return entry.updated_at


async def check_isolation(subject: Subject) -> None:
    """Check that another user of the tenant, and the same user of another tenant, see and change nothing."""
    tenant = scope_of().tenant_id
    alice = Scope(tenant, "alice")
    await subject.plant(alice, "diary", "Alice hides the swordfish.")
    for stranger in (
        Scope(tenant, "bob"),
        Scope(f"{tenant}-2", "alice"),
        Scope(tenant, "alice/../bob"),
        Scope(tenant, "Alice"),
    ):
        other = await subject.open(stranger)
        assert await other.read("diary") is None, f"{stranger} reads Alice's entry"
        assert await other.list_keys() == [], f"{stranger} lists Alice's keys"
        if other.capabilities().supports_search:
            assert await other.search("swordfish") == [], f"{stranger} finds Alice's entry"
        assert await other.delete("diary") is False
        await subject.plant(stranger, "diary", f"of {stranger.user_id}")
    entry = await (await subject.open(alice)).read("diary")
    assert entry is not None
    assert entry.value == "Alice hides the swordfish."


async def check_deletion(subject: Subject) -> None:
    """Check that deleted entries are gone from reads, lists and searches, and can be written again."""
    scope = scope_of()
    provider = await subject.open(scope)
    if provider.capabilities().read_only:
        return
    await provider.write("secret", "The password is swordfish.")
    assert await provider.delete("secret") is True
    assert await provider.read("secret") is None
    assert await provider.list_keys() == []
    if provider.capabilities().supports_search:
        assert await provider.search("swordfish password") == []
    assert await provider.delete("secret") is False
    await provider.write("secret", "new")
    entry = await provider.read("secret")
    assert entry is not None
    assert entry.value == "new"


async def check_concurrency(subject: Subject) -> None:
    """Check that concurrent writers lose nothing; of several on one key, one write is kept completely."""
    scope = scope_of()
    provider = await subject.open(scope)
    if provider.capabilities().read_only:
        await asyncio.gather(*(provider.search("anything") for _ in range(20)))
        return
    await asyncio.gather(*(provider.write(f"key-{number}", f"value {number}") for number in range(40)))
    assert await provider.list_keys() == sorted(f"key-{number}" for number in range(40))
    long = [letter * 2_000 for letter in "abcdefgh"]
    await asyncio.gather(*(provider.write("shared", text) for text in long))
    entry = await provider.read("shared")
    assert entry is not None
    assert entry.value in long
    again = await subject.open(scope)
    entry = await again.read("key-7")
    assert entry is not None, "a second one opened for the scope sees the same"


async def check_limits(subject: Subject) -> None:
    """Check that large values are stored completely or refused; a list contains all of many keys."""
    scope = scope_of()
    provider = await subject.open(scope)
    if provider.capabilities().read_only:
        return
    if await _refused(provider.write("large", "word " * 8_000)) is None:
        entry = await provider.read("large")
        assert entry is not None
        assert entry.value == "word " * 8_000
    assert await _refused(provider.write("too large", "x" * 50_000_000)), "50 MB in one entry must be refused"
    for number in range(230):
        await provider.write(f"many/{number:03}", number)
    assert await provider.list_keys({"prefix": "many/"}) == [f"many/{number:03}" for number in range(230)]


async def _refused(work: Awaitable[None]) -> str | None:
    """Return the error code of a refusal for an invalid or too large value; None if it was accepted."""
    try:
        await work
    except (ValidationFailedError, PayloadTooLargeError) as error:
        return error.code
    return None


async def check_rebuild(subject: Subject) -> None:
    """Check that a rebuild loses nothing, and reads continue meanwhile."""
    scope = scope_of()
    provider = await subject.open(scope)
    for number in range(5):
        await subject.plant(scope, f"key-{number}", f"The lighthouse number {number}.")
    rebuilding = asyncio.create_task(provider.rebuild())
    read = [await provider.read(f"key-{number}") for number in range(5)]
    assert await rebuilding >= 0
    assert all(entry is not None for entry in read)
    assert len(await provider.list_keys()) == 5
    if provider.capabilities().supports_search:
        assert len(await provider.search("lighthouse")) == 5


async def check_close(subject: Subject) -> None:
    """Check that closing twice has no effect."""
    provider = await subject.open(scope_of())
    await provider.close()
    await provider.close()


CHECKS: dict[str, Callable[[Subject], Awaitable[None]]] = {
    "contract": check_contract,
    "values": check_values,
    "answers": check_answers,
    "unicode": check_unicode,
    "search": check_search,
    "filters": check_filters,
    "isolation": check_isolation,
    "deletion": check_deletion,
    "concurrency": check_concurrency,
    "limits": check_limits,
    "rebuild": check_rebuild,
    "close": check_close,
}


def from_factory(factory: ProviderFactory, folder: Path) -> tuple[Subject, list[MemoryProvider]]:
    """Return a subject that opens providers by a factory, each scope in its own folder, and a list of those opened."""
    opened: list[MemoryProvider] = []

    async def opening(scope: Scope) -> MemoryProvider:
        place = folder / scope.tenant_id / scope.user_id.encode().hex()
        provider = factory(ProviderContext(scope, place))
        opened.append(provider)
        return provider

    return Subject(opening), opened


class ProviderConformance:
    """A base class for your tests: say how your provider is made, and pytest runs every check."""

    def factory(self, folder: Path) -> ProviderFactory:
        """Return the factory of your provider; `folder` is empty, and removed after the test."""
        raise NotImplementedError

    @asynccontextmanager
    async def subject(self) -> AsyncGenerator[Subject]:
        """Override this for a provider that needs more than a factory."""
        with tempfile.TemporaryDirectory(prefix="keeps-conformance-") as folder:
            made, opened = from_factory(self.factory(Path(folder)), Path(folder))
            try:
                yield made
            finally:
                for provider in opened:
                    await provider.close()

    def _run(self, check: Callable[[Subject], Awaitable[None]]) -> None:
        async def run() -> None:
            subject: AbstractAsyncContextManager[Subject] = self.subject()
            async with subject as made:
                await check(made)

        asyncio.run(run())

    def test_contract(self) -> None:
        self._run(check_contract)

    def test_values(self) -> None:
        self._run(check_values)

    def test_answers(self) -> None:
        self._run(check_answers)

    def test_unicode(self) -> None:
        self._run(check_unicode)

    def test_search(self) -> None:
        self._run(check_search)

    def test_filters(self) -> None:
        self._run(check_filters)

    def test_isolation(self) -> None:
        self._run(check_isolation)

    def test_deletion(self) -> None:
        self._run(check_deletion)

    def test_concurrency(self) -> None:
        self._run(check_concurrency)

    def test_limits(self) -> None:
        self._run(check_limits)

    def test_rebuild(self) -> None:
        self._run(check_rebuild)

    def test_close(self) -> None:
        self._run(check_close)

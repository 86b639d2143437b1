"""Every built-in provider, and the example, pass the checks that anybody's provider must pass."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.providers.markdown.provider import MarkdownProvider
from keeps.memory.providers.service import ProviderService
from keeps.memory.providers.working import WorkingShelves
from keeps.providers import Entry, Match
from keeps.providers.conformance import CHECKS, ProviderConformance, Subject, check_answers, scope_of
from keeps.providers.contract import ProviderFactory

pytestmark = pytest.mark.slow_step("the suite writes an entry of 50 MB, in the process of who calls")

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))


class TestWorking(ProviderConformance):
    def factory(self, folder: Path) -> ProviderFactory:
        shelves = WorkingShelves(utc_now)
        return lambda context: shelves.of(context.scope)


class TestMarkdown(ProviderConformance):
    def factory(self, folder: Path) -> ProviderFactory:
        async def told(edits: Any) -> None: ...

        return lambda context: MarkdownProvider(context.folder, utc_now, told)


class TestExample(ProviderConformance):
    def factory(self, folder: Path) -> ProviderFactory:
        from sqlite_provider import SqliteProvider

        return SqliteProvider


class _OfTheDatabase(ProviderConformance):
    provider_id = ""

    @pytest.fixture(autouse=True)
    def _opened(self, app_url: str) -> None:
        self._url = app_url

    @asynccontextmanager
    async def subject(self) -> AsyncGenerator[Subject]:
        async with Keeps.open(database_url=self._url) as keeps:

            async def plant(scope: Scope, key: str, text: str) -> None:
                await (await keeps.service(ProviderService).provider(scope, "postgres")).write(key, text)

            yield Subject(
                lambda scope: keeps.service(ProviderService).provider(scope, self.provider_id),
                plant if self.provider_id == "vector" else None,
            )


class TestPostgres(_OfTheDatabase):
    provider_id = "postgres"


class TestVector(_OfTheDatabase):
    provider_id = "vector"


class TestGraph(_OfTheDatabase):
    provider_id = "graph"


def test_each_check_is_a_test() -> None:
    tests = {name.removeprefix("test_") for name in dir(ProviderConformance) if name.startswith("test_")}
    assert tests == set(CHECKS)


async def test_a_provider_that_mixes_users_fails(tmp_path: Path) -> None:
    """The checks can fail: a provider that forgets whose it is."""
    from keeps.providers.conformance import check_isolation

    shelves = WorkingShelves(utc_now)
    careless: Callable[..., Any] = lambda scope: _ready(shelves.of(Scope(scope.tenant_id, "everybody")))  # noqa: E731
    with pytest.raises(AssertionError, match="reads Alice's entry"):
        await check_isolation(Subject(careless))


class Wrapped:
    """The working memory with one method that does something else."""

    def __init__(self, **methods: Callable[..., Any]) -> None:
        self._inner = WorkingShelves(utc_now).of(scope_of())
        self._methods = methods

    def __getattr__(self, name: str) -> Any:
        return self._methods.get(name) or getattr(self._inner, name)


async def _blocking(*_: Any, **__: Any) -> list[Match]:
    time.sleep(1.6)  # noqa: ASYNC251  the fault under test
    return []


async def _many(*_: Any, **__: Any) -> list[Match]:
    return [Match(Entry(key=f"{number}", value="x"), 1.0) for number in range(500)]


async def _score(*_: Any, **__: Any) -> list[Match]:
    return [Match(Entry(key="key-00", value="x"), "high")]  # type: ignore[arg-type]


async def _nothing(*_: Any, **__: Any) -> None: ...


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"search": _score}, "as a score"),
        ({"search": _many}, "500 matches"),
        ({"search": _blocking}, "stood still"),
        ({"list_keys": _nothing}, "list_keys"),
        ({"delete": _nothing}, "delete"),
        ({"rebuild": _nothing}, "rebuild"),
        ({"capabilities": dict}, "ProviderCapabilities"),
    ],
)
async def test_provider_with_a_wrong_answer_fails(methods: dict[str, Any], message: str) -> None:
    provider = Wrapped(**methods)
    subject = Subject(lambda _: _ready(provider))
    with pytest.raises(AssertionError, match=message):
        await check_answers(subject)


async def _ready(provider: Any) -> Any:
    return provider

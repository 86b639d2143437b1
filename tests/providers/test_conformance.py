"""Every built-in provider, and the example, pass the checks that anybody's provider must pass."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from keeps.clock import utc_now
from keeps.engine import Keeps
from keeps.providers.conformance import CHECKS, ProviderConformance, Subject
from keeps.providers.contract import ProviderFactory
from keeps.providers.markdown.provider import MarkdownProvider
from keeps.providers.working import WorkingShelves
from keeps.scope import Scope

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
                await (await keeps.providers.provider(scope, "postgres")).write(key, text)

            yield Subject(
                lambda scope: keeps.providers.provider(scope, self.provider_id),
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


async def _ready(provider: Any) -> Any:
    return provider

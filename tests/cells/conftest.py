"""Tests of cells have a server of their own: what they make replicate, stop and drop is on nobody else's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from keeps.store.db.embedded import EmbeddedPostgres
from tests.conftest import cloned, thrown_away


@pytest.fixture(scope="module")
async def server(made_home: Callable[..., Path]) -> AsyncIterator[EmbeddedPostgres]:
    async with thrown_away(made_home("cells")) as opened:
        yield opened


@pytest.fixture(scope="module")
async def fresh_database(server: EmbeddedPostgres) -> Callable[[], object]:
    return lambda: cloned(server)

"""Homes for tests that need one of their own: copies of one that was made once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from keeps.db.embedded import EmbeddedPostgres


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

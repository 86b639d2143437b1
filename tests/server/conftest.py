"""A real Valkey, from its wheel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.valkey import Valkey


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    valkey = Valkey(tmp_path_factory.mktemp("valkey"))
    valkey.start()
    yield valkey.url
    valkey.stop()

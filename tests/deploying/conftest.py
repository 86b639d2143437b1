"""A free port for the services of a test."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]

"""`keeps scan`: credentials in memories that were stored before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.test_cli import Cli, kept_running
from tests.coding.written import PASSWORD


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    home = made_home("scan")
    with kept_running(home):
        yield Cli(home)


def test_credentials_are_found_and_not_shown(cli: Cli) -> None:
    stored = cli.json("remember", f"The shop uses postgresql://app:{PASSWORD}@db.example/shop.")
    cli("remember", "The shop uses PostgreSQL.")
    cli("remember", f"DB_PASSWORD={PASSWORD}", "--user", "other")
    shown = cli("scan")
    assert stored["memory_id"] in shown.stdout
    assert "postgresql://app:[secret removed]@db.example/shop" in shown.stdout
    assert PASSWORD not in shown.stdout + shown.stderr
    found = cli.json("scan")
    assert (found["scanned"], len(found["findings"])) == (2, 1)
    cli("forget", stored["memory_id"], "--hard")
    assert cli.json("scan") == {"scanned": 1, "findings": []}

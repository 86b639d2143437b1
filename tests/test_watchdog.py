"""The watchdog of this suite: what holds the event loop fails, a machine that stood still once does not."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run

import pytest

ROOT = Path(__file__).parent.parent
PLUGIN = """
from tests import watchdog
from tests.conftest import (
    pytest_runtest_call, pytest_runtest_makereport, pytest_runtest_protocol, pytest_terminal_summary
)

watchdog.MOST_SECONDS = 0.001
"""
TESTS = """
import asyncio
import time

held = 0


async def hold():
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        pass


def test_always():
    asyncio.run(hold())


def test_once():
    global held
    held += 1
    if held == 1:
        asyncio.run(hold())


def test_that_is_wrong():
    global held
    held += 10
    assert held == 0


def test_how_often_each_ran():
    assert held in (12, 22)
    print(f"held {held}")
"""


@pytest.mark.parametrize(("retry", "held"), [("1", 22), pytest.param("", 12, marks=pytest.mark.load)])
def test_a_step_that_takes_too_long_twice_fails_its_test(tmp_path: Path, retry: str, held: int) -> None:
    """With KEEPS_TEST_RETRY every test that fails runs once more."""
    (tmp_path / "conftest.py").write_text(PLUGIN)
    (tmp_path / "test_steps.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--rootdir", ".", "test_steps.py"]
    said = run(
        command,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "KEEPS_TEST_RETRY": retry},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 failed, 2 passed" in said.stdout, said.stdout + said.stderr
    assert "FAILED test_steps.py::test_always - tests.watchdog.HeldTheLoop" in said.stdout
    assert "PASSED test_steps.py::test_once" in said.stdout
    assert "FLAKY test_steps.py::test_once: failed, then passed" in said.stdout
    assert f"held {held}" in said.stdout

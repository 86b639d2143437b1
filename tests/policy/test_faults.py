"""The faults that tools/try_faults.py puts into the code fit the code of today."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FAULTS: list[dict[str, Any]] = tomllib.loads((ROOT / "tools/faults.toml").read_text("utf-8"))["fault"]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault["name"] for fault in FAULTS])
def test_fault_can_be_put_into_the_code(fault: dict[str, Any]) -> None:
    assert (ROOT / fault["file"]).read_text("utf-8").count(fault["find"]) == 1, "stale: its text is not there once"
    assert fault["replace"] != fault["find"]
    missing = [name for name in fault["tests"] if not (ROOT / name).exists()]
    assert missing == [], "tests that were moved or removed"

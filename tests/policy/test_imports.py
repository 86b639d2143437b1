"""What an import loads: whoever imports Keeps for its names waits for no database and no model."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("alembic", "asyncpg", "numpy", "onnxruntime", "prometheus_client", "sqlalchemy", "starlette", "tokenizers")
FIRST_USE = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from keeps_client.models import ContextRequest, NewMemory, NewPlan


together = Barrier(16)

def use(number):
    together.wait()
    plan = NewPlan(goal_event=str(number))
    return NewMemory(content=str(number), metadata={"n": number}), ContextRequest(query="x"), plan

assert not NewMemory.__pydantic_complete__, "the model was made before it was used"
with ThreadPoolExecutor(16) as pool:
    made = list(pool.map(use, range(16)))
assert [(each.content, plan.goal_event) for each, _, plan in made] == [(str(n), str(n)) for n in range(16)], made
"""


def _in_a_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("line", ["from keeps import Keeps, KeepsError, NewMemory, Scope", "import keeps_client"])
def test_an_import_loads_nothing_heavy(line: str) -> None:
    loaded = _in_a_new_process(f"import sys\n{line}\nprint(*sys.modules)").split()
    assert "keeps_client" in loaded
    assert not set(HEAVY) & set(loaded)


def test_models_are_first_used_by_many_threads_at_once() -> None:
    for _ in range(3):
        _in_a_new_process(FIRST_USE)

"""A write goes through few functions, from the service to its statement."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import keeps
from keeps.engine import LocalMemory
from keeps.memory.memories.service import MemoryService
from keeps.memory.memories.writer import Writer
from keeps.store.db.statements import Statement
from keeps.store.db.transaction import Tx

MAX_FUNCTIONS, MAX_FILES = 12, 6
ROOT = Path(keeps.__file__).parent
Place = tuple[str, str]


def stack() -> Iterator[Place]:
    """Yield the functions of keeps that wait for the caller: file and name, innermost first."""
    frame = sys._getframe(1)  # noqa: SLF001
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT):
            yield str(path.relative_to(ROOT)), frame.f_code.co_qualname
        frame = frame.f_back


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> dict[Place, None]:
    """The functions between a call of the service and its statement, across the task of the writer."""
    seen: dict[Place, None] = {}
    fetch, write = Tx.fetch, Writer.write

    async def fetched(self: Tx, statement: Statement, *values: object, **named: Any) -> list[Any]:
        if statement.name == "memories_insert":
            seen.update(dict.fromkeys([("store/db/transaction.py", "Tx.fetch"), *stack()]))
        return await fetch(self, statement, *values, **named)

    async def written(self: Writer, *values: Any) -> Any:
        above = list(stack())
        service = next(number for number, (_, name) in enumerate(above) if name == MemoryService.remember.__qualname__)
        seen.update(dict.fromkeys([("memory/memories/writer.py", "Writer.write"), *above[: service + 1]]))
        return await write(self, *values)

    monkeypatch.setattr(Tx, "fetch", fetched)
    monkeypatch.setattr(Writer, "write", written)
    return seen


@pytest.mark.parametrize("repeatable", [True, False])
async def test_write_goes_through_few_functions(
    memory: LocalMemory, path: dict[Place, None], *, repeatable: bool
) -> None:
    with memory.idempotent("k") if repeatable else nullcontext():
        await memory.remember("Alice lives in Lisbon.", index="later")
    assert ("memory/memories/store.py", "insert_many") in path
    assert len(path) <= MAX_FUNCTIONS, list(path)
    assert len({file for file, _ in path}) <= MAX_FILES, list(path)

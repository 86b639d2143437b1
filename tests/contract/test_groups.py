"""Groups of methods of a memory."""

from __future__ import annotations

import pytest

from keeps.engine import LocalMemory
from keeps_client.memory.groups import GROUPS, methods_of
from keeps_client.memory.whole import Memory
from keeps_client.sync import MemoryClient


async def test_methods_of_a_group_are_those_of_the_memory(memory: LocalMemory) -> None:
    await memory.graph.add_entity("Alice")
    assert [entity.name for entity in (await memory.list_entities()).items] == ["Alice"]
    await memory.state.store("key", {"step": 1}, "plan")
    assert await memory.retrieve("key", "plan") == {"step": 1}


def test_each_group_has_methods_that_the_memory_has() -> None:
    for group in GROUPS:
        assert methods_of(group)
        assert all(callable(getattr(Memory, name)) for name in methods_of(group))
        assert isinstance(getattr(Memory, group), property)


async def test_completion_offers_main_methods_and_groups(memory: LocalMemory) -> None:
    for one in (memory, MemoryClient()):
        assert {"remember", "recall", "context", "graph", "state", "documents"} <= set(dir(one))
        assert not {"traverse", "create_plan", "add_document"} & set(dir(one))
        assert "traverse" in dir(one.graph)
        assert "traverse" not in dir(one.documents)
        with pytest.raises(AttributeError, match="has no method 'recall'; it has"):
            one.graph.recall  # type: ignore[attr-defined]  # noqa: B018

"""Entries of providers, the same through every door."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from keeps_client.errors import NotFoundError, ValidationFailedError


async def test_each_session_has_its_own_scratchpad(memory: Any) -> None:
    one, two = f"s-{uuid4()}", f"s-{uuid4()}"
    await memory.write_entry("working", "step", "peel", session_id=one)
    await memory.write_entry("working", "step", "boil", session_id=two)
    assert (await memory.read_entry("working", "step", session_id=one)).value == "peel"
    with pytest.raises(NotFoundError):
        await memory.read_entry("working", "step", session_id=f"s-{uuid4()}")
    assert (await memory.delete_entry("working", "step", session_id=two)).value == "boil"
    assert (await memory.read_entry("working", "step", session_id=one)).value == "peel"
    with pytest.raises(ValidationFailedError):
        await memory.read_entry("working", "step", session_id="")


async def test_text_becomes_entries(memory: Any) -> None:
    made = await memory.append_markdown("My name is Ada. Ada moved to Turin yesterday.")
    assert [entry.value for entry in made] == ["My name is Ada.", "Ada moved to Turin yesterday."]
    assert (await memory.read_entry("markdown", made[0].key)).value == "My name is Ada."


async def test_session_context_contains_scratchpad(memory: Any) -> None:
    session = f"s-{uuid4()}"
    await memory.remember("The kettle is in the kitchen.")
    await memory.write_entry("working", "pad", "The kettle is boiling.", session_id=session)
    assert "boiling" in (await memory.context("Where is the kettle?", session_id=session)).text
    assert "kitchen" in (await memory.context("Where is the kettle?", session_id=session)).text
    assert "boiling" not in (await memory.context("Where is the kettle?", session_id=f"s-{uuid4()}")).text

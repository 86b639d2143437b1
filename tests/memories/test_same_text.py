"""One text in other blanks, case or Unicode form is known."""

from __future__ import annotations

import pytest

from keeps.engine import LocalMemory

TEXT = "Zoë's café opens at nine."


@pytest.mark.parametrize(
    "again",
    [
        "  Zoë's café opens at nine.  ",
        "Zoë's  café \topens at nine.\n",
        "Zoe\u0308's cafe\u0301 opens at nine.",
        "Zoë's café opens at\u00a0nine.",
    ],
)
async def test_normalized_text_is_recognized(memory: LocalMemory, again: str) -> None:
    first = await memory.remember(TEXT)
    second = await memory.remember(again)
    assert (second.status, second.memory_id) == ("unchanged", first.memory_id)
    assert [each.content for each in (await memory.list()).items] == [TEXT]


async def test_case_and_line_breaks_distinguish_texts(memory: LocalMemory) -> None:
    for text in ("She likes Polish food.", "She likes polish food.", "She likes\nPolish food."):
        assert (await memory.remember(text)).status == "created"


async def test_text_under_a_key_is_stored_exactly(memory: LocalMemory) -> None:
    await memory.remember("a b", namespace="n", key="k")
    assert (await memory.remember("a  b", namespace="n", key="k")).memory.content == "a  b"

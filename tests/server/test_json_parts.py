"""How much is in a JSON text, however it is cut and written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.base.text.json_parts import MOST_PARTS, JsonParts
from keeps_client.errors import PayloadTooLargeError

TEXTS = st.text(st.sampled_from('"\\,:[{]}a\n 🙂'), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def parts_of(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    names = len(value) if isinstance(value, dict) else 0
    return 1 + max(0, len(value) - 1) + names + sum(map(parts_of, inner))


@given(VALUES, st.booleans(), st.integers(1, 7))
def test_what_a_text_holds_is_counted_without_what_its_strings_say(value: Any, ascii_only: bool, step: int) -> None:
    written = json.dumps(value, ensure_ascii=ascii_only).encode()
    parts = JsonParts()
    for start in range(0, len(written), step):
        parts.see(written[start : start + step])
    assert parts.count == parts_of(value)


def test_a_text_of_too_many_values_is_refused_and_a_long_one_of_few_is_not() -> None:
    parts = JsonParts()
    parts.see(b'{"content":"' + b'a, b: [c], \\"{d}\\", ' * 300_000 + b'"}')
    assert parts.count == 2
    JsonParts().see(b"[" + b",".join([b"1"] * MOST_PARTS) + b"]")
    with pytest.raises(PayloadTooLargeError, match="100,000 values"):
        JsonParts().see(b"[" + b",".join([b"1"] * (MOST_PARTS + 1)) + b"]")

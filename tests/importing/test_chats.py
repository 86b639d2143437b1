"""Chats of other products: shapes, roles, times, and what is said about those that cannot be read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.sources.importing.chats import records
from keeps.sources.importing.records import Record, Source, fitted, moment_of
from keeps_client.errors import ValidationFailedError

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SECONDS = int(NOON.timestamp())


def read(value: object, name: str = "chat.json") -> list[Record]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return list(records(Source(name, f"/x/{name}", lambda: BytesIO(text.encode(errors="surrogatepass")))))


def said(found: list[Record]) -> list[tuple[str | None, str]]:
    return [(each.memory.get("role"), each.memory["content"]) for each in found if each.memory is not None]


PRODUCTS: dict[str, Any] = {
    "sharegpt": [{"conversations": [{"from": "human", "value": "Where to?"}, {"from": "gpt", "value": "Porto."}]}],
    "gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": "Where to?"}]},
            {"role": "model", "parts": [{"text": "Porto."}]},
        ]
    },
    "langchain": [{"type": "human", "content": "Where to?"}, {"type": "ai", "content": "Porto."}],
    "lists": [[{"role": "user", "content": "Where to?"}, {"role": "assistant", "content": "Porto."}]],
}


@pytest.mark.parametrize("product", PRODUCTS)
def test_chats_of_other_products_are_read(product: str) -> None:
    assert said(read(PRODUCTS[product])) == [("user", "Where to?"), ("assistant", "Porto.")]
    by_line = "\n".join(json.dumps(each) for each in PRODUCTS[product]) if isinstance(PRODUCTS[product], list) else ""
    assert not by_line or said(read(by_line, "chat.jsonl")) == [("user", "Where to?"), ("assistant", "Porto.")]


def test_group_chats_keep_their_speakers() -> None:
    slack = [{"type": "message", "user": "U123", "text": "Lunch?", "ts": f"{SECONDS}.000200"}]
    telegram = {
        "name": "Trip",
        "messages": [{"from": "Ann", "text": ["See ", {"text": "this"}], "date": "2024-05-01T12:00:00"}],
    }
    discord = {"messages": [{"author": {"name": "Ann"}, "content": "Hi", "timestamp": "2024-05-01T12:00:00.000+00:00"}]}
    for chat, speaker in ((slack, "U123"), (telegram, "Ann"), (discord, "Ann")):
        (record,) = read(chat)
        assert record.memory["metadata"] == {"speaker": speaker}
        assert record.memory["valid_from"].replace(microsecond=0) == NOON
        assert (record.note, record.memory.get("role")) == (None, None)


@pytest.mark.parametrize(
    ("given", "role"),
    [
        ("developer", "system"),
        ("human", "user"),
        ("model", "assistant"),
        ("function", "tool"),
        ("User", "user"),
        (" ASSISTANT ", "assistant"),
        ("", None),
        (None, None),
    ],
)
def test_roles_of_other_products_are_ours(given: Any, role: str | None) -> None:
    (record,) = read([{"role": given, "content": "x"}])
    assert (record.memory.get("role"), record.note, record.problem) == (role, None, None)


def test_an_unknown_role_is_the_speaker_and_noted() -> None:
    (record,) = read([{"role": "Robot 7", "content": "x"}])
    assert record.memory["metadata"] == {"speaker": "Robot 7"}
    assert record.memory is not None
    assert "role" not in record.memory
    assert "Robot 7" in str(record.note)


TIMES = [
    SECONDS,
    SECONDS * 1_000,
    SECONDS * 1_000_000,
    SECONDS * 1_000_000_000,
    float(SECONDS),
    str(SECONDS),
    f" {SECONDS}.0 ",
    str(SECONDS * 1_000),
    "2024-05-01T12:00:00Z",
    "2024-05-01T14:00:00+02:00",
    "2024-05-01 12:00:00 UTC",
    "2024-05-01 12:00:00UTC",
    "2024-05-01 12:00:00 GMT",
    "2024/05/01 12:00:00",
    "2024-05-01T12:00:00.000Z",
    "Wed, 01 May 2024 12:00:00 GMT",
    {"$date": "2024-05-01T12:00:00Z"},
    {"$date": SECONDS * 1_000},
    {"seconds": SECONDS, "nanoseconds": 0},
]


@pytest.mark.parametrize("time", TIMES, ids=str)
def test_times_are_read_as_products_write_them(time: object) -> None:
    (record,) = read([{"role": "user", "content": "x", "timestamp": time}])
    assert (record.memory["valid_from"], record.note) == (NOON, None)


def test_dates_are_the_beginning_of_their_day() -> None:
    assert moment_of("20240501") == moment_of("2024-05-01") == NOON.replace(hour=0)


@pytest.mark.parametrize("time", ["yesterday", "1e400", 1e300, 10**400, True, [], {}, "0001-01-01", "99999-01-01", "-"])
def test_a_time_that_cannot_be_read_is_noted(time: object) -> None:
    (record,) = read([{"role": "user", "content": "kept", "timestamp": time}])
    assert record.memory["content"] == "kept"
    assert record.memory is not None
    assert "valid_from" not in record.memory
    assert "time" in str(record.note)


@pytest.mark.parametrize("time", ["", "  ", None])
def test_an_empty_time_is_none(time: object) -> None:
    (record,) = read([{"role": "user", "content": "x", "timestamp": time}])
    assert record.memory is not None
    assert ("valid_from" in record.memory, record.note) == (False, None)


def test_a_bad_conversation_is_refused_alone() -> None:
    good = {"messages": [{"role": "user", "content": "good"}]}
    found = read([good, {"title": "no messages"}, {"messages": None}, {"messages": "x"}, 7, None, good])
    assert said(found) == [("user", "good"), ("user", "good")]
    assert [each.place for each in found if each.problem] == [f"chat.json[{at}]" for at in range(1, 6)]
    assert "--format" in str(found[1].problem)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x1c"])
def test_a_line_ends_at_a_newline_alone(separator: str) -> None:
    line = json.dumps({"role": "user", "content": f"a{separator}b"}, ensure_ascii=False)
    if separator >= " ":
        assert said(read(f"{line}\n{line}\n", "c.jsonl")) == [("user", f"a{separator}b")] * 2
    else:
        assert said(read(f"{line}\r\n{line}", "c.jsonl")) == [("user", f"a{separator}b")] * 2


def test_lines_named_json_and_json_named_lines_are_read() -> None:
    messages = [{"role": "user", "content": str(number)} for number in range(3)]
    expected = [("user", "0"), ("user", "1"), ("user", "2")]
    assert said(read("\n".join(map(json.dumps, messages)), "chat.json")) == expected
    assert said(read(json.dumps(messages, indent=2), "chat.jsonl")) == expected
    with pytest.raises(ValidationFailedError, match="--format"):
        read("{ no json", "chat.json")


def test_messages_of_a_session_that_goes_on_have_keys_of_their_own() -> None:
    parts = [{"id": "s", "messages": [{"role": "user", "content": f"part {part}"}]} for part in range(3)]
    found = read("\n".join(map(json.dumps, parts)), "chat.jsonl")
    assert len({each.memory["key"] for each in found}) == 3
    assert len({each.memory["session_id"] for each in found}) == 1


def test_a_uuid_names_one_conversation_in_every_file() -> None:
    chat = [{"uuid": "0f8c7c1e-7a0b-4c1d-9a64-3a0d1d0a1c11", "messages": [{"role": "user", "content": "Where to?"}]}]
    keys = [{each.memory["key"] for each in read(chat, name)} for name in ("old.json", "new.json")]
    assert keys[0] == keys[1]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("messages mapping content role text timestamp id name from parts".split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(VALUES)
def test_any_json_is_read_or_refused_with_a_reason(value: Any) -> None:
    try:
        found = read(json.dumps(value))
    except ValidationFailedError:
        return
    for each in found:
        assert (each.memory is None) == (each.problem is not None)
        assert each.memory is None or (each.memory["content"].strip() and len(each.memory["key"]) <= 255)


@given(st.text(min_size=240, max_size=400), st.text(min_size=240, max_size=400))
def test_long_labels_differ_where_their_texts_do(one: str, other: str) -> None:
    assert len(fitted(one)) <= 255
    assert (fitted(one) == fitted(other)) == (one == other)

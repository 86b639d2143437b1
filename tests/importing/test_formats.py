"""Importing: each format, bad lines, and doing it twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keeps.engine import LocalMemory
from keeps.sources.importing.formats import read
from keeps.sources.importing.records import MAX_SECTION_CHARACTERS
from keeps.sources.importing.service import run_import
from keeps_client.errors import ValidationFailedError

CHAT = [
    {"role": "user", "content": "I moved to Oslo.", "name": "Kari", "timestamp": 1_750_000_000},
    {"role": "assistant", "content": [{"type": "text", "text": "Noted."}], "created_at": "2026-01-01T10:00:00Z"},
]
LOCOMO = [
    {
        "sample_id": "conv-1",
        "qa": [],
        "conversation": {
            "speaker_a": "Ann",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "Hi"}],
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a dog"},
                {"speaker": "Ben", "dia_id": "D1:2", "text": ""},
                "Hi",
            ],
        },
    }
]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.json", json.dumps(CHAT)),
        ("object.json", json.dumps({"messages": CHAT})),
        ("many.json", json.dumps([{"id": "a", "messages": CHAT}])),
        ("lines.jsonl", "\n".join(json.dumps(message) for message in CHAT)),
        ("talks.jsonl", json.dumps({"messages": CHAT}) + "\n"),
    ],
)
def test_every_shape_of_a_chat_is_read(tmp_path: Path, name: str, text: str) -> None:
    first, second = read(write(tmp_path, name, text), "auto")
    assert (first.memory["content"], first.memory["role"], first.memory["metadata"]) == (
        "I moved to Oslo.",
        "user",
        {"speaker": "Kari"},
    )
    assert first.memory["valid_from"] == datetime.fromtimestamp(1_750_000_000, UTC)
    assert (second.memory["content"], second.memory["valid_from"]) == ("Noted.", datetime(2026, 1, 1, 10, tzinfo=UTC))
    assert first.memory["session_id"] == second.memory["session_id"]
    assert first.memory["key"] != second.memory["key"]


def test_each_bad_line_is_named_with_its_reason(tmp_path: Path) -> None:
    lines = [
        "{broken",
        '{"role": "user"}',
        '{"role": "robot", "content": "x"}',
        '{"role": "user", "content": "  "}',
        '{"role":"user","content":"good"}',
        '{"role":"user","content":"x","timestamp":"yesterday"}',
        "[]",
        '{"role": ["user"], "content": "x"}',
        "[" * 100_000,
    ]
    records = list(read(write(tmp_path, "c.jsonl", "\n".join(lines)), "chat"))
    assert [record.place for record in records if record.problem] == [f"c.jsonl:{n}" for n in (1, 2, 4, 7, 9)]
    assert [record.place for record in records if record.note] == [f"c.jsonl:{n}" for n in (3, 6, 8)]
    assert [record.place for record in records if record.memory] == [f"c.jsonl:{n}" for n in (3, 5, 6, 8)]


def test_locomo_turns_carry_speaker_session_and_time(tmp_path: Path) -> None:
    path = write(tmp_path, "l.json", json.dumps(LOCOMO))
    records = list(read(path, "auto"))
    assert [record.problem for record in records] == [
        None,
        "has no text",
        "is not a turn: an object with speaker and text",
        None,
    ]
    first = records[0].memory
    assert (first["content"], first["metadata"], first["session_id"]) == (
        "Look! [shares image: a dog]",
        {"speaker": "Ann"},
        "conv-1/session_1",
    )
    assert first["valid_from"] == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_markdown_is_cut_at_headings_and_code_is_no_heading(tmp_path: Path) -> None:
    write(tmp_path, "notes/a.md", "intro\n# One\ntext\n```\n# not a heading\n```\n## Two\nmore\n# Three\n")
    write(tmp_path, "notes/b.md", "x" * 5_000)
    (tmp_path / "notes" / "c.md").write_bytes(b"\xff\xfe bad")
    records = list(read(tmp_path / "notes", "auto"))
    assert [record.memory["content"] for record in records if record.place.startswith("a.md")] == [
        "intro",
        "One\ntext\n```\n# not a heading\n```",
        "One › Two\nmore",
    ]
    assert all(
        len(record.memory["content"]) <= MAX_SECTION_CHARACTERS for record in records if record.place.startswith("b.md")
    )
    assert "UTF-8" in next(str(record.problem) for record in records if record.place == "c.md")


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("x.json", "{", "chat"),
        ("x.json", "[" * 100_000, "chat"),
        ("x.json", "{}", "locomo"),
        ("x.json", "[" * 100_000, "locomo"),
        ("x.txt", "", "nonsense"),
    ],
)
def test_what_is_no_such_format_is_refused(tmp_path: Path, name: str, text: str, form: Any) -> None:
    with pytest.raises(ValidationFailedError):
        list(read(write(tmp_path, name, text), form))
    with pytest.raises(ValidationFailedError, match="no such file"):
        list(read(tmp_path / "absent", "auto"))


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("notes.md", "# A\nsaid {}", "auto"),
        ("notes.txt", "said {}", "auto"),
        ("chat.json", '[{{"role": "user", "content": "said {}"}}]', "auto"),
        ("chat.jsonl", '{{"messages": [{{"role": "user", "content": "said {}"}}]}}', "auto"),
        ("chat.jsonl", '{{"id": "1", "messages": [{{"role": "user", "content": "said {}"}}]}}', "auto"),
        (
            "l.json",
            '[{{"conversation": {{"session_1": [{{"speaker": "Ann", "text": "said {}"}}]}}}}]',
            "locomo",
        ),
        (f"{'long ' * 45}.md", "said {}", "auto"),
    ],
)
async def test_equal_names_in_two_folders_are_two_files(
    memory: LocalMemory, tmp_path: Path, name: str, text: str, form: Any
) -> None:
    for folder in ("a", "b"):
        path = write(tmp_path, f"{folder}/{name}", text.format(folder))
        assert (await run_import(memory, read(path, form))).statuses == {"created": 1}
        assert (await run_import(memory, read(path, form))).statuses == {"unchanged": 1}
    held = (await memory.list()).items
    assert sorted(each.content[-6:] for each in held) == ["said a", "said b"]
    assert len({each.key for each in held}) == 2
    assert len({each.session_id for each in held if each.session_id}) in (0, 2)


def test_a_file_in_a_folder_has_the_key_that_it_has_alone(tmp_path: Path) -> None:
    path = write(tmp_path, "notes/sub/a.md", "# A\none\n")
    (alone,), (inside,) = read(path, "auto"), read(tmp_path / "notes", "auto")
    assert alone.memory["key"] == inside.memory["key"]


def test_a_bad_file_leaves_the_others_of_its_folder(tmp_path: Path) -> None:
    write(tmp_path, "chats/a.json", "{")
    write(tmp_path, "chats/b.json", json.dumps(CHAT))
    bad, *good = read(tmp_path / "chats", "auto")
    assert bad.place == "a.json"
    assert [record.problem for record in good] == [None, None]


async def test_importing_twice_stores_nothing_twice_and_a_change_updates(memory: LocalMemory, tmp_path: Path) -> None:
    path = write(tmp_path, "n.md", "# A\none\n# B\ntwo\n")
    assert (await run_import(memory, read(path, "auto"))).statuses == {"created": 2}
    assert (await run_import(memory, read(path, "auto"))).statuses == {"unchanged": 2}
    path.write_text("# A\none\n# B\nthree\n")
    assert (await run_import(memory, read(path, "auto"))).statuses == {"unchanged": 1, "updated": 1}


async def test_a_record_that_breaks_a_rule_is_rejected_alone(memory: LocalMemory, tmp_path: Path) -> None:
    lines = [json.dumps({"role": "user", "content": f"message {n}" if n != 7 else "bad \x00"}) for n in range(20)]
    summary = await run_import(memory, read(write(tmp_path, "c.jsonl", "\n".join(lines)), "chat"))
    assert summary.statuses == {"created": 19}
    assert [place for place, _ in summary.rejected] == ["c.jsonl:8"]
    assert "NUL" in summary.rejected[0][1]


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret/key.md", "# Secret\n\nThe key is swordfish.\n")
    folder = tmp_path / "given"
    write(folder, "a.md", "# A\n\nTea is at five.\n")
    (folder / "b.md").symlink_to(secret)
    texts = [str(record) for record in read(folder, "markdown")]
    assert any("Tea" in text for text in texts)
    assert not any("swordfish" in text for text in texts)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x1e"])
def test_separators_inside_a_text_end_no_line(tmp_path: Path, separator: str) -> None:
    """Unicode's own separators are text: neither JSON lines nor Markdown end there."""
    said = f"One{separator}# two"
    message = json.dumps({"role": "user", "content": said}, ensure_ascii=False)
    (chat,) = read(write(tmp_path, "chat.jsonl", f"{message}\r\n\n"), "auto")
    (section,) = read(write(tmp_path, "page.md", f"# Title\n\n{said}\n"), "auto")
    assert chat.problem is section.problem is None
    assert chat.memory is not None
    assert section.memory is not None
    assert (chat.memory["content"], section.memory["content"]) == (said, f"Title\n{said}")

"""Parts of a transcript: each complete line is read once, whatever the file looks like."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from keeps.sources.coding import sessions
from keeps.sources.coding.sessions import Part, read_part
from keeps.sources.coding.transcripts import TranscriptReader
from tests.coding.written import claude, line

FOLDER = Path("/work")


def read(path: Path, offset: int = 0) -> Part:
    part = read_part(str(path), offset, TranscriptReader())
    assert part is not None
    return part


def test_parts_join_to_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "READ_BYTES", 1_000)
    path, reader = tmp_path / "s.jsonl", TranscriptReader()
    for number in range(1, 20):
        line(path, claude("s", FOLDER, number, "user", f"Message {number} ü"))
    with path.open("a") as file:
        file.write(json.dumps(claude("s", FOLDER, 20, "user", "long " * 1_000)) + "\n")
    line(path, claude("s", FOLDER, 21, "user", "The last"))
    texts: list[str] = []
    offset = 0
    while True:
        part = read_part(str(path), offset, reader)
        assert part is not None
        texts += [turn.text for turn in part.turns]
        offset = part.offset
        if part.is_last:
            break
    assert texts == [*(f"Message {number} ü" for number in range(1, 20)), "The last"]
    assert (offset, reader.line) == (path.stat().st_size, 21)


def test_a_file_that_was_written_anew_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    line(path, claude("s", FOLDER, 1, "user", "New"))
    assert [turn.text for turn in read(path, offset=1_000_000).turns] == ["New"]


def test_an_incomplete_line_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"type": "user"')
    part = read(path)
    assert (part.turns, part.offset, part.line, part.is_last) == ([], 0, 0, True)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing", "\0"):
        assert read_part(str(path), 0, TranscriptReader()) is None

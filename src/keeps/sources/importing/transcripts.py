"""Transcripts of Claude Code and Codex, as their hooks store them: importing adds only turns that are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from keeps.sources.coding.projects import Projects
from keeps.sources.coding.transcripts import TranscriptReader, memory_of
from keeps.sources.importing.records import Format, Record, Source

MOST_LINE_BYTES = 4 << 20
"""Length of a line; a longer one is a tool's output."""
_FILES = re.compile(r"\.jsonl$", re.IGNORECASE)
_PROJECTS = Projects()


def records(source: Source) -> Iterator[Record]:
    """Yield the turns of a transcript."""
    reader = TranscriptReader()
    with source.open() as lines:
        while line := lines.readline(MOST_LINE_BYTES):
            if not line.endswith(b"\n"):  # The agent still writes it, or it is too long.
                continue
            for turn in reader.turns(line.decode("utf-8", "replace")):
                memory = memory_of(turn, _PROJECTS.of(turn.folder, turn.remote))
                yield Record(f"{source.name}:{reader.line}", memory, learn="user_facts")


CLAUDE_CODE = Format(
    "claude-code",
    "sessions of Claude Code, ~/.claude/projects",
    records,
    _FILES,
    lambda source: {"uuid", "sessionId", "parentUuid"} <= source.names(),
)
CODEX = Format(
    "codex",
    "sessions of Codex, ~/.codex/sessions",
    records,
    _FILES,
    lambda source: {"timestamp", "payload", "type"} <= source.names(),
)

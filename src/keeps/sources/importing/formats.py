"""The table of import formats, and the reader of a file, a folder or an archive.

Each record has a key made of the file and its place in it, or of an id that the other product gave it. Importing again
therefore stores nothing twice, a stopped import continues where it ended, and a changed file updates its changed
records.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile

from keeps.sources.importing import (
    chatgpt,
    chats,
    claude,
    graphiti,
    letta,
    locomo,
    mcp_memory,
    mem0,
    notes,
    obsidian,
    okf,
    open_webui,
    plain_text,
    transcripts,
)
from keeps.sources.importing.files import opened
from keeps.sources.importing.records import Format, Record, Source
from keeps_client.errors import ValidationFailedError

FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        chatgpt.FORMAT,
        claude.FORMAT,
        transcripts.CLAUDE_CODE,
        transcripts.CODEX,
        open_webui.FORMAT,
        mem0.FORMAT,
        mcp_memory.FORMAT,
        letta.FORMAT,
        graphiti.FORMAT,
        graphiti.ZEP,
        locomo.FORMAT,
        obsidian.FORMAT,
        okf.FORMAT,
        notes.FORMAT,
        chats.FORMAT,
        plain_text.FORMAT,
    )
}
"""The first format that recognises a file reads it, so those that accept more come last."""
_FILES_TO_RECOGNISE = 50


def read(path: Path, name: str = "auto") -> Iterator[Record]:
    """Yield all records of a file, a folder or a zip archive.

    An unreadable file in a folder or an archive becomes a record with a problem. Raises ValidationFailedError if the
    path has no such format, or if it is one unreadable file.
    """
    with opened(path) as sources:
        form = FORMATS[guess(path, sources)] if name == "auto" else FORMATS.get(name)
        if form is None:
            raise ValidationFailedError(f"unknown format {name!r}; choose from {', '.join(FORMATS)}")
        several = len(sources) != 1 or sources[0].name != path.name
        for source in sources:
            if several and not form.member.search(source.name):
                continue
            yield from _records(form, source, alone=not several)


def _records(form: Format, source: Source, *, alone: bool) -> Iterator[Record]:
    """Yield the records of a file, and one with the problem where it cannot be read further."""
    any_read = False
    try:
        for record in form.read(source):
            any_read = True
            yield record
    except ValidationFailedError as error:
        if alone and not any_read:
            raise
        yield Record(source.name, None, error.detail)
    except (OSError, BadZipFile, zlib.error) as error:
        yield Record(source.name, None, f"cannot be read: {error}")


def guess(path: Path, sources: list[Source]) -> str:
    """Return the format of files by their names and beginnings.

    Raises ValidationFailedError, which lists the formats.
    """
    if (path / ".obsidian").is_dir():
        return obsidian.FORMAT.name
    several = len(sources) != 1 or sources[0].name != path.name
    for form in FORMATS.values():
        candidates = (source for source in sources if not several or form.member.search(source.name))
        if any(form.recognises(source) for source in islice(candidates, _FILES_TO_RECOGNISE)):
            return form.name
    raise ValidationFailedError(f"{path.name} has no known format; name it with --format: {', '.join(FORMATS)}")

"""The files of a SQLite database, and the options to open them for reading."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from keeps.sources.databases.describing import RefusedError

_COMPANIONS = ("-wal", "-shm", "-journal")
_VERSIONS, _WAL = slice(18, 20), b"\x02\x02"
_READ_ONLY, _ALONE = "mode=ro", "mode=ro&immutable=1"


def files_of(path: str) -> tuple[str, ...]:
    """Return the file and the files beside it that hold a part of the database, without links."""
    return (path, *(path + ending for ending in _COMPANIONS if _size(path + ending) is not None))


def mode_of(path: str) -> str:
    """Return the options to open a file with.

    A file in WAL mode that nobody writes to has no `-wal` beside it, and SQLite would have to create one to read it: it
    is opened as immutable. Raises RefusedError when a part of the database cannot be read.
    """
    log = _size(path + "-wal")
    if log is not None and _size(path + "-shm") is not None:
        return _READ_ONLY
    if log:
        raise RefusedError(
            "a program that wrote to the file was interrupted, and its last changes are only in the -wal file; open"
            " the file once with that program or with sqlite3"
        )
    with Path(path).open("rb") as file:
        return _ALONE if file.read(20)[_VERSIONS] == _WAL else _READ_ONLY


def check_unchanged(path: str, mode: str) -> None:
    """Raise RefusedError if writing began to a file that was opened as immutable."""
    if mode == _ALONE and _size(path + "-wal"):
        raise RefusedError("another program started writing to the file; try again")


def _size(path: str) -> int | None:
    """Return the size of a regular file; None if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None

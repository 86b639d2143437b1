"""The files of an import: one file, a folder, or a zip archive, each opened as a stream."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from keeps.sources.importing.records import Source
from keeps_client.errors import ValidationFailedError

MAX_MEMBERS = 100_000
MAX_MEMBER_BYTES = 4 << 30
MAX_TOTAL_BYTES = 16 << 30
MAX_RATIO = 200
"""Highest ratio of content to compressed bytes. JSON text reaches about 20, a zip bomb 1,000."""
RATIO_FROM_BYTES = 16 << 20
"""Smaller members may have any ratio."""


@contextmanager
def opened(path: Path) -> Generator[list[Source]]:
    """Yield the files of a path, sorted by name. Raises ValidationFailedError for a missing path or a bad archive."""
    if not path.exists():
        raise ValidationFailedError(f"no such file or folder: {path}")
    if path.is_dir():
        yield sorted(_files(path), key=lambda source: source.name)
    elif _is_zip(path):
        try:
            with ZipFile(path) as archive:
                yield sorted(_members(archive, path), key=lambda source: source.name)
        except BadZipFile as error:
            raise ValidationFailedError(f"{path.name} is a damaged zip archive: {error}") from None
    else:
        yield [_source(path, path.name)]


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def _files(root: Path) -> Iterator[Source]:
    """Yield the regular files of a folder, except hidden ones.

    Links are not followed: in a folder from someone else they may lead to private files.
    """
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(place, name)
            if not name.startswith(".") and file.is_file() and not file.is_symlink():
                yield _source(file, file.relative_to(root).as_posix())


def _source(file: Path, name: str) -> Source:
    return Source(name, file.resolve().as_posix(), lambda: file.open("rb"))


def _members(archive: ZipFile, path: Path) -> Iterator[Source]:
    """Yield the files of an archive. Raises ValidationFailedError for one that is made to do harm.

    Nothing is written to disk, but the names become keys, so a name that leaves the archive is refused, too. The sizes
    that the directory names are safe: zipfile never returns more bytes of a member than those.
    """
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise ValidationFailedError(f"{path.name} contains {len(members):,} files; at most {MAX_MEMBERS:,} are read")
    if sum(member.file_size for member in members) > MAX_TOTAL_BYTES:
        raise ValidationFailedError(f"{path.name} contains more than {MAX_TOTAL_BYTES >> 30} GB")
    names: set[str] = set()
    for member in members:
        if member.is_dir():
            continue
        if problem := _problem(member, names):
            raise ValidationFailedError(f"{path.name}: the member {member.filename[:100]!r} {problem}")
        names.add(member.filename)
        if any(part.startswith((".", "__MACOSX")) for part in member.filename.split("/")):
            continue
        yield _member(archive, member, path)


def _member(archive: ZipFile, member: ZipInfo, path: Path) -> Source:
    return Source(member.filename, f"{path.resolve().as_posix()}!/{member.filename}", lambda: archive.open(member))


def _problem(member: ZipInfo, names: set[str]) -> str | None:
    """Return the reason to refuse an archive with this member, or None."""
    if member.filename.startswith("/") or ":" in member.filename[:2] or "\\" in member.filename:
        return "has an absolute path"
    if ".." in member.filename.split("/"):
        return "leads out of the archive"
    if member.filename in names:
        return "appears twice"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "is a link"
    if member.flag_bits & 1:
        return "is encrypted"
    if member.file_size > MAX_MEMBER_BYTES:
        return f"has more than {MAX_MEMBER_BYTES >> 30} GB"
    if member.file_size > RATIO_FROM_BYTES and member.file_size > MAX_RATIO * max(member.compress_size, 1):
        return f"expands more than {MAX_RATIO} times, as a zip bomb does"
    return None

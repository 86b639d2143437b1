"""Checks common to Word and Excel files: a ZIP of XML, checked before it is unpacked."""

from __future__ import annotations

import io
import zipfile

from keeps.documents.parsers import RefusedError

MAX_RATIO, MAX_ENTRIES, MAX_UNPACKED = 200, 10_000, 400 << 20
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def checked(data: bytes, part: str, called: str) -> io.BytesIO:
    """Return the file if it has the declared type and size. Raises RefusedError."""
    if data.startswith(OLD_OFFICE):
        raise RefusedError("it is encrypted, or of an Office before 2007; save it without a password in today's format")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise RefusedError(f"it is called {called}, but is none") from None
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise RefusedError(f"it holds {len(entries):,} files; at most {MAX_ENTRIES:,} are unpacked")
    if part not in {entry.filename for entry in entries}:
        raise RefusedError(f"it is called {called}, but is none")
    unpacked = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * max(packed, 10_000):
        raise RefusedError(f"it unpacks to more than {MAX_RATIO} times its size")
    for entry in entries:
        if entry.flag_bits & 1:
            raise RefusedError("it is encrypted; save it without a password")
        if entry.filename.endswith((".xml", ".rels")):
            with archive.open(entry) as member:
                head = member.read(4_096).replace(b"\x00", b"")
            if b"<!DOCTYPE" in head or b"<!ENTITY" in head:
                raise RefusedError("its XML defines entities, which are never expanded")
    return io.BytesIO(data)

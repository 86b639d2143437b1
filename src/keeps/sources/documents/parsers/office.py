"""Check the ZIP container of Word and Excel files before it is unpacked."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import IO
from xml.parsers import expat

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from keeps.sources.documents.parsers import RefusedError

MAX_RATIO, MAX_ENTRIES, MAX_UNPACKED = 200, 10_000, 400 << 20
_CHUNK = 4_096
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def checked(data: bytes, part: str, called: str) -> io.BytesIO:
    """Return the file if it has the expected format and does not exceed its declared size. Raises RefusedError."""
    if data.startswith(OLD_OFFICE):
        raise RefusedError(
            "it is encrypted, or in a format from before Office 2007; save it without a password in a current format"
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise RefusedError(f"its name says it is {called}, but it is not") from None
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise RefusedError(f"it contains {len(entries):,} files; the maximum is {MAX_ENTRIES:,}")
    if part not in {entry.filename for entry in entries}:
        raise RefusedError(f"its name says it is {called}, but it is not")
    unpacked = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if unpacked > MAX_UNPACKED or unpacked > MAX_RATIO * max(packed, 10_000):
        raise RefusedError(f"it unpacks to more than {MAX_RATIO} times its size")
    for entry in entries:
        if entry.flag_bits & 1:
            raise RefusedError("it is encrypted; save it without a password")
        if _has_doctype(archive, entry):
            raise RefusedError("its XML defines entities, which are never expanded")
    return io.BytesIO(data)


class _RootReachedError(Exception):
    """Ends the scan of a part at its root element."""


def _has_doctype(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bool:
    """Return whether a DOCTYPE precedes the root element. Any part may be parsed as XML, whatever its name."""
    try:
        with archive.open(entry) as member:
            return _has_doctype_by_expat(member)
    except (expat.ExpatError, ValueError, LookupError):  # Not XML, or in an encoding that only libxml2 reads.
        with archive.open(entry) as member:
            return _has_doctype_by_libxml2(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        raise RefusedError("it is damaged: its parts cannot be unpacked") from None


def _has_doctype_by_expat(member: IO[bytes]) -> bool:
    doctypes: list[str] = []

    def end_at_root(_name: str, _attributes: dict[str, str]) -> None:
        raise _RootReachedError

    def end_at_doctype(name: str, _system: str | None, _public: str | None, _internal: bool) -> None:
        doctypes.append(name)
        raise _RootReachedError

    parser = expat.ParserCreate()
    parser.StartElementHandler = end_at_root
    parser.StartDoctypeDeclHandler = end_at_doctype
    # Expat before 2.6 scans a token anew with each chunk until it ends: chunks that double keep a long comment linear.
    size = _CHUNK
    try:
        while chunk := member.read(size):
            parser.Parse(chunk)
            size *= 2
    except _RootReachedError:
        pass
    return bool(doctypes)


def _has_doctype_by_libxml2(member: IO[bytes]) -> bool:
    try:
        for _, root in etree.iterparse(member, events=("start",), resolve_entities=False, no_network=True):
            return bool(root.getroottree().docinfo.doctype)
    except (etree.XMLSyntaxError, LookupError):
        pass
    return False

"""Files that are compressed, and sealed where there is a key: streamed, so that no size matters.

AES-256-GCM in pieces, each bound to its place and the last one marked, so a file that was cut, reordered or changed is
refused (the STREAM construction; Hoang, Reyhanitabar, Rogaway and Vizár, CRYPTO 2015).
"""

from __future__ import annotations

import gzip
import io
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from keeps_client.errors import ValidationFailedError

MAGIC = b"keeps-sealed-1\n"
PIECE = 1 << 20
_TAG, _PREFIX = 16, 7


def new_key(path: Path) -> bytes:
    """A key in a file of its own, which nobody else may read. Raises ValidationFailedError where it is there."""
    key = secrets.token_bytes(32)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ValidationFailedError(f"cannot write the key to {path}: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")
    return key


def read_key(path: Path) -> bytes:
    """Raises ValidationFailedError for what is no key."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        raise ValidationFailedError(f"{path} is no key of backups: 64 hexadecimal digits are wanted") from None
    if len(key) != 32:
        raise ValidationFailedError(f"{path} is no key of backups: 64 hexadecimal digits are wanted")
    return key


class _Sealing(io.RawIOBase):
    """Takes bytes, writes sealed pieces."""

    def __init__(self, file: IO[bytes], key: bytes) -> None:
        self._file = file
        self._cipher = AESGCM(key)
        self._prefix = secrets.token_bytes(_PREFIX)
        self._held = bytearray()
        self._count = 0
        file.write(MAGIC + self._prefix)

    def writable(self) -> bool:
        return True

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._held += data
        while len(self._held) > PIECE:
            self._put(bytes(self._held[:PIECE]), last=False)
            del self._held[:PIECE]
        return len(data)

    def finish(self) -> None:
        self._put(bytes(self._held), last=True)

    def _put(self, piece: bytes, *, last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._prefix, self._count, last=last), piece, None))
        self._count += 1


class _Opening(io.RawIOBase):
    """Gives the bytes of sealed pieces."""

    def __init__(self, file: IO[bytes], key: bytes, name: str) -> None:
        self._file = file
        self._cipher = AESGCM(key)
        self._name = name
        self._count = 0
        self._held = b""
        self._next = b""
        head = file.read(len(MAGIC) + _PREFIX)
        if not head.startswith(MAGIC) or len(head) < len(MAGIC) + _PREFIX:
            raise ValidationFailedError(f"{name} is no sealed file of a backup")
        self._prefix = head[len(MAGIC) :]
        self._next = file.read(PIECE + _TAG)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        while not self._held and self._next:
            piece, self._next = self._next, self._file.read(PIECE + _TAG)
            try:
                nonce = _nonce(self._prefix, self._count, last=not self._next)
                self._held = self._cipher.decrypt(nonce, piece, None)
            except InvalidTag:
                raise ValidationFailedError(
                    f"{self._name} cannot be opened: another key, or the file was changed or cut"
                ) from None
            self._count += 1
        taken = self._held[: len(buffer)]
        buffer[: len(taken)] = taken
        self._held = self._held[len(taken) :]
        return len(taken)


def _nonce(prefix: bytes, count: int, *, last: bool) -> bytes:
    return prefix + count.to_bytes(4, "big") + bytes([last])


@contextmanager
def writing(path: Path, key: bytes | None) -> Generator[gzip.GzipFile]:
    """A new file, whole or not there: written beside, flushed to the disk, and given its name at the end."""
    partial = path.with_name(f".{path.name}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            sealed = None if key is None else _Sealing(file, key)
            with gzip.GzipFile(filename="", fileobj=sealed or file, mode="wb", compresslevel=1, mtime=0) as packed:  # pyright: ignore[reportArgumentType]
                yield packed
            if sealed is not None:
                sealed.finish()
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def reading(path: Path, key: bytes | None) -> Generator[gzip.GzipFile]:
    """What `writing` wrote. Raises ValidationFailedError where it was changed or cut, or the key is another."""
    with path.open("rb") as file:
        raw = file if key is None else io.BufferedReader(_Opening(file, key, path.name), PIECE)
        try:
            with gzip.GzipFile(fileobj=raw, mode="rb") as packed:
                yield packed
        except (EOFError, gzip.BadGzipFile, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ValidationFailedError(f"{path.name} is damaged: {error}") from None

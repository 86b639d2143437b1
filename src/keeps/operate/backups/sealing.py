"""Compressed files, sealed if there is a key; streamed, so any size works.

AES-256-GCM in pieces, each bound to its position and the last one marked, so a file that was cut, reordered or changed
is refused (the STREAM construction; Hoang, Reyhanitabar, Rogaway and Vizár, CRYPTO 2015). Each file has its own key,
derived by HKDF from the key of the backups, a salt, and the file's name: under another name it does not open.
"""

from __future__ import annotations

import gzip
import io
import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from keeps_client.errors import ValidationFailedError

MAGIC = b"keeps-sealed-1\n"
PIECE = 1 << 20
_TAG, _SALT = 16, 32


def new_key(path: Path) -> bytes:
    """Write a new key to a file that only its owner can read. Raises ValidationFailedError if the file exists."""
    key = secrets.token_bytes(32)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ValidationFailedError(f"cannot write the key to {path}: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")
    return key


def read_key(path: Path) -> bytes:
    """Return the key in a file. Raises ValidationFailedError for an invalid one."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise ValidationFailedError(f"cannot read the key in {path}: {error.strerror}") from None
    except ValueError:
        raise ValidationFailedError(f"{path} is not a backup key: it must have 64 hexadecimal digits") from None
    if len(key) != 32:
        raise ValidationFailedError(f"{path} is not a backup key: it must have 64 hexadecimal digits")
    return key


class _Sealing(io.RawIOBase):
    """Takes bytes, writes sealed pieces."""

    def __init__(self, file: IO[bytes], key: bytes, bound: str) -> None:
        self._file = file
        salt = secrets.token_bytes(_SALT)
        self._cipher = AESGCM(_own_key(key, salt, bound))
        self._held = bytearray()
        self._count = 0
        file.write(MAGIC + salt)

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._held += data
        while len(self._held) > PIECE:
            self._put(bytes(self._held[:PIECE]), last=False)
            del self._held[:PIECE]
        return len(data)

    def finish(self) -> None:
        self._put(bytes(self._held), last=True)

    def _put(self, piece: bytes, *, last: bool) -> None:
        self._file.write(self._cipher.encrypt(_nonce(self._count, last=last), piece, None))
        self._count += 1


class _Opening(io.RawIOBase):
    """Returns the bytes of sealed pieces."""

    def __init__(self, file: IO[bytes], key: bytes, bound: str) -> None:
        self._file = file
        self._name = bound
        self._count = 0
        self._held = b""
        head = file.read(len(MAGIC) + _SALT)
        self._next = file.read(PIECE + _TAG)
        if not head.startswith(MAGIC) or not self._next:
            raise ValidationFailedError(f"{bound} is not an encrypted file of a backup, or it is truncated")
        self._cipher = AESGCM(_own_key(key, head[len(MAGIC) :], bound))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        while not self._held and self._next:
            piece, self._next = self._next, self._file.read(PIECE + _TAG)
            try:
                nonce = _nonce(self._count, last=not self._next)
                self._held = self._cipher.decrypt(nonce, piece, None)
            except InvalidTag:
                raise ValidationFailedError(
                    f"{self._name} cannot be opened: it has another key, or was changed, truncated or renamed"
                ) from None
            self._count += 1
        taken = self._held[: len(buffer)]
        buffer[: len(taken)] = taken
        self._held = self._held[len(taken) :]
        return len(taken)


def _own_key(key: bytes, salt: bytes, bound: str) -> bytes:
    return HKDF(hashes.SHA256(), 32, salt, b"keeps backup: " + bound.encode()).derive(key)


def _nonce(count: int, *, last: bool) -> bytes:
    """Return the nonce of a piece; its position suffices, since each key seals one file."""
    return count.to_bytes(11, "big") + bytes([last])


@contextmanager
def writing(path: Path, key: bytes | None, bound: str = "") -> Generator[gzip.GzipFile]:
    """Write a new file atomically: to a neighbour that is flushed to disk and renamed at the end.

    `bound` is the file's identity, without which it does not open.
    """
    partial = path.with_name(f".{path.name}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            sealed = None if key is None else _Sealing(file, key, bound)
            target: Any = sealed or file
            with gzip.GzipFile(filename="", fileobj=target, mode="wb", compresslevel=1, mtime=0) as packed:
                yield packed
            if sealed is not None:
                sealed.finish()
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def reading(path: Path, key: bytes | None, bound: str = "") -> Generator[gzip.GzipFile]:
    """Read a file of `writing`. Raises ValidationFailedError if it was changed or cut, or the key differs."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ValidationFailedError(f"{path.name} is empty")
        raw = file if key is None else io.BufferedReader(_Opening(file, key, bound), PIECE)
        try:
            with gzip.GzipFile(fileobj=raw, mode="rb") as packed:
                yield packed
        except (EOFError, gzip.BadGzipFile, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ValidationFailedError(f"{path.name} is damaged: {error}") from None

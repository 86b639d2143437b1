"""Encryption of stored credentials: AES-256-GCM under the operator's keys, bound to the row.

A key is derived from each entry of KEEPS_SECRET_KEYS; the first one seals, all of them open, so that keys can be
replaced: put a new one first, run `keeps secrets rotate`, then remove the old one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from keeps_client.errors import NotConfiguredError, UnavailableError, ValidationFailedError

LEAST_CHARACTERS = 32
_NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed text with its nonce, and the id of its key."""

    data: bytes
    key_id: str


class KeyRing:
    """The operator's keys, newest first."""

    def __init__(self, secrets: Sequence[str], again: str = "remove the database and add it again") -> None:
        """Derive the keys. `again` tells how to store a text again whose key was lost."""
        self._again = again
        for secret in secrets:
            if len(secret) < LEAST_CHARACTERS:
                raise ValidationFailedError(
                    f"a key in KEEPS_SECRET_KEYS has {len(secret)} characters; it needs {LEAST_CHARACTERS}. `keeps"
                    " secrets new` creates one"
                )
        self._keys = {_name(secret): _derived(secret) for secret in secrets}

    @property
    def newest(self) -> str:
        """Return the id of the key that seals. Raises NotConfiguredError without one."""
        if not self._keys:
            raise NotConfiguredError(
                "a database's password must be encrypted: set KEEPS_SECRET_KEYS (`keeps secrets new` creates a key)"
            )
        return next(iter(self._keys))

    def seal(self, text: str, bound: str) -> Sealed:
        """Seal a text. `bound` is its place; it opens nowhere else."""
        key_id = self.newest
        nonce = os.urandom(_NONCE_BYTES)
        return Sealed(nonce + AESGCM(self._keys[key_id]).encrypt(nonce, text.encode(), bound.encode()), key_id)

    def open(self, sealed: Sealed, bound: str) -> str:
        """Return a sealed text. Raises UnavailableError, with the reason, when no key opens it."""
        key = self._keys.get(sealed.key_id)
        if key is None:
            raise UnavailableError(
                f"the key {sealed.key_id} is not in KEEPS_SECRET_KEYS; put it back, or {self._again}"
            )
        try:
            return AESGCM(key).decrypt(sealed.data[:_NONCE_BYTES], sealed.data[_NONCE_BYTES:], bound.encode()).decode()
        except InvalidTag:
            raise UnavailableError(
                "a credential cannot be decrypted: it was changed or copied from another row"
            ) from None


def _name(secret: str) -> str:
    return hashlib.sha256(b"keeps key id " + secret.encode()).hexdigest()[:16]


def _derived(secret: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"keeps credentials").derive(secret.encode())

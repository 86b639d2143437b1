"""Certificates of erasures: statements signed with the installation's Ed25519 key.

The key is KEEPS_SIGNING_KEY, or is made at its first use in the home of an embedded database.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from keeps.memory.transfer.erased import backup_folders
from keeps_client.errors import NotConfiguredError, ValidationFailedError
from keeps_client.models import Certificate, ErasureReceipt

FORMAT = "keeps.erasure.1"
KEY_FILE = "signing-key"
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an erasure: the cell and its database, and the head of the tenant's log.

    `server` is None for a socket; the head is that after the erasure of a user, and before that of a tenant.
    """

    cell: str
    database: str | None
    server: str | None
    sequence: int | None
    hash: str | None


def erasure_statement(receipt: ErasureReceipt, place: Place, homes: Sequence[Path]) -> dict[str, Any]:
    """Return what a certificate of an erasure says: counts and places, and no content.

    Args:
        homes: Of the embedded databases. Their folders of backups are named; other backups are not known.
    """
    folders = sorted({str(folder) for home in homes for folder in backup_folders(home)})
    return {
        **receipt.model_dump(mode="json", exclude={"certificate"}),
        "from": {"cell": place.cell, "database": place.database, "server": place.server},
        "log": {"sequence": place.sequence, "hash": place.hash},
        "not_reached": [
            *(
                {"backups": folder, "until": "the operator removes them; a restore repeats the erasure"}
                for folder in folders
            ),
            {"backups": "those that others make of the database or its disk", "until": "their own retention"},
        ],
    }


class CertificateSigner:
    """Signs statements. Without a key and without a home it signs nothing."""

    def __init__(self, secret: str | None, home: Path | None) -> None:
        """`home`: where the key is made when there is no `secret`; None for a database of one's own."""
        self._secret = secret
        self._home = home
        self._key = None if secret is None else _read(secret)

    @property
    def configured(self) -> bool:
        return self._key is not None or self._home is not None

    def public_key(self) -> str:
        """Return the public key in base64. Raises NotConfiguredError without a key."""
        return _text(self._opened().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def sign(self, statement: dict[str, Any]) -> Certificate:
        """Return the statement as JSON text, with its signature. Raises NotConfiguredError without a key."""
        text = json.dumps({"format": FORMAT, **statement}, ensure_ascii=False, indent=1)
        return Certificate(statement=text, key=self.public_key(), signature=_text(self._opened().sign(text.encode())))

    def _opened(self) -> Ed25519PrivateKey:
        if self._key is None:
            if self._home is None:
                raise NotConfiguredError(
                    "there is no key to sign with: set KEEPS_SIGNING_KEY (`keeps certificates new` creates one)"
                )
            self._key = _made(self._home / KEY_FILE)
        return self._key


def new_key() -> str:
    """Return a new private key as text."""
    return _text(Ed25519PrivateKey.generate().private_bytes_raw())


def verify(certificate: Certificate, key: str | None) -> dict[str, Any]:
    """Return the statement of a certificate. Raises ValidationFailedError unless its signature is right.

    `key`: the public key that must have signed it; None accepts the one that it names.
    """
    if key is not None and key != certificate.key:
        raise ValidationFailedError(f"the certificate is signed with another key: {certificate.key}")
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(certificate.key, validate=True)).verify(
            base64.b64decode(certificate.signature, validate=True), certificate.statement.encode()
        )
    except (InvalidSignature, ValueError):
        raise ValidationFailedError(
            "the signature of the certificate is wrong: it was changed, or is no certificate"
        ) from None
    return json.loads(certificate.statement)


def _made(path: Path) -> Ed25519PrivateKey:
    """Return the key in a file, which is made if it does not exist, also by several processes at once."""
    if not path.exists():
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # Only its owner can read it.
        own = Path(name)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(new_key() + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(own, path)
        except FileExistsError:
            pass  # Another process was first.
        finally:
            own.unlink()
    return _read(path.read_text(encoding="utf-8"))


def _read(secret: str) -> Ed25519PrivateKey:
    try:
        raw = base64.b64decode(secret.strip(), validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != _KEY_BYTES:
        raise ValidationFailedError(
            "KEEPS_SIGNING_KEY must be 32 bytes in base64; `keeps certificates new` creates one"
        )
    return Ed25519PrivateKey.from_private_bytes(raw)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()

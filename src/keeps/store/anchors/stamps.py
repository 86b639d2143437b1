"""Time stamps of RFC 3161 over anchors (extra `anchor`)."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509

from keeps.store.anchors.files import line_of
from keeps.store.anchors.posting import post
from keeps_client.errors import NotConfiguredError, UnavailableError, ValidationFailedError
from keeps_client.models import Anchor

if TYPE_CHECKING:
    from rfc3161_client import TimeStampRequest, TimeStampResponse


async def stamp(anchor: Anchor, url: str, certificates: Path, *, allow_private: bool) -> Anchor:
    """Return an anchor with the time stamp of an authority, whose answer is verified.

    Args:
        url: The address of the authority.
        certificates: A PEM file with its root certificate, and any intermediate ones.

    Raises:
        UnavailableError: There is no answer, or it is not a time stamp of this anchor by this authority.
    """
    _require()
    from rfc3161_client import HashAlgorithm, TimestampRequestBuilder

    request = TimestampRequestBuilder(line_of(anchor).encode(), HashAlgorithm.SHA256).build()
    answer = await post(url, request.as_bytes(), "application/timestamp-query", allow_private=allow_private)
    _verify(answer, anchor, certificates, request)
    return anchor.model_copy(update={"timestamp_response": base64.b64encode(answer).decode()})


def verify_stamp(anchor: Anchor, certificates: Path) -> datetime:
    """Return when an anchor was stamped. Raises UnavailableError unless the stamp is of this anchor and authority."""
    if anchor.timestamp_response is None:
        raise ValidationFailedError(f"the anchor of event {anchor.sequence} has no time stamp")
    try:
        answer = base64.b64decode(anchor.timestamp_response, validate=True)
    except binascii.Error:
        answer = b""
    return _verify(answer, anchor, certificates, None).tst_info.gen_time


def _verify(answer: bytes, anchor: Anchor, certificates: Path, request: TimeStampRequest | None) -> TimeStampResponse:
    """Verify status, nonce, hash, signature and chain of certificates of an answer."""
    _require()
    from rfc3161_client import VerificationError, VerifierBuilder, decode_timestamp_response

    builder = VerifierBuilder() if request is None else VerifierBuilder.from_request(request)
    for certificate in _read_certificates(certificates):
        if certificate.issuer == certificate.subject:
            builder = builder.add_root_certificate(certificate)
        else:
            builder = builder.add_intermediate_certificate(certificate)
    try:
        response = decode_timestamp_response(answer)
        builder.build().verify_message(response, line_of(anchor).encode())
    except (VerificationError, ValueError) as error:
        reason = str(error).partition(": ErrorStack")[0]
        raise UnavailableError(f"the time stamp of event {anchor.sequence} is not valid: {reason}") from None
    return response


def _read_certificates(path: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ValidationFailedError(f"{path} has no certificates in PEM ({error})") from None


def _require() -> None:
    """Raise NotConfiguredError without the library."""
    if find_spec("rfc3161_client") is None:
        raise NotConfiguredError("time stamps need the extra: pip install 'keeps[anchor]'")

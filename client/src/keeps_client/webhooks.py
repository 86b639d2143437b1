"""Verification of a webhook delivery, the first step of a receiver:

event = read_webhook(secret, request.headers, await request.body())
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Mapping

from pydantic import ValidationError

from keeps_client.errors import UnauthenticatedError
from keeps_client.models import Event


def read_webhook(secret: str, headers: Mapping[str, str], body: bytes, *, tolerance_seconds: float = 300.0) -> Event:
    """Return the event of a delivery, signed as https://www.standardwebhooks.com says.

    `secret` comes from the answer of adding the webhook. Raises UnauthenticatedError for a wrong signature, and for one
    older than `tolerance_seconds`, which may be a replay. The same `webhook-id` may come twice: handle it once.
    """
    named = {name.lower(): value for name, value in headers.items()}
    try:
        timestamp = int(named["webhook-timestamp"])
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        signed = b".".join((named["webhook-id"].encode(), str(timestamp).encode(), body))
        expected = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        given = named["webhook-signature"].split(" ")
    except (KeyError, ValueError, binascii.Error):
        raise UnauthenticatedError("this is not a webhook of Keeps: its headers are missing or invalid") from None
    if not any(hmac.compare_digest(expected.encode(), each.encode()) for each in given):
        raise UnauthenticatedError("the signature of this webhook is wrong")
    if abs(time.time() - timestamp) > tolerance_seconds:
        raise UnauthenticatedError("the signature of this webhook is too old, or one of the clocks is wrong")
    try:
        return Event.model_validate_json(body)
    except ValidationError:
        raise UnauthenticatedError("this webhook is signed, but does not contain an event") from None

"""Keyset cursors: the place of a page's last row, as opaque text."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime

from keeps_client.errors import ValidationFailedError
from keeps_client.validation import named


def write_cursor(moment: datetime, name: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([moment.isoformat(), name]).encode()).decode()


def write_name(name: str) -> str:
    """The same for pages that are ordered by name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def read_name(cursor: str) -> str:
    """Raises ValidationFailedError for what no page gave."""
    try:
        return named("cursor", base64.urlsafe_b64decode(cursor.encode()).decode())
    except (ValueError, binascii.Error):
        raise ValidationFailedError("cursor is not one that a page gave; start without it") from None


def read_cursor(cursor: str) -> tuple[datetime, str]:
    """Raises ValidationFailedError for what no page gave."""
    try:
        moment, name = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        return datetime.fromisoformat(moment).astimezone(UTC), named("cursor", name)
    except (ValueError, TypeError, binascii.Error, AttributeError, OverflowError, RecursionError):
        raise ValidationFailedError("cursor is not one that a page gave; start without it") from None

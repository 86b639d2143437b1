"""Keyset cursors: the position of a page's last row, as opaque text."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from uuid import UUID

from keeps_client.errors import ValidationFailedError
from keeps_client.validation import named


def write_cursor(moment: datetime, name: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([moment.isoformat(), name]).encode()).decode()


def write_name(name: str) -> str:
    """Return the cursor of a page ordered by name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def read_name(cursor: str) -> str:
    """Return the name in a cursor. Raises ValidationFailedError for an invalid cursor."""
    try:
        return named("cursor", base64.urlsafe_b64decode(cursor.encode()).decode())
    except (ValueError, binascii.Error):
        raise ValidationFailedError("the cursor is not one that a page returned; start without it") from None


def read_cursor(cursor: str) -> tuple[datetime, str]:
    """Return the time and name in a cursor. Raises ValidationFailedError for an invalid cursor."""
    try:
        moment, name = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        return datetime.fromisoformat(moment).astimezone(UTC), named("cursor", name)
    except (ValueError, TypeError, binascii.Error, AttributeError, OverflowError, RecursionError):
        raise ValidationFailedError("the cursor is not one that a page returned; start without it") from None


def read_cursor_of_id(cursor: str | None) -> tuple[datetime, UUID] | None:
    """Return the time and id in a cursor; None for the first page. Raises ValidationFailedError."""
    if not cursor:
        return None
    moment, name = read_cursor(cursor)
    try:
        return moment, UUID(name)
    except ValueError:
        raise ValidationFailedError("the cursor is not one that a page returned; start without it") from None


Place = tuple[float, str, str, str]
"""Position of a row in an order: rank, age in seconds, words, id."""


def write_place(order: str, place: Place) -> str:
    return base64.urlsafe_b64encode(json.dumps([order, *place]).encode()).decode()


def read_place(cursor: str, order: str) -> Place:
    """Return the position in a cursor. Raises ValidationFailedError for a cursor of another order."""
    try:
        given, rank, age, words, name = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        known = given == order and isinstance(words, str) and "\x00" not in words
        if known and abs(float(rank)) <= 1 and abs(Decimal(age)) < 10**12:
            return float(rank), str(Decimal(age)), words, str(UUID(name))
    except (ValueError, TypeError, binascii.Error, AttributeError, OverflowError, RecursionError, InvalidOperation):
        pass
    raise ValidationFailedError("the cursor is not one that a page of this order returned; start without it")

"""Time zones: IANA names such as Europe/Berlin, and UTC offsets such as +02:00."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from keeps_client.errors import ValidationFailedError

_OF_THE_MACHINE = frozenset({"localtime", "posixrules", "Factory", "posix", "right"})
"""Files beside the zones: what they hold depends on the machine, or on leap seconds."""
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d{2}):?(\d{2})")


def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name or offset. Raises ValueError for one that does not exist."""
    if name.upper() in ("UTC", "Z"):
        return UTC
    if found := _OFFSET.fullmatch(name):
        length = timedelta(hours=int(found[2]), minutes=int(found[3]))
        if length < timedelta(days=1) and int(found[3]) < 60:
            return timezone(-length if found[1] == "-" else length)
    if name.split("/")[0] not in _OF_THE_MACHINE:
        # KeyError: no such zone; OSError: a folder of zones, such as Europe
        with suppress(KeyError, OSError, ValueError):
            return ZoneInfo(name)
    raise ValueError(
        f"unknown time zone {name!r}; use an IANA name such as Europe/Berlin, or a UTC offset such as +02:00"
    )


def named_zone(name: str) -> str:
    """Return the name of a time zone. Raises ValidationFailedError for one that does not exist."""
    try:
        zone_of(name)
    except ValueError as error:
        raise ValidationFailedError(f"timezone: {error}") from None
    return name

"""Cross-origin checks for requests of browsers. Pure.

Browsers identify themselves by Sec-Fetch-Site and Origin; programs send neither. No request of another origin is
accepted unless the origin is allowed: no write and no read, whatever the credentials.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from keeps_client.errors import ForbiddenError


def check_origin(headers: Mapping[str, str], allowed: Collection[str]) -> None:
    """Raise ForbiddenError for a request of an origin other than this server's own and those in `allowed`."""
    origin = headers.get("origin")
    if origin is not None:
        if origin in allowed or "*" in allowed or _same_host(origin, headers.get("host", "")):
            return
        raise ForbiddenError("pages of another origin may not use this server; add the origin to KEEPS_CORS_ORIGINS")
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise ForbiddenError("pages of another site may not use this server; add its origin to KEEPS_CORS_ORIGINS")


def _same_host(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return bool(parts.netloc) and parts.netloc.lower() == host.lower()

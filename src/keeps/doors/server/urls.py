"""Normalization of a request's path and query."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote, unquote_plus

from starlette.types import Scope

from keeps_client.errors import ForbiddenError, ValidationFailedError

SLASH = "\x1f"
"""Replaces a slash inside a path segment (%2F), so that any id can be a segment; parameters restore it."""
MAX_PARAMETERS, MAX_SEGMENTS = 200, 200
"""Limits of a query and a path. They are counted before any loop, since nobody is authenticated yet."""
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def normalize_url(scope: Scope) -> None:
    """Rewrite query parameters to snake_case, and replace slashes inside path segments.

    Raises ValidationFailedError for a query or a path of too many parts.
    """
    query = scope["query_string"]
    if query.count(b"&") >= MAX_PARAMETERS:
        raise ValidationFailedError(f"a query has at most {MAX_PARAMETERS} parameters")
    raw_path = scope.get("raw_path") or b""
    if raw_path.count(b"/") + raw_path.lower().count(b"%2f") > MAX_SEGMENTS:
        raise ValidationFailedError(f"a path has at most {MAX_SEGMENTS} segments")
    if query and query != query.lower():
        pairs = [pair.partition(b"=") for pair in query.split(b"&")]
        scope["query_string"] = b"&".join(
            (
                _CAMEL.sub(r"_\1", name.decode("latin-1")).lower().encode("latin-1") + equals + value
                if name != name.lower()
                else name + equals + value
            )
            for name, equals, value in pairs
        )
    if SLASH in scope["path"]:
        raise ValidationFailedError("an id in a path cannot contain the control character U+001F")
    if b"%2f" in raw_path.lower():
        segments = raw_path.partition(b"?")[0].decode("latin-1").split("/")
        scope["path"] = "/".join(unquote(segment, errors="replace").replace("/", SLASH) for segment in segments)


def check_query(scope: Scope, headers: dict[str, str], known: Collection[str]) -> None:
    """Raise for a query parameter that the route does not know, and apply `user_id` like the header X-User-ID."""
    if not scope["query_string"]:
        return
    pairs: list[bytes] = []
    for pair in scope["query_string"].split(b"&"):
        name, value = (unquote_plus(part.decode("latin-1")) for part in pair.partition(b"=")[::2])
        if name == "user_id" and name not in known:
            if headers.setdefault("x-user-id", value) != value:
                raise ForbiddenError("the query parameter user_id names another user than the header X-User-ID")
            continue
        if name and name not in known:
            names = ", ".join(sorted(known)) or "none"
            header = {"tenant_id": "X-Tenant-ID", "agent_id": "X-Agent-ID"}.get(name)
            who = f"; the header {header} or the credential identifies the caller" if header else ""
            raise ValidationFailedError(
                f"unknown query parameter {name[:100]!r}; this route accepts: {names}{who}",
                [{"field": name[:100], "message": "unknown query parameter"}],
            )
        pairs.append(pair)
    scope["query_string"] = b"&".join(pairs)

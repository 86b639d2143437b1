"""What a request names in its path and query, in one spelling."""

from __future__ import annotations

import re
from urllib.parse import unquote, unquote_plus

from keeps.server.asgi import Scope
from keeps.server.lean import LeanRoute
from keeps_client.errors import ForbiddenError, ValidationFailedError

SLASH = "\x1f"
"""Stands for a slash inside a path segment (%2F), so that any id can be a segment; parameters turn it back."""
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def named_user(scope: Scope, headers: dict[str, str]) -> None:
    """Query parameters that the route knows, and no others; `user_id` says what the header X-User-ID says."""
    route = scope.get("route")
    if not isinstance(route, LeanRoute) or not scope["query_string"]:
        return
    kept: list[bytes] = []
    for pair in scope["query_string"].split(b"&"):
        name = unquote_plus(pair.partition(b"=")[0].decode("latin-1"))
        if name == "user_id" and name not in route.query_names:
            user_id = unquote_plus(pair.partition(b"=")[2].decode("latin-1"))
            if headers.setdefault("x-user-id", user_id) != user_id:
                raise ForbiddenError("the query parameter user_id names another user than the header X-User-ID")
            continue
        if name and name not in route.query_names:
            known = ", ".join(sorted(route.query_names)) or "none"
            raise ValidationFailedError(
                f"unknown query parameter {name[:100]!r}; this route knows: {known}",
                [{"field": name[:100], "message": "unknown query parameter"}],
            )
        kept.append(pair)
    scope["query_string"] = b"&".join(kept)


def plain_names(scope: Scope) -> None:
    """Query parameters in snake_case, whatever the caller writes; and slashes inside path segments out of the way."""
    query = scope["query_string"]
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
    raw = scope.get("raw_path") or b""
    if SLASH in scope["path"]:
        raise ValidationFailedError("an id in a path cannot hold the control character U+001F")
    if b"%2f" in raw.lower():
        segments = raw.partition(b"?")[0].decode("latin-1").split("/")
        scope["path"] = "/".join(unquote(segment, errors="replace").replace("/", SLASH) for segment in segments)

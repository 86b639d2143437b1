"""Requests with an Idempotency-Key."""

from __future__ import annotations

import hashlib

from starlette.requests import Request

from keeps.db import repeats


def keyed(request: Request, body: bytes, *, writes_once: bool = True) -> repeats.Request | None:
    """Return what a request is known by when it is sent again; None where it has no key, or does not write.

    `writes_once`: it has at most one write with an answer. Else each write is known by what it does.
    """
    key = request.headers.get("idempotency-key")
    if key is None or request.method in ("GET", "HEAD"):
        return None
    agent, version = request.scope["keeps.scope"].agent_id or "", request.headers.get("if-match", "")
    parts = (request.method, request.scope["path"], agent, version)
    encoded = (part.encode("utf-8", "replace") for part in parts)
    asked = hashlib.sha256(b"\n".join((*encoded, request.scope["query_string"], b"")))
    asked.update(body)
    return repeats.Request(key, asked.digest(), writes_once=writes_once)

"""Idempotency keys of requests."""

from __future__ import annotations

import hashlib

from starlette.requests import Request

from keeps.store.db import repeats


def repeatable_request(request: Request, body: bytes, *, writes_once: bool = True) -> repeats.Request | None:
    """Return the identity under which a request may be sent again; None without a key, or for a read.

    `writes_once`: it has at most one write with an answer. Otherwise each write is identified by its content.
    """
    key = request.headers.get("idempotency-key")
    if key is None or request.method in ("GET", "HEAD"):
        return None
    agent, version = request.scope["keeps.scope"].agent_id or "", request.headers.get("if-match", "")
    parts = (request.method, request.scope["path"], agent, version)
    encoded = (part.encode("utf-8", "replace") for part in parts)
    digest = hashlib.sha256(b"\n".join((*encoded, request.scope["query_string"], b"")))
    digest.update(body)
    return repeats.Request(key, digest.digest(), writes_once=writes_once)

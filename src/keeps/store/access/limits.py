"""Limits of keys and tokens: what a caller may ask for. The database enforces them; this says so in words. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from keeps.base.scope import Grant, Scope
from keeps_client.endpoint import Endpoint
from keeps_client.errors import ForbiddenError, ValidationFailedError
from keeps_client.models import KeyLimits, context, memories, recall, spaces

ADDING: frozenset[Endpoint[Any, Any, Any]] = frozenset((memories.REMEMBER, memories.REMEMBER_MANY))
OF_MEMORIES: frozenset[Endpoint[Any, Any, Any]] = frozenset(
    (
        *(held for held in vars(memories).values() if isinstance(held, Endpoint)),
        recall.RECALL,
        context.BUILD_CONTEXT,
        spaces.LIST_READERS,
    )
)
"""Operations that a key limited to kinds or namespaces may use."""


def grant_of(limits: KeyLimits | None) -> Grant | None:
    """Return the limits of a key or token as a scope has them; None for none."""
    return None if limits is None or limits == KeyLimits() else Grant(**limits.model_dump())


def check_grant(scope: Scope, endpoint: Endpoint[Any, Any, Any], body: object) -> None:
    """Raise ForbiddenError if the limits of the caller do not cover an operation."""
    grant = scope.grant
    if grant is None:
        return
    if grant.access == "read" and endpoint.role != "reader":
        raise ForbiddenError("these credentials may only read")
    if grant.access == "append" and endpoint not in ADDING:
        raise ForbiddenError("these credentials may only add memories (remember): they see and change nothing")
    reads_events = endpoint.tag == "events" and endpoint.role == "reader"  # Row security shows those it covers.
    if grant.memories_only and endpoint not in OF_MEMORIES and not reads_events:
        raise ForbiddenError("these credentials cover memories of some kinds or namespaces, and nothing else")
    if grant.memories_only and getattr(body, "learn", None) is not None:
        raise ForbiddenError("learn: facts may be of other namespaces than these credentials cover")
    if isinstance(body, BaseModel) and endpoint.role != "reader":
        for each in (body, *getattr(body, "items", ())):
            _check_covered(grant, each)


def _check_covered(grant: Grant, new: object) -> None:
    for name, covered in (("kind", grant.kinds), ("namespace", grant.namespaces)):
        if covered is not None and hasattr(new, name) and getattr(new, name) not in covered:
            raise ForbiddenError(f"{name}: these credentials cover {', '.join(covered)} only")
    if grant.access == "append" and getattr(new, "key", None) is not None:
        raise ValidationFailedError("key: credentials that may only add store memories without a key")

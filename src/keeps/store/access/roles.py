"""Roles, from least to most privileged; each includes those before it. Checked here only. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import get_args

from keeps_client.errors import ForbiddenError
from keeps_client.models import RoleName

ORDER: tuple[RoleName, ...] = get_args(RoleName)
"""reader: read. writer: also write. admin: also the tenant's keys, erasure and export. operator: also other tenants."""


def known_roles(names: Iterable[object]) -> frozenset[str]:
    """Return the names that are roles; other names of an identity service grant nothing."""
    return frozenset(name for name in names if isinstance(name, str) and name in ORDER)


@lru_cache(maxsize=4_096)
def allows(roles: frozenset[str], needed: RoleName) -> bool:
    return any(role in ORDER and ORDER.index(role) >= ORDER.index(needed) for role in roles)  # pyright: ignore[reportArgumentType]


def require(roles: frozenset[str], needed: RoleName) -> None:
    """Raise ForbiddenError, which names the missing role, unless the caller has it."""
    if not allows(roles, needed):
        held = ", ".join(sorted(roles)) or f"none that is known here ({', '.join(ORDER)}); has it roles of other names?"
        raise ForbiddenError(f"this needs the role {needed}; your token has {held}")

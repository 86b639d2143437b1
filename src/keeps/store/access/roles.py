"""Roles, from least to most privileged; each includes those before it. Checked here only. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import get_args

from keeps.base.scope import Scope
from keeps_client.errors import ForbiddenError
from keeps_client.models import RoleName

ORDER: tuple[RoleName, ...] = get_args(RoleName)
"""reader: read. writer: also write. admin: also the tenant's keys, erasure and export. operator: also other tenants."""

ADMINISTRATIVE: tuple[RoleName, ...] = ("admin", "operator")


def known_roles(names: Iterable[object]) -> frozenset[str]:
    """Return the names that are roles; other names of an identity service grant nothing."""
    return frozenset(name for name in names if isinstance(name, str) and name in ORDER)


@lru_cache(maxsize=4_096)
def allows(roles: frozenset[str], needed: RoleName) -> bool:
    return any(role in ORDER and ORDER.index(role) >= ORDER.index(needed) for role in roles)  # pyright: ignore[reportArgumentType]


def permits(scope: Scope, needed: RoleName) -> bool:
    """Return whether a caller may do what needs a role. An agent's token, or a limited one, never administers."""
    limited = scope.agent_bound or scope.grant is not None
    return allows(scope.roles, needed) and not (limited and needed in ADMINISTRATIVE)


def require(scope: Scope, needed: RoleName) -> None:
    """Raise ForbiddenError, which says what is missing, unless `permits` holds."""
    if permits(scope, needed):
        return
    if not allows(scope.roles, needed):
        none = f"no role that Keeps knows ({', '.join(ORDER)}); check the names of its roles"
        held = ", ".join(sorted(scope.roles)) or none
        raise ForbiddenError(f"this needs the role {needed}; your token has {held}")
    raise ForbiddenError("an agent's token, or a limited one, cannot administer, regardless of its roles")

"""The contract of what freezes and thaws tenants, for the layers below it. `operate/freezing` implements it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from keeps_client.errors import UnavailableError

FROZEN = "(frozen)"
"""The answer of a transaction's first statement for a frozen tenant, in place of a cell. No cell has such a name."""
WAKE_SECONDS = 10.0
"""Seconds that a call waits for a thaw. The thaw continues without it."""
FrozenState = Literal["freezing", "frozen", "loaded", "thawed"]


@dataclass(frozen=True, slots=True)
class FrozenTenant:
    """A tenant with an entry in the directory of frozen tenants.

    Attributes:
        tenant_id: None if no key opens the entry.
        held: Number of rows in the bundle.
        bytes: Size of the bundle.
        tenant: Number of users and memories, quotas and time of creation, when it was frozen.
        rows: Number of rows in the bundle, by table.
        log: Last sequence of the log, and the hash of its last event.
        problem: Why it cannot be thawed, if that was checked.
    """

    tenant_id: str | None
    tenant_hash: str
    cell: str
    state: FrozenState
    bundle: str
    started_at: datetime
    frozen_at: datetime | None
    revision: str | None
    held: int
    bytes: int
    tenant: Mapping[str, Any]
    rows: Mapping[str, int]
    log: Mapping[str, Any]
    problem: str | None = None


class FrozenTenants(Protocol):
    """Thaws tenants, and answers for them while they are frozen."""

    async def wake(self, tenant_id: str, cell: str, *, patient: bool) -> None:
        """Thaw a tenant of a cell, once for all callers. `patient`: wait without a limit."""
        ...

    def used(self, tenant_id: str) -> None:
        """Note that a caller uses a tenant."""
        ...

    async def find_key(self, key_hash: bytes) -> Mapping[str, Any] | None:
        """Return the columns of the API key of a frozen tenant, or None."""
        ...

    async def page(self, after: str, limit: int) -> list[FrozenTenant]:
        """Return frozen tenants by id."""
        ...

    async def find(self, tenant_id: str) -> FrozenTenant | None:
        """Return the entry of a tenant, or None."""
        ...

    async def erase(self, tenant: FrozenTenant) -> None:
        """Remove the bundle and the entry of a frozen tenant."""
        ...

    async def clear(self, tenant_id: str) -> None:
        """Remove a bundle that an interrupted freeze or thaw has left of a tenant that is not frozen."""
        ...


class FrozenError(UnavailableError):
    """The tenant is frozen, and is being thawed or cannot be."""

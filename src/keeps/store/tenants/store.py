"""Statements on tenants and users."""

from __future__ import annotations

from keeps.store.db.session import Tx
from keeps.store.db.statements import Statements

QUERIES = Statements("keeps.store.tenants")


async def ensure_tenant(tx: Tx) -> None:
    await tx.execute(QUERIES["tenant_ensure"], tx.scope.tenant_id)


async def ensure_user(tx: Tx) -> None:
    """Create the tenant and user of this transaction if they are missing. Safe against races."""
    await ensure_tenant(tx)
    await tx.execute(QUERIES["user_ensure"], tx.scope.tenant_id, tx.scope.user_id)

"""API keys: create, list, revoke. The secret is shown once; only its SHA-256 is stored."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from uuid import UUID

from keeps.base.clock import Clock, new_id
from keeps.base.scope import Scope, check_id, is_reserved
from keeps.store.access import store
from keeps.store.access.roles import ADMINISTRATIVE, allows
from keeps.store.db.session import Database
from keeps.store.tenants.store import ensure_tenant
from keeps_client.errors import ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.models import KeyInfo, KeyLimits, MadeKey, NewKey

PREFIX = "keeps_"


def hash_of(secret: str) -> bytes:
    """Return the SHA-256 of a secret. Its 256 random bits cannot be guessed, so no slow hash is needed."""
    return hashlib.sha256(secret.encode()).digest()


class KeyService:
    """The keys of a tenant.

    The route checks the caller's role; this class checks that callers grant no roles beyond their own.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.listeners: list[Callable[[], None]] = []
        """Called when keys may have been revoked, for those that cache them."""

    def changed(self) -> None:
        """Tell the listeners to forget cached keys."""
        for forget in self.listeners:
            forget()

    async def make(self, scope: Scope, new: NewKey) -> MadeKey:
        """Create a key and return it with its secret. Raises ForbiddenError for roles beyond the caller's own."""
        for role in new.roles:
            if not allows(scope.roles, role):
                raise ForbiddenError(f"you cannot grant the role {role}, which you do not have")
        if new.user_id is not None:
            check_id("user_id", new.user_id)
            if is_reserved(new.user_id):
                raise ValidationFailedError(f"user_id: {new.user_id!r} is reserved and cannot have a key")
        if new.agent_id is not None:
            check_id("agent_id", new.agent_id)
        limits = None if new.limits is None or new.limits == KeyLimits() else new.limits
        if limits is not None and set(new.roles) & set(ADMINISTRATIVE):
            raise ValidationFailedError("limits: a limited key cannot have the role admin or operator")
        if new.expires_at is not None and new.expires_at <= self._clock():
            raise ValidationFailedError("expires_at is in the past; the key would never be valid")
        secret = PREFIX + secrets.token_urlsafe(32)
        key = KeyInfo(
            key_id=new_id(),
            tenant_id=scope.tenant_id,
            name=new.name,
            user_id=new.user_id,
            agent_id=new.agent_id,
            roles=new.roles,
            limits=limits,
            hint=secret[-4:],
            created_by=scope.user_id,
            created_at=self._clock(),
            expires_at=new.expires_at,
        )

        await self._database.place(scope.tenant_id)
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                await ensure_tenant(tx)
                await store.insert(tx, key, hash_of(secret))
        return MadeKey(**key.model_dump(), secret=secret)

    async def list(self, scope: Scope) -> list[KeyInfo]:
        async with self._database.scoped(scope) as tx:
            return await store.keys(tx)

    async def revoke(self, scope: Scope, key_id: UUID) -> KeyInfo:
        """Revoke a key. Other servers notice within 10 seconds. Raises NotFoundError."""
        key: KeyInfo | None = None
        async for attempt in self._database.writing(scope):
            async with attempt as tx:
                key = await store.revoke(tx, key_id, self._clock())
        if key is None:
            raise NotFoundError(f"no key {key_id}")
        return key

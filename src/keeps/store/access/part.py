"""The part of API keys."""

from __future__ import annotations

from keeps.base.scope import Scope
from keeps.part import Core, EndpointHandler, Part, serves
from keeps.store.access.keys import KeyService
from keeps.store.access.roles import require
from keeps_client.errors import ForbiddenError, NotFoundError
from keeps_client.models import KeyInfo
from keeps_client.models import access as api


def make(core: Core) -> None:
    core.add(KeyService(core.database, core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(KeyService)

    async def revoke_of_tenant(scope: Scope, key: api.TenantKeyId, _: None) -> KeyInfo:
        return await revoke(scope_of_tenant(scope, key.tenant_id), api.KeyId(key_id=key.key_id), None)

    async def revoke(scope: Scope, key: api.KeyId, _: None) -> KeyInfo:
        try:
            return await service.revoke(scope, key.key_id)
        finally:
            service.changed()

    return (
        serves(api.MAKE_KEY, lambda s, _, b: service.make(s, b)),
        serves(api.MAKE_TENANT_KEY, lambda s, p, b: service.make(scope_of_tenant(s, p.tenant_id), b)),
        serves(api.LIST_KEYS, lambda s, _, __: service.list(s)),
        serves(api.LIST_TENANT_KEYS, lambda s, p, _: service.list(scope_of_tenant(s, p.tenant_id))),
        serves(api.REVOKE_KEY, revoke),
        serves(api.REVOKE_TENANT_KEY, revoke_of_tenant),
    )


def scope_of_tenant(scope: Scope, tenant_id: str) -> Scope:
    """Return the scope for another tenant. Raises NotFoundError unless the caller is an operator."""
    if tenant_id == scope.tenant_id:
        return scope
    try:
        require(scope, "operator")
    except ForbiddenError:
        raise NotFoundError(f"no tenant {tenant_id!r}") from None
    return Scope(tenant_id, scope.user_id, roles=scope.roles)


PART = Part("access", make, endpoints)

"""The part of export, import and erasure."""

from __future__ import annotations

import asyncio

from keeps.base.scope import Scope
from keeps.memory.indexing.service import Indexer
from keeps.memory.providers.service import ProviderService
from keeps.memory.transfer.certificates import CertificateSigner
from keeps.memory.transfer.erasure import TenantService
from keeps.memory.transfer.service import TransferService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps.store.access.keys import KeyService
from keeps.store.access.part import scope_of_tenant
from keeps_client.models import CertificateKey, ErasureReceipt, proof
from keeps_client.models import access as api


def make(core: Core) -> None:
    home = None if core.server is None else core.settings.home
    signer = core.add(CertificateSigner(core.settings.signing_key, home))
    core.add(TenantService(core.database, core.get(ProviderService), core.cache, core.clock, core.erased, signer))
    core.add(TransferService(core.database, core.introducer, core.get(Indexer), core.exports))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    tenants, keys, transfer = core.get(TenantService), core.get(KeyService), core.get(TransferService)

    async def erase_user(scope: Scope, user: api.UserId, _: None) -> ErasureReceipt:
        try:
            return await tenants.erase_user(scope, user.user_id)
        finally:
            keys.changed()

    async def erase_tenant_user(scope: Scope, user: api.TenantUserId, _: None) -> ErasureReceipt:
        return await erase_user(scope_of_tenant(scope, user.tenant_id), api.UserId(user_id=user.user_id), None)

    async def list_users(scope: Scope, query: api.TenantUsersQuery, _: None) -> list[str]:
        return await transfer.users(scope_of_tenant(scope, query.tenant_id), query.after, query.limit)

    async def erase_tenant(scope: Scope, tenant: api.TenantId, _: None) -> ErasureReceipt:
        try:
            return await tenants.erase_tenant(scope_of_tenant(scope, tenant.tenant_id))
        finally:
            keys.changed()

    async def certificate_key(_: Scope, __: None, ___: None) -> CertificateKey:
        return CertificateKey(key=await asyncio.to_thread(core.get(CertificateSigner).public_key))

    return (
        serves(proof.GET_CERTIFICATE_KEY, certificate_key),
        serves(api.ERASE_USER, erase_user),
        serves(api.ERASE_TENANT_USER, erase_tenant_user),
        serves(api.ERASE_TENANT, erase_tenant),
        serves(api.LIST_TENANT_USERS, list_users),
        serves(api.LIST_TENANTS, lambda _, p, __: tenants.page(p.after, p.limit, frozen=True)),
        serves(api.SET_QUOTA, lambda _, p, b: tenants.set_quota(p.tenant_id, b)),
    )


PART = Part("transfer", make, endpoints)

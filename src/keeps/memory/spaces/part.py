"""The part of spaces."""

from __future__ import annotations

from keeps.memory.memories.service import MemoryService
from keeps.memory.spaces.export import EXPORTS
from keeps.memory.spaces.readers import ReaderService
from keeps.memory.spaces.service import SpaceService
from keeps.memory.spaces.sharing import SharingService
from keeps.memory.transfer.erasure import TenantService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps_client.models import spaces as api


def make(core: Core) -> None:
    spaces = core.add(SpaceService(core.database, core.introducer, core.get(TenantService), core.clock))
    core.add(SharingService(core.database, core.introducer, core.get(MemoryService), spaces, core.clock))
    core.add(ReaderService(core.database, core.clock))


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service, readers, sharing = core.get(SpaceService), core.get(ReaderService), core.get(SharingService)
    return (
        serves(api.LIST_READERS, lambda s, p, _: readers.readers(s, p.memory_id)),
        serves(api.SHARE_MEMORY, lambda s, p, b: sharing.share(s, p.memory_id, b.space, b.agent_id)),
        serves(api.UNSHARE_MEMORY, lambda s, p, _: sharing.unshare(s, p.memory_id, p.space, p.agent_id)),
        serves(api.CREATE_SPACE, lambda s, _, b: service.create(s, b)),
        serves(api.LIST_SPACES, lambda s, p, _: service.page(s, p.after, p.limit)),
        serves(api.LIST_TENANT_SPACES, lambda s, p, _: service.of_tenant(s, p.after, p.limit)),
        serves(api.GET_SPACE, lambda s, p, _: service.get(s, p.space_id)),
        serves(api.UPDATE_SPACE, lambda s, p, b: service.update(s, p.space_id, b)),
        serves(api.ERASE_SPACE, lambda s, p, _: service.erase(s, p.space_id)),
        serves(api.SET_SPACE_MEMBER, lambda s, p, b: service.set_member(s, p.space_id, p.member_type, p.member_id, b)),
        serves(
            api.REMOVE_SPACE_MEMBER, lambda s, p, _: service.remove_member(s, p.space_id, p.member_type, p.member_id)
        ),
    )


PART = Part("spaces", make, endpoints, exports=EXPORTS)

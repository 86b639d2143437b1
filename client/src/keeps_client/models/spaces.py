"""Spaces: memory that several users or agents share, with members."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from keeps_client.endpoint import Endpoint
from keeps_client.models.access import ErasureReceipt
from keeps_client.models.common import Text, UtcTime, Wire
from keeps_client.models.memories import Label, MemoryId, Receipt
from keeps_client.models.names import SpaceName
from keeps_client.models.tasks import Deleted

SpaceRole = Literal["reader", "writer", "curator"]
MemberType = Literal["user", "agent"]
MOST_MEMBERS = 1_000


class NewSpace(Wire):
    """A space to create; the caller becomes its first curator."""

    space_id: SpaceName
    title: Label | None = None


class SpaceChange(Wire):
    """The fields of a space to change; others stay. An archived space can be read and not written."""

    title: Label | None = None
    archived: bool | None = None


class SpaceMember(Wire):
    """A member: a user, or an agent whose key or token is bound to it.

    A reader reads; a writer also stores, changes and forgets; a curator also erases, and manages the space.
    """

    member_id: str
    member_type: MemberType
    role: SpaceRole
    added_at: datetime
    expires_at: datetime | None = None


class Space(Wire):
    """A space. `role`: the role of the caller. `members`: their number; the answer of one space names them, too."""

    space_id: str
    tenant_id: str
    title: str | None = None
    role: SpaceRole | None = None
    members: int
    created_at: datetime
    archived_at: datetime | None = None


class SpaceDetail(Space):
    """A space with its members."""

    member_list: tuple[SpaceMember, ...]


class MemoryReader(Wire):
    """Somebody who may read a memory, and why.

    `reader_type`: a user, an agent (as a member of a space), a key, or the whole tenant. `role` is that in a space.
    """

    reader_type: Literal["user", "agent", "key", "tenant"]
    reader_id: str
    why: str
    role: SpaceRole | None = None
    expires_at: datetime | None = None


class SpaceId(Wire):
    space_id: SpaceName


class SpacesQuery(Wire):
    after: Annotated[Text, Field(max_length=64)] = ""
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100


class MemberId(Wire):
    space_id: SpaceName
    member_type: MemberType
    member_id: Annotated[Text, StringConstraints(min_length=1, max_length=255)]


class Membership(Wire):
    """The role of a member, and when it ends."""

    role: SpaceRole
    expires_at: UtcTime | None = None


class ShareTarget(Wire):
    """The target of a copy: a space, or another agent of the same user; one of them."""

    space: SpaceName | None = None
    agent_id: Label | None = None


class SharedMemory(Wire):
    """A memory and the target that has a copy of it."""

    memory_id: UUID
    space: SpaceName | None = None
    agent_id: Label | None = None


CREATE_SPACE = Endpoint(
    "create_space",
    "POST",
    "/v1/spaces",
    "writer",
    "spaces",
    Space,
    "Create a space. The caller becomes its first curator.",
    body=NewSpace,
    status=201,
)
LIST_SPACES = Endpoint(
    "list_spaces",
    "GET",
    "/v1/spaces",
    "reader",
    "spaces",
    list[Space],
    "List the spaces that the caller is a member of, by id. `after`: the last space of the previous page.",
    params=SpacesQuery,
)
GET_SPACE = Endpoint(
    "get_space",
    "GET",
    "/v1/spaces/{space_id}",
    "reader",
    "spaces",
    SpaceDetail,
    "Return a space with its members, for members.",
    params=SpaceId,
)
UPDATE_SPACE = Endpoint(
    "update_space",
    "PATCH",
    "/v1/spaces/{space_id}",
    "writer",
    "spaces",
    Space,
    "Change the title, or archive the space: then it can be read and not written. For curators.",
    params=SpaceId,
    body=SpaceChange,
)
ERASE_SPACE = Endpoint(
    "erase_space",
    "DELETE",
    "/v1/spaces/{space_id}",
    "writer",
    "spaces",
    ErasureReceipt,
    "Erase a space: rows, vectors, state, and the contents of events. Returns a counted receipt. For curators.",
    params=SpaceId,
    repeatable=False,
)
SET_SPACE_MEMBER = Endpoint(
    "set_space_member",
    "PUT",
    "/v1/spaces/{space_id}/members/{member_type}/{member_id}",
    "writer",
    "spaces",
    SpaceMember,
    "Add a member, or change the role of one. For curators.",
    params=MemberId,
    body=Membership,
)
REMOVE_SPACE_MEMBER = Endpoint(
    "remove_space_member",
    "DELETE",
    "/v1/spaces/{space_id}/members/{member_type}/{member_id}",
    "writer",
    "spaces",
    Deleted,
    "Remove a member, who sees nothing of the space from then on. For curators; anyone may remove themselves.",
    params=MemberId,
)
LIST_READERS = Endpoint(
    "list_readers",
    "GET",
    "/v1/memories/{memory_id}/readers",
    "reader",
    "memories",
    list[MemoryReader],
    "Return who may read a memory, and why. Administrators also see the keys that can.",
    params=MemoryId,
)
SHARE_MEMORY = Endpoint(
    "share_memory",
    "POST",
    "/v1/memories/{memory_id}/share",
    "writer",
    "memories",
    Receipt,
    "Store a copy of a memory in a space, or for another agent of the same user: 201, or 200 if it is there already. "
    "`metadata.shared_from` of the copy names the original.",
    params=MemoryId,
    body=ShareTarget,
    status=201,
    created=lambda answer: answer.status == "created",
)
UNSHARE_MEMORY = Endpoint(
    "unshare_memory",
    "DELETE",
    "/v1/memories/{memory_id}/share",
    "writer",
    "memories",
    Receipt,
    "Forget the copy of a memory in a space, or for an agent. The original stays.",
    params=SharedMemory,
)
LIST_TENANT_SPACES = Endpoint(
    "list_tenant_spaces",
    "GET",
    "/v1/admin/spaces",
    "admin",
    "administration",
    list[Space],
    "List all spaces of the tenant by id. `after`: the last space of the previous page.",
    params=SpacesQuery,
)

# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Spaces: memory that several users or agents share."""

from __future__ import annotations

import builtins
from abc import abstractmethod
from datetime import datetime
from uuid import UUID

from keeps_client._sync.base import Doing
from keeps_client.models import Deleted, ErasureReceipt, MemoryReader, Space, SpaceDetail, SpaceMember
from keeps_client.models.spaces import (
    CREATE_SPACE,
    ERASE_SPACE,
    GET_SPACE,
    LIST_READERS,
    LIST_SPACES,
    REMOVE_SPACE_MEMBER,
    SET_SPACE_MEMBER,
    UPDATE_SPACE,
    MemberType,
    SpaceRole,
)


class Spaces(Doing):
    """Methods for spaces. `for_space` gives the memory of one."""

    def create_space(self, space_id: str, *, title: str | None = None) -> Space:
        """Create a space; you become its first curator. Raises ConflictError if the id is taken.

        `space_id`: 1 to 64 letters, digits and . _ -
        """
        return self._do(CREATE_SPACE, space_id=space_id, title=title)

    def list_spaces(self, *, after: str = "", limit: int = 100) -> builtins.list[Space]:
        """Return the spaces that you are a member of, by id. `after`: the last space of the previous page."""
        return self._do(LIST_SPACES, after=after, limit=limit)

    def get_space(self, space_id: str) -> SpaceDetail:
        """Return a space with its members. Raises NotFoundError unless you are one."""
        return self._do(GET_SPACE, space_id=space_id)

    def update_space(self, space_id: str, *, title: str | None = None, archived: bool | None = None) -> Space:
        """Change the title, or archive the space: then it can be read and not written. For curators."""
        changes = {"title": title, "archived": archived}
        return self._do(
            UPDATE_SPACE, space_id=space_id, body={name: value for name, value in changes.items() if value is not None}
        )

    def erase_space(self, space_id: str) -> ErasureReceipt:
        """Erase everything in a space, also in the log. For curators."""
        return self._do(ERASE_SPACE, space_id=space_id)

    @abstractmethod
    def export_space_lines(self, space_id: str) -> builtins.list[str]:
        """Return everything in a space, and its members, as JSON lines. For curators."""

    def set_space_member(
        self,
        space_id: str,
        member_id: str,
        role: SpaceRole = "writer",
        *,
        member_type: MemberType = "user",
        expires_at: datetime | None = None,
    ) -> SpaceMember:
        """Add a member, or change the role of one. For curators.

        A reader reads; a writer also stores, changes and forgets; a curator also erases, and manages the space. An
        agent is a member by a key or token that is bound to it.
        """
        return self._do(
            SET_SPACE_MEMBER,
            space_id=space_id,
            member_type=member_type,
            member_id=member_id,
            role=role,
            expires_at=expires_at,
        )

    def remove_space_member(self, space_id: str, member_id: str, *, member_type: MemberType = "user") -> Deleted:
        """Remove a member, who sees nothing of the space from then on. For curators, and for oneself."""
        return self._do(REMOVE_SPACE_MEMBER, space_id=space_id, member_type=member_type, member_id=member_id)

    def list_readers(self, memory_id: UUID | str) -> builtins.list[MemoryReader]:
        """Return who may read a memory, and why; administrators also see the keys that can. Raises NotFoundError."""
        return self._do(LIST_READERS, memory_id=memory_id)

"""The readers of a memory, and why they may read it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from keeps.base.clock import Clock
from keeps.base.scope import Scope, space_of
from keeps.memory.memories.store import get as get_memory
from keeps.memory.spaces import store
from keeps.store.access import store as keys
from keeps.store.access.roles import permits
from keeps.store.db.session import Database
from keeps_client.errors import NotFoundError
from keeps_client.models import KeyInfo, Memory, MemoryReader


class ReaderService:
    """Answers who may read a memory, from the rows that row security itself reads."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def readers(self, scope: Scope, memory_id: UUID) -> list[MemoryReader]:
        """Return the owner, the members of the space, or the tenant; and for an administrator the keys.

        Raises NotFoundError if the caller may not read the memory.
        """
        now = self._clock()
        async with self._database.scoped(scope) as tx:
            memory = await get_memory(tx, memory_id)
            if memory is None:
                raise NotFoundError(f"no memory {memory_id}")
            space_id = space_of(memory.user_id)
            members = [] if space_id is None else await store.members(tx, space_id)
            api_keys = await keys.keys(tx) if permits(scope, "admin") else []
        readers = [
            MemoryReader(
                reader_type=member.member_type,
                reader_id=member.member_id,
                why=f"member of the space {space_id}",
                role=member.role,
                expires_at=member.expires_at,
            )
            for member in members
            if member.expires_at is None or member.expires_at > now
        ]
        if space_id is None:
            readers.append(MemoryReader(reader_type="user", reader_id=memory.user_id, why="the owner"))
        if memory.visibility == "tenant" and memory.deleted_at is None:
            readers.append(MemoryReader(reader_type="tenant", reader_id=memory.tenant_id, why="shared with the tenant"))
        users = {reader.reader_id for reader in readers if reader.reader_type == "user"}
        agents = {reader.reader_id for reader in readers if reader.reader_type == "agent"}
        shared = any(reader.reader_type == "tenant" for reader in readers)
        for key in api_keys:
            if key.revoked_at is None and (key.expires_at is None or key.expires_at > now):
                why = _why(key, memory, users, agents, shared=shared)
                if why is not None:
                    readers.append(
                        MemoryReader(reader_type="key", reader_id=key.name, why=why, expires_at=key.expires_at)
                    )
        return readers


def _why(key: KeyInfo, memory: Memory, users: set[str], agents: set[str], *, shared: bool) -> str | None:
    """Return why a key can read a memory; None if it cannot."""
    if not _covers(key, memory):
        return None
    space_id = space_of(memory.user_id)
    if key.agent_id is not None and space_id is not None and key.agent_id in agents:
        return f"acts for the agent {key.agent_id}, a member of the space"
    if key.agent_id is not None and space_id is None and memory.kind != "semantic" and memory.agent_id != key.agent_id:
        return None
    if key.user_id is None:
        return "may act for any user of the tenant"
    if key.user_id in users:
        return f"acts for the user {key.user_id}"
    return "acts for a user of the tenant" if shared else None


def _covers(key: KeyInfo, memory: Memory) -> bool:
    """Return whether the limits of a key cover a memory."""
    limits = key.limits
    if limits is None:
        return True
    covered: Sequence[tuple[str | None, tuple[str, ...] | None]] = (
        (space_of(memory.user_id), limits.spaces),
        (memory.namespace, limits.namespaces),
        (memory.kind, limits.kinds),
    )
    return limits.access != "append" and all(names is None or value in names for value, names in covered)

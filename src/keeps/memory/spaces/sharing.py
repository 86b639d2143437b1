"""Share a memory: store a copy in a space, or for another agent of the user, and forget it again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import JsonValue

from keeps.base.clock import Clock, new_id
from keeps.base.scope import Scope, check_id, in_space, space_of
from keeps.memory.memories import store
from keeps.memory.memories.answers import RECEIPT
from keeps.memory.memories.changes import Write
from keeps.memory.memories.provenance import SHARED_FROM
from keeps.memory.memories.service import SOURCE, MemoryService
from keeps.memory.memories.store import written
from keeps.memory.memories.types import MemoryRow, content_hash
from keeps.memory.spaces.service import SpaceService
from keeps.store.db.session import Database, Tx
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ConflictError, ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.models import Memory, Receipt

NAMESPACE = "shared"
"""Namespace of the copies; the key names the memory that was shared, so that each target has one copy of it."""


@dataclass(frozen=True, slots=True)
class _Target:
    """The place of the copy: the scope that stores it, its agent, and a name for messages."""

    scope: Scope
    agent_id: str | None
    name: str

    def key(self, memory_id: UUID) -> str:
        if self.agent_id is None:
            return str(memory_id)
        return f"{memory_id}/{hashlib.sha256(self.agent_id.encode()).hexdigest()[:16]}"


class SharingService:
    """Copies memories into spaces and to other agents."""

    def __init__(
        self, database: Database, introducer: Introducer, memories: MemoryService, spaces: SpaceService, clock: Clock
    ) -> None:
        self._database = database
        self._introducer = introducer
        self._memories = memories
        self._spaces = spaces
        self._clock = clock

    async def share(self, scope: Scope, memory_id: UUID, space: str | None, agent_id: str | None) -> Receipt:
        """Store a copy of a memory in a space or for an agent; `unchanged` if it is there already.

        The copy has the metadata, the role and the source of the original, which decide how far it is trusted.

        Raises:
            NotFoundError: The caller cannot read the memory or the space.
            ForbiddenError: The caller may not write the space, or for the agent.
            ValidationFailedError: There is not one target, or the memory is there already.
        """
        target = await self._target(scope, space, agent_id)
        write = self._introducer.writing(target.scope, RECEIPT)
        async for attempt in write:
            async with attempt as tx:
                await tx.become(scope)
                original = await self._original(tx, memory_id, target)
                await tx.become(target.scope)
                write.result = await self._copy(tx, original, target)
        return self._memories.noticed(target.scope, write.result)

    async def unshare(self, scope: Scope, memory_id: UUID, space: str | None, agent_id: str | None) -> Receipt:
        """Forget the copy of a memory in a space or for an agent. Raises NotFoundError if there is none."""
        target = await self._target(scope, space, agent_id)
        write = self._database.writing(target.scope, RECEIPT)
        async for attempt in write:
            async with attempt as tx:
                stored = await _stored(tx, memory_id, target)
                if stored is None:
                    raise NotFoundError(f"memory {memory_id} is not shared with {target.name}")
                write.result = await self._memories.forget_stored(tx, stored, self._clock(), hard=False)
        return write.result

    async def _target(self, scope: Scope, space: str | None, agent_id: str | None) -> _Target:
        if (space is None) == (agent_id is None):
            raise ValidationFailedError("name one target: a space, or an agent_id")
        if space is None:
            name = check_id("agent_id", agent_id)
            return _Target(scope, name, f"the agent {name!r}")
        inside = in_space(scope, space)
        await self._spaces.enter(inside, writes=True)
        return _Target(inside, None, f"the space {space!r}")

    async def _original(self, tx: Tx, memory_id: UUID, target: _Target) -> Memory:
        """Return the memory to share. Raises an error if it cannot be shared with the target."""
        scope, now = tx.scope, self._clock()
        memory = await store.get(tx, memory_id)
        if memory is None or _is_over(memory, now):
            raise NotFoundError(f"no memory {memory_id}")
        if memory.superseded_by is not None:
            raise ConflictError(f"memory {memory_id} is superseded by {memory.superseded_by}; share that one")
        if memory.layer == "knowledge":
            raise ConflictError(f"memory {memory_id} is a passage of a document; add the document to the space instead")
        if memory.content_type == SOURCE:
            raise ConflictError(f"memory {memory_id} describes a tool or source; add it to the target instead")
        if memory.user_id != scope.user_id and (target.agent_id is not None or space_of(memory.user_id) is None):
            # The copy would count as the caller's own words, which are trusted more than those of others.
            raise ForbiddenError(f"memory {memory_id} belongs to somebody else: only its owner can share it")
        if memory.user_id == target.scope.user_id and target.agent_id in (None, memory.agent_id):
            raise ValidationFailedError(f"memory {memory_id} belongs to {target.name} already")
        bound = scope.bound_agent
        if bound and memory.kind != "semantic" and target.agent_id not in (None, bound):
            raise ForbiddenError(f"this token belongs to agent {bound!r}; it can share only facts with other agents")
        return memory

    async def _copy(self, tx: Tx, original: Memory, target: _Target) -> Receipt:
        """Store the copy, unless the target has it. The transaction is of the target."""
        now = self._clock()
        stored = await _stored(tx, original.memory_id, target)
        if stored is not None:
            if stored.expires_at is None or stored.expires_at > now:
                return await self._memories.known_receipt(tx, stored)
            await self._memories.forget_stored(tx, stored, now, hard=False)
        shared_from: dict[str, JsonValue] = {
            "memory_id": str(original.memory_id),
            "user_id": original.user_id,
            "agent_id": original.agent_id,
            "shared_at": now.isoformat(),
        }
        row = MemoryRow.of(original).evolve(
            memory_id=new_id(),
            user_id=target.scope.user_id,
            agent_id=target.agent_id or original.agent_id,
            session_id=None,
            namespace=NAMESPACE,
            key=target.key(original.memory_id),
            metadata={**original.metadata, SHARED_FROM: shared_from},
            visibility="private",
            archived_at=None,
            version=1,
            created_at=now,
            updated_at=now,
        )
        row = row.evolve(content_hash=content_hash(row, row.valid_from))
        (receipt,) = await self._memories.apply(tx, [Write(target.scope, written(row), frozenset(), None)])
        return receipt


async def _stored(tx: Tx, memory_id: UUID, target: _Target) -> MemoryRow | None:
    """Return the copy of a memory, locked. Raises ConflictError if its key holds something else."""
    key = target.key(memory_id)
    stored = await store.lock_key(tx, NAMESPACE, key)
    if stored is None:
        return None
    shared_from = stored.metadata.get(SHARED_FROM)
    if not isinstance(shared_from, dict) or shared_from.get("memory_id") != str(memory_id):
        raise ConflictError(f"another memory is stored under the key {NAMESPACE}/{key}; move or forget it first")
    return stored


def _is_over(memory: Memory, now: datetime) -> bool:
    return memory.deleted_at is not None or (memory.expires_at is not None and memory.expires_at <= now)

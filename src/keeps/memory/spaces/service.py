"""Spaces: create, list, change and erase them, and manage their members.

Row security decides what a member may do; this class says it in words.
"""

from __future__ import annotations

from pydantic import JsonValue

from keeps.base.clock import Clock
from keeps.base.scope import Scope, check_id, in_space, is_reserved, space_owner
from keeps.memory.spaces import store
from keeps.memory.transfer.erasure import TenantService
from keeps.store.access.roles import permits
from keeps.store.db.answers import Answer, StoredAnswer, plain
from keeps.store.db.session import Database, Tx
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ConflictError, ForbiddenError, NotFoundError, ValidationFailedError
from keeps_client.models import Deleted, ErasureReceipt, Space, SpaceDetail, SpaceMember
from keeps_client.models.spaces import MOST_MEMBERS, Membership, MemberType, NewSpace, SpaceChange


async def _read_again(tx: Tx, stored: JsonValue) -> Space:
    """Return a space as it is now. The transaction of an administrator is of the space, so the role was stored."""
    if not isinstance(stored, dict):  # of an earlier release
        return await _space(tx, str(stored))
    space = await _space(tx, str(stored["space_id"]))
    return Space.model_validate({**space.model_dump(), "role": stored["role"]})


def _to_store(space: Space) -> StoredAnswer:
    return StoredAnswer({"space_id": space.space_id, "role": space.role}, [f"space:{space.space_id}"])


_SPACE: Answer[Space] = Answer(_to_store, _read_again)
_MEMBER = plain(SpaceMember)
_DONE = plain(bool)


class SpaceService:
    """The spaces of a tenant. An administrator of the tenant may manage all of them."""

    def __init__(self, database: Database, introducer: Introducer, tenants: TenantService, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._tenants = tenants
        self._clock = clock

    async def enter(self, scope: Scope, *, writes: bool) -> None:
        """Raise NotFoundError or ForbiddenError if the user may not read, or write, the space of the scope, if any."""
        if scope.space_id is None or scope.acting_user is None:
            return
        async with self._database.scoped(scope) as tx:
            await _check(tx, str(scope.space_id), writes=writes)

    async def create(self, scope: Scope, new: NewSpace) -> Space:
        """Create a space with the user as its first curator. Raises ConflictError if the id is taken."""
        _check_outside(scope)
        if scope.agent_bound:
            raise ForbiddenError("a key or token of an agent cannot create spaces")
        write = self._introducer.writing(scope, _SPACE)
        async for attempt in write:
            async with attempt as tx:
                now = self._clock()
                if not await store.make(tx, new.space_id, new.title, now):
                    raise ConflictError(f"the space id {new.space_id!r} is taken")
                await tx.become(in_space(scope, new.space_id))
                await store.log_made(tx, new.space_id, scope.user_id, now)
                await tx.become(scope)
                write.result = await _space(tx, new.space_id)
        return write.result

    async def page(self, scope: Scope, after: str, limit: int) -> list[Space]:
        """Return the spaces that the user is a member of, by id."""
        _check_outside(scope)
        async with self._database.scoped(scope) as tx:
            return await store.page(tx, after, limit)

    async def of_tenant(self, scope: Scope, after: str, limit: int) -> list[Space]:
        """Return all spaces of the tenant, for administrators."""
        async with self._database.scoped(scope) as tx:
            return await store.of_tenant(tx, after, limit)

    async def get(self, scope: Scope, space_id: str) -> SpaceDetail:
        """Return a space with its members. Raises NotFoundError unless the user is one."""
        async with self._database.scoped(self._managing(scope, space_id)) as tx:
            space = await _space(tx, space_id, scope)
            return SpaceDetail(**space.model_dump(), member_list=tuple(await store.members(tx, space_id)))

    async def update(self, scope: Scope, space_id: str, change: SpaceChange) -> Space:
        """Change the title, archive the space or open it again."""
        managing = self._managing(scope, space_id)
        write = self._database.writing(managing, _SPACE)
        async for attempt in write:
            async with attempt as tx:
                await _check_manages(tx, space_id)
                stored, now = await _space(tx, space_id), self._clock()
                archived_at = stored.archived_at
                if change.archived is not None:
                    archived_at = (archived_at or now) if change.archived else None
                title = change.title if "title" in change.model_fields_set else stored.title
                await store.change(tx, space_id, title, archived_at, now)
                write.result = await _space(tx, space_id, scope)
        return write.result

    async def erase(self, scope: Scope, space_id: str) -> ErasureReceipt:
        """Erase everything in a space, also in the log."""
        async with self._database.scoped(self._managing(scope, space_id)) as tx:
            await _check_manages(tx, space_id)
        return await self._tenants.erase_user(Scope(scope.tenant_id), space_owner(space_id))

    async def exported(self, scope: Scope, space_id: str) -> Scope:
        """Return the scope in which the caller exports a space. Raises NotFoundError, ForbiddenError."""
        managing = self._managing(scope, space_id)
        async with self._database.scoped(managing) as tx:
            await _check_manages(tx, space_id)
        return managing

    async def set_member(
        self, scope: Scope, space_id: str, member_type: MemberType, member_id: str, membership: Membership
    ) -> SpaceMember:
        """Add a member, or change the role of one. The last curator stays one."""
        check_id("user_id" if member_type == "user" else "agent_id", member_id)
        if member_type == "user" and is_reserved(member_id):
            raise ValidationFailedError(f"member_id: {member_id!r} is reserved; nobody can act as it")
        now = self._clock()
        if membership.expires_at is not None and membership.expires_at <= now:
            raise ValidationFailedError("expires_at is in the past; remove the member instead")
        write = self._database.writing(self._managing(scope, space_id), _MEMBER)
        async for attempt in write:
            async with attempt as tx:
                await _check_manages(tx, space_id)
                members = {
                    (member.member_type, member.member_id): member for member in await store.members(tx, space_id)
                }
                before = members.get((member_type, member_id))
                if before is None and len(members) >= MOST_MEMBERS:
                    raise ConflictError(f"a space has at most {MOST_MEMBERS:,} members")
                if membership.role != "curator" or membership.expires_at is not None:
                    await self._check_not_last(tx, space_id, before)
                member = SpaceMember(
                    member_id=member_id,
                    member_type=member_type,
                    role=membership.role,
                    added_at=now if before is None else before.added_at,
                    expires_at=membership.expires_at,
                )
                await store.set_member(tx, space_id, member, now)
                write.result = member
        return write.result

    async def remove_member(self, scope: Scope, space_id: str, member_type: MemberType, member_id: str) -> Deleted:
        """Remove a member. Anyone may remove themselves, but the last curator."""
        managing, itself = self._managing(scope, space_id), (member_type, member_id) == ("user", scope.user_id)
        write = self._database.writing(Scope(scope.tenant_id, managing.user_id) if itself else managing, _DONE)
        async for attempt in write:
            async with attempt as tx:
                if not itself:
                    await _check_manages(tx, space_id)
                members = {
                    (member.member_type, member.member_id): member for member in await store.members(tx, space_id)
                }
                before = members.get((member_type, member_id))
                if before is None:
                    raise _unknown(space_id) if itself else NotFoundError(f"the space {space_id!r} has no such member")
                await self._check_not_last(tx, space_id, before)
                await store.log_removed(tx, space_id, member_type, member_id, self._clock())
                await store.remove_member(tx, space_id, member_type, member_id)
                write.result = True
        return Deleted(message=f"{member_type} {member_id!r} is no member of the space {space_id!r} any more")

    @staticmethod
    async def _check_not_last(tx: Tx, space_id: str, member: SpaceMember | None) -> None:
        if member is None or member.role != "curator" or member.expires_at is not None:
            return
        if not await store.has_other_curators(tx, space_id, member.member_type, member.member_id):
            raise ConflictError(
                f"{member.member_id!r} is the last curator of the space {space_id!r}; make another member one first"
            )

    @staticmethod
    def _managing(scope: Scope, space_id: str) -> Scope:
        """Return the scope in which the caller manages a space: an administrator acts as the space itself."""
        _check_outside(scope)
        if permits(scope, "admin"):
            return Scope(scope.tenant_id, space_owner(space_id))
        return in_space(scope, space_id)


async def _space(tx: Tx, space_id: str, caller: Scope | None = None) -> Space:
    """Return a space with the role of the caller, who is not the user of the transaction if it administers."""
    space = await store.get(tx, space_id, caller or tx.scope)
    if space is None:
        raise _unknown(space_id)
    return space


async def _check(tx: Tx, space_id: str, *, writes: bool) -> None:
    may_read, may_write, _ = await store.access(tx)
    if not may_read:
        raise _unknown(space_id)
    if writes and (not may_write or (await _space(tx, space_id)).archived_at is not None):
        raise ForbiddenError(f"you may only read the space {space_id!r}: your role is reader, or it is archived")


async def _check_manages(tx: Tx, space_id: str) -> None:
    await _space(tx, space_id)  # An administrator acts as the space, which may not exist.
    may_read, _, manages = await store.access(tx)
    if not may_read:
        raise _unknown(space_id)
    await _space(tx, space_id)  # An administrator acts as any space, also as one that does not exist.
    if not manages:
        raise ForbiddenError(f"only a curator may manage the space {space_id!r}")


def _check_outside(scope: Scope) -> None:
    if scope.space_id is not None:
        raise ValidationFailedError("spaces are managed from outside: leave out X-Space-ID, or for_space()")


def _unknown(space_id: str) -> NotFoundError:
    return NotFoundError(
        f"no space {space_id!r} that you are a member of; `keeps spaces list` (GET /v1/spaces) lists yours"
    )

"""Run the statements on spaces and members. Every function takes the transaction first."""

from __future__ import annotations

import json
from datetime import datetime

from keeps.base.clock import new_id
from keeps.base.scope import Scope
from keeps.base.scope import space_owner as space_owner
from keeps.store.db.session import Row, Tx
from keeps.store.db.statements import Statements
from keeps.store.events import store as events
from keeps.store.events.store import NewEvent
from keeps_client.models.events import EventType
from keeps_client.models.spaces import MemberType, Space, SpaceMember, SpaceRole

QUERIES = Statements("keeps.memory.spaces")


async def make(tx: Tx, space_id: str, title: str | None, now: datetime) -> bool:
    """Create a space with the user of the transaction as its first curator. Return False if there is one."""
    row = await tx.fetch_row(QUERIES["space_make"], space_id, title, now)
    return row is not None and row["made"]


async def access(tx: Tx) -> tuple[bool, bool, bool]:
    """Return whether the acting user may read, write and manage the space of the transaction."""
    (row,) = await tx.fetch(QUERIES["space_access"])
    return row["reads"], row["writes"], row["manages"]


async def get(tx: Tx, space_id: str, scope: Scope) -> Space | None:
    """Return a space with the role that the caller of the scope has in it."""
    row = await tx.fetch_row(QUERIES["space_get"], scope.tenant_id, space_id, scope.acting, scope.bound_agent)
    return None if row is None else Space(**dict(row))


async def page(tx: Tx, after: str, limit: int) -> list[Space]:
    scope = tx.scope
    rows = await tx.fetch(QUERIES["space_page"], scope.tenant_id, after, limit, scope.acting, scope.bound_agent)
    return [Space(**dict(row)) for row in rows]


async def of_tenant(tx: Tx, after: str, limit: int) -> list[Space]:
    return [Space(**dict(row)) for row in await tx.fetch(QUERIES["spaces_of_tenant"], after, limit)]


async def change(tx: Tx, space_id: str, title: str | None, archived_at: datetime | None, now: datetime) -> None:
    row = await tx.fetch_row(QUERIES["space_change"], tx.scope.tenant_id, space_id, title, archived_at)
    await _log(tx, "space.written", space_id, "space", row, now)


async def log_made(tx: Tx, space_id: str, member_id: str, now: datetime) -> None:
    """Add the events of a new space and its first member. The transaction is of the space."""
    tenant_id = tx.scope.tenant_id
    row = await tx.fetch_row(QUERIES["space_image"], tenant_id, space_id)
    await _log(tx, "space.written", space_id, "space", row, now)
    row = await tx.fetch_row(QUERIES["member_image"], tenant_id, space_id, "user", member_id)
    await _log(tx, "space.member.written", _subject(space_id, "user", member_id), "space_member", row, now)


async def members(tx: Tx, space_id: str) -> list[SpaceMember]:
    return [SpaceMember(**dict(row)) for row in await tx.fetch(QUERIES["members"], tx.scope.tenant_id, space_id)]


async def set_member(tx: Tx, space_id: str, member: SpaceMember, now: datetime) -> None:
    """Add a member, or replace the role of one."""
    row = await tx.fetch_row(
        QUERIES["member_set"],
        tx.scope.tenant_id,
        space_id,
        member.member_type,
        member.member_id,
        member.role,
        member.added_at,
        member.expires_at,
    )
    subject = _subject(space_id, member.member_type, member.member_id)
    await _log(tx, "space.member.written", subject, "space_member", row, now)


async def remove_member(tx: Tx, space_id: str, member_type: MemberType, member_id: str) -> SpaceRole | None:
    """Remove a member; return the role, None if there is no such member."""
    row = await tx.fetch_row(QUERIES["member_remove"], tx.scope.tenant_id, space_id, member_type, member_id)
    return None if row is None else row["role"]


async def log_removed(tx: Tx, space_id: str, member_type: MemberType, member_id: str, now: datetime) -> None:
    await _log(tx, "space.member.removed", _subject(space_id, member_type, member_id), "space_member", None, now)


async def has_other_curators(tx: Tx, space_id: str, member_type: MemberType, member_id: str) -> bool:
    (row,) = await tx.fetch(QUERIES["other_curators"], tx.scope.tenant_id, space_id, member_type, member_id)
    return row["others"]


async def add(tx: Tx, space: Space) -> bool:
    """Store a space from an export; return whether it is new."""
    row = await tx.fetch_row(
        QUERIES["space_add"],
        tx.scope.tenant_id,
        space.space_id,
        tx.scope.user_id,
        space.title,
        space.created_at,
        space.archived_at,
    )
    if row is not None:
        await _log(tx, "space.written", space.space_id, "space", row, space.created_at)
    return row is not None


async def add_member(tx: Tx, space_id: str, member: SpaceMember) -> bool:
    """Store a member from an export; return whether it is new."""
    row = await tx.fetch_row(
        QUERIES["member_add"],
        tx.scope.tenant_id,
        space_id,
        member.member_type,
        member.member_id,
        member.role,
        member.added_at,
        member.expires_at,
    )
    if row is not None:
        subject = _subject(space_id, member.member_type, member.member_id)
        await _log(tx, "space.member.written", subject, "space_member", row, member.added_at)
    return row is not None


def _subject(space_id: str, member_type: str, member_id: str) -> str:
    return f"{space_id}/{member_type}/{member_id}"


async def _log(tx: Tx, event: EventType, subject: str, noun: str, row: Row | None, now: datetime) -> None:
    """Add an event with the image of a row; without one, the row is gone."""
    data = {} if row is None else {noun: json.loads(row["image"])}
    await events.append(tx, [NewEvent(new_id(), event, subject, now, "private", tx.scope.agent_id, data)])

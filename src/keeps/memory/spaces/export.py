"""Export of spaces and their members."""

from __future__ import annotations

from datetime import datetime

from keeps.memory.spaces import store
from keeps.store.db.session import Tx
from keeps.store.export import Export, JsonRow
from keeps_client.errors import ValidationFailedError
from keeps_client.models import NewSpace, Space, SpaceMember


def _space_of(row: JsonRow) -> str:
    """Return the id of the space. Raises ValidationFailedError if the line belongs to another owner."""
    space_id = NewSpace.model_validate({"space_id": row["space_id"]}).space_id
    if row["user_id"] != store.space_owner(space_id):
        raise ValidationFailedError("belongs to another owner than its space")
    return space_id


def _read_space(row: JsonRow) -> Space:
    new = NewSpace.model_validate({"space_id": _space_of(row), "title": row["title"]})
    times = {name: datetime.fromisoformat(row[name]) for name in ("created_at", "archived_at") if row[name]}
    return Space.model_validate({**new.model_dump(), **times, "tenant_id": row["tenant_id"], "members": 0})


def _read_member(row: JsonRow) -> tuple[str, SpaceMember]:
    names = ("member_type", "member_id", "role", "added_at", "expires_at")
    return _space_of(row), SpaceMember.model_validate({name: row[name] for name in names})


async def _add_member(tx: Tx, read: tuple[str, SpaceMember]) -> bool:
    return await store.add_member(tx, *read)


EXPORTS = (
    Export("space", store.QUERIES["export_spaces"], {"space_id": ""}, _read_space, store.add),
    Export(
        "space_member",
        store.QUERIES["export_members"],
        {"member_type": "", "member_id": ""},
        _read_member,
        _add_member,
    ),
)

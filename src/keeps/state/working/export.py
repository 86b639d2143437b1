"""Export of plan state."""

from __future__ import annotations

from datetime import datetime

from keeps.state.working import store
from keeps.store.db.session import Tx
from keeps.store.export import Export, JsonRow, differ
from keeps_client.models import WorkingItem


def _read_item(row: JsonRow) -> tuple[WorkingItem, datetime]:
    item = WorkingItem.model_validate({**{name: row[name] for name in row if name != "created_at"}, "id": ""})
    return item, datetime.fromisoformat(row["created_at"])


async def _add_item(tx: Tx, read: tuple[WorkingItem, datetime]) -> bool:
    item, created_at = read
    return await store.add(tx, item, created_at)


async def _item_differs(tx: Tx, read: tuple[WorkingItem, datetime]) -> bool:
    item, created_at = read
    return differ(await store.get(tx, item.plan_id, item.key, created_at), item, ("value",))


EXPORTS = (
    Export(
        "working_memory",
        store.QUERIES["export_working_memory"],
        {"plan_id": "", "key": ""},
        _read_item,
        _add_item,
        _item_differs,
    ),
)

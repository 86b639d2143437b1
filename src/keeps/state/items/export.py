"""Export of items."""

from __future__ import annotations

import json
from datetime import datetime

from keeps.state.items import store
from keeps.store.db.session import Tx
from keeps.store.export import Export, JsonRow
from keeps_client.models import PutItem


def _read_item(row: JsonRow) -> tuple[PutItem, int, datetime, datetime]:
    texts = row["texts"]
    item = PutItem.model_validate(
        {
            **{name: row[name] for name in ("key", "value", "ttl_minutes")},
            "namespace": store.labels_of(row["namespace"]),
            "index": texts is not None,
            "texts": texts or None,
        }
    )
    created_at, updated_at = (datetime.fromisoformat(row[name]) for name in ("created_at", "updated_at"))
    return item, row["version"], created_at, updated_at


async def _add_item(tx: Tx, read: tuple[PutItem, int, datetime, datetime]) -> bool:
    return await store.add(tx, *read)


async def _item_differs(tx: Tx, read: tuple[PutItem, int, datetime, datetime]) -> bool:
    item = read[0]
    rows = await store.get(tx, [(store.stored(item.namespace), item.key)], None)
    return any(json.loads(row["value"]) != item.value for row in rows)


EXPORTS = (
    Export("item", store.QUERIES["export_items"], {"namespace": "", "key": ""}, _read_item, _add_item, _item_differs),
)

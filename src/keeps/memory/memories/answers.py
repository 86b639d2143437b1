"""Store receipts for retries: the outcome and id of each memory, without its content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic import JsonValue

from keeps.memory.memories import store
from keeps.store.db.answers import Answer, StoredAnswer
from keeps.store.db.session import Tx
from keeps_client.models import Receipt


def kept(receipt: Receipt) -> dict[str, JsonValue]:
    fields = receipt.model_dump(mode="json", include={"status", "memory_id", "event_id", "indexed", "remains_in"})
    return {**fields, "whole": receipt.memory is not None}


async def given(tx: Tx, found: Sequence[dict[str, Any]]) -> list[Receipt]:
    """Return the stored receipts, each with its memory as it is now."""
    memory_ids = [UUID(stored["memory_id"]) for stored in found if stored["whole"]]
    if tx.scope.grant is not None:
        await tx.append(memory_ids)
    memories = await store.get_many(tx, memory_ids)
    return [
        Receipt.model_validate({name: value for name, value in stored.items() if name != "whole"}).model_copy(
            update={"memory": memories.get(UUID(stored["memory_id"]))}
        )
        for stored in found
    ]


async def _one(tx: Tx, found: dict[str, Any]) -> Receipt:
    (receipt,) = await given(tx, [found])
    return receipt


RECEIPT: Answer[Receipt] = Answer(lambda receipt: StoredAnswer(kept(receipt), [str(receipt.memory_id)]), _one)
RECEIPTS: Answer[list[Receipt]] = Answer(
    lambda receipts: StoredAnswer([kept(each) for each in receipts], [str(each.memory_id) for each in receipts]), given
)

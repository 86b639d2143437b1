"""Export of memories."""

from __future__ import annotations

import re

from keeps.memory.memories import store
from keeps.memory.memories.types import MemoryRow, content_hash
from keeps.store.db.session import Tx
from keeps.store.export import NO_ID, Export, JsonRow, check_as_new, differ
from keeps_client.models import Memory, NewMemory

COMPARED = (
    "content value kind content_type namespace key role trigger_condition procedure_type metadata tags source"
    " importance visibility session_id valid_from"
).split()
"""Fields that people edit in an export."""


def _read_memory(row: JsonRow) -> store.NewMemoryRow:
    given_hash = row.pop("content_hash", "")
    check_as_new(NewMemory, row)
    stored = MemoryRow.of(Memory.model_validate(row))
    return store.written(stored.evolve(content_hash=_choose_hash(stored, given_hash)))


def _choose_hash(row: MemoryRow, given: object) -> bytes:
    """Return the hash of the line if it can belong to its content, else the hash of the content.

    A memory that was changed since it was first stored keeps its first hash.
    """
    hashes = [content_hash(row), content_hash(row, row.valid_from)]
    if not isinstance(given, str) or not re.fullmatch(r"\\x(?:[0-9a-f]{2}){32,64}", given):
        return hashes[0]
    known = bytes.fromhex(given[2:])
    return known if row.version > 1 or known[:32] in (each[:32] for each in hashes) else hashes[0]


async def _add_memory(tx: Tx, memory: store.NewMemoryRow) -> bool:
    return bool(await store.insert_many(tx, [memory], ""))


async def _memory_differs(tx: Tx, memory: store.NewMemoryRow) -> bool:
    stored = await store.get(tx, memory.row.memory_id)
    if stored is None and memory.row.namespace and memory.row.key:  # another memory has the key
        stored = await store.find(tx, memory.row.namespace, memory.row.key, memory.row.updated_at)
    return differ(stored, memory.row.as_memory(), COMPARED)


EXPORTS = (
    Export(
        "memory",
        store.QUERIES["export_memories"],
        {"older": False, "memory_id": NO_ID},
        _read_memory,
        _add_memory,
        _memory_differs,
    ),
)

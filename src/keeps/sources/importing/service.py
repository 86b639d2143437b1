"""Import records in batches, and report the outcome of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from keeps.sources.importing.records import Record
from keeps_client.errors import ValidationFailedError

if TYPE_CHECKING:
    from keeps_client import Memory

BATCH = 250


@dataclass(slots=True)
class Summary:
    """Counts receipts by status, and lists each rejected record with its reason.

    `notes`: omitted parts of stored records, by place.
    """

    statuses: Counter[str] = field(default_factory=Counter[str])
    rejected: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    notes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def stored(self) -> int:
        return sum(self.statuses.values())


async def run_import(
    memory: Memory, records: Iterable[Record], progress: Callable[[int], None] | None = None
) -> Summary:
    """Store all valid records, in transactions of 250; vectors follow in the background.

    An invalid record is rejected alone. An import can be stopped and run again: stored records are `unchanged`.
    """
    summary = Summary()
    batch: list[Record] = []
    for record in records:
        if record.memory is None:
            summary.rejected.append((record.place, record.problem or "cannot be stored"))
            continue
        if record.note is not None:
            summary.notes.append((record.place, record.note))
        batch.append(record)
        if len(batch) == BATCH:
            await _store(memory, batch, summary)
            batch = []
            if progress:
                progress(BATCH)
    if batch:
        await _store(memory, batch, summary)
        if progress:
            progress(len(batch))
    return summary


async def _store(memory: Memory, batch: list[Record], summary: Summary) -> None:
    try:
        receipts = await memory.remember_many(
            [record.memory for record in batch if record.memory is not None], index="later"
        )
    except ValidationFailedError as error:
        if len(batch) == 1:
            summary.rejected.append((batch[0].place, error.detail.removeprefix("item 0: ")))
            return
        half = len(batch) // 2
        await _store(memory, batch[:half], summary)
        await _store(memory, batch[half:], summary)
        return
    summary.statuses.update(receipt.status for receipt in receipts)

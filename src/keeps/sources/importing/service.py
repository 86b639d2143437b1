"""Import records in batches, and report the outcome of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from keeps.memory.conversations.batches import facts_of
from keeps.sources.importing.records import Record
from keeps_client.checked import validated
from keeps_client.errors import ValidationFailedError
from keeps_client.models import NewMemory
from keeps_client.models.memories import Learn

if TYPE_CHECKING:
    from keeps_client import Memory
    from keeps_client.models import Memory as Stored

BATCH = 250
BATCH_CHARACTERS = 500_000
WOULD = "would be stored"


Records = Iterable[Record] | AsyncIterable[Record]


@dataclass(slots=True)
class Summary:
    """Counts the records by outcome, and lists each rejected one with its reason.

    `read` = `stored` + `known` + the rejected ones. `notes`: omitted parts of stored records, and skipped files.
    `facts`: those that were learnt or changed; of a dry run, those that the messages state, also if they are known.
    """

    statuses: Counter[str] = field(default_factory=Counter[str])
    rejected: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    notes: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    read: int = 0
    facts: int = 0

    @property
    def known(self) -> int:
        return self.statuses["unchanged"]

    @property
    def stored(self) -> int:
        return sum(self.statuses.values()) - self.known


class Importer:
    """Stores records in one user's memory, in transactions of 250; vectors follow in the background.

    The facts that messages of the user state are stored in the same transaction.

    An invalid record is rejected alone. An import can be stopped and run again: stored records are `unchanged`.

    Args:
        memory: The user's memory. Nothing is written anywhere else.
        owner: Only records of this user of the other product. Without it, those of the first owner that the data names.
        dry_run: Store nothing; compare with what is stored.
    """

    def __init__(self, memory: Memory, *, owner: str | None = None, dry_run: bool = False) -> None:
        self._memory = memory
        self._owner = owner
        self._dry_run = dry_run
        self._batch: list[Record] = []
        self._characters = 0
        self.summary = Summary()

    async def run(self, records: Records, progress: Callable[[int], None] | None = None) -> Summary:
        async for record in _in_order(records):
            if record.memory is None and record.item is None and record.problem is None:
                self._note(record)
                continue
            self.summary.read += 1
            if (problem := record.problem or self._problem_of_owner(record)) is not None:
                self.summary.rejected.append((record.place, problem))
                continue
            self._note(record)
            self._batch.append(record)
            self._characters += len(str((record.memory or record.item or {}).get("content", "")))
            if len(self._batch) == BATCH or self._characters > BATCH_CHARACTERS:
                await self._flush(progress)
        await self._flush(progress)
        return self.summary

    def _note(self, record: Record) -> None:
        if record.note is not None:
            self.summary.notes.append((record.place, record.note))

    def _problem_of_owner(self, record: Record) -> str | None:
        """Return why a record of another user is refused: two users' data must not end up in one memory."""
        if record.owner is None or record.owner == self._owner:
            return None
        if self._owner is None:
            self._owner = record.owner
            return None
        return f"belongs to {record.owner!r}; import it into that user's memory with --user and --owner {record.owner}"

    async def _flush(self, progress: Callable[[int], None] | None) -> None:
        batch, self._batch, self._characters = self._batch, [], 0
        memories = [record for record in batch if record.memory is not None and record.valid_to is None]
        if self._dry_run:
            for record in batch:
                await self._compare(record)
        else:
            if memories:
                await self._store(memories)
            for record in batch:
                if record.item is not None:
                    await self._store_item(record.place, record.item)
                elif record.valid_to is not None:
                    await self._store_ended(record, record.valid_to)
        if progress and batch:
            progress(len(batch))

    async def _store(self, batch: list[Record]) -> None:
        learn: Learn | None = next((record.learn for record in batch if record.learn is not None), None)
        try:
            receipts = await self._memory.remember_many(
                [record.memory for record in batch if record.memory is not None], index="later", learn=learn
            )
        except ValidationFailedError as error:
            if len(batch) == 1:
                self.summary.rejected.append((batch[0].place, error.detail.removeprefix("item 0: ")))
                return
            half = len(batch) // 2
            await self._store(batch[:half])
            await self._store(batch[half:])
            return
        self.summary.statuses.update(receipt.status for receipt in receipts[: len(batch)])
        self.summary.facts += sum(receipt.status != "unchanged" for receipt in receipts[len(batch) :])

    async def _store_ended(self, record: Record, valid_to: datetime) -> None:
        """Store a memory that is no longer true, and the end of its time."""
        try:
            new = validated(NewMemory, record.memory)
            stored = await self._find(new)
            if stored is not None and stored.valid_to == valid_to and stored.content == new.content:
                self.summary.statuses["unchanged"] += 1
                return
            receipt = await self._memory.remember_many([new], index="later")
            await self._memory.update(receipt[0].memory_id, valid_to=valid_to, index="later")
        except ValidationFailedError as error:
            self.summary.rejected.append((record.place, error.detail))
        else:
            self.summary.statuses["updated" if stored is not None else "created"] += 1

    async def _store_item(self, place: str, item: dict[str, Any]) -> None:
        try:
            stored = await self._memory.get_item(item["namespace"], item["key"])
            if stored is not None and stored.value == item["value"]:
                self.summary.statuses["unchanged"] += 1
            elif self._dry_run:
                self.summary.statuses[WOULD] += 1
            else:
                await self._memory.put_item(**item)
                self.summary.statuses["updated" if stored is not None else "created"] += 1
        except ValidationFailedError as error:
            self.summary.rejected.append((place, error.detail))

    async def _compare(self, record: Record) -> None:
        """Count what storing a record would do."""
        if record.item is not None:
            await self._store_item(record.place, record.item)
            return
        try:
            new = validated(NewMemory, record.memory)
        except ValidationFailedError as error:
            self.summary.rejected.append((record.place, error.detail))
            return
        stored = await self._find(new)
        names = new.model_fields_set - {"ttl_days", "if_version"}
        same = stored is not None and all(getattr(stored, name) == getattr(new, name) for name in names)
        self.summary.statuses["unchanged" if same else WOULD] += 1
        if record.learn is not None and not same:
            now = datetime.now(UTC)
            self.summary.facts += len(facts_of(new, new.valid_from or now, record.learn, now))

    async def _find(self, new: NewMemory) -> Stored | None:
        """Return the stored memory of a key; memories without one are compared when they are stored."""
        return await self._memory.find(new.namespace, new.key) if new.namespace and new.key else None


async def _in_order(records: Records) -> AsyncIterator[Record]:
    if isinstance(records, AsyncIterable):
        async for record in records:
            yield record
    else:
        for record in records:
            yield record


async def run_import(
    memory: Memory,
    records: Records,
    progress: Callable[[int], None] | None = None,
    *,
    owner: str | None = None,
    dry_run: bool = False,
) -> Summary:
    """Import records; see Importer."""
    return await Importer(memory, owner=owner, dry_run=dry_run).run(records, progress)

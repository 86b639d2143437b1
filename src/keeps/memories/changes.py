"""What a transaction does to memories: store new ones, meet what is there, replace, erase."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from keeps.clock import Clock, new_id
from keeps.db.session import Tx
from keeps.events import store as events
from keeps.events.store import NewEvent
from keeps.memories import store
from keeps.memories.images import Image, embedded_text
from keeps.memories.reconcile import Keep, Replace, StoreOlder, check_version, reconcile
from keeps.memories.store import Written, written
from keeps.memories.writer import Write
from keeps_client.errors import ConflictError, KeepsError
from keeps_client.models import Receipt
from keeps_client.validation import same_json

RESTORABLE = timedelta(days=30)


class Changes:
    """The steps of writing, for whoever holds a transaction. `model`: the tag of the vectors that come with a write."""

    def __init__(self, model: str, clock: Clock) -> None:
        self._model = model
        self._clock = clock

    async def apply(self, tx: Tx, writes: list[Write]) -> list[Receipt | KeepsError]:
        """Store writes of one user: the new ones in one statement, then one by one those that meet something stored.

        Where one expects a version, all go one by one, so that each meets what those before it left.
        """
        inserted: set[str] = set()
        if all(write.if_version is None for write in writes):
            inserted = await store.insert_many(tx, [write.row for write in writes], self._model)
        answers: list[Receipt | KeepsError] = []
        for write in writes:
            if write.row.image["memory_id"] in inserted:
                answers.append(_created(write.row))
                continue
            try:
                answers.append(await self._meet(tx, write))
            except ConflictError as error:
                answers.append(error)
        return answers

    async def _meet(self, tx: Tx, write: Write) -> Receipt:
        """Store one write whose key or content is there already, or that expects a version."""
        stored = await store.lock_same(tx, write.row.image)
        check_version(stored, write.if_version)
        if stored is None:
            if not await store.insert_many(tx, [write.row], self._model):
                # There is one, but this agent's token may not see it.
                raise ConflictError("another agent of yours holds this key or content already")
            return _created(write.row)
        match reconcile(stored, write.row.image, write.given, new_id(), self._clock()):
            case Keep(current):
                return await self.unchanged(tx, current)
            case Replace(image, older):
                # The embedding is of what was given; what the stored memory keeps may have changed its text.
                fits = embedded_text(image) == embedded_text(write.row.image)
                return await self.replace(tx, stored, written(image, write.row.embedding if fits else None), older)
            case StoreOlder(image):
                return await self._store_older(tx, stored, image, write.row)

    async def replace(
        self, tx: Tx, stored: Image, row: Written, older: Image | None, at: datetime | None = None
    ) -> Receipt:
        """Store a new image of a locked row, and the older truth that it supersedes, if there was one. `at`: as in the store."""
        memory_id = UUID(row.image["memory_id"])
        if older is not None:
            await store.insert_many(tx, [written(older, None)], self._model)
            await store.copy_vectors(tx, memory_id, UUID(older["memory_id"]))
        await store.replace(tx, [row], "memory.written", at)
        await store.store_terms(tx, row)
        if row.embedding is not None and embedded_text(stored) != embedded_text(row.image):
            await store.store_vector(tx, row, row.embedding, self._model)
        if (stored["visibility"], row.image["visibility"]) == ("tenant", "private"):
            await self._hide_older(tx, memory_id)
        indexed = await store.is_indexed(tx, memory_id, self._model)
        return receipt("updated", row.image, row.event_id, indexed=indexed)

    async def _hide_older(self, tx: Tx, memory_id: UUID) -> None:
        """What is made private takes its older truths along."""
        for image in await store.lock_older(tx, memory_id):
            if image["visibility"] == "tenant":
                row = written({**image, "visibility": "private", "updated_at": self._clock().isoformat()}, None)
                await store.replace(tx, [row], "memory.superseded")
                await store.store_terms(tx, row)

    async def _store_older(self, tx: Tx, stored: Image, image: Image, row: Written) -> Receipt:
        """Put a truth that arrived late into its place among the older ones, each ending where the next begins."""
        begins = _moment(image["valid_from"])
        known = [each for each in await store.lock_older(tx, UUID(stored["memory_id"])) if each["deleted_at"] is None]
        for each in known:
            if (
                same_json((each["content"], each["value"]), (image["content"], image["value"]))
                and _moment(each["valid_from"]) == begins
            ):
                return await self.unchanged(tx, each)
        later = min(
            (each for each in (stored, *known) if _moment(each["valid_from"]) > begins),
            key=lambda each: _moment(each["valid_from"]),
        )
        for each in known:
            if _moment(each["valid_from"]) < begins < _moment(each["valid_to"] or stored["valid_from"]):
                ended = {**each, "valid_to": image["valid_from"], "updated_at": self._clock().isoformat()}
                await store.replace(tx, [Written(ended, new_id(), [], b"", None)], "memory.superseded")
        placed = written({**image, "valid_to": later["valid_from"]}, row.embedding)
        await store.insert_many(tx, [placed], self._model)
        return receipt("superseded", placed.image, placed.event_id, indexed=placed.embedding is not None)

    async def unchanged(self, tx: Tx, image: Image) -> Receipt:
        return receipt(
            "unchanged", image, None, indexed=await store.is_indexed(tx, UUID(image["memory_id"]), self._model)
        )

    async def erase(self, tx: Tx, images: list[Image]) -> Receipt:
        """Remove memories with their older truths, and take what they said out of all events."""
        found = {image["memory_id"]: image for image in images}
        for image in images:
            found |= {older["memory_id"]: older for older in await store.lock_older(tx, UUID(image["memory_id"]))}
        await store.delete(tx, [UUID(memory_id) for memory_id in found])
        news: list[NewEvent] = []
        for memory_id, image in found.items():
            await store.redact_events(tx, UUID(memory_id))
            if image["superseded_by"] not in found and image["superseded_by"] is not None:
                # An older truth was once said under the id of the newer one.
                await store.redact_events(tx, UUID(image["superseded_by"]), image["content"])
            data = {"memory_id": memory_id}
            news.append(NewEvent(new_id(), "memory.erased", memory_id, self._clock(), "private", None, data))
        await events.append(tx, news)
        return Receipt(status="forgotten", memory_id=UUID(images[0]["memory_id"]), event_id=news[0].event_id)

    async def remove_overdue(self, tx: Tx) -> int:
        """What was forgotten more than 30 days ago goes for good, a little at a time; how many went."""
        overdue = [await store.lock(tx, each) for each in await store.overdue(tx, self._clock() - RESTORABLE)]
        if images := [image for image in overdue if image is not None]:
            await self.erase(tx, images)
        return len(images)


def _created(row: Written) -> Receipt:
    return receipt("created", row.image, row.event_id, indexed=row.embedding is not None)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def receipt(status: Any, image: Image, event_id: UUID | None, *, indexed: bool) -> Receipt:
    return Receipt.model_construct(
        status=status,
        memory_id=UUID(image["memory_id"]),
        memory=store.memory_from_image(image),
        event_id=event_id,
        indexed=indexed,
    )

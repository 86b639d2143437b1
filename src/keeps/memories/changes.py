"""What a transaction does to memories: store new ones, meet what is there, replace, erase."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from keeps.clock import Clock, new_id
from keeps.db.errors import constraint_of
from keeps.db.session import Tx
from keeps.events import store as events
from keeps.events.store import NewEvent
from keeps.memories import store
from keeps.memories.images import Image, audience_of
from keeps.memories.reconcile import Keep, Replace, StoreOlder, check_version, reconcile
from keeps.memories.store import Written, written
from keeps.memories.writer import Write
from keeps_client.errors import ConflictError, KeepsError, NotFoundError
from keeps_client.models import Receipt

RESTORABLE = timedelta(days=30)
DERIVED_FROM = ("content", "metadata", "trigger_condition", "tags")
"""The columns whose change makes words and vectors stale; the trigger keeps.follow_memory says the same."""


class Changes:
    """The steps of writing, for whoever holds a transaction. `model`: the tag of the vectors that come with a write."""

    def __init__(self, model: str, clock: Clock) -> None:
        self._model = model
        self._clock = clock

    async def apply(self, tx: Tx, writes: list[Write]) -> list[Receipt | KeepsError]:
        """Store writes of one user: the new ones in one statement, then one by one those that meet something stored."""
        plain = [write for write in writes if write.if_version is None]
        inserted: set[str] = set()
        if plain:
            try:
                inserted = await store.insert_many(tx, [write.row for write in plain], self._model)
            except Exception as error:
                if constraint_of(error) in ("memories_user_exists", "users_tenant_exists"):
                    raise NotFoundError("this user was erased") from error
                raise
        answers: list[Receipt | KeepsError] = []
        for write in writes:
            if write.row.image["memory_id"] in inserted:
                answers.append(
                    receipt("created", write.row.image, write.row.event_id, indexed=write.row.embedding is not None)
                )
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
            await store.insert_many(tx, [write.row], self._model)
            return receipt("created", write.row.image, write.row.event_id, indexed=write.row.embedding is not None)
        match reconcile(stored, write.row.image, write.given, new_id(), self._clock()):
            case Keep(current):
                return await self.unchanged(tx, current)
            case Replace(image, older):
                return await self.replace(tx, stored, written(image, write.row.embedding), older)
            case StoreOlder(image):
                for known in await store.lock_older(tx, UUID(stored["memory_id"])):
                    if (known["content"], known["value"], known["valid_from"]) == (
                        image["content"],
                        image["value"],
                        image["valid_from"],
                    ):
                        return await self.unchanged(tx, known)
                row = written(image, write.row.embedding)
                await store.insert_many(tx, [row], self._model)
                return receipt("superseded", image, row.event_id, indexed=row.embedding is not None)

    async def replace(self, tx: Tx, stored: Image, row: Written, older: Image | None) -> Receipt:
        memory_id = UUID(row.image["memory_id"])
        if older is not None:
            await store.insert_many(tx, [written(older, None)], self._model)
            await store.copy_vectors(tx, memory_id, UUID(older["memory_id"]))
        await store.replace(tx, [row], "memory.written")
        text_changed = any(stored[name] != row.image[name] for name in DERIVED_FROM)
        if text_changed or audience_of(stored) != audience_of(row.image):
            await store.store_terms(tx, row)
        if text_changed and row.embedding is not None:
            await store.store_vector(tx, row, row.embedding, self._model)
        indexed = await store.is_indexed(tx, memory_id, self._model)
        return receipt("updated", row.image, row.event_id, indexed=indexed)

    async def unchanged(self, tx: Tx, image: Image) -> Receipt:
        return receipt(
            "unchanged", image, None, indexed=await store.is_indexed(tx, UUID(image["memory_id"]), self._model)
        )

    async def erase(self, tx: Tx, stored: Image, older: list[Image]) -> Receipt:
        now = self._clock()
        ids = [UUID(image["memory_id"]) for image in (stored, *older)]
        await store.delete(tx, ids)
        for erased in ids:
            await store.redact_events(tx, erased)
        news = [
            NewEvent(
                new_id(),
                "memory.erased",
                str(erased),
                now,
                stored["visibility"],
                stored["agent_id"],
                {"memory_id": str(erased)},
            )
            for erased in ids
        ]
        await events.append(tx, news)
        return Receipt(status="forgotten", memory_id=ids[0], event_id=news[0].event_id)

    async def remove_overdue(self, tx: Tx) -> None:
        """What was forgotten more than 30 days ago goes for good, a little at a time."""
        now = self._clock()
        if ids := await store.overdue(tx, now - RESTORABLE):
            await store.delete(tx, ids)
            for erased in ids:
                await store.redact_events(tx, erased)
            await events.append(
                tx,
                [
                    NewEvent(new_id(), "memory.erased", str(erased), now, "private", None, {"memory_id": str(erased)})
                    for erased in ids
                ],
            )


def receipt(status: Any, image: Image, event_id: UUID | None, *, indexed: bool) -> Receipt:
    return Receipt.model_construct(
        status=status,
        memory_id=UUID(image["memory_id"]),
        memory=store.memory_from_image(image),
        event_id=event_id,
        indexed=indexed,
    )

"""Reading memories for entities: who is spoken of where. Derived, so it can be done again at any time."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from keeps.clock import Clock, new_id
from keeps.db.session import Database, Tx
from keeps.graph import store
from keeps.graph.finding import find_known, find_names, new_names
from keeps.scope import Scope
from keeps.tenants.service import Introducer
from keeps_client.models import Entity, Reading

BATCH = 200


class Reader:
    """Finds entities in the memories of a user, by rules (keeps.graph.finding)."""

    def __init__(self, database: Database, introducer: Introducer, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._clock = clock

    async def read(
        self, scope: Scope, *, again: bool = False, progress: Callable[[int], None] | None = None
    ) -> Reading:
        """Read what was not read yet, or with `again` everything. What a user said of a memory and an entity stays."""
        if again:
            await self._introducer.write(
                scope, lambda tx: tx.execute(store.QUERIES["readings_forget"], scope.tenant_id, scope.user_id)
            )
        memories = entities = mentions = 0
        while True:
            done = await self._introducer.write(scope, self._batch)
            if done is None:
                return Reading(memories=memories, entities=entities, mentions=mentions, pending=0)
            memories, entities, mentions = memories + done[0], entities + done[1], mentions + done[2]
            if progress:
                progress(done[0])

    async def _batch(self, tx: Tx) -> tuple[int, int, int] | None:
        """One batch: how many memories, new entities and mentions; None where nothing is left to read."""
        who = (tx.scope.tenant_id, tx.scope.user_id)
        rows = await tx.fetch(store.QUERIES["memories_to_read"], *who, BATCH)
        if not rows:
            return None
        known = await store.known_names(tx)
        now = self._clock()
        made: list[Entity] = []
        for row in rows:
            speaker = row["speaker"] if row["kind"] == "episodic" else None
            names = [*find_names(row["content"]), *([speaker] if speaker else [])]
            for name in new_names(names, known, known.rejected):
                kind = "handle" if name.startswith("@") else "person" if name == speaker else "name"
                entity = Entity(
                    entity_id=new_id(), tenant_id=who[0], user_id=who[1], name=name[:255], entity_type=kind, aliases=(), properties={},
                    visibility="private", source="text", version=1, created_at=now, updated_at=now,
                )  # fmt: skip
                known.add(name, entity.entity_id)
                made.append(entity)
        if made:
            await store.put_entities(tx, [(entity, None) for entity in made])
        pairs: list[tuple[UUID, UUID]] = []
        for row in rows:
            text = f"{row['speaker']}: {row['content']}" if row["speaker"] else row["content"]
            pairs += [(row["memory_id"], each) for each in find_known(text, known)]
        ids = [row["memory_id"] for row in rows]
        await tx.execute(store.QUERIES["mentions_forget"], *who, ids)
        await tx.execute(
            store.QUERIES["mentions_found"], *who, [memory for memory, _ in pairs], [entity for _, entity in pairs], now
        )
        await tx.execute(store.QUERIES["memories_read"], *who, ids, [row["version"] for row in rows])
        return len(rows), len(made), len(pairs)

"""Read memories to find the entities they mention. The results are derived and can be rebuilt at any time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from pydantic import JsonValue

from keeps.base.clock import Clock, new_id
from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.base.text.trust import LEVELS
from keeps.memory.graph import extraction, store
from keeps.memory.graph.extraction import ToldGraph
from keeps.memory.graph.finding import find_known, find_names, new_names, words_of_name
from keeps.models.counted import CountedChat
from keeps.store.db.session import Database, Row, Tx
from keeps.store.tenants.service import Introducer
from keeps_client.errors import ForbiddenError, KeepsError
from keeps_client.models import Entity, Reading, Relation

BATCH = 200
OWN_LEVELS = LEVELS.index("shared")
"""Number of levels of the user's own words and their agents'."""
COST = "llm"
"""Property of entities and edges: what the call of the LLM took that found them."""
Cost = Mapping[str, JsonValue]


class Reader:
    """Finds entities in a user's memories: by rules (keeps.memory.graph.finding), and by an LLM if there is one."""

    def __init__(self, database: Database, introducer: Introducer, chat: CountedChat | None, clock: Clock) -> None:
        self._database = database
        self._introducer = introducer
        self._chat = chat
        self._clock = clock

    async def read(
        self, scope: Scope, *, again: bool = False, progress: Callable[[int], None] | None = None
    ) -> Reading:
        """Read unread memories, or with `again` all. A user's own statements about mentions are kept.

        Raises:
            ForbiddenError: an agent's token may not see entities of other agents' experiences.
        """
        if scope.agent_bound:
            raise ForbiddenError(
                "an agent's token cannot extract entities from its user's memories; use a token of the user"
            )
        if again:
            async for attempt in self._introducer.writing(scope):
                async with attempt as tx:
                    await tx.execute(store.QUERIES["readings_forget"], scope.tenant_id, scope.user_id)
        memories = entities = mentions = 0
        while True:
            answers, cost = await self._ask(scope)
            done = None
            async for attempt in self._introducer.writing(scope):
                async with attempt as tx:
                    done = await self._batch(tx, answers, cost)
            if done is None:
                return Reading(memories=memories, entities=entities, mentions=mentions, pending=0)
            memories, entities, mentions = memories + done[0], entities + done[1], mentions + done[2]
            if progress:
                progress(done[0])

    async def _ask(self, scope: Scope) -> tuple[Mapping[UUID, ToldGraph], Cost]:
        """Return what the LLM finds in the next texts, and what its call took, as properties.

        Empty if there is none or it is unreachable: the rules continue alone.
        """
        if self._chat is None:
            return {}, {}
        async with self._database.scoped(scope) as tx:
            rows = await tx.fetch(store.QUERIES["memories_to_read"], scope.tenant_id, scope.user_id, extraction.BATCH)
        if not rows:
            return {}, {}
        chat = self._chat.of(scope)
        try:
            answers = await extraction.ask(chat, [(row["memory_id"], row["content"]) for row in rows])
        except KeepsError as error:
            log().warning("the LLM did not answer; extracting entities by rules only", error=type(error).__name__)
            return {}, {}
        return answers, {COST: chat.made(len(rows))}

    async def _batch(self, tx: Tx, told: Mapping[UUID, ToldGraph], cost: Cost) -> tuple[int, int, int] | None:
        """Read one batch. Return the numbers of memories, new entities and mentions; None if nothing is left."""
        who = (tx.scope.tenant_id, tx.scope.user_id)
        at_most = BATCH if self._chat is None else extraction.BATCH
        rows = await tx.fetch(store.QUERIES["memories_to_read"], *who, at_most)
        if not rows:
            return None
        known_names = await store.known_names(tx)
        now = self._clock()
        made: list[Entity] = []
        for row in rows:
            speaker = row["speaker"] if row["kind"] == "episodic" else None
            typed = told[row["memory_id"]].names if row["memory_id"] in told else {}
            names = [*typed, *find_names(row["content"]), *([speaker] if speaker else [])]
            for name in new_names(names, known_names, known_names.rejected):
                kind = "handle" if name.startswith("@") else "person" if name == speaker else typed.get(name, "name")
                entity = Entity(
                    entity_id=new_id(),
                    tenant_id=who[0],
                    user_id=who[1],
                    name=name[:255],
                    entity_type=kind,
                    aliases=(),
                    properties={**(cost if name in typed else {}), **_of_trust(row)},
                    visibility="private",
                    source="llm" if name in typed else "text",
                    version=1,
                    created_at=now,
                    updated_at=now,
                )
                known_names.add(name, entity.entity_id)
                made.append(entity)
        if made:
            await store.put_entities(tx, [(entity, None) for entity in made])
        edges: list[Relation] = []
        for row in rows:
            if row["memory_id"] in told:
                edges += await self._edges(tx, row, told[row["memory_id"]], known_names, cost)
        await store.put_relations(tx, edges)
        pairs: list[tuple[UUID, UUID]] = []
        for row in rows:
            text = f"{row['speaker']}: {row['content']}" if row["speaker"] else row["content"]
            pairs += [(row["memory_id"], entity_id) for entity_id in find_known(text, known_names)]
        ids = [row["memory_id"] for row in rows]
        await tx.execute(store.QUERIES["mentions_forget"], *who, ids)
        await tx.execute(
            store.QUERIES["mentions_found"], *who, [memory for memory, _ in pairs], [entity for _, entity in pairs], now
        )
        await tx.execute(store.QUERIES["memories_read"], *who, ids, [row["version"] for row in rows])
        return len(rows), len(made), len(pairs)

    async def _edges(
        self, tx: Tx, row: Row, told: ToldGraph, known: Mapping[tuple[str, ...], UUID], cost: Cost
    ) -> list[Relation]:
        """Return the edges of a text that are not stored yet. An LLM never ends the edges of a user."""
        now = self._clock()
        edges: list[Relation] = []
        for source, kind, target in told.edges:
            ends = known.get(words_of_name(source)), known.get(words_of_name(target))
            if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
                continue
            if await store.open_relations(tx, ends[0], kind, now, ends[1]):
                continue
            edges.append(
                Relation(
                    relation_id=new_id(),
                    tenant_id=tx.scope.tenant_id,
                    user_id=tx.scope.user_id,
                    source_id=ends[0],
                    target_id=ends[1],
                    relation_type=kind,
                    properties={"found_by": "llm", **cost, **_of_trust(row)},
                    weight=1.0,
                    visibility="private",
                    valid_from=now,
                    memory_id=row["memory_id"],
                    event_id=new_id(),
                    version=1,
                    created_at=now,
                    updated_at=now,
                )
            )
        return edges


def _of_trust(row: Row) -> dict[str, JsonValue]:
    """Return the property of what was found in a text that is not the user's own: its level of trust."""
    return {} if row["trust"] < OWN_LEVELS else {"trust": LEVELS[row["trust"]]}

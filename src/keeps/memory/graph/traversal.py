"""Traverse the graph: entities within some steps, along a pattern, and the shortest path between two."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from keeps.memory.graph import store
from keeps.memory.graph.patterns import fits, parse_pattern
from keeps.store.db.session import Tx
from keeps_client.errors import ConflictError, NotFoundError
from keeps_client.models import Direction, Entity, PathRequest, Traversal, TraverseRequest

MAX_RELATIONS = 10_000
MAX_FRONTIER = 100_000
_REVERSED: dict[Direction, Direction] = {"outgoing": "incoming", "incoming": "outgoing", "both": "both"}


async def traverse(tx: Tx, request: TraverseRequest, now: datetime) -> Traversal:
    """Return what is reachable from an entity within some steps, or along a pattern. Raises NotFoundError."""
    pattern = None if request.path_pattern is None else parse_pattern(request.path_pattern)
    start = await resolved(tx, request.start)
    if pattern is None:
        reached = await store.reach(
            tx, start.entity_id, request.depth, request.direction, request.relation_types, now, request.limit
        )
        shown = reached[: request.limit]
        entities = await store.entities(tx, [entity_id for entity_id, _ in shown])
        edges = await store.relations_among(
            tx, [entity_id for entity_id, _ in shown], now, request.relation_types, MAX_RELATIONS + 1
        )
        return Traversal.model_construct(
            entities=[entities[entity_id] for entity_id, _ in shown],
            depths=[depth for _, depth in shown],
            relations=edges[:MAX_RELATIONS],
            truncated=len(reached) > request.limit or len(edges) > MAX_RELATIONS,
        )
    if not fits(start.entity_type, pattern.start):
        return Traversal(entities=[start], depths=[0], relations=[])
    paths, cut = await store.paths(
        tx, start.entity_id, pattern.relations, pattern.directions, pattern.entities, now, request.limit
    )
    kept_paths = paths[: request.limit]
    return await _along(tx, start, kept_paths, truncated=cut or len(paths) > request.limit)


async def shortest_path(tx: Tx, request: PathRequest, now: datetime) -> Traversal:
    """Return the path with the fewest edges between two entities; no paths if there is none within `max_depth`."""
    source, target = await resolved(tx, request.source), await resolved(tx, request.target)
    forward = _Search(source.entity_id, request.direction)
    backward = _Search(target.entity_id, _REVERSED[request.direction])
    truncated = False
    meeting = {source.entity_id} & {target.entity_id}
    for _ in range(request.max_depth):
        if meeting or not (forward.frontier and backward.frontier):
            break
        # Search from both ends, always on the smaller side: half the depth covers far less than half of the graph.
        one, other = sorted((forward, backward), key=lambda search: len(search.frontier))
        steps = await store.step(tx, one.frontier, one.direction, request.relation_types, now, MAX_FRONTIER + 1)
        truncated = truncated or len(steps) > MAX_FRONTIER
        one.advance(steps)
        meeting = set(one.frontier) & other.came.keys()
    if not meeting:
        return Traversal(entities=[source], depths=[0], relations=[], truncated=truncated)
    middle = min(meeting, key=lambda entity_id: (forward.depth[entity_id] + backward.depth[entity_id], entity_id))
    there, there_by = forward.way_to(middle)
    back, back_by = backward.way_to(middle)
    entities, relations = [*there, *reversed(back[:-1])], [*there_by, *reversed(back_by)]
    return await _along(tx, source, [(entities, relations)], truncated=truncated)


async def resolved(tx: Tx, wanted: str | UUID) -> Entity:
    """Return the entity with an id or name; for a merged one, the entity that it was merged into."""
    if isinstance(wanted, str):
        try:
            wanted = UUID(wanted)
        except ValueError:
            namesakes = await store.named(tx, [wanted])
            if not namesakes:
                raise NotFoundError(f"no entity is named {wanted!r}; add it first") from None
            own = [namesake for namesake in namesakes if namesake.user_id == tx.scope.user_id] or namesakes
            exact = [namesake for namesake in own if namesake.name.casefold() == wanted.casefold()] or own
            if len({namesake.entity_id for namesake in exact}) > 1:
                named = ", ".join(f"{namesake.entity_type} {namesake.entity_id}" for namesake in exact[:5])
                raise ConflictError(f"{len(exact)} entities are named {wanted!r}; choose one by id: {named}") from None
            return exact[0]
    entity = (await store.entities(tx, [wanted])).get(wanted)
    for _ in range(10):
        if entity is None or entity.merged_into is None:
            break
        entity = (await store.entities(tx, [entity.merged_into])).get(entity.merged_into)
    if entity is None or entity.deleted_at is not None:
        raise NotFoundError(f"no entity {wanted}")
    return entity


class _Search:
    """Breadth-first search from one entity; stores the predecessor and the edge of each entity reached."""

    def __init__(self, start: UUID, direction: Direction) -> None:
        self.direction: Direction = direction
        self.frontier = [start]
        self.came: dict[UUID, tuple[UUID, UUID] | None] = {start: None}
        self.depth = {start: 0}

    def advance(self, steps: list[tuple[UUID, UUID, UUID]]) -> None:
        self.frontier = []
        for relation_id, here, there in steps:
            if there not in self.came:
                self.came[there] = (here, relation_id)
                self.depth[there] = self.depth[here] + 1
                self.frontier.append(there)

    def way_to(self, entity_id: UUID) -> tuple[list[UUID], list[UUID]]:
        """Return the entities from the start to one that was reached, and the edges between them."""
        entities, relations = [entity_id], list[UUID]()
        while (before := self.came[entities[0]]) is not None:
            entities.insert(0, before[0])
            relations.insert(0, before[1])
        return entities, relations


async def _along(tx: Tx, start: Entity, paths: list[tuple[list[UUID], list[UUID]]], *, truncated: bool) -> Traversal:
    depths: dict[UUID, int] = {start.entity_id: 0}
    for path, _ in paths:
        for depth, entity_id in enumerate(path):
            depths[entity_id] = min(depth, depths.get(entity_id, depth))
    ordered = sorted(depths, key=lambda entity_id: depths[entity_id])
    entities = await store.entities(tx, ordered)
    edges = await store.relations(tx, list(dict.fromkeys(entity_id for _, path in paths for entity_id in path)))
    return Traversal.model_construct(
        entities=[entities[entity_id] for entity_id in ordered if entity_id in entities],
        depths=[depths[entity_id] for entity_id in ordered if entity_id in entities],
        relations=edges,
        paths=[path for path, _ in paths],
        truncated=truncated,
    )

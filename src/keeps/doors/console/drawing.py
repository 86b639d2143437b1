"""Places the neighbourhood of an entity on two rings, for a picture in SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from keeps_client.models import Entity, Relation

WIDTH, HEIGHT = 900, 560
INNER, OUTER = 12, 24
"""Maximum number of entities on each ring."""
RINGS = ((0.5, 0.5), (0.86, 0.86))
"""Radii of the rings, as shares of half the width and half the height."""
STEP = 2 * math.pi / OUTER
"""Smallest angle between two entities of the outer ring."""
GAP = 13
"""Distance between the end of an edge and the centre of its entity."""


@dataclass(frozen=True, slots=True)
class Node:
    """An entity at a place. `ring`: 0 in the middle, 1 or 2."""

    entity: Entity
    x: float
    y: float
    ring: int


@dataclass(frozen=True, slots=True)
class Edge:
    """The relations between two entities, as one arrow from `(x1, y1)` to `(x2, y2)`."""

    names: tuple[str, ...]
    source: Node
    target: Node
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Picture:
    """Entities and arrows. `left_out`: the number of entities that found no place."""

    nodes: list[Node]
    edges: list[Edge]
    left_out: int


def draw(middle: Entity, entities: Mapping[UUID, Entity], relations: Iterable[Relation]) -> Picture:
    """Return the entity in the middle, its neighbours on the inner ring, and theirs beside them on the outer ring."""
    pairs: dict[tuple[UUID, UUID], list[str]] = {}
    neighbours: dict[UUID, list[UUID]] = {}
    for relation in relations:
        source, target = relation.source_id, relation.target_id
        if source != target and source in entities and target in entities:
            pairs.setdefault((source, target), []).append(relation.relation_type)
            neighbours.setdefault(source, []).append(target)
            neighbours.setdefault(target, []).append(source)
    inner = list(dict.fromkeys(neighbours.get(middle.entity_id, [])))[:INNER]
    taken = {middle.entity_id, *inner}
    angles = {entity_id: 2 * math.pi * place / len(inner) - math.pi / 2 for place, entity_id in enumerate(inner)}
    nodes = {middle.entity_id: Node(middle, WIDTH / 2, HEIGHT / 2, 0)}
    nodes |= {entity_id: Node(entities[entity_id], *_point(1, angle), 1) for entity_id, angle in angles.items()}
    wanted: dict[UUID, float] = {}
    for parent in inner:  # an outer entity is beside its neighbour on the inner ring
        fresh = [each for each in dict.fromkeys(neighbours[parent]) if each not in taken][
            : OUTER - len(taken) + len(nodes)
        ]
        taken |= {*fresh}
        for place, entity_id in enumerate(fresh):
            wanted[entity_id] = angles[parent] + (place - (len(fresh) - 1) / 2) * STEP
    for entity_id, angle in _apart(wanted):
        nodes[entity_id] = Node(entities[entity_id], *_point(2, angle), 2)
    edges = [
        _edge(nodes[source], nodes[target], names)
        for (source, target), names in pairs.items()
        if source in nodes and target in nodes
    ]
    return Picture(list(nodes.values()), edges, len(set(neighbours) - set(nodes)))


def _apart(wanted: Mapping[UUID, float]) -> list[tuple[UUID, float]]:
    """Return angles in the same order, at least STEP apart: evenly spaced where they would meet again at the start."""
    ordered = sorted(wanted, key=lambda entity_id: wanted[entity_id])
    angles: list[float] = []
    for entity_id in ordered:
        angles.append(max(wanted[entity_id], angles[-1] + STEP) if angles else wanted[entity_id])
    if angles and angles[-1] - angles[0] > 2 * math.pi - STEP:
        angles = [angles[0] + 2 * math.pi * place / len(angles) for place in range(len(angles))]
    return list(zip(ordered, angles, strict=True))


def _point(ring: int, angle: float) -> tuple[float, float]:
    wide, high = RINGS[ring - 1]
    x = WIDTH / 2 + wide * (WIDTH / 2 - 60) * math.cos(angle)
    y = HEIGHT / 2 + high * (HEIGHT / 2 - 20) * math.sin(angle)
    return round(x, 1), round(y, 1)


def _edge(source: Node, target: Node, names: list[str]) -> Edge:
    length = math.hypot(target.x - source.x, target.y - source.y) or 1.0
    x, y = (target.x - source.x) / length * GAP, (target.y - source.y) / length * GAP
    ends = (source.x + x, source.y + y, target.x - x, target.y - y)
    return Edge(tuple(dict.fromkeys(names)), source, target, *(round(end, 1) for end in ends))

"""The picture of a graph."""

from __future__ import annotations

from itertools import combinations
from math import hypot

from hypothesis import given
from hypothesis import strategies as some

from keeps.base.clock import new_id, utc_now
from keeps.doors.console.drawing import HEIGHT, INNER, OUTER, WIDTH, draw
from keeps_client.models import Entity, Relation

ENTITIES = [
    Entity.model_construct(entity_id=new_id(), name=f"entity {number}", entity_type="thing") for number in range(60)
]
PAIRS = some.lists(some.tuples(some.integers(0, 59), some.integers(0, 59)), max_size=120)


def related(pairs: list[tuple[int, int]]) -> list[Relation]:
    return [
        Relation.model_construct(
            relation_id=new_id(),
            source_id=ENTITIES[source].entity_id,
            target_id=ENTITIES[target].entity_id,
            relation_type="knows",
            valid_from=utc_now(),
        )
        for source, target in pairs
    ]


@given(PAIRS)
def test_entities_are_inside_the_picture_and_apart(pairs: list[tuple[int, int]]) -> None:
    picture = draw(ENTITIES[0], {each.entity_id: each for each in ENTITIES}, related(pairs))
    assert len(picture.nodes) <= 1 + INNER + OUTER
    assert all(0 < node.x < WIDTH and 0 < node.y < HEIGHT for node in picture.nodes)
    assert all(hypot(one.x - other.x, one.y - other.y) > 12 for one, other in combinations(picture.nodes, 2))


@given(PAIRS)
def test_every_drawn_relation_joins_drawn_entities(pairs: list[tuple[int, int]]) -> None:
    picture = draw(ENTITIES[0], {each.entity_id: each for each in ENTITIES}, related(pairs))
    names = {node.entity.name for node in picture.nodes}
    drawn = {(edge.source.entity.name, edge.target.entity.name) for edge in picture.edges}
    wanted = {(ENTITIES[source].name, ENTITIES[target].name) for source, target in pairs if source != target}
    assert drawn == {pair for pair in wanted if names.issuperset(pair)}


def test_neighbours_are_on_the_inner_ring_and_theirs_on_the_outer() -> None:
    picture = draw(ENTITIES[0], {each.entity_id: each for each in ENTITIES}, related([(0, 1), (2, 1), (3, 4)]))
    assert {node.entity.name: node.ring for node in picture.nodes} == {"entity 0": 0, "entity 1": 1, "entity 2": 2}

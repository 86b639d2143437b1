"""The graph, the same in process, over HTTP and without await."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError

NOW = datetime.now(UTC)


async def people(memory: Any) -> dict[str, Any]:
    """Alice and Bob work at Acme, Carol at Globex; Acme lies in Lisbon; Alice knows Carol."""
    kinds = {"Alice": "person", "Bob": "person", "Carol": "person", "Acme": "org", "Globex": "org", "Lisbon": "city"}
    made = {name: await memory.add_entity(name, entity_type=kind) for name, kind in kinds.items()}
    for source, kind, target in (
        ("Alice", "works_at", "Acme"),
        ("Bob", "works_at", "Acme"),
        ("Carol", "works_at", "Globex"),
        ("Acme", "lies_in", "Lisbon"),
        ("Alice", "knows", "Carol"),
    ):
        await memory.add_relation(made[source], target, kind)
    return made


def names(found: Any) -> list[str]:
    return [each.name for each in found.entities]


@pytest.mark.sync_client
async def test_entity_is_found_by_type_name_or_alias(memory: Any) -> None:
    first = await memory.add_entity("Alice Smith", entity_type="person", aliases=["Al"], properties={"born": 1990})
    again = await memory.add_entity("  alice   SMITH ", entity_type="person", properties={"eyes": "green"})
    by_alias = await memory.add_entity("AL", entity_type="person", aliases=["Ally"])
    assert first.entity_id == again.entity_id == by_alias.entity_id
    assert (by_alias.properties, by_alias.aliases, by_alias.version) == (
        {"born": 1990, "eyes": "green"},
        ("Al", "Ally"),
        3,
    )
    assert (await memory.add_entity("Al", entity_type="person")).version == 3, "nothing new"
    assert (await memory.add_entity("Alice Smith", entity_type="ship")).entity_id != first.entity_id
    assert [each.name for each in (await memory.list_entities(name="ally")).items] == ["Alice Smith"]
    assert [each.entity_type for each in (await memory.list_entities(limit=1)).items] == ["ship"]
    page = await memory.list_entities(limit=1)
    assert [each.entity_type for each in (await memory.list_entities(limit=1, cursor=page.next_cursor)).items] == [
        "person"
    ]
    mine = uuid4()
    assert (await memory.add_entity("With an id", entity_id=mine)).entity_id == mine
    with pytest.raises(ConflictError):
        await memory.add_entity("With an id", entity_id=uuid4())


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 256},
        {"name": "a\x00b"},
        {"name": " "},
        {"name": "x", "entity_type": "two words"},
        {"name": "x", "properties": {"x": float("nan")}},
        {"name": "x", "entity_id": "no"},
        {"name": "x", "aliases": ["a"] * 51},
        {"name": 5},
    ],
)
async def test_wrong_entities_are_refused(memory: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailedError):
        await memory.add_entity(**wrong)


async def test_edges_have_direction_and_type(memory: Any) -> None:
    made = await people(memory)
    alice, acme = made["Alice"].entity_id, made["Acme"].entity_id
    assert [each.relation_type for each in await memory.get_relations(alice)] == ["works_at", "knows"]
    assert [each.relation_type for each in await memory.get_relations(acme, direction="outgoing")] == ["lies_in"]
    assert len(await memory.get_relations(acme, direction="incoming", relation_type="works_at")) == 2
    assert await memory.get_relations(acme, relation_type="knows") == []
    assert await memory.get_relations("alice") == await memory.get_relations(alice), "a name will do"
    band = await memory.add_entity("AC/DC & " + "x" * 240)
    assert await memory.get_relations(band.name) == []
    for nobody in (uuid4(), "No/body?"):
        with pytest.raises(NotFoundError):
            await memory.get_relations(nobody)
    with pytest.raises(ValidationFailedError):
        await memory.get_relations(acme, direction="up")
    with pytest.raises(NotFoundError, match="Nobody"):
        await memory.add_relation("Alice", "Nobody", "knows")
    for wrong in (
        {"weight": float("inf")},
        {"valid_from": NOW, "valid_to": NOW - timedelta(days=1)},
        {"memory_id": uuid4()},
    ):
        with pytest.raises((ValidationFailedError, NotFoundError)):
            await memory.add_relation("Alice", "Bob", "knows", **wrong)


async def test_new_edge_closes_old_one(memory: Any) -> None:
    made = await people(memory)
    alice = made["Alice"].entity_id
    told = await memory.remember("Alice works at Globex now.")
    first = (await memory.get_relations(alice, relation_type="works_at"))[0]
    assert (await memory.add_relation("Alice", "Acme", "works_at")).relation_id == first.relation_id, "the same again"
    before = datetime.now(UTC)
    changed = await memory.add_relation("Alice", "Acme", "works_at", properties={"role": "cook"})
    moved = await memory.add_relation("Alice", "Globex", "works_at", exclusive=True, memory_id=told.memory_id)
    assert [each.relation_id for each in await memory.get_relations(alice, relation_type="works_at")] == [
        moved.relation_id
    ]
    assert (moved.memory_id, moved.target_id) == (told.memory_id, made["Globex"].entity_id)
    event = next(each for each in await memory.events(types=["memory.linked"], limit=200) if each.id == moved.event_id)
    assert event.data["relation"] == "works_at"
    past = await memory.get_relations(alice, relation_type="works_at", as_of=before)
    assert [(each.relation_id, each.properties, each.valid_to) for each in past] == [(first.relation_id, {}, None)]
    await memory.delete_relation(moved.relation_id)
    assert await memory.get_relations(alice, relation_type="works_at") == []
    then = await memory.get_relations(alice, relation_type="works_at", as_of=moved.updated_at)
    assert [each.relation_id for each in then] == [moved.relation_id], "deleted since, but known then"
    await memory.delete_relation(moved.relation_id, hard=True)
    assert await memory.get_relations(alice, relation_type="works_at", as_of=moved.updated_at) == []
    assert changed.version == 1


async def test_traversal_is_limited_to_depth(memory: Any) -> None:
    made = await people(memory)
    found = await memory.traverse("alice", depth=1)
    assert (names(found)[0], sorted(names(found)[1:]), found.depths) == ("Alice", ["Acme", "Carol"], [0, 1, 1])
    assert sorted(names(await memory.traverse(made["Alice"], depth=2))) == [
        "Acme",
        "Alice",
        "Carol",
        "Globex",
        "Lisbon",
    ]
    assert sorted(names(await memory.traverse("Acme", direction="incoming", depth=1))) == ["Acme", "Alice", "Bob"]
    assert names(await memory.traverse("Alice", relation_types=["knows"], depth=3)) == ["Alice", "Carol"]
    everything = await memory.traverse("Lisbon", direction="both", depth=10)
    assert (len(everything.entities), len(everything.relations), everything.truncated) == (6, 5, False)
    cut = await memory.traverse("Lisbon", direction="both", depth=10, limit=3)
    assert (len(cut.entities), cut.truncated) == (3, True)
    await memory.add_relation("Lisbon", "Alice", "home_of")
    assert len((await memory.traverse("Alice", depth=10)).entities) == 5, "a circle is no trap"
    with pytest.raises(NotFoundError):
        await memory.traverse("Nobody")


async def test_paths_follow_a_pattern(memory: Any) -> None:
    made = await people(memory)
    colleagues = await memory.traverse("Alice", path_pattern="person -works_at-> org <-works_at- person")
    assert colleagues.paths == [[made[name].entity_id for name in ("Alice", "Acme", "Bob")]]
    assert (names(colleagues), len(colleagues.relations)) == (["Alice", "Acme", "Bob"], 2)
    any_way = await memory.traverse("Alice", path_pattern="* -knows|works_at- * -*- *")
    assert sorted(len(path) for path in any_way.paths) == [3, 3, 3]
    assert (await memory.traverse("Acme", path_pattern="person -works_at-> org")).paths == []
    limited = await memory.traverse("Alice", path_pattern="* -*- *", limit=1)
    assert (len(limited.paths), limited.truncated) == (1, True)
    for wrong in ("person", "person works_at org", "-works_at->", "a <-b-> c", "a -b-> ", "a " + "-b-> a " * 9):
        with pytest.raises(ValidationFailedError):
            await memory.traverse("Alice", path_pattern=wrong)


async def test_shortest_path_is_found(memory: Any) -> None:
    made = await people(memory)
    found = await memory.shortest_path("Bob", "Globex")
    assert found.paths == [[made[name].entity_id for name in ("Bob", "Acme", "Alice", "Carol", "Globex")]]
    assert (await memory.shortest_path("Bob", "Globex", max_depth=3)).paths == []
    assert (await memory.shortest_path("Bob", "Lisbon", direction="outgoing")).depths == [0, 1, 2]
    assert (await memory.shortest_path("Bob", "Bob")).paths == [[made["Bob"].entity_id]]


async def test_merged_entities_can_be_unmerged(memory: Any) -> None:
    made = await people(memory)
    al = await memory.add_entity("Al", entity_type="person", aliases=["Allie"])
    await memory.add_relation(al, "Lisbon", "lives_in")
    before = await memory.get_relations(al.entity_id)
    alice = await memory.merge_entities(made["Alice"].entity_id, al.entity_id)
    assert alice.aliases == ("Al", "Allie")
    assert (await memory.get_entity(al.entity_id)).merged_into == alice.entity_id
    assert "lives_in" in [each.relation_type for each in await memory.get_relations(alice.entity_id)]
    assert names(await memory.traverse("Allie", depth=1, relation_types=["lives_in"])) == ["Alice", "Lisbon"]
    assert [each.target_id for each in await memory.get_relations(al.entity_id, as_of=before[0].updated_at)] == [
        made["Lisbon"].entity_id
    ]
    for again in (
        (alice.entity_id, al.entity_id),
        (alice.entity_id, alice.entity_id),
        (al.entity_id, made["Bob"].entity_id),
    ):
        with pytest.raises((ConflictError, ValidationFailedError)):
            await memory.merge_entities(*again)
    alone = await memory.unmerge_entity(al.entity_id)
    assert (alone.name, alone.aliases, alone.merged_into) == ("Al", ("Allie",), None)
    assert (await memory.get_entity(alice.entity_id)).aliases == ()
    after = await memory.get_relations(al.entity_id)
    assert [(each.relation_id, each.source_id, each.target_id) for each in after] == [
        (each.relation_id, each.source_id, each.target_id) for each in before
    ]
    with pytest.raises(ConflictError):
        await memory.unmerge_entity(al.entity_id)


async def test_deleting_entity_removes_edges_and_frees_name(memory: Any) -> None:
    made = await people(memory)
    then = datetime.now(UTC)
    await memory.delete_entity(made["Acme"].entity_id)
    assert [each.relation_type for each in await memory.get_relations(made["Alice"].entity_id)] == ["knows"]
    with pytest.raises(NotFoundError):
        await memory.get_entity(made["Acme"].entity_id)
    assert (await memory.get_entity(made["Acme"].entity_id, as_of=then)).name == "Acme"
    assert len(await memory.get_relations(made["Acme"].entity_id, as_of=then)) == 3
    assert (await memory.add_entity("Acme", entity_type="org")).entity_id != made["Acme"].entity_id
    await memory.delete_entity(made["Acme"].entity_id, hard=True)
    with pytest.raises(NotFoundError):
        await memory.get_entity(made["Acme"].entity_id, as_of=then)


async def test_extracted_entities_respect_corrections(memory: Any) -> None:
    bank = await memory.add_entity("Bank of Ireland", entity_type="org", aliases=["BoI"])
    told = await memory.remember("Yesterday Maria Santos met Tom's cousin at the bank of ireland in Porto.")
    talk = await memory.remember("I met @marsan and Maria Santos.", kind="episodic", metadata={"speaker": "Joana"})
    found = await memory.read_entities()
    assert (found.memories, found.pending) == (2, 0)
    by_name = {each.name: each for each in (await memory.list_entities(limit=200)).items}
    assert set(by_name) == {"Bank of Ireland", "Maria Santos", "Tom", "Porto", "@marsan", "Joana"}
    assert (by_name["Joana"].entity_type, by_name["@marsan"].entity_type, by_name["Porto"].source) == (
        "person",
        "handle",
        "text",
    )
    spoken = {each.entity_id for each in await memory.get_mentions(memory_id=told.memory_id)}
    assert spoken == {by_name[name].entity_id for name in ("Bank of Ireland", "Maria Santos", "Tom", "Porto")}
    maria = by_name["Maria Santos"].entity_id
    assert [each.memory_id for each in await memory.get_mentions(entity_id=maria)] == [talk.memory_id, told.memory_id]
    await memory.remove_mention(told.memory_id, by_name["Tom"].entity_id)
    await memory.delete_entity(by_name["Porto"].entity_id)
    await memory.add_mention(talk.memory_id, bank.entity_id)
    assert (await memory.read_entities()).memories == 0
    assert (await memory.read_entities(again=True)).memories == 2
    after = {each.entity_id: each for each in await memory.get_mentions(memory_id=told.memory_id)}
    assert after[by_name["Tom"].entity_id].rejected
    assert [
        each.source for each in await memory.get_mentions(memory_id=talk.memory_id) if each.entity_id == bank.entity_id
    ] == ["user"]
    assert (await memory.list_entities(name="Porto")).items == [], "rejected once, it is not found again"
    with pytest.raises(ValidationFailedError):
        await memory.get_mentions()
    with pytest.raises(NotFoundError):
        await memory.add_mention(uuid4(), maria)

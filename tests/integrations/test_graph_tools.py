"""The reference memory server's tools: names in any spelling, wording as given, answers that say what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.mcp import graph_server, searching
from keeps.integrations.mcp.answers import tokens
from keeps.integrations.mcp.nodes import relation_type_of
from keeps.integrations.mcp.searching import by_words
from keeps_client.models import Entity
from tests.integrations.test_mcp import call, refused


@pytest.fixture
async def graph(keeps: Keeps, tenant: str) -> AsyncIterator[Client]:
    async with Client(graph_server(lambda: keeps.memory(Scope(tenant, "alice")))) as client:
        yield client


def entity(name: str, *observations: str, kind: str = "person") -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def relation(source: str, kind: str, target: str) -> dict[str, str]:
    return {"from": source, "to": target, "relationType": kind}


async def all_of(graph: Client, tool: str, **arguments: Any) -> dict[str, list[Any]]:
    """Read an answer to its end, each part within its budget."""
    budget = arguments.get("max_tokens", 1_500)
    found: dict[str, list[Any]] = {"entities": [], "relations": []}
    cursor: dict[str, str] = {}
    while True:
        part = await call(graph, tool, **arguments, **cursor)
        assert tokens(part) <= budget
        for name in found:
            found[name] += part[name]
        if "nextCursor" not in part:
            return found
        cursor = {"cursor": part["nextCursor"]}


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("Clara", "clara"),
        ("Clara", "  CLARA "),
        (" Padded ", "Padded"),
        ("Zo\u00eb", "Zoe\u0308"),
        ("Zoe\u0308", "zo\u00eb"),
        ("Ａｃｍｅ", "Acme"),
        ("Ada  Lovelace", "ada lovelace"),
    ],
)
async def test_every_tool_takes_any_spelling(graph: Client, name: str, spelling: str) -> None:
    await call(graph, "create_entities", entities=[entity(name, "Likes tea")])
    added = await call(graph, "add_observations", observations=[{"entityName": spelling, "contents": ["Plays chess"]}])
    assert added["results"] == [{"entityName": name.strip(), "addedObservations": ["Plays chess"]}]
    await call(graph, "create_entities", entities=[entity(spelling, "Owns a boat", kind="sailor")])
    everything = ["Likes tea", "Plays chess", "Owns a boat"]
    for each in (name, spelling):
        (opened,) = (await call(graph, "open_nodes", names=[each]))["entities"]
        assert opened["observations"] == everything
    assert (await call(graph, "search_nodes", query="chess"))["entities"][0]["observations"] == everything
    await call(graph, "create_relations", relations=[relation(spelling, "knows", "Bob")])
    assert (await call(graph, "create_relations", relations=[relation(name, "knows", "bob")]))["relations"] == []
    gone = {"entityName": spelling, "observations": ["Likes tea"]}
    assert "successfully" in (await call(graph, "delete_observations", deletions=[gone]))["message"]
    await call(graph, "delete_relations", relations=[relation(spelling, "knows", "BOB")])
    whole = await call(graph, "read_graph")
    assert whole["relations"] == []
    assert sorted(each["name"] for each in whole["entities"]) == sorted([name.strip(), "Bob"])
    await call(graph, "delete_entities", entityNames=[spelling, "bob"])
    assert (await call(graph, "read_graph"))["entities"] == []


async def test_observations_of_a_merged_entity_stay(graph: Client, keeps: Keeps, tenant: str) -> None:
    await call(graph, "create_entities", entities=[entity("Robert", "Sails"), entity("Bob", "Swims")])
    memory = keeps.memory(Scope(tenant, "alice"))
    robert, bob = [(await memory.list_entities(name=name))[0] for name in ("Robert", "Bob")]
    await memory.merge_entities(robert, bob)
    (opened,) = (await call(graph, "open_nodes", names=["bob", "Robert"]))["entities"]
    assert opened["observations"] == ["Sails", "Swims"]


KINDS = [
    "知る",
    "работает с",
    "ä",
    "يعرف",
    "likes a lot",
    "likes (a lot)",
    "likes_a_lot",
    "?",
    "!",
    "x" * 120,
    "y" * 120,
]


async def test_relations_of_any_wording_stay_apart(graph: Client) -> None:
    told = [relation("Ada", kind, "Grace") for kind in KINDS]
    assert (await call(graph, "create_relations", relations=told))["relations"] == told
    assert (await call(graph, "create_relations", relations=told))["relations"] == []
    assert (await all_of(graph, "open_nodes", names=["Ada"]))["relations"] == told
    await call(graph, "delete_relations", relations=told[:3])
    assert (await all_of(graph, "read_graph"))["relations"] == told[3:]
    assert len({relation_type_of(kind) for kind in KINDS}) == len(KINDS)
    assert relation_type_of("works_at") == "works_at"
    assert relation_type_of(relation_type_of("知る")) != relation_type_of("知る")


async def test_an_edge_of_an_earlier_version_is_known(graph: Client, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    ada, grace = [await memory.add_entity(name) for name in ("Ada", "Grace")]
    await memory.add_relation(ada, grace, "works_with", properties={"relationType": "works with"})
    told = [relation("Ada", "works with", "Grace")]
    assert (await call(graph, "create_relations", relations=told))["relations"] == []
    await call(graph, "delete_relations", relations=told)
    assert (await call(graph, "read_graph"))["relations"] == []


async def test_a_name_given_twice_loses_nothing(graph: Client) -> None:
    made = await call(
        graph, "create_entities", entities=[entity("Clara", "One"), entity("Clara", "Two"), entity("clara", "Three")]
    )
    assert made["entities"] == [entity("Clara", "One", "Two", "Three")]
    more = [{"entityName": "Clara", "contents": ["Four"]}, {"entityName": "CLARA", "contents": ["Five", "Four"]}]
    added = await call(graph, "add_observations", observations=more)
    assert added["results"] == [{"entityName": "Clara", "addedObservations": ["Four", "Five"]}]
    (opened,) = (await call(graph, "open_nodes", names=["Clara", "clara"]))["entities"]
    assert opened["observations"] == ["One", "Two", "Three", "Four", "Five"]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        (entity("Clara", "Fine", "x" * 60_000), "entities.1.observations.1"),
        (entity("Clara", "Fine", ""), "entities.1.observations.1"),
        (entity("Clara", "Fine", "a\x00b"), "entities.1.observations.1"),
        (entity("x" * 300, "Fine"), "entities.1.name"),
        (entity("   ", "Fine"), "entities.1.name"),
        (entity("Clara", "Fine", kind="x" * 300), "entities.1.entityType"),
        ({"name": "Clara", "observations": ["Fine"]}, "entities.1.entityType"),
    ],
)
async def test_entities_are_stored_whole_or_not_at_all(graph: Client, wrong: dict[str, Any], place: str) -> None:
    assert place in await refused(graph, "create_entities", entities=[entity("Ada", "Sings"), wrong])
    assert (await call(graph, "read_graph"))["entities"] == []
    right = [entity("Ada", "Sings"), entity("Clara", "Fine")]
    assert (await call(graph, "create_entities", entities=right))["entities"] == right


async def test_long_answers_keep_their_budget(graph: Client) -> None:
    many = [
        entity(f"Person {n}", *(f"Fact {m} about person {n}, said at length." for m in range(10))) for n in range(5)
    ]
    await call(graph, "create_entities", entities=many)
    names = [each["name"] for each in many]
    assert "nextCursor" in await call(graph, "open_nodes", names=names, max_tokens=500)
    for tool, arguments in (("open_nodes", {"names": names}), ("read_graph", {})):
        read = await all_of(graph, tool, max_tokens=500, **arguments)
        assert sorted(read["entities"], key=lambda each: each["name"]) == many
    one = entity("Long", *(f"Observation number {n} of many" for n in range(80)))
    await call(graph, "create_entities", entities=[one])
    parts = (await all_of(graph, "open_nodes", names=["long"], max_tokens=300))["entities"]
    assert len(parts) > 3
    assert [text for part in parts for text in part["observations"]] == one["observations"]
    await call(graph, "create_entities", entities=[entity("Huge", "word " * 9_000)])
    huge = await call(graph, "open_nodes", names=["Huge"], max_tokens=500)
    assert tokens(huge) <= 500
    assert huge["entities"][0]["observations"][0].endswith("…")
    assert "truncated" in huge["note"]
    assert "cursor: unknown value" in await refused(graph, "open_nodes", names=["Huge"], cursor="x")


@pytest.mark.parametrize("spokes", [30, pytest.param(205, marks=pytest.mark.load)])
async def test_a_hub_shows_and_loses_all_its_relations(graph: Client, spokes: int) -> None:
    told = [relation("Hub", "knows", f"Spoke {number}") for number in range(spokes)]
    assert len((await call(graph, "create_relations", relations=told))["relations"]) == spokes
    assert (await call(graph, "create_relations", relations=told))["relations"] == []
    assert (await all_of(graph, "open_nodes", names=["Hub"]))["relations"] == told
    await call(graph, "delete_relations", relations=told)
    assert (await call(graph, "open_nodes", names=["Hub"]))["relations"] == []


async def test_incoming_relations_are_shown_once(graph: Client) -> None:
    told = [relation("Ada", "keeps", "Hen"), relation("Hen", "lays", "Egg"), relation("Bob", "likes", "Hen")]
    await call(graph, "create_relations", relations=told)

    async def of(*names: str) -> list[Any]:
        return sorted((await call(graph, "open_nodes", names=list(names)))["relations"], key=str)

    assert await of("Hen") == sorted(told, key=str)
    assert await of("Hen", "Ada") == sorted(told, key=str)
    assert await of("Egg") == [told[1]]
    assert sorted((await call(graph, "search_nodes", query="egg"))["relations"], key=str) == [told[1]]
    assert sorted((await call(graph, "read_graph"))["relations"], key=str) == sorted(told, key=str)


@pytest.mark.parametrize(
    "query", ["alpha project", "Alpha status", "What about the ALPHA project?", "alph", "projects alpha"]
)
async def test_names_are_found_by_their_words(graph: Client, query: str) -> None:
    others = [entity(f"Project {name}", kind="project") for name in ("Beta", "Gamma", "Delta")]
    await call(graph, "create_entities", entities=[entity("Project Alpha", kind="project"), *others])
    assert (await call(graph, "search_nodes", query=query))["entities"][0]["name"] == "Project Alpha"


def test_a_rare_word_counts_more_than_a_frequent_one() -> None:
    names = ["Bank of Rome", "Bank of Bonn", "Bank of Oslo", "Rome", "東京タワー"]
    entities = [Entity.model_construct(name=name, aliases=(), entity_type="place", properties={}) for name in names]
    assert [each.name for each in by_words("banks in Rome", entities)][:2] == ["Rome", "Bank of Rome"]
    assert [each.name for each in by_words("東京", entities)] == ["東京タワー"]
    assert by_words("unrelated", entities) == []


async def test_what_is_not_there_is_named(graph: Client) -> None:
    await call(graph, "create_entities", entities=[entity("Ada", "Sings")])
    assert "'Nobody'" in (await call(graph, "open_nodes", names=["Ada", "Nobody", "x" * 300]))["note"]
    gone = [{"entityName": "Ada", "observations": ["Sings", "Dances"]}, {"entityName": "Eve", "observations": ["x"]}]
    message = (await call(graph, "delete_observations", deletions=gone))["message"]
    assert "'Ada: Dances'" in message
    assert "'Eve: x'" in message
    assert "Sings" not in message
    assert "'Eve'" in (await call(graph, "delete_entities", entityNames=["Ada", "Eve"]))["message"]
    assert "Ada" in (await call(graph, "delete_relations", relations=[relation("Ada", "is", "Eve")]))["message"]


async def test_what_others_share_is_not_deleted(graph: Client, keeps: Keeps, tenant: str) -> None:
    bob = keeps.memory(Scope(tenant, "bob"))
    await bob.add_entity("Acme", visibility="tenant")
    assert "'Acme'" in (await call(graph, "delete_entities", entityNames=["Acme"]))["message"]
    assert [each.name for each in await bob.list_entities()] == ["Acme"]


async def test_an_old_name_among_many_is_found(keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MAX_LIMIT", 3)  # entities of a page
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.add_entity("Old Lighthouse")
    for number in range(10):
        await memory.add_entity(f"Thing {number}")
    async with Client(graph_server(lambda: memory)) as client:
        found = await call(client, "search_nodes", query="the lighthouse")
        assert [each["name"] for each in found["entities"]] == ["Old Lighthouse"]

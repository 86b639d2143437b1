"""mem0's API by mem0's own clients: the platform's, its CLI, and the shapes of a self-hosted server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.mkdtemp()}  # read when mem0 is imported

from examples.mem0_client import main
from mem0 import AsyncMemoryClient, MemoryClient
from mem0.exceptions import MemoryError as Mem0Error
from mem0.exceptions import MemoryNotFoundError, ValidationError

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.integrations.mem0.filters import translated, users_named
from keeps_client.errors import ValidationFailedError
from tests.serving import serving

CELLO = "Alice plays the cello on Sundays."


@pytest.fixture(scope="module")
async def served(keeps: Keeps) -> AsyncIterator[str]:
    async with serving(keeps, auth="keys", reads_per_minute=1_000_000, writes_per_minute=1_000_000) as url:
        yield url


async def key_of(keeps: Keeps, tenant: str, *roles: Any, user: str | None = None, agent: str | None = None) -> str:
    boss = keeps.memory(Scope(tenant, "boss", roles=frozenset({"admin"})))
    return (
        await boss.admin.make_key(f"key-{uuid4()}", roles=roles or ("writer",), user_id=user, agent_id=agent)
    ).secret


@pytest.fixture
async def key(keeps: Keeps, tenant: str) -> str:
    """Of an administrator who may act for any user."""
    return await key_of(keeps, tenant, "admin")


@pytest.fixture
def client(served: str, key: str) -> Iterator[Callable[..., MemoryClient]]:
    """Made in the thread in which it is used."""
    opened: list[httpx.Client] = []

    def made(secret: str = key) -> MemoryClient:
        opened.append(httpx.Client(timeout=30))  # its own it leaves open where a key is wrong
        return MemoryClient(api_key=secret, host=f"{served}/mem0", client=opened[-1])

    yield made
    for each in opened:
        each.close()


async def test_the_example(client: Callable[..., MemoryClient]) -> None:
    said = await asyncio.to_thread(lambda: main(client()))
    assert said == ["alice: ['Alice keeps two hens called Ada and Grace.']", "bob: []"]


async def test_every_call_of_its_client(client: Callable[..., MemoryClient]) -> None:
    def work() -> None:
        mem0 = client()
        ids: dict[str, Any] = {"user_id": "alice", "agent_id": "concierge", "app_id": "web", "run_id": "r-1"}
        (made,) = mem0.add(CELLO, infer=False, metadata={"topic": "music"}, expiration_date="2031-01-31", **ids)[
            "results"
        ]
        assert (made["memory"], made["event"]) == (CELLO, "ADD")
        held = mem0.get(made["id"])
        assert held.items() >= {**ids, "memory": CELLO, "metadata": {"topic": "music"}, "categories": []}.items()
        assert held["expiration_date"] == "2031-01-31"
        (hit,) = mem0.search("Which instrument does Alice play?", filters={"user_id": "alice"})["results"]
        assert hit["id"] == made["id"]
        assert 0.25 <= hit["score"] <= 1
        chess = "Who won the chess championship in 1972?"
        assert mem0.search(chess, filters={"user_id": "alice"})["results"][0]["score"] < 0.25
        assert mem0.search(chess, filters={"user_id": "alice"}, threshold=0.25)["results"] == []

        changed = mem0.update(made["id"], text="Alice plays the viola.", metadata={"topic": "strings"})
        assert (changed["text"], changed["app_id"]) == ("Alice plays the viola.", "web")
        assert mem0.update(made["id"], expiration_date=None)["expiration_date"] is None
        told = [(each["event"], each["old_memory"], each["new_memory"]) for each in mem0.history(made["id"])]
        assert told == [("ADD", None, CELLO), ("UPDATE", CELLO, "Alice plays the viola.")]

        mem0.batch_update([{"memory_id": made["id"], "text": "Alice plays the harp."}])
        assert mem0.get(made["id"])["memory"] == "Alice plays the harp."
        names = {(each["type"], each["name"]): each["total_memories"] for each in mem0.users()["results"]}
        assert names == {("user", "alice"): 1, ("agent", "concierge"): 1, ("app", "web"): 1, ("run", "r-1"): 1}

        mem0.delete(made["id"])
        assert mem0.history(made["id"])[-1]["event"] == "DELETE"
        with pytest.raises(MemoryNotFoundError):
            mem0.get(made["id"])
        many = [mem0.add(f"Fact {n}.", user_id="bob", infer=False)["results"][0]["id"] for n in range(4)]
        mem0.batch_delete([{"memory_id": each} for each in many[:2]])
        assert mem0.get_all(filters={"user_id": "bob"})["count"] == 2
        mem0.delete_all(user_id="bob")
        assert mem0.get_all(filters={"user_id": "bob"})["results"] == []
        mem0.add("Fact.", user_id="carol", infer=False)
        mem0.delete_all(filters={"user_id": "carol"})
        mem0.add("Fact.", user_id="dave", agent_id="concierge", infer=False)
        mem0.add("Fact.", user_id="erin", app_id="web", infer=False)
        mem0.delete_users()
        assert mem0.users()["results"] == []

    await asyncio.to_thread(work)


async def test_what_is_inferred_is_done_when_its_event_is_asked(client: Callable[..., MemoryClient]) -> None:
    def work() -> None:
        mem0 = client()
        queued = mem0.add(
            [{"role": "user", "content": "My dog is called Rex."}, {"role": "assistant", "content": "Hello Rex."}],
            user_id="alice",
        )
        assert queued["status"] == "PENDING"
        event = mem0.client.get(f"/v1/event/{queued['event_id']}/").json()
        assert event["status"] == "SUCCEEDED"
        assert [each["memory"] for each in event["results"]].count("My dog is called Rex.") == 2, (
            "the message, and the fact"
        )
        assert {each["run_id"] for each in mem0.get_all(filters={"user_id": "alice"})["results"]} == {None}
        mem0.delete_users(user_id="alice")
        assert mem0.client.get(f"/v1/event/{queued['event_id']}/").status_code == 404

    await asyncio.to_thread(work)


async def test_an_entity_goes_with_what_was_forgotten_before(
    client: Callable[..., MemoryClient], keeps: Keeps, tenant: str
) -> None:
    def work() -> None:
        mem0 = client()
        (said,) = mem0.add("The code is quartz one.", user_id="alice", infer=False)["results"]
        mem0.update(said["id"], text="The code is quartz two.")
        (gone,) = mem0.add("The code was quartz zero.", user_id="alice", infer=False)["results"]
        mem0.delete(gone["id"])
        mem0.delete_all(user_id="alice")
        mem0.delete_users(user_id="alice")

    await asyncio.to_thread(work)
    alice = keeps.memory(Scope(tenant, "alice"))
    assert "quartz" not in str(await alice.events(limit=100))


async def test_rates_are_those_of_the_user_who_is_named(keeps: Keeps, key: str) -> None:
    async with (
        serving(keeps, auth="keys", writes_per_minute=2) as url,
        httpx.AsyncClient(base_url=f"{url}/mem0", headers={"Authorization": f"Token {key}"}) as http,
    ):

        async def added(user: str) -> int:
            body = {"messages": CELLO, "user_id": user, "infer": False}
            return (await http.post("/v3/memories/add/", json=body)).status_code

        assert [await added(user) for user in ("alice", "alice", "alice", "bob")] == [200, 200, 429, 200]
        # By an id it is clear whose memory is meant: a name beside it buys no other rate.
        named = [{"text": "x", "user_id": f"somebody-{number}"} for number in range(4)]
        answers = [(await http.put(f"/v1/memories/{uuid4()}/", json=each)).status_code for each in named]
        assert answers == [404, 404, 429, 429]


async def test_the_async_client(served: str, key: str) -> None:
    async with await asyncio.to_thread(lambda: AsyncMemoryClient(api_key=key, host=f"{served}/mem0")) as mem0:
        await mem0.add(CELLO, user_id="alice", infer=False)
        found = await mem0.search("cello", filters={"user_id": "alice"}, threshold=0.0)
        assert [each["memory"] for each in found["results"]] == [CELLO]
        assert (await mem0.get_all(filters={"user_id": "alice"}))["count"] == 1
        await mem0.delete_all(user_id="alice")


async def test_pages_lead_to_each_other_over_users(client: Callable[..., MemoryClient]) -> None:
    def work() -> None:
        mem0 = client()
        for user in ("alice", "bob"):
            for n in range(3):
                mem0.add(f"{user} {n}", user_id=user, infer=False)
        filters = {"user_id": {"in": ["alice", "bob"]}}
        page = mem0.get_all(filters=filters, page=1, page_size=4)
        assert (page["count"], page["previous"]) == (6, None)
        second = mem0.client.post(page["next"], json={"filters": filters}).json()
        assert (second["next"], second["previous"] is not None) == (None, True)
        told = [each["memory"] for each in (*page["results"], *second["results"])]
        assert told == ["alice 2", "alice 1", "alice 0", "bob 2", "bob 1", "bob 0"]
        assert mem0.get_all(filters=filters, page=9, page_size=4)["results"] == []

    await asyncio.to_thread(work)


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"a", "b", "c"}),
    ({"topic": "food"}, {"a"}),
    ({"metadata": {"topic": "food"}}, {"a"}),
    ({"metadata": {"topic": "food", "n": 2}}, set()),
    ({"AND": [{"topic": "food"}, {"n": 1}]}, {"a"}),
    ({"OR": [{"topic": "food"}, {"n": {"gte": 2}}]}, {"a", "b"}),
    ({"NOT": [{"topic": "food"}, {"n": 2}]}, {"c"}),
    ({"NOT": {"topic": {"in": ["food", "travel"]}}}, {"c"}),
    ({"topic": {"ne": "food"}}, {"b", "c"}),
    ({"AND": [{"topic": "*"}, {"topic": {"ne": "food"}}]}, {"b"}),
    ({"n": {"gt": 1, "lt": 3}}, {"b"}),
    ({"n": {"lte": 1}}, {"a"}),
    ({"topic": {"contains": "ood"}}, {"a"}),
    ({"topic": {"contains": "OOD"}}, set()),
    ({"topic": {"icontains": "OOD"}}, {"a"}),
    ({"labels": {"contains": "red"}}, {"b"}),
    ({"keywords": {"contains": "Text b"}}, {"b"}),
    ({"keywords": {"contains": "text B"}}, set()),
    ({"keywords": {"icontains": "text B"}}, {"b"}),
    ({"run_id": "r-1"}, {"a"}),
    ({"run_id": "*"}, {"a", "b"}),
    ({"run_id": None}, {"c"}),
    ({"agent_id": {"in": ["one", "two"]}}, {"b"}),
    ({"app_id": "web"}, {"c"}),
    ({"created_at": {"gte": "2026-01-01", "lte": "2126-01-01T00:00:00Z"}}, {"a", "b", "c"}),
    ({"created_at": {"lt": "2026-01-01"}}, set()),
    ({"timestamp": {"lte": "2020-05-06"}}, {"c"}),
    ({"timestamp": {"gt": "2020-05-06"}}, {"a", "b"}),
    ({"categories": {"in": ["x"]}}, set()),
    ({"categories": {"in": ["sport", "x"]}}, {"b"}),
    ({"categories": {"contains": "sport"}}, {"b"}),
]


async def test_filters_find_what_they_say(client: Callable[..., MemoryClient]) -> None:
    def work() -> None:
        mem0 = client()
        for name, given in {
            "a": {"metadata": {"topic": "food", "n": 1}, "run_id": "r-1"},
            "b": {
                "metadata": {"topic": "travel", "n": 2, "labels": ["red", "blue"]},
                "run_id": "r-2",
                "categories": ["sport"],
                "agent_id": "one",
            },
            "c": {"app_id": "web", "timestamp": 1_588_723_200},
        }.items():
            mem0.add(f"Text {name}", user_id="alice", infer=False, **given)
        mem0.add("Text d", user_id="bob", infer=False, metadata={"topic": "food"})
        for filters, wanted in FILTERS:
            both = {"AND": [{"user_id": "alice"}, filters]} if filters else {"user_id": "alice"}
            listed = {each["memory"][-1] for each in mem0.get_all(filters=both)["results"]}
            assert listed == wanted, filters
            found = {each["memory"][-1] for each in mem0.search("text", filters=both, threshold=0)["results"]}
            assert found == wanted, filters

    await asyncio.to_thread(work)


@pytest.mark.parametrize(
    "filters",
    [
        {"AND": []},
        {"AND": ["user_id"]},
        {"and": [{"user_id": "alice"}]},
        {"topic": {"between": [1, 2]}},
        {"topic": {"$gt": 1}},
        {"user_id": {"like": "ali"}},
        {"created_at": {"gte": "soon"}},
        {"created_at": {"lte": "9999-12-31"}},
        {"memory_ids": ["no uuid"]},
        {"run_id": {"regex": "x"}, "AND": [{"run_id": {"gte": 1, "like": "x"}}]},
        {"topic": {"contains": "\x00"}},
        {"user_id": {"in": [f"user-{n}" for n in range(21)]}},
    ],
)
async def test_a_filter_that_cannot_be_is_refused(client: Callable[..., MemoryClient], filters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        await asyncio.to_thread(lambda: client().get_all(filters=filters))


def test_filters_that_are_too_deep_are_refused() -> None:
    deep: dict[str, Any] = {"user_id": "alice"}
    for _ in range(5_000):
        deep = {"NOT": [deep]}
    for read in (translated, users_named):
        with pytest.raises(ValidationFailedError, match="deeper"):
            read(deep)


async def test_only_credentials_for_any_user_may_name_one(
    client: Callable[..., MemoryClient], keeps: Keeps, tenant: str
) -> None:
    own, reader = await key_of(keeps, tenant, user="alice"), await key_of(keeps, tenant, "reader")
    other = await key_of(keeps, f"{tenant}-other", "admin")

    def work() -> None:
        alice, anybody, elsewhere = client(own), client(), client(other)
        (of_bob,) = anybody.add("Bob's door code is 4711.", user_id="bob", infer=False)["results"]
        (of_alice,) = alice.add(CELLO, infer=False)["results"]
        assert anybody.get(of_alice["id"])["user_id"] == "alice"
        for named in (
            lambda: alice.search("door code", filters={"user_id": "bob"}),
            lambda: alice.search("door code", filters={"OR": [{"user_id": "alice"}, {"user_id": "bob"}]}),
            lambda: alice.get_all(filters={"user_id": {"in": ["alice", "bob"]}}),
            lambda: alice.add("Bob is mine.", user_id="bob", infer=False),
            lambda: alice.add("Bob is mine.", filters={"user_id": "bob"}),
            lambda: alice.delete_all(user_id="bob"),
            lambda: alice.delete_users(user_id="bob"),
        ):
            with pytest.raises(Mem0Error, match="another user"):
                named()
        for mem0 in (alice, elsewhere):
            for by_id in (
                lambda m=mem0: m.get(of_bob["id"]),
                lambda m=mem0: m.history(of_bob["id"]),
                lambda m=mem0: m.update(of_bob["id"], text="mine"),
                lambda m=mem0: m.delete(of_bob["id"]),
                lambda m=mem0: m.batch_delete([{"memory_id": of_bob["id"]}]),
                lambda m=mem0: m.batch_update([{"memory_id": of_bob["id"], "text": "mine"}]),
            ):
                with pytest.raises(MemoryNotFoundError):
                    by_id()
            assert all("4711" not in each["memory"] for each in mem0.search("door code", threshold=0)["results"])
        assert elsewhere.search("door code", filters={"user_id": "bob"}, threshold=0)["results"] == []
        assert elsewhere.users()["results"] == []
        assert [each["name"] for each in alice.users()["results"]] == ["alice"]
        assert alice.search("cello", filters={"user_id": "*"})["results"] != []
        for everybody in ({"user_id": "*"}, {"NOT": {"user_id": "bob"}}, {"user_id": {"ne": "bob"}}):
            with pytest.raises(Mem0Error, match=r'user_id: "\*"'):
                anybody.search("cello", filters=everybody)
        assert anybody.get(of_bob["id"])["memory"] == "Bob's door code is 4711."
        reads = client(reader)
        assert reads.get(of_bob["id"])["user_id"] == "bob"
        for writes in (
            lambda: reads.add("x", user_id="bob", infer=False),
            lambda: reads.delete(of_bob["id"]),
            lambda: reads.delete_all(user_id="bob"),
        ):
            with pytest.raises(Mem0Error, match="role"):
                writes()
        with pytest.raises(ValueError, match="API key is unknown"):
            client("keeps_wrong")

    await asyncio.to_thread(work)


async def test_an_agents_key_writes_as_that_agent(
    client: Callable[..., MemoryClient], keeps: Keeps, tenant: str
) -> None:
    secret = await key_of(keeps, tenant, user="alice", agent="planner")

    def work() -> None:
        agent = client(secret)
        (made,) = agent.add(CELLO, infer=False)["results"]
        assert agent.get(made["id"])["agent_id"] == "planner"
        with pytest.raises(Mem0Error, match="another agent"):
            agent.add("x", infer=False, agent_id="concierge")

    await asyncio.to_thread(work)


@pytest.mark.parametrize("user", ["a/b", "a%2Fb/", "Zoë 🙂", "אבג", "a b"])
async def test_users_may_be_called_anything(client: Callable[..., MemoryClient], user: str) -> None:
    def work() -> None:
        mem0 = client()
        mem0.add(CELLO, user_id=user, infer=False)
        assert mem0.get_all(filters={"user_id": user})["results"][0]["user_id"] == user
        mem0.delete_users(user_id=user)
        assert mem0.get_all(filters={"user_id": user})["count"] == 0

    await asyncio.to_thread(work)


UNSUPPORTED: list[tuple[Callable[[MemoryClient], Any], str]] = [
    (lambda mem0: mem0.get_summary(), "POST /v1/summary"),
    (lambda mem0: mem0.create_memory_export("{}"), "POST /v1/exports"),
    (lambda mem0: mem0.get_profile("alice"), "profile"),
    (lambda mem0: mem0.get_webhooks("p"), "webhooks"),
    (lambda mem0: mem0.feedback("id", "POSITIVE"), "POST /v1/feedback"),
    (lambda mem0: mem0.add("x", custom_instructions="y"), "custom_instructions"),
    (lambda mem0: mem0.add([{"role": "user", "content": [{"type": "image_url"}]}]), "image_url"),
    (lambda mem0: mem0.search("x", reference_date="2026-01-01"), "reference_date"),
    (lambda mem0: mem0.get_all(show_expired=True), "show_expired"),
]


async def test_what_is_not_supported_names_itself(client: Callable[..., MemoryClient]) -> None:
    def work() -> None:
        mem0 = client()
        for call, named in UNSUPPORTED:
            with pytest.raises(Mem0Error) as refused:
                call(mem0)
            assert refused.value.error_code == "HTTP_501", named
            assert named in refused.value.message

    await asyncio.to_thread(work)


WRONG: list[tuple[str, str, Any]] = [
    ("POST", "/v3/memories/add/", {}),
    ("POST", "/v3/memories/add/", {"messages": []}),
    ("POST", "/v3/memories/add/", {"messages": "   "}),
    ("POST", "/v3/memories/add/", {"messages": "a\x00b", "infer": False}),
    ("POST", "/v3/memories/add/", {"messages": "x" * 60_000, "infer": False}),
    ("POST", "/v3/memories/add/", {"messages": [{"role": "king", "content": "x"}]}),
    ("POST", "/v3/memories/add/", {"messages": "x", "user_id": ["alice"]}),
    ("POST", "/v3/memories/add/", {"messages": "x", "user_id": " "}),
    ("POST", "/v3/memories/add/", {"messages": "x", "user_id": "*"}),
    ("POST", "/v1/memories/", {"messages": "x", "user_id": "alice", "run_id": "*", "infer": False}),
    ("POST", "/memories", {"messages": "x", "filters": {"user_id": "*"}}),
    ("POST", "/v1/memories/", {"messages": [{"role": "system", "content": " "}]}),
    ("GET", "/v1/memories/abc/", None),
    ("PUT", "/v1/memories/abc/", {"text": "x"}),
    ("DELETE", "/v1/memories/abc/", None),
    ("GET", "/v1/memories/abc/history/", None),
    ("GET", "/v1/event/abc/", None),
    ("DELETE", "/v1/batch/", {"memories": ["abc"]}),
    ("GET", "/v1/entities/?page=0", None),
    ("GET", "/v1/entities/?page_size=x", None),
    ("POST", "/v3/memories/add/", {"messages": "x", "timestamp": "soon"}),
    ("POST", "/v3/memories/add/", {"messages": "x", "timestamp": 1e300}),
    ("POST", "/v3/memories/add/", {"messages": "x", "expiration_date": "tomorrow"}),
    ("POST", "/v3/memories/add/", {"messages": "x", "expiration_date": "9999-12-31"}),
    ("POST", "/v3/memories/add/", {"messages": "x", "infer": False, "metadata": {"a": "x" * 100_000}}),
    ("POST", "/v3/memories/search/", {"query": ""}),
    ("POST", "/v3/memories/search/", {"query": "x", "top_k": 0}),
    ("POST", "/v3/memories/search/", {"query": "x", "threshold": 7}),
    ("POST", "/v3/memories/search/", []),
    ("POST", "/v3/memories/?page=0", {}),
    ("POST", "/v3/memories/?page=²", {}),
    ("DELETE", "/v1/memories/", None),
    ("DELETE", "/v1/memories/?filters={'user_id'", None),
    ("DELETE", "/v1/memories/?filters=" + "(" * 3_000, None),
    ("DELETE", "/v1/memories/?filters={'AND':[{(1,2):3}]}", None),
    ("DELETE", "/v1/memories/?filters={'user_id':{1,2}}", None),
    ("DELETE", '/v1/memories/?filters={"user_id":' + '{"eq":' * 900 + "1" + "}" * 901, None),
    ("DELETE", '/v1/memories/?filters={"user_id":' + "[" * 900 + "]" * 900 + "}", None),
    ("DELETE", "/v2/entities/country/nl/", None),
    ("PUT", "/v1/batch/", {"memories": []}),
    ("PUT", "/v1/batch/", {"memories": [{"text": "x"}]}),
]


@pytest.mark.parametrize("at", range(len(WRONG)))
async def test_bad_input_is_refused_and_stores_nothing(served: str, key: str, at: int) -> None:
    method, path, body = WRONG[at]
    async with httpx.AsyncClient(base_url=f"{served}/mem0", headers={"Authorization": f"Token {key}"}) as http:
        answer = await http.request(method, path, json=body)
        assert answer.status_code == 400, answer.text
        assert answer.json()["detail"]
        assert (await http.post("/v3/memories/", json={})).json()["count"] == 0
        assert (await http.get("/v1/entities/")).json()["count"] == 0


async def test_what_another_shares_is_theirs(served: str, keeps: Keeps, tenant: str) -> None:
    """It can be read, and its history says whose it is. A batch that names it does nothing."""
    shared = (await keeps.memory(Scope(tenant, "anna")).remember(CELLO, visibility="tenant")).memory_id
    headers = {"X-API-Key": await key_of(keeps, tenant, "writer", user="bob")}
    async with httpx.AsyncClient(base_url=f"{served}/mem0", headers=headers) as http:
        added = await http.post("/memories", json={"messages": "Mine.", "infer": False})
        mine = added.json()["results"][0]["id"]
        assert (await http.get(f"/memories/{shared}")).json()["memory"] == CELLO
        assert {each["user_id"] for each in (await http.get(f"/memories/{shared}/history")).json()} == {"anna"}
        for method in ("PUT", "DELETE"):
            both = {
                "memories": [{"memory_id": mine, "text": "Changed."}, {"memory_id": str(shared), "text": "Changed."}]
            }
            assert (await http.request(method, "/v1/batch/", json=both)).status_code == 404
            one = await http.request(method, f"/memories/{shared}", json={"text": "Changed."})
            assert one.status_code == 404, one.text
        assert (await http.get(f"/memories/{mine}")).json()["memory"] == "Mine."


async def test_an_event_that_somebody_wrote_is_none(served: str, keeps: Keeps, key: str, tenant: str) -> None:
    some = str(uuid4())
    async with httpx.AsyncClient(base_url=f"{served}/mem0", headers={"X-API-Key": key}) as http:
        added = await http.post("/memories", json={"messages": "Mine.", "infer": False, "user_id": "anna"})
        mine = added.json()["results"][0]["id"]
        for value in ({}, {"memories": 5}, {"memories": [1]}, {"memories": [["id"]]}, {"memories": [["x", "ADD"]]}):
            await keeps.memory(Scope(tenant, "anna")).put_item(("mem0", "events"), mine, value, index=False)
            assert (await http.get(f"/v1/event/{mine}/")).status_code == 404, value
        assert (await http.get(f"/v1/event/{some}/")).status_code == 404


async def test_the_shapes_of_a_self_hosted_server(served: str, key: str) -> None:
    async with httpx.AsyncClient(base_url=f"{served}/mem0", headers={"X-API-Key": key}) as http:

        async def json_of(method: str, path: str, **given: Any) -> Any:
            return (await http.request(method, path, **given)).raise_for_status().json()

        said = {"messages": [{"role": "user", "content": CELLO}], "user_id": "alice"}
        (made,) = (await json_of("POST", "/memories", json={**said, "infer": False}))["results"]
        path = f"/memories/{made['id']}"
        assert (await json_of("GET", path))["memory"] == CELLO
        assert (await json_of("PUT", path, json={"text": "Alice plays the harp."}))["message"]
        assert [each["event"] for each in await json_of("GET", f"{path}/history")] == ["ADD", "UPDATE"]
        wanted = {"query": "instrument", "filters": {"user_id": "alice"}, "top_k": 3}
        assert [each["id"] for each in (await json_of("POST", "/search", json=wanted))["results"]] == [made["id"]]
        assert len((await json_of("GET", "/memories", params={"user_id": "alice"}))["results"]) == 1
        inferred = (await json_of("POST", "/memories", json=said | {"user_id": "bob"}))["results"]
        assert inferred[0]["memory"] == CELLO
        assert (await json_of("DELETE", path))["message"]
        assert (await http.get(path)).status_code == 404
        assert (await json_of("DELETE", "/memories", params={"user_id": "bob"}))["message"]
        assert (await json_of("GET", "/memories", params={"user_id": "bob"}))["results"] == []
        reset = await http.post("/reset")
        assert (reset.status_code, "POST /reset" in reset.json()["detail"]) == (501, True)


async def test_its_command_line_is_a_product_that_runs_on_keeps(served: str, key: str, tmp_path: Path) -> None:
    env = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "MEM0_API_KEY": key,
        "MEM0_BASE_URL": f"{served}/mem0",
        "MEM0_USER_ID": "alice",
        "MEM0_TELEMETRY": "False",
    }

    async def mem0(*arguments: str) -> Any:
        command = Path(sys.executable).with_name("mem0")
        process = await asyncio.create_subprocess_exec(
            command, "--json", *arguments, env=env, stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=-1
        )
        out, err = await process.communicate()
        assert process.returncode == 0, (out, err)
        told = json.loads(out)
        assert told["status"] == "success", told
        return told["data"]

    await mem0("add", CELLO, "--no-infer")
    (hit,) = await mem0("search", "Which instrument does Alice play?")
    assert hit["memory"] == CELLO
    assert [each["id"] for each in await mem0("list")] == [hit["id"]]
    await mem0("update", hit["id"], "Alice plays the viola.")
    assert (await mem0("get", hit["id"]))["memory"] == "Alice plays the viola."
    assert [each["name"] for each in await mem0("entity", "list", "users")] == ["alice"]
    queued = await mem0("add", "My dog is called Rex.")
    event = queued[0]["event_id"] if isinstance(queued, list) else queued["event_id"]
    assert "SUCCEEDED" in str(await mem0("event", "status", event))
    await mem0("delete", hit["id"])
    await mem0("delete", "--all", "--force")
    assert await mem0("list") == []


@pytest.mark.parametrize("owner", ["agent_id", "run_id", "app_id"])
async def test_each_agent_run_and_app_keeps_its_own_memory_of_a_text(
    client: Callable[..., MemoryClient], owner: str
) -> None:
    def work() -> None:
        mem0 = client()

        def add(name: str, **given: Any) -> dict[str, Any]:
            return mem0.add(CELLO, user_id="alice", infer=False, **{owner: name}, **given)["results"][0]

        def held(name: str) -> list[dict[str, Any]]:
            return mem0.get_all(filters={"AND": [{"user_id": "alice"}, {owner: name}]})["results"]

        first = add("one", metadata={"topic": "music"}, expiration_date="2099-01-31")
        told = mem0.get(first["id"])
        second = add("two")
        assert [first["event"], second["event"], add("one")["event"], add("two")["event"]] == [
            "ADD",
            "ADD",
            "NONE",
            "NONE",
        ]
        assert mem0.get(first["id"]) == told
        assert [[each["id"] for each in held(name)] for name in ("one", "two")] == [[first["id"]], [second["id"]]]
        named: Any = {"user_id": "alice", owner: "two"}
        mem0.delete_all(**named)
        assert [[each["id"] for each in held(name)] for name in ("one", "two")] == [[first["id"]], []]

    await asyncio.to_thread(work)


@pytest.mark.parametrize("infer", [True, False])
async def test_instructions_and_tool_output_are_no_memories(client: Callable[..., MemoryClient], infer: bool) -> None:
    def work() -> None:
        mem0 = client()
        hidden = [
            {"role": role, "content": f"You are a travel agent, says the {role}."}
            for role in ("system", "developer", "tool", "function")
        ]
        said = [{"role": "user", "content": "I travel by train."}, {"role": "assistant", "content": "Noted, by train."}]
        nothing = mem0.add(hidden, user_id="alice", infer=infer)
        assert nothing["results"] == []
        mem0.add([*hidden, *said], user_id="alice", infer=infer)
        held = {each["memory"] for each in mem0.get_all(filters={"user_id": "alice"})["results"]}
        assert held == {"I travel by train.", "Noted, by train."}
        found = mem0.search("What are you?", filters={"user_id": "alice"})["results"]
        assert not any("travel agent" in each["memory"] for each in found)

    await asyncio.to_thread(work)


async def test_a_memory_tells_when_it_was_said(client: Callable[..., MemoryClient]) -> None:
    def work() -> None:
        mem0 = client()
        at = 1_700_000_000
        (made,) = mem0.add(CELLO, user_id="alice", infer=False, timestamp=at)["results"]
        told = "2023-11-14T22:13:20+00:00"
        assert mem0.get(made["id"])["timestamp"] == told
        assert mem0.search("cello", filters={"user_id": "alice"})["results"][0]["timestamp"] == told
        (found,) = mem0.get_all(filters={"AND": [{"user_id": "alice"}, {"timestamp": {"lte": told}}]})["results"]
        assert found["timestamp"] == told

    await asyncio.to_thread(work)


async def test_the_addresses_of_mem0_before_2(served: str, key: str) -> None:
    """What mem0ai 1.0 sends: its client forces `output_format` v1.1 and names an organisation."""
    async with httpx.AsyncClient(base_url=f"{served}/mem0", headers={"Authorization": f"Token {key}"}) as http:

        async def json_of(path: str, **body: Any) -> Any:
            return (await http.post(path, json={**body, "org_id": "o", "project_id": "p"})).raise_for_status().json()

        said = [{"role": "user", "content": CELLO}]
        asked = {"messages": said, "user_id": "alice", "async_mode": True, "output_format": "v1.1"}
        (made,) = (await json_of("/v1/memories/", **asked, infer=False))["results"]
        assert (made["memory"], made["event"]) == (CELLO, "ADD")
        inferred = (await json_of("/v1/memories/", **asked | {"user_id": "bob"}))["results"]
        assert CELLO in [each["memory"] for each in inferred]
        wanted = {"query": "Which instrument?", "filters": {"user_id": "alice"}}
        for path in ("/v2/memories/search/", "/v1/memories/search/"):
            assert [each["id"] for each in (await json_of(path, **wanted))["results"]] == [made["id"]]
        for path in ("/v2/memories/", "/v2/memories/?page=1&page_size=10"):
            found = await json_of(path, filters={"user_id": "alice"})
            assert (found["count"], found["results"][0]["memory"]) == (1, CELLO)
        listed = await http.get("/v1/memories/", params={"user_id": "alice"})
        assert [each["id"] for each in listed.json()["results"]] == [made["id"]]


async def test_entities_come_in_pages_where_a_page_is_asked_for(served: str, key: str) -> None:
    async with httpx.AsyncClient(base_url=f"{served}/mem0", headers={"Authorization": f"Token {key}"}) as http:
        for number in range(5):
            body = {"messages": CELLO, "user_id": f"user-{number}", "infer": False}
            (await http.post("/v1/memories/", json=body)).raise_for_status()
        whole = (await http.get("/v1/entities/")).json()
        assert (whole["count"], len(whole["results"]), whole["next"]) == (5, 5, None)
        names: list[str] = []
        address: str | None = "/v1/entities/?page_size=2"
        while address is not None:
            page = (await http.get(address)).json()
            assert (page["count"], len(page["results"]) <= 2) == (5, True)
            names += [each["name"] for each in page["results"]]
            address = page["next"]
        assert names == [each["name"] for each in whole["results"]]


async def test_a_threshold_holds_before_a_memory_has_its_vector(
    client: Callable[..., MemoryClient], keeps: Keeps, tenant: str
) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    words = ("kayak", "violin", "bakery", "museum", "orchard", "quarry")
    await alice.remember_many([{"content": f"Alice talked of a {each} at length."} for each in words], index="later")

    def work() -> None:
        mem0 = client()
        assert mem0.search("Who won the chess title?", filters={"user_id": "alice"}, threshold=0.99)["results"] == []
        found = mem0.search("the kayak", filters={"user_id": "alice"})["results"]
        assert all(0 <= each["score"] <= 1 for each in found)

    await asyncio.to_thread(work)


async def test_passages_of_documents_are_neither_listed_nor_deleted(
    client: Callable[..., MemoryClient], keeps: Keeps, tenant: str
) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    done = await alice.add_document("# Handbook\n\nEverybody has thirty days of leave.", source="handbook.md")

    def work() -> None:
        mem0 = client()
        mem0.add(CELLO, user_id="alice", infer=False)
        assert [each["memory"] for each in mem0.get_all(filters={"user_id": "alice"})["results"]] == [CELLO]
        mem0.delete_all(user_id="alice")

    await asyncio.to_thread(work)
    assert len(await alice.list(filters={"layer": {"eq": "knowledge"}})) == done.stored

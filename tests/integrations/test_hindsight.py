"""Hindsight's API by its own client, `hindsight-client`, against a real server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from examples.hindsight_bank import main
from hindsight_client import Hindsight
from hindsight_client_api.exceptions import ApiException
from yarl import URL

from keeps.base.scope import Scope
from keeps.engine import Keeps
from tests.cli.test_cli import Cli
from tests.cli.test_service import Served
from tests.integrations.test_mem0 import key_of
from tests.serving import serving

pytestmark = pytest.mark.filterwarnings("ignore:GET /v1/default/banks/.*/profile is deprecated:DeprecationWarning")
CELLO = "Alice plays the cello on Sundays."
HENS = "Alice keeps two hens called Ada and Grace."
Clients = Callable[[str], Hindsight]


@pytest.fixture(scope="module")
async def served(keeps: Keeps) -> AsyncIterator[str]:
    async with serving(keeps, auth="keys", reads_per_minute=1_000_000, writes_per_minute=1_000_000) as url:
        yield f"{url}/hindsight"


@pytest.fixture
async def key(keeps: Keeps, tenant: str) -> str:
    """Of an administrator who may act for any user."""
    return await key_of(keeps, tenant, "admin")


@pytest.fixture
async def client_of(served: str) -> AsyncIterator[Clients]:
    async with AsyncExitStack() as stack:

        def made(secret: str) -> Hindsight:
            client = Hindsight(base_url=served, api_key=secret, max_attempts=1)
            stack.push_async_callback(client.aclose)
            return client

        yield made


@pytest.fixture
def client(client_of: Clients, key: str) -> Hindsight:
    return client_of(key)


async def status_of(call: Awaitable[object]) -> int:
    """Return the status of a call that is refused."""
    with pytest.raises((ApiException, aiohttp.ClientResponseError)) as caught:
        await call
    status: Any = caught.value.status
    return status


async def contents(keeps: Keeps, tenant: str, user: str) -> list[str]:
    return sorted(each.content for each in (await keeps.memory(Scope(tenant, user)).list(limit=200)).items)


async def test_the_example(client: Hindsight) -> None:
    assert await main(client) == ["alice: ['Alice keeps two hens called Ada and Grace.']", "bob: []"]


@pytest.mark.slow_step("a server and its command line, in processes of their own")
def test_example_against_keeps_serve(made_home: Callable[..., Path]) -> None:
    cli = Cli(made_home("hindsight"))
    key = json.loads(cli("keys", "create", "hindsight", "--role", "admin", "--json").stdout)["secret"]
    served = Served(cli, "--auth", "keys")
    environment = {**os.environ, "HINDSIGHT_API_KEY": key, "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "examples/hindsight_bank.py", f"{served.url}/hindsight"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    served.stop()
    lines = ["alice: ['Alice keeps two hens called Ada and Grace.']", "bob: []"]
    assert done.stdout.splitlines() == lines, done.stderr


async def test_bank_is_created_and_changed(client: Hindsight) -> None:
    assert (await client.banks.get_bank_profile("alice")).name == "alice"
    bank = await client.acreate_bank("alice", name="Alice's bank", reflect_mission="Be brief.", disposition_empathy=5)
    assert (bank.bank_id, bank.name, bank.mission) == ("alice", "Alice's bank", "Be brief.")
    assert (bank.disposition.empathy, bank.disposition.skepticism) == (5, 3)
    again = await client.acreate_bank("alice", disposition={"skepticism": 1, "literalism": 2, "empathy": 4})
    assert (again.name, again.disposition.skepticism) == ("Alice's bank", 1)
    changed = await client.aupdate_bank_config("alice", reflect_mission="Be kind.", retain_mission="Facts only.")
    assert changed["overrides"]["retain_mission"] == "Facts only."
    assert (await client.banks.get_bank_profile("alice")).mission == "Be kind."
    assert (await client.aget_bank_config("alice"))["config"]["disposition_empathy"] == 4
    assert (await client.areset_bank_config("alice"))["overrides"] == {}
    assert (await client.banks.get_bank_profile("alice")).mission == ""


async def test_retained_texts_are_recalled(client: Hindsight) -> None:
    done = await client.aretain(
        "alice",
        CELLO,
        context="small talk",
        metadata={"topic": "music"},
        tags=["hobby"],
        timestamp="2026-03-01T10:00:00",
    )
    assert (done.success, done.bank_id, done.items_count, done.var_async) == (True, "alice", 1, False)
    await client.aretain("alice", HENS)
    found = await client.arecall("alice", "Which instrument does Alice play?")
    first = found.results[0]
    assert (first.text, first.type, first.context) == (CELLO, "world", "small talk")
    assert (first.metadata, first.tags, first.occurred_start) == (
        {"topic": "music"},
        ["hobby"],
        "2026-03-01T10:00:00+00:00",
    )
    assert first.scores is not None
    assert 0.25 <= float(first.scores.final) <= 1
    chess = await client.arecall("alice", "Who won the chess title in 1972?", min_scores={"final": 0.9})
    assert chess.results == []


async def test_recall_stays_within_its_tokens(client: Hindsight, keeps: Keeps, tenant: str) -> None:
    long = " ".join(f"Sentence {n} tells about the garden and its apple trees." for n in range(100))
    await keeps.memory(Scope(tenant, "alice")).remember(long)
    await client.aretain_batch("alice", [{"content": f"Note {n}: the garden has apple tree {n}."} for n in range(20)])
    few = await client.arecall("alice", "apple trees in the garden", max_tokens=60)
    many = await client.arecall("alice", "apple trees in the garden", max_tokens=4_096)
    assert 0 < len(few.results) < len(many.results)
    assert sum(len(each.text) for each in few.results) < 60 * 8


async def test_reflect_returns_the_context(client: Hindsight) -> None:
    await client.aretain_batch("alice", [{"content": CELLO, "tags": ["hobby"]}, {"content": HENS}])
    told = await client.areflect("alice", "Which instrument does Alice play?", include_facts=True)
    assert CELLO in told.text
    assert told.based_on is not None
    assert any(CELLO in fact.text for fact in told.based_on.memories or [])
    tagged = await client.areflect("alice", "What does Alice do?", tags=["hobby"], tags_match="all_strict")
    assert tagged.text == f"- {CELLO}"
    assert await status_of(client.areflect("alice", "What?", response_schema={"type": "object"})) == 501


async def test_memories_are_listed_in_pages(client: Hindsight) -> None:
    items = [{"content": f"Fact number {n}.", "tags": ["odd"] if n % 2 else None} for n in range(5)]
    await client.aretain_batch("alice", items, document_id="doc")
    await client.aretain("alice", "Something else.")
    page = await client.alist_memories("alice", limit=2, offset=1, document_id="doc")
    assert (page.total, page.limit, page.offset) == (5, 2, 1)
    assert [each.text for each in page.items] == ["Fact number 3.", "Fact number 2."]
    assert (await client.alist_memories("alice", search_query="SOMETHING")).items[0].text == "Something else."
    for match, total in (("any", 6), ("any_strict", 2), ("all", 6), ("all_strict", 2), ("exact", 2)):
        assert (await client.alist_memories("alice", tags=["odd"], tags_match=match)).total == total, match
    assert (await client.alist_memories("alice", type="experience")).total == 0
    assert await status_of(client.alist_memories("alice", entity_id="x")) == 501
    assert await status_of(client.alist_memories("alice", type="nonsense")) == 422


@pytest.mark.parametrize(("types", "wanted"), [(None, "world"), (["observation"], "observation"), (["world"], "world")])
async def test_facts_have_the_type_that_is_asked_for(client: Hindsight, types: list[str] | None, wanted: str) -> None:
    await client.aretain("alice", CELLO)
    assert [each.type for each in (await client.arecall("alice", "cello", types=types)).results] == [wanted]
    assert (await client.arecall("alice", "cello", types=["experience"])).results == []


async def test_document_is_replaced_and_appended(client: Hindsight, keeps: Keeps, tenant: str) -> None:
    await client.aretain_batch("alice", [{"content": "One."}, {"content": "Two."}], document_id="d")
    await client.aretain("alice", "Two.", document_id="e")
    await keeps.memory(Scope(tenant, "alice")).remember("Said elsewhere.", session_id="d")
    for _ in range(2):
        await client.aretain_batch("alice", [{"content": "Two."}, {"content": "Three."}], document_id="d")
        assert await contents(keeps, tenant, "alice") == ["Said elsewhere.", "Three.", "Two.", "Two."]
    await client.aretain("alice", "Four.", document_id="d", update_mode="append")
    assert await contents(keeps, tenant, "alice") == ["Four.", "Said elsewhere.", "Three.", "Two.", "Two."]


async def test_document_that_two_calls_replace_at_once_is_not_lost(
    client: Hindsight, keeps: Keeps, tenant: str
) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    for round_ in range(8):
        versions = [[{"content": f"Round {round_}, {name} {part}."} for part in range(5)] for name in ("one", "two")]
        await asyncio.gather(*(client.aretain_batch("alice", version, document_id="d") for version in versions))
        stored = {memory.content for memory in (await alice.list(limit=200)).items}
        assert any({item["content"] for item in version} <= stored for version in versions)


async def test_growing_transcript_is_stored_once(client: Hindsight, keeps: Keeps, tenant: str) -> None:
    lines = [f"user: This is message {n} of a long conversation about beekeeping." for n in range(200)]
    for end in (100, 150, 200):
        await client.aretain("alice", "\n\n".join(lines[:end]), document_id="session-1")
    stored = await contents(keeps, tenant, "alice")
    assert all(len(text) <= 2_000 for text in stored)
    assert "\n\n".join(sorted(stored, key=lambda text: int(text.split()[4]))) == "\n\n".join(lines)


async def test_odd_texts_are_stored(client: Hindsight, keeps: Keeps, tenant: str) -> None:
    items: list[dict[str, Any]] = [
        {"content": ""},
        {"content": " \n "},
        {"content": "nul \x00 here", "metadata": {"a\x00": "b\x00"}, "document_id": "d" * 1_000},
        {"content": "👩‍👩‍👧 žluťoučký"},
        {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]
    done = await client.aretain_batch("alice", items)
    assert done.items_count == 3
    assert await contents(keeps, tenant, "alice") == ["a\nb", "nul \ufffd here", "👩‍👩‍👧 žluťoučký"]
    assert (await client.aretain("alice", "")).items_count == 0
    picture = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]
    assert await status_of(client.aretain("alice", picture)) == 501
    assert await status_of(client.aretain_batch("alice", [{"content": f"Text {n}."} for n in range(1_001)])) == 422
    assert await status_of(client.arecall("alice", "")) == 422
    assert (await client.arecall("alice", "x" * 30_000)).results != []


@pytest.mark.parametrize("text", ["\x00", " \x00\n\x00 ", [{"type": "text", "text": "\x00"}]])
async def test_text_of_nul_characters_is_refused(client: Hindsight, keeps: Keeps, tenant: str, text: Any) -> None:
    assert await status_of(client.aretain_batch("alice", [{"content": "Alice plays."}, {"content": text}])) == 422
    assert await contents(keeps, tenant, "alice") == []


@pytest.mark.parametrize(("name", "status"), [("%ff", 422), ("a%C3", 422), ("a%2F%ff", 422), ("%EF%BF%BD", 200)])
async def test_bank_name_that_is_not_utf8_is_refused(served: str, key: str, name: str, status: int) -> None:
    url = URL(f"{served}/v1/default/banks/{name}/profile", encoded=True)
    async with aiohttp.ClientSession() as session, session.get(url, headers={"Authorization": f"Bearer {key}"}) as got:
        assert got.status == status, await got.text()


async def test_retaining_again_changes_nothing(client: Hindsight, keeps: Keeps, tenant: str) -> None:
    for _ in range(3):
        await client.aretain("alice", CELLO, tags=["hobby"])
    await client.aretain("alice", CELLO)
    (stored,) = (await keeps.memory(Scope(tenant, "alice")).list()).items
    assert (stored.content, stored.tags) == (CELLO, ("hobby",))


async def test_bank_is_deleted_and_can_be_restored(client: Hindsight, keeps: Keeps, tenant: str) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    document = await alice.add_document("# Handbook\n\nEverybody has thirty days of leave.", source="handbook.md")
    await client.acreate_bank("alice", name="Alice's bank")
    await client.aretain_batch("alice", [{"content": CELLO}, {"content": HENS}])
    assert (await client.memory.clear_bank_memories("alice", type="experience")).deleted_count == 0
    deleted = await client.adelete_bank("alice")
    assert (deleted.success, deleted.deleted_count) == (True, 2)
    assert (await client.alist_memories("alice")).total == 0
    assert (await client.banks.get_bank_profile("alice")).name == "alice"
    assert len(await alice.list(filters={"layer": {"eq": "knowledge"}})) == document.stored


async def test_banks_are_those_of_the_tenant_or_your_own(
    client: Hindsight, client_of: Clients, keeps: Keeps, tenant: str
) -> None:
    await client.aretain("alice", CELLO)
    await client.acreate_bank("empty/bank", name="Nothing yet")
    listed = await client.banks.list_banks()
    assert [(bank.bank_id, bank.fact_count) for bank in listed.banks] == [("alice", 1), ("empty/bank", 0)]
    assert (listed.total, (await client.banks.list_banks(limit=1, offset=1)).banks[0].bank_id) == (2, "empty/bank")
    own = client_of(await key_of(keeps, tenant, user="bob"))
    assert [bank.bank_id for bank in (await own.banks.list_banks()).banks] == ["bob"]


def calls_of(client: Hindsight, bank: str) -> dict[str, Awaitable[object]]:
    """Every call that names a bank."""
    return {
        "create": client.acreate_bank(bank, name="mine"),
        "profile": client.banks.get_bank_profile(bank),
        "config": client.aget_bank_config(bank),
        "change config": client.aupdate_bank_config(bank, reflect_mission="mine"),
        "reset config": client.areset_bank_config(bank),
        "retain": client.aretain(bank, "Bob is mine."),
        "recall": client.arecall(bank, "door code"),
        "reflect": client.areflect(bank, "door code"),
        "list": client.alist_memories(bank),
        "clear": client.memory.clear_bank_memories(bank),
        "delete": client.adelete_bank(bank),
    }


async def test_credentials_for_one_user_open_no_other_bank(
    client: Hindsight, client_of: Clients, keeps: Keeps, tenant: str
) -> None:
    await client.aretain("bob", "Bob's door code is 4711.")
    await client.acreate_bank("bob", name="Bob's bank")
    own = client_of(await key_of(keeps, tenant, user="alice"))
    for name, call in calls_of(own, "bob").items():
        assert await status_of(call) == 403, name
    assert await status_of(client.aretain("(shared)", "x")) == 403
    assert (await own.arecall("alice", "door code")).results == []
    assert await contents(keeps, tenant, "bob") == ["Bob's door code is 4711."]
    assert (await client.banks.get_bank_profile("bob")).name == "Bob's bank"


async def test_bank_of_the_same_name_in_another_tenant_is_another(
    client: Hindsight, client_of: Clients, keeps: Keeps, tenant: str
) -> None:
    await client.aretain("bob", "Bob's door code is 4711.")
    await client.acreate_bank("bob", name="Bob's bank")
    other = client_of(await key_of(keeps, f"{tenant}-other", "admin"))
    for name, call in calls_of(other, "bob").items():
        assert "4711" not in str(await call), name
        assert "Bob's bank" not in str(await other.banks.get_bank_profile("bob")), name
    await other.aretain("bob", "Another Bob.")
    assert [bank.bank_id for bank in (await other.banks.list_banks()).banks] == ["bob"]
    assert await contents(keeps, tenant, "bob") == ["Bob's door code is 4711."]


async def test_shared_memories_of_others_are_in_no_bank(client: Hindsight, keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "bob")).remember(CELLO, visibility="tenant")
    assert (await client.arecall("alice", "cello")).results == []
    assert (await client.alist_memories("alice")).total == 0


async def test_roles(client_of: Clients, keeps: Keeps, tenant: str) -> None:
    reader = client_of(await key_of(keeps, tenant, "reader"))
    reads = ("profile", "config", "recall", "reflect", "list")
    for name, call in calls_of(reader, "alice").items():
        if name in reads:
            await call
        else:
            assert await status_of(call) == 403, name
    assert (await reader.banks.list_banks()).total == 1
    nobody = client_of("keeps_wrong")
    for name, call in calls_of(nobody, "alice").items():
        assert await status_of(call) == 401, name


async def test_rates_are_those_of_the_bank(keeps: Keeps, key: str) -> None:
    async with serving(keeps, auth="keys", writes_per_minute=2) as url:
        client = Hindsight(base_url=f"{url}/hindsight", api_key=key, max_attempts=1)
        for _ in range(2):
            await client.aretain("alice", CELLO)
        with pytest.raises(ApiException) as caught:
            await client.aretain("alice", CELLO)
        assert caught.value.status == 429
        assert int((caught.value.headers or {})["Retry-After"]) >= 1
        await client.aretain("bob", CELLO)
        await client.aclose()


async def test_refused_calls_count_for_the_credentials(keeps: Keeps, tenant: str) -> None:
    own = await key_of(keeps, tenant, user="alice")
    async with serving(keeps, auth="keys", writes_per_minute=2) as url:
        client = Hindsight(base_url=f"{url}/hindsight", api_key=own, max_attempts=1)
        assert [await status_of(client.aretain("bob", CELLO)) for _ in range(3)] == [403, 403, 429]
        await client.aclose()
        client = Hindsight(base_url=f"{url}/hindsight", api_key=await key_of(keeps, tenant), max_attempts=1)
        assert [await status_of(client.aretain("\0", CELLO)) for _ in range(3)] == [422, 422, 429], "no such bank"
        await client.aclose()


async def test_version_and_health(client: Hindsight, served: str) -> None:
    version = await client.aget_version()
    assert version.api_version == "1.1.0"
    assert not version.features.worker
    health: Any = await client.monitoring.health_endpoint_health_get()
    assert health["status"] == "healthy"
    async with aiohttp.ClientSession() as http:
        for path, status in (("version", 401), ("health", 401), ("v1/default/banks", 401)):
            async with http.get(f"{served}/{path}") as answer:
                assert answer.status == status, path


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "v1/default/banks/alice/graph"),
        ("POST", "v1/default/banks/alice/files/retain"),
        ("GET", "v1/default/banks/alice/operations/1"),
        ("POST", "v1/default/banks"),
        ("GET", "v1/other/banks/alice/profile"),
        ("GET", ""),
    ],
)
async def test_what_keeps_lacks_says_so(served: str, key: str, method: str, path: str) -> None:
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as http,
        http.request(method, f"{served}/{path}", json={} if method == "POST" else None) as answer,
    ):
        assert answer.status == 501
        assert "docs/hindsight.md" in (await answer.json())["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("memories", {}),
        ("memories", {"items": "x"}),
        ("memories", {"items": [{"content": 1}]}),
        ("memories", {"items": [{"content": "x", "timestamp": "soon"}]}),
        ("memories", {"items": [{"content": "x", "tags": ["a\nb"]}]}),
        ("memories/recall", {"query": "x", "max_tokens": 0}),
        ("memories/recall", {"query": "x", "types": ["dream"]}),
        ("memories/recall", {"query": "x", "min_scores": {"final": 2}}),
        ("reflect", {}),
    ],
)
async def test_invalid_bodies_are_refused(served: str, key: str, path: str, body: Any) -> None:
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as http,
        http.post(f"{served}/v1/default/banks/alice/{path}", json=body) as answer,
    ):
        assert answer.status == 422, await answer.text()


async def test_settings_of_a_bank_are_bounded(client: Hindsight) -> None:
    assert await status_of(client.aupdate_bank_config("alice", disposition_empathy=9)) == 422
    assert await status_of(client.aupdate_bank_config("alice", reflect_mission="x" * 300_000)) in (413, 422)
    assert (await client.aget_bank_config("alice"))["overrides"] == {}

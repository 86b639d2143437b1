"""What was stored in many requests is not answered in one step: pages end early, and what has no pages is refused."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from tests.serving import token
from tests.watchdog import unwatched

LISTS: list[Any] = [[] for _ in range(19_000)]


@pytest.fixture
def headers(tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(tenant, 'alice', 'admin')}"}


@pytest.mark.parametrize("count", [6, pytest.param(12, marks=pytest.mark.load)])
async def test_pages_of_large_values_end_early_and_lead_on(
    secured_url: str, headers: dict[str, str], count: int
) -> None:
    async with aiohttp.ClientSession(secured_url, headers=headers) as http:
        for number in range(count):
            with unwatched():
                memory = {"content": f"note {number}", "value": LISTS}
            async with http.post("/v1/memories", json=memory, params={"index": "later"}) as answer:
                assert answer.status == 201, await answer.text()
        seen: list[str] = []
        pages, cursor = 0, ""
        while True:
            async with http.get(f"/v1/memories?limit=200{cursor}") as answer:
                with unwatched():
                    page = await answer.json()
            seen += [each["content"] for each in page["items"]]
            pages += 1
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        assert (sorted(seen), pages > 1) == (sorted(f"note {number}" for number in range(count)), True)
        sequences: list[int] = []
        while True:
            after = sequences[-1] if sequences else 0
            async with http.get(f"/v1/events?limit=200&after={after}&types=memory.written") as answer:
                with unwatched():
                    told = await answer.json()
            if not told:
                break
            assert len(told) < count
            sequences += [each["sequence"] for each in told]
        assert len(sequences) == count


@pytest.mark.load
async def test_a_batch_of_items_answers_only_so_much(secured_url: str, headers: dict[str, str]) -> None:
    async with aiohttp.ClientSession(secured_url, headers=headers) as http:

        async def read(*operations: dict[str, Any]) -> tuple[int, Any]:
            async with http.post("/v1/items/read", json={"operations": operations}) as answer:
                with unwatched():
                    return answer.status, await answer.json()

        with unwatched():
            puts = [
                {"op": "put", "namespace": ["big"], "key": f"k{n}", "value": {"a": "x" * 250_000}, "index": False}
                for n in range(24)
            ]
        for start in (0, 3, 6, 9, 12, 15, 18, 21):
            async with http.post("/v1/items", json={"operations": puts[start : start + 3]}) as answer:
                assert answer.status == 200, await answer.text()
        search = {"op": "search", "prefix": ["big"], "limit": 1_000}
        status, found = await read(search)
        assert (status, found["results"][0]["more"], 16 <= len(found["results"][0]["items"]) < 24) == (200, True, True)
        many: dict[str, list[dict[str, Any]]] = {
            "searches": [search] * 1_000,
            "gets of one": [{"op": "get", "namespace": ["big"], "key": "k1"}] * 1_000,
            "reads between writes": [search, {"op": "delete", "namespace": ["none"], "key": "k"}] * 500,
        }
        for name, operations in many.items():
            path = "/v1/items" if "writes" in name else "/v1/items/read"
            async with http.post(path, json={"operations": operations}) as answer:
                assert (answer.status, (await answer.json())["code"]) == (413, "payload_too_large"), name
        status, problem = await read(*[{"op": "namespaces"}] * 11)
        assert (status, "10 times" in problem["detail"]) == (422, True)
        assert (await read(*[{"op": "namespaces"}] * 10))[0] == 200


async def test_a_value_of_too_many_values_is_refused(secured_url: str, headers: dict[str, str]) -> None:
    memory = {"content": "x", "value": [*LISTS, *LISTS]}
    async with (
        aiohttp.ClientSession(secured_url, headers=headers) as http,
        http.post("/v1/memories", json=memory) as answer,
    ):
        assert answer.status == 422
        assert "value: contains more than 20,000 values" in (await answer.json())["detail"]


@pytest.mark.load
async def test_a_long_exchange_is_read_one_message_at_a_time(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    with unwatched():
        messages = [
            {"role": "user", "content": f"{n}. " + "I live in Paris and I like tea with lemon. " * 450}
            for n in range(60)
        ]
    receipt = await memory.store_exchange(messages, session_id="long")
    assert len(receipt.messages) == 60
    assert receipt.facts


async def test_a_document_of_thousands_of_passages_is_stored_in_steps(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    with unwatched():
        text = "".join(f"# heading {n}\n\nx{n}\n\n" for n in range(1_000)).encode()
    stored = await memory.add_document(data=text, name="many.md")
    assert stored.stored == 1_000
    gone = await memory.delete_document(stored.document.document_id, hard=True)
    assert gone.removed == 1_000


@pytest.mark.parametrize(
    "path",
    [
        "/v1/operations?cursor=WyIyMDI2LTAxLTAxVDAwOjAwOjAwWiIsIngiXQ==",
        "/v1/admin/transcripts/app?cursor=eA==",
        "/v1/admin/transcripts/app?cursor=eB94",
    ],
)
async def test_a_cursor_that_no_page_gave_is_told_of(secured_url: str, headers: dict[str, str], path: str) -> None:
    async with aiohttp.ClientSession(secured_url, headers=headers) as http, http.get(path) as answer:
        assert answer.status in (200, 422), await answer.text()


async def test_a_long_history_of_large_values_tells_the_newest(keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    held = await memory.remember("note", value=LISTS)
    for number in range(14):
        await memory.update(held.memory_id, value=LISTS[number + 1 :])
    told = await memory.history(held.memory_id)
    assert 5 < len(told) < 15
    image: Any = told[-1].data["memory"]
    assert image["version"] == 15

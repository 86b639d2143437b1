"""Choosing a user, changing many memories at once, adding a document, and the playground."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import aiohttp
import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.engine import Keeps
from keeps.memory.recall.access import AccessBuffer
from tests.console.test_pages import browsing
from tests.embedding import SwitchedEmbedder
from tests.scripted_llm import Script
from tests.serving import JWT_SECRET, serving, token


async def page_of(http: aiohttp.ClientSession, path: str) -> str:
    async with http.get(path) as answer:
        assert answer.status == 200, await answer.text()
        return re.sub(r"\s+", " ", await answer.text())


async def test_users_are_found_by_the_beginning_of_their_id(secured_url: str, keeps: Keeps, tenant: str) -> None:
    for user in ("anna", "anton", "bert", "ann<b>"):
        await keeps.memory(Scope(tenant, user)).remember("I am here.")
    async with browsing(secured_url, token(tenant, "root", "admin")) as http:
        found = await page_of(http, "/ui/pick/users?user=an")
        assert re.findall(r'value="([^"]*)"', found) == ["ann&lt;b&gt;", "anna", "anton"]
        assert "No user id starts with x" in await page_of(http, "/ui/pick/users?user=x")
    async with browsing(secured_url, token(tenant, "anna", "writer")) as http, http.get("/ui/pick/users") as answer:
        assert answer.status == 403
        assert "bert" not in await answer.text()
    async with browsing(secured_url, token(f"other-{tenant}", "root", "admin")) as http:
        assert "anna" not in await page_of(http, f"/ui/pick/users?user=an&tenant={tenant}")
        assert tenant not in (await page_of(http, "/ui/pick/tenants")).replace(f"other-{tenant}", "")


async def test_list_of_users_is_bounded(secured_url: str, app_url: str, tenant: str) -> None:
    connection = await asyncpg.connect(app_url)
    async with connection.transaction():
        await connection.execute("SELECT set_config('app.current_tenant', $1, true)", tenant)
        await connection.execute("INSERT INTO keeps.tenants (tenant_id) VALUES ($1)", tenant)
        for number in range(30):
            await connection.execute("SELECT set_config('app.current_user', $1, true)", f"user-{number:02}")
            await connection.execute(
                "INSERT INTO keeps.users (tenant_id, user_id) VALUES ($1, $2)", tenant, f"user-{number:02}"
            )
    await connection.close()
    async with browsing(secured_url, token(tenant, "root", "admin")) as http:
        found = await page_of(http, "/ui/pick/users?user=user")
    assert len(re.findall(r'value="', found)) == 20
    assert "type the first letters" in found


async def test_picked_user_is_looked_at(keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "bert")).remember("The garden is watered on Fridays.")
    async with serving(keeps, auth="none") as url, browsing(url) as http:
        assert tenant in await page_of(http, f"/ui/pick/tenants?tenant={tenant[:12]}")
        async with http.post("/ui/as", data={"tenant": tenant, "user": "", "pick": "bert"}) as answer:
            assert answer.status == 200
        assert "The garden is watered on Fridays." in await page_of(http, "/ui/memories")


async def test_many_memories_are_changed_at_once(secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    receipts = [await memory.remember(f"Note {number} of three.", tags=["old", "kept"]) for number in range(3)]
    ids = [str(receipt.memory_id) for receipt in receipts]
    async with browsing(secured_url, token(tenant, "alice", "writer")) as http:
        form = [*(("id", each) for each in ids[:2]), ("add_tag", "new"), ("remove_tag", "old"), ("importance", "0.9")]
        async with http.post("/ui/memories/edit", data=form) as answer:
            assert "2 changed" in await answer.text()
        async with http.post("/ui/memories/edit", data=[("id", ids[0])]) as answer:
            assert answer.status == 422
    changed, other = await memory.get(ids[0]), await memory.get(ids[2])
    assert (set(changed.tags), round(changed.importance, 2)) == ({"kept", "new"}, 0.9)
    assert set(other.tags) == {"old", "kept"}


async def test_file_becomes_a_document(secured_url: str, keeps: Keeps, tenant: str) -> None:
    async with browsing(secured_url, token(tenant, "alice", "writer")) as http:
        for text in ("# Rules\n\nNo peanuts.", "# Rules\n\nNo walnuts."):
            form = aiohttp.FormData()
            form.add_field("file", text.encode(), filename="rules.md", content_type="text/markdown")
            async with http.post("/ui/knowledge/documents", data=form) as answer:
                assert answer.status == 200, await answer.text()
    (document,) = (await keeps.memory(Scope(tenant, "alice")).list_documents()).items
    assert (document.title, document.source, document.version) == ("rules.md", "upload/rules.md", 2)


async def test_playground_stores_for_the_chosen_user_only(secured_url: str, keeps: Keeps, tenant: str) -> None:
    async with browsing(secured_url, token(tenant, "alice", "writer")) as http:
        async with http.post(
            "/ui/playground",
            data={"user": "bert", "message": "I am allergic to peanuts."},
            allow_redirects=False,
        ) as answer:
            assert answer.status == 303
            where = answer.headers["location"]
        page = await page_of(http, where)
    assert parse_qs(urlsplit(where).query)["user"] == ["alice"], "a key of one user stores for that user"
    assert "I am allergic to peanuts." in page
    assert (await keeps.memory(Scope(tenant, "bert")).list()).items == []
    assert "I am allergic to peanuts." in {each.content for each in await keeps.memory(Scope(tenant, "alice")).list()}


async def test_playground_says_why_and_why_not(secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    shown = await memory.remember("Alice is allergic to peanuts.", index="now")
    gone = await memory.remember("Alice is allergic to walnuts.", index="now")
    await memory.forget(gone.memory_id)
    await keeps.service(AccessBuffer).flush()
    async with browsing(secured_url, token(tenant, "alice", "reader")) as http:
        path = "/ui/playground?q=What+is+Alice+allergic+to%3F&why_not="
        page = await page_of(http, f"{path}peanuts")
        assert "why: rank 1 of a recall" in page
        assert "It is in the context." in page
        assert "It is forgotten" in await page_of(http, f"{path}{gone.memory_id}")
        assert "No memory of this user has this id" in await page_of(http, f"{path}unheard-of")
    await keeps.service(AccessBuffer).flush()
    life = (await memory.get(shown.memory_id)).life
    assert life is not None
    assert life.access_count == 0, "looking counts as no use"


async def test_context_includes_what_is_for_every_message(secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.store_exchange([{"role": "user", "content": "I'm allergic to peanuts."}], session_id="one")
    question = "q=Which+train+goes+to+Porto%3F"
    async with browsing(secured_url, token(tenant, "alice", "reader")) as http:
        for page in (await page_of(http, f"/ui/playground?{question}"), await page_of(http, f"/ui/context?{question}")):
            assert "allergic to peanuts" in page.partition("eft out")[0]
            assert "or every message" in page


@pytest.mark.slow_step("importing the package openai, once")
async def test_llm_of_the_playground_reads_the_whole_context_without_secrets(
    app_url: str, shared: SwitchedEmbedder, script: Script, tenant: str
) -> None:
    script.answers = [{"answer": "Try a curry without nuts."}]
    settings = load_settings(
        database_url=app_url, given={"KEEPS_LLM_BASE_URL": script.url, "KEEPS_LLM_API_KEY": "x", "KEEPS_LLM_MODEL": "m"}
    )
    async with (
        await open_keeps(settings, embedder=shared) as engine,
        serving(engine, auth="jwt", jwt_secret=JWT_SECRET) as url,
    ):
        memory = engine.memory(Scope(tenant, "alice"))
        await memory.store_exchange([{"role": "user", "content": "I'm allergic to peanuts."}], session_id="one")
        await memory.remember("The password of the router is hunter2-77.")
        async with (
            browsing(url, token(tenant, "alice", "writer")) as http,
            http.post("/ui/playground", data={"message": "Which dinner goes with the router?"}) as answer,
        ):
            assert "Try a curry without nuts." in await answer.text()
    assert "allergic to peanuts" in script.asked[0]
    assert "hunter2" not in script.asked[0]

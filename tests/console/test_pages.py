"""Pages over HTTP: their headers, roles, cookies and forms; and what strangers get."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest
from yarl import URL

from keeps.base.scope import Scope
from keeps.doors.console.door import STATIC
from keeps.doors.console.pages import PAGES
from keeps.doors.console.sessions import COOKIE, Session, Sessions
from keeps.doors.console.views import curve, quoted, stacked, word_diff
from keeps.doors.server.authorized_memory import AuthorizedMemory, _AuthorizedAdmin
from keeps.engine import Keeps, LocalAdmin, LocalMemory
from keeps.memory.lifecycle.service import Lifecycle
from keeps.store.access.keys import KeyService
from keeps.store.db.embedded import EmbeddedPostgres
from keeps_client.models import NewKey, NewTranscriptEntry
from tests.conftest import admin
from tests.console.rows import SHARED, asked, test_every_page_has_a_row
from tests.server.test_matrix import MARK, alices, rows_of
from tests.serving import serving, token

__all__ = ["alices", "test_every_page_has_a_row"]
ABSENT = "01a20000-0000-7000-8000-000000000000"


@asynccontextmanager
async def browsing(url: str, credential: str | None = None) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser's cookies and headers; signed in, where there is a credential."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(url, cookie_jar=jar, headers={"Origin": url}) as http:
        if credential is not None:
            async with http.post("/ui/login", data={"credential": credential}, allow_redirects=False) as answer:
                assert answer.status == 303, await answer.text()
        yield http


async def text_of(http: aiohttp.ClientSession, method: str, path: str, form: dict[str, str]) -> tuple[int, str]:
    async with http.request(method, path, allow_redirects=False, data=None if method == "GET" else form) as answer:
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        return answer.status, await answer.text()


async def all_rows(connection: asyncpg.Connection, tenant: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the rows of Alice and those of her space, whose events contain its members."""
    return await rows_of(connection, tenant), await rows_of(connection, tenant, "(space) alices")


async def test_every_page_opens_for_who_owns_what_it_shows(secured_url: str, alices: dict[str, str]) -> None:
    credential = token(alices["tenant_id"], "alice-the-owner", "operator")
    shown = 0
    async with browsing(secured_url, credential) as http:
        for name, method, path, form in asked(alices, MARK):
            if method == "GET":
                status, text = await text_of(http, method, path, form)
                assert status in (200, 204), f"{name}: {status} {text[:300]}"
                shown += MARK in text
                assert "<script>" not in text
                assert not re.search(r"\son\w+=|style=|javascript:", text), name
    assert shown >= 15


async def test_strangers_see_nothing_and_change_nothing(secured_url: str, alices: dict[str, str], server: Any) -> None:
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    before = await all_rows(connection, alices["tenant_id"])
    last = await connection.fetchval("SELECT max(sequence) FROM keeps.events WHERE tenant_id = $1", alices["tenant_id"])
    ids = {**alices, "sequence": str(last)}
    other = f"stranger-{alices['tenant_id'][-8:]}"
    for tenant, user, role in (
        (other, "alice-the-owner", "admin"),
        (other, "alice-the-owner", "writer"),
        (alices["tenant_id"], "bob", "reader"),
        (alices["tenant_id"], "bob", "writer"),
    ):
        async with browsing(secured_url, token(tenant, user, role)) as http:
            for name, method, path, form in asked(ids, "nothing"):
                if name == "GET /ui/memories/export" and role == "admin":
                    continue  # it has headers of its own, and is tested below
                if name in SHARED and tenant == alices["tenant_id"]:
                    continue
                status, text = await text_of(http, method, path, form)
                assert status < 500, f"{name} as {role}: {status} {text[:300]}"
                assert MARK not in text, f"{name} as {role} {user} of {tenant}"
                if role == "reader" and method == "POST":
                    assert status in (403, 404, 422), f"{name}: {status}"
    assert await all_rows(connection, alices["tenant_id"]) == before
    await connection.close()


async def test_nobody_gets_in_without_signing_in(secured_url: str, alices: dict[str, str]) -> None:
    async with browsing(secured_url) as http:
        for name, method, path, form in asked(alices, MARK):
            async with http.request(method, path, data=form or None, allow_redirects=False) as answer:
                assert (answer.status, answer.headers["location"]) == (303, "/ui/login"), name
                assert not await answer.read()
        # What programs send is no session of a browser.
        headers = {"Authorization": f"Bearer {token('a', 'b', 'admin')}"}
        async with http.get("/ui/memories", headers=headers, allow_redirects=False) as answer:
            assert answer.status == 303
        for path in ("/ui/login", "/ui/static/keeps.css", "/ui/static/vendor/htmx.min.js"):
            async with http.get(path) as answer:
                assert answer.status == 200, path
        async with http.get("/ui/static/../door.py") as answer:
            assert answer.status in (404, 200)
            assert "sealed" not in await answer.text()


async def test_forms_of_other_sites_change_nothing(secured_url: str, alices: dict[str, str], server: Any) -> None:
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    before = await all_rows(connection, alices["tenant_id"])
    async with browsing(secured_url, token(alices["tenant_id"], "alice-the-owner", "admin")) as http:
        for name, method, path, form in asked(alices, MARK):
            if method != "POST":
                continue
            for origin in (
                "https://evil.example",
                "null",
                "http://127.0.0.1:1",
                secured_url + ".evil.example",
                secured_url.replace("http:", "https:"),
            ):
                async with http.post(path, data=form, headers={"Origin": origin}, allow_redirects=False) as answer:
                    assert answer.status == 403, f"{name} from {origin}"
        async with http.post("/ui/logout", headers={"Sec-Fetch-Site": "cross-site"}, allow_redirects=False) as answer:
            assert answer.status == 403
        for path in ("/ui/login", "/ui/logout", "/ui/as"):
            async with http.post(path, headers={"Origin": "https://evil.example"}, allow_redirects=False) as answer:
                assert answer.status == 403
                assert "set-cookie" not in answer.headers
    async with aiohttp.ClientSession(secured_url) as http, http.post("/ui/login", data={"credential": "x"}) as answer:
        assert answer.status == 403, "a browser says where a form comes from"
    assert await all_rows(connection, alices["tenant_id"]) == before
    await connection.close()


async def test_a_session_is_sealed_ends_and_can_be_ended(
    secured_url: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential = token(tenant, "alice", "writer")
    async with browsing(secured_url) as http:
        for wrong, status in (
            ("", 422),
            ("x" * 3_000, 422),
            ("no\u2009key", 422),
            ("keeps_wrong", 401),
            ("a.b.c", 401),
        ):
            async with http.post("/ui/login", data={"credential": wrong}, allow_redirects=False) as answer:
                assert answer.status == status, wrong[:20]
                assert "set-cookie" not in answer.headers
                assert not wrong or wrong not in await answer.text()
        async with http.post("/ui/login", data={"credential": credential}, allow_redirects=False) as answer:
            cookie = answer.headers["set-cookie"]
            assert credential not in cookie
            assert {"HttpOnly", "SameSite=Strict", "Path=/ui"} <= {each.strip() for each in cookie.split(";")}
            assert "Secure" not in cookie
        async with http.get("/ui/memories", allow_redirects=False) as answer:
            assert answer.status == 200
        async with http.get("/v1/memories") as answer:
            assert answer.status == 401, "the cookie is for the console alone"
        async with http.post("/ui/logout", allow_redirects=False) as answer:
            assert "Max-Age=0" in answer.headers["set-cookie"]
        async with http.get("/ui/memories", allow_redirects=False) as answer:
            assert answer.status == 303
        headers = {"X-Forwarded-Proto": "https", "Origin": secured_url.replace("http:", "https:")}
        async with http.post(
            "/ui/login", data={"credential": credential}, headers=headers, allow_redirects=False
        ) as answer:
            assert "Secure" in answer.headers["set-cookie"]
    ours = Sessions([], "a secret of the tests")
    good = ours.seal(ours.begin(credential))
    over = ours.seal(Session(credential, until=1.0))
    foreign = Sessions([], "another secret").seal(ours.begin(credential))
    for value, status in (
        (good, 200),
        (good[:-4] + "AAAA", 303),
        (over, 303),
        (foreign, 303),
        ("", 303),
        ("x" * 5_000, 303),
    ):
        async with (
            aiohttp.ClientSession(secured_url, headers={"Cookie": f"{COOKIE}={value}"}) as http,
            http.get("/ui/memories", allow_redirects=False) as answer,
        ):
            assert answer.status == status
    shared = Sessions(["one", "two"], "own"), Sessions(["two"], "other")
    assert shared[0].open(f"{COOKIE}={shared[1].seal(ours.begin('x'))}") is not None, "secrets can be changed"
    monkeypatch.setattr("keeps.doors.console.sessions.time.time", lambda: 4e9)
    assert ours.open(f"{COOKIE}={good}") is None


async def test_wrong_keys_are_counted_like_everywhere(keeps: Keeps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keeps.store.access.rates.WrongCredentials.MOST", 5)
    async with serving(keeps, auth="keys") as url, browsing(url) as http:
        found = set[int]()
        for number in range(10):
            async with http.post(
                "/ui/login", data={"credential": f"keeps_wrong{number}"}, allow_redirects=False
            ) as answer:
                found.add(answer.status)
        assert 429 in found


async def test_cookies_of_others_are_in_nobodys_way(secured_url: str, tenant: str) -> None:
    ours = Sessions([], "a secret of the tests")
    good, evil = (ours.seal(ours.begin(token(where, "alice", "reader"))) for where in (tenant, "evil"))
    slow = "\\" * 60_000  # took eight seconds to read as a quoted value
    for cookie, opens in (
        (f"a=[1, 2]; {COOKIE}={good}; b={{}}", True),
        (f'{COOKIE}={good}; a b; c="d', True),
        (f"{COOKIE}={evil}; {COOKIE}={good}", False),
        (f"{COOKIE}={good}; {COOKIE}={evil}", False),
        (f'a="{slow[:50_000]}"', False),
    ):
        assert (ours.open(cookie) is not None) == opens, cookie[:40]
        async with (
            aiohttp.ClientSession(secured_url, headers={"Cookie": cookie}) as http,
            http.get("/ui/memories", allow_redirects=False) as answer,
        ):
            assert answer.status == (200 if opens else 303), cookie[:40]


async def test_only_who_may_imports(secured_url: str, keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "bob")).remember("Bob keeps goats.")
    lines = await keeps.memory(Scope(tenant, "bob", roles=frozenset({"admin"}))).admin.export_lines()
    evil = "\n".join(lines).replace("Bob keeps goats.", "Planted.")
    for credential in (
        token(f"{tenant}-2", "alice", "reader"),
        token(f"{tenant}-2", "alice", "writer"),
        token(f"{tenant}-2", "alice", "admin", agent_id="an-agent"),
    ):
        async with browsing(secured_url, credential) as http:
            form = aiohttp.FormData()
            form.add_field("file", evil.encode(), filename="export.jsonl")
            async with http.post("/ui/memories/import", data=form) as answer:
                assert answer.status == 403
    assert not (await keeps.memory(Scope(f"{tenant}-2", "bob")).list()).items


def test_whatever_goes_around_the_operations_asks_for_the_role() -> None:
    for kind, served in ((LocalMemory, AuthorizedMemory), (LocalAdmin, _AuthorizedAdmin)):
        own = {
            name
            for name, method in vars(kind).items()
            if not name.startswith("_") and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method))
        }
        assert own <= set(vars(served)), f"{served.__name__} must ask for the role: {own - set(vars(served))}"


async def test_a_form_that_never_comes_is_given_up(secured_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keeps.doors.server.bodies.BODY_SECONDS", 0.2)
    host, port = secured_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /ui/login HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {secured_url}\r\nContent-Length: 100\r\n\r\nc"
    writer.write(head.encode())
    async with asyncio.timeout(10):
        assert b" 422 " in await reader.readline()
    writer.close()
    async with browsing(secured_url) as http, http.post("/ui/login", data={"credential": "x" * 50_000}) as answer:
        assert answer.status == 413


async def test_numbers_names_and_forms_that_cannot_be_are_said_so(secured_url: str, tenant: str) -> None:
    nines = "9" * 5_000
    async with browsing(secured_url, token(tenant, "alice", "operator")) as http:
        for path in (
            f"/ui/context?q=x&budget={nines}",
            f"/ui/knowledge/documents/{ABSENT}?start={nines}",
            f"/ui/events/{nines}",
            f"/ui/events?before={nines}",
            "/ui/events/x",
            "/ui/time?until=0001-01-01",
        ):
            assert (await text_of(http, "GET", path, {}))[0] in (404, 422), path
        for path, form in (
            ("/ui/admin/quota", {"tenant_id": tenant, "max_memories": nines}),
            ("/ui/operations/retry", {"job_id": nines}),
            ("/ui/memories/new", {f"a{number}": "" for number in range(1_100)}),
        ):
            assert (await text_of(http, "POST", path, form))[0] == 422, path
        for name in ("a/b", "..", "a?b#c", "../../memories", "x/../y"):
            async with http.get("/ui/workspace", params={"plan_id": name}, allow_redirects=False) as answer:
                where = answer.headers["location"]
            assert where.count("/") == 4, where
    for name, part in (("a/b", "a%2Fb"), ("..", "%2E%2E"), ("a.b", "a.b"), ("ä?#", "%C3%A4%3F%23")):
        assert quoted(name) == part


HOSTILE = ("\0", "🙂\u202e", "x" * 2_000, "-1", "{=", "9999-12-31T23:59", "in Q1 0000", "<script>alert(1)</script>")


async def test_no_page_breaks_on_what_is_sent(secured_url: str, alices: dict[str, str]) -> None:
    """Whatever stands in one of the fields that a page reads, or in its path."""
    sent = 0
    async with browsing(secured_url, token(alices["tenant_id"], "carol", "operator")) as http:
        for (name, method, path, form), value in product(asked(alices, MARK), HOSTILE):
            source = inspect.getsource(PAGES[name])
            for field in re.findall(r'(?:asked|number|moment|chosen)\("(\w+)"', source) if method == "GET" else form:
                where = URL(path).update_query({field: value}) if method == "GET" else URL(path)
                status, text = await text_of(http, method, str(where), {**form, field: value})
                assert status < 500, f"{name} with {field}={value[:20]!r}: {status} {text[:300]}"
                assert "<script>alert" not in text or name == "GET /ui/memories/export", name
                sent += 1
            for identity in {each for each in alices.values() if f"/{each}" in path}:
                status, text = await text_of(http, method, path.replace(f"/{identity}", f"/{quoted(value)}"), form)
                assert status < 500, f"{name} with {value[:20]!r} in its path: {status} {text[:300]}"
    assert sent >= 200


async def test_a_conversation_opens_by_its_id(secured_url: str, keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember("Imported.", session_id="chat 1/2", kind="episodic")
    async with browsing(secured_url, token(tenant, "alice", "reader")) as http:
        async with http.get("/ui/conversations", params={"open": "chat 1/2"}) as answer:
            assert answer.status == 200
            assert "Imported." in await answer.text()
        async with http.get("/ui/conversations", params={"open": "//evil.example"}, allow_redirects=False) as answer:
            assert answer.headers["location"].startswith("/ui/conversations/%2F%2F")


async def test_a_session_with_a_slash_in_its_name_opens(secured_url: str, keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "alice")).create_session(session_id="a/b ä", name="The talk")
    async with browsing(secured_url, token(tenant, "alice", "writer")) as http:
        _, text = await text_of(http, "GET", "/ui/conversations", {})
        found = re.search(r'href="(/ui/conversations/[^"]+)"', text)
        assert found is not None
        async with http.get(URL(found[1], encoded=True)) as answer:
            assert answer.status == 200
            assert "The talk" in await answer.text()


async def test_a_key_for_any_user_looks_as_one_of_them(secured_url: str, keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember("Alice keeps bees.")
    await keeps.memory(Scope(tenant, "bob")).remember("Bob keeps goats.")
    admin = Scope(tenant, "root", roles=frozenset({"admin"}))
    key = await keeps.service(KeyService).make(admin, NewKey(name="any", roles=("reader",)))
    async with browsing(secured_url, key.secret) as http:
        _, text = await text_of(http, "GET", "/ui/memories", {})
        assert "bees" not in text
        assert "goats" not in text
        for user, sees, hidden in (("alice", "bees", "goats"), ("bob", "goats", "bees")):
            assert (await text_of(http, "POST", "/ui/as", {"user": user}))[0] == 303
            _, text = await text_of(http, "GET", "/ui/memories", {})
            assert sees in text
            assert hidden not in text
        await text_of(http, "POST", "/ui/as", {"user": "alice", "tenant": "another"})
        _, text = await text_of(http, "GET", "/ui/memories", {})
        assert "bees" in text, "a key has one tenant, whatever a form says"
    async with browsing(secured_url, token(tenant, "bob", "admin")) as http:
        await text_of(http, "POST", "/ui/as", {"user": "alice"})
        status, text = await text_of(http, "GET", "/ui/memories", {})
        assert status == 403
        assert "bees" not in text
        await text_of(http, "POST", "/ui/as", {"user": ""})
        assert (await text_of(http, "GET", "/ui/memories", {}))[0] == 200


async def test_without_keys_it_is_for_this_machine_alone(server_url: str, tenant: str) -> None:
    async with browsing(server_url) as http:
        async with http.get("/ui", allow_redirects=False) as answer:
            assert answer.headers["location"] == "/ui/"
        assert (await text_of(http, "GET", "/ui/", {}))[0] == 200
        async with http.get("/ui/", headers={"Host": "rebound.example"}) as answer:
            assert answer.status == 403
        await text_of(http, "POST", "/ui/as", {"user": "carol", "tenant": tenant})
        status, _ = await text_of(http, "POST", "/ui/memories/new", {"content": "Carol keeps a diary.", "tags": "a, b"})
        assert status == 303
        _, text = await text_of(http, "GET", "/ui/memories?tag=a", {})
        assert "Carol keeps a diary." in text


async def test_the_demonstration_comes_and_goes(server_url: str, keeps: Keeps) -> None:
    alice = keeps.memory(Scope("harbour", "alice"))
    async with browsing(server_url) as http:
        status, text = await text_of(http, "POST", "/ui/demo", {})
        assert status == 200
        assert "View as alice of harbour" in text
        assert (await alice.list()).items
        assert (await text_of(http, "POST", "/ui/demo/remove", {}))[0] == 200
        assert not (await alice.list()).items


async def test_the_demonstration_leaves_tenants_of_its_names_alone(server_url: str, keeps: Keeps) -> None:
    real = keeps.memory(Scope("northwind", "real"))
    await real.remember("Our own orchard.")
    async with browsing(server_url) as http:
        status, text = await text_of(http, "POST", "/ui/demo", {})
        assert status == 409
        assert "northwind has memories of its own" in text
        assert not (await keeps.memory(Scope("harbour", "alice")).list()).items, "nothing was loaded"
        assert (await text_of(http, "POST", "/ui/demo/remove", {}))[0] == 404
        assert [memory.content for memory in (await real.list()).items] == ["Our own orchard."]
    await real.admin.erase_tenant("northwind")


async def test_a_memory_is_corrected_forgotten_restored_and_removed(
    secured_url: str, keeps: Keeps, tenant: str
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    stored = await memory.remember("The dog is called Rex.", tags=["pets"])
    path = f"/ui/memories/{stored.memory_id}"
    async with browsing(secured_url, token(tenant, "alice", "writer")) as http:
        form = {"content": "The dog is called Max.", "tags": "pets, dogs", "importance": "0.9", "version": "1"}
        assert (await text_of(http, "POST", path, form))[0] == 303
        _, text = await text_of(http, "GET", path, {})
        assert "<del>Rex.</del> <ins>Max.</ins>" in text
        assert (await memory.get(stored.memory_id)).tags == ("pets", "dogs")
        status, text = await text_of(http, "POST", path, form)
        assert status == 409, "what somebody else has changed meanwhile is not overwritten"
        assert (await text_of(http, "POST", path, {"importance": "much", "content": "x"}))[0] == 422
        assert (await text_of(http, "POST", path + "/forget", {}))[0] == 303
        assert not (await memory.list()).items
        _, text = await text_of(http, "GET", path, {})
        assert "Restore" in text
        await text_of(http, "POST", path + "/restore", {})
        assert (await memory.list()).items
        status, text = await text_of(http, "POST", path + "/remove", {})
        assert status == 200
        assert "cannot be undone" in text
        assert (await memory.list()).items
        await text_of(http, "POST", path + "/remove", {"sure": "1"})
        assert not (await memory.list()).items
        assert (await text_of(http, "GET", f"/ui/memories/{ABSENT}", {}))[0] == 404
        assert (await text_of(http, "GET", "/ui/memories/not-an-id", {}))[0] == 404


async def test_many_are_forgotten_after_a_look(secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    ids = [str((await memory.remember(f"Remark number {number}.")).memory_id) for number in range(3)]
    async with browsing(secured_url, token(tenant, "alice", "writer")) as http:
        for sure, left in (({}, 3), ({"sure": "1"}, 1)):
            form = aiohttp.FormData([("id", ids[0]), ("id", ids[1]), *sure.items()])
            async with http.post("/ui/memories/forget", data=form, allow_redirects=False) as answer:
                assert answer.status == (303 if sure else 200)
            assert len((await memory.list()).items) == left
        assert (await text_of(http, "POST", "/ui/memories/forget", {}))[0] == 422


async def test_what_is_exported_can_be_imported(secured_url: str, keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember("Alice sings.")
    async with browsing(secured_url, token(tenant, "alice", "admin")) as http:
        async with http.get("/ui/memories/export") as answer:
            lines = await answer.read()
            assert "attachment" in answer.headers["content-disposition"]
        assert b"Alice sings." in lines
    async with browsing(secured_url, token(f"{tenant}-2", "alice", "admin")) as http:
        form = aiohttp.FormData()
        form.add_field("file", lines, filename="export.jsonl", content_type="application/x-ndjson")
        form.add_field("dry_run", "1")
        async with http.post("/ui/memories/import", data=form) as answer:
            assert "nothing is stored" in await answer.text()
        assert (await keeps.memory(Scope(f"{tenant}-2", "alice")).list()).items == []
        form = aiohttp.FormData({"first": "7"})
        form.add_field("file", lines + b"no json\n", filename="piece.jsonl")
        async with http.post("/ui/memories/import", data=form, headers={"Accept": "application/json"}) as answer:
            told = await answer.json()
            assert (told["stored"], told["failed"], told["lines"]) == (1, 1, 2)
            assert told["errors"] == ["line 9: is not a line of an export"]
        _, text = await text_of(http, "GET", "/ui/memories", {})
        assert "Alice sings." in text


async def test_a_list_goes_on_where_it_ended(secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember_many([{"content": f"Remark number {number:03}."} for number in range(120)])
    seen: list[str] = []
    async with browsing(secured_url, token(tenant, "alice", "reader")) as http:
        path: str | None = "/ui/memories"
        while path is not None:
            async with http.get(path, headers={"HX-Request": "true"}) as answer:
                text = await answer.text()
            assert "<html" not in text
            seen += re.findall(r"Remark number (\d+)\.</a>", text)
            found = re.search(r'hx-get="([^"]+)"', text)
            path = found[1].replace("&amp;", "&") if found else None
    assert sorted(seen) == [f"{number:03}" for number in range(120)]
    assert len(seen) == 120


async def test_new_events_are_seen_as_they_happen(secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("The first.", index="later")
    async with browsing(secured_url, token(tenant, "alice", "reader")) as http:
        _, text = await text_of(http, "GET", "/ui/events", {})
        found = re.search(r'hx-get="(/ui/events\?after=\d+)"', text)
        assert found is not None
        await memory.remember("The second.", index="later")
        _, text = await text_of(http, "GET", found[1], {})
        assert "The second." in text
        assert "The first." not in text
        assert (await text_of(http, "GET", "/ui/events?after=x", {}))[0] == 422
        assert (await text_of(http, "GET", "/ui/time?until=yesterday", {}))[0] == 422


async def test_what_somebody_stored_is_text(secured_url: str, keeps: Keeps, tenant: str) -> None:
    evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7*7 }}"
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember(evil, metadata={"speaker": evil})
    async with browsing(secured_url, token(tenant, "alice", "reader")) as http:
        for path in (
            "/ui/memories",
            "/ui/?q=alert",
            f"/ui/?q={'%3Cscript%3E'}alert(1)",
            "/ui/memories?did=%3Cscript%3E",
        ):
            _, text = await text_of(http, "GET", path, {})
            assert "<script>" not in text.replace('<script src="/ui/static/', "")
            assert "<img src=x" not in text
            assert "49" not in text.replace(tenant, "") or "{{" in text


def test_a_diff_says_what_went_and_what_came() -> None:
    assert word_diff("a b c", "a x c d") == [("same", "a"), ("gone", "b"), ("new", "x"), ("same", "c"), ("new", "d")]
    assert word_diff("a b", "a b") == [("same", "a b")]
    assert word_diff("", "new") == [("gone", ""), ("new", "new")]
    slow = "a x " * 3_000, "a y " * 3_000
    found = word_diff(*slow)
    assert [kind for kind, _ in found] == ["same", "gone", "new", "same"], "what would take minutes is not compared"
    assert max(len(piece) for _, piece in found) < 2_100


def test_bars_and_curves_fill_their_room() -> None:
    parts = stacked([("a", 1.0), ("none", 0.0), ("b", 3.0), ("less", -1.0)], 4.0)
    assert [(each.name, each.start, each.size) for each in parts] == [("a", 0.0, 25.0), ("b", 25.0, 75.0)]
    assert stacked([("a", 1.0)], 0.0) == []
    assert curve([0.0, 1.0], top=1.0) == "0.0,120.0 600.0,0.0"
    assert curve([]) == ""
    assert curve([0.0]) == "0.0,120.0"


def test_what_is_vendored_is_what_the_notice_says() -> None:
    static = files("keeps.doors.console").joinpath("static")
    notice = Path(__file__).parents[2].joinpath("NOTICE").read_text(encoding="utf-8")
    served = {path.name for path in (*static.iterdir(), *static.joinpath("vendor").iterdir()) if path.is_file()}
    assert served == {name.rpartition("/")[2] for name in STATIC}
    for path in static.joinpath("vendor").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() in notice, path.name


async def test_items_and_transcripts_are_paged_and_opened(secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    odd = "a/b ?&#% é"
    async with browsing(secured_url, token(tenant, "alice", "reader")) as http:
        for path, hint in (("/ui/items", "KeepsStore"), ("/ui/transcripts", "append_to_transcript")):
            _, text = await text_of(http, "GET", path, {})
            assert hint in text
        for number in range(101):
            await memory.put_item(("notes", odd), f"{odd} {number:03}", {"n": number}, index=False)
        await memory.append_to_transcript(
            odd, odd, [NewTranscriptEntry(entry_id="1", entry={"t": "x" * 9_000})], create=True
        )
        opened: list[str] = []
        for path in ("/ui/items", "/ui/transcripts"):
            while True:  # follow the first link of each list, and the link to the next page
                _, text = await text_of(http, "GET", path, {})
                opened.append(text)
                main = text.partition("<main")[2]
                link = re.search(r'rel="next" href="([^"]*)"', main) or re.search(
                    r'(?:card|content)"><a href="([^"]*)"', main
                )
                if link is None:
                    break
                path = str(URL(path).join(URL(unescape(link[1]), encoded=True)))
    assert any(f"{odd} 100" in unescape(text) for text in opened), "the second page of keys"
    assert any("&#34;n&#34;: 100" in text for text in opened), "the value of the last item"
    assert any("x" * 1_990 + "…" in text for text in opened), "a long entry is cut"


async def test_overview_lists_the_jobs_of_the_last_day(
    server: EmbeddedPostgres, keeps: Keeps, secured_url: str, tenant: str
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("I am allergic to peanuts.", kind="episodic", importance=0.9)
    async with admin(server, "keeps_test") as connection:
        await connection.execute(
            "UPDATE keeps.memories SET created_at = now() - interval '3 hours' WHERE tenant_id = $1", tenant
        )
    async with browsing(secured_url, token(tenant, "alice", "writer")) as http:
        assert "No job has changed anything." in (await text_of(http, "GET", "/ui/insights/numbers", {}))[1]
        await keeps.service(Lifecycle).run(tenant, "promotion")
        listed = (await text_of(http, "GET", "/ui/insights/numbers", {}))[1]
    operation = (await memory.operations()).items[0]
    assert f'<a href="/ui/operations/{operation.operation_id}">promotion</a>' in listed

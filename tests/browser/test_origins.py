"""A page of another origin, in Chromium: no route writes or reads for it, in any mode of KEEPS_AUTH.

The routes are those of the cross-tenant matrix. The page tries all that pages can: fetch with and without CORS,
beacons, forms, frames, scripts, images, streams; also with a token that is good.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from aiohttp import web
from playwright.async_api import Browser

from keeps.base.defaults import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.recall.access import AccessBuffer
from tests.server.test_matrix import MARK, ROUTES
from tests.serving import JWT_SECRET, serving, token

pytestmark = pytest.mark.browser
HOSTS = ("evil.test", "localhost", "127.0.0.1")
"""Another site; and other ports of this machine, which are another origin of the same site."""
ATTEMPTS = """
async ({url, routes, token, credentials}) => {
    const told = [];
    const soon = (work) => Promise.race([work, new Promise((done) => setTimeout(() => done("slow"), 3000))]);
    const fetched = async (how, path, options) => {
        try {
            const answer = await fetch(url + path, {credentials, ...options, signal: AbortSignal.timeout(3000)});
            told.push([how, options.method, path, answer.type, answer.status, await answer.text()]);
        } catch (error) { told.push([how, options.method, path, "error", 0, String(error)]); }
    };
    for (const {method, path, body} of routes) {
        const sent = method === "GET" ? {} : {body};
        const named = {"Content-Type": "application/json", "X-Tenant-ID": "%TENANT%", ...(token ? {Authorization: `Bearer ${token}`} : {})};
        await fetched("cors", path, {method, headers: named, ...sent});
        if (!["GET", "POST"].includes(method)) continue;
        await fetched("simple", path, {method, headers: {"Content-Type": "text/plain"}, ...sent});
        await fetched("no-cors", path, {method, mode: "no-cors", headers: {"Content-Type": "text/plain"}, ...sent});
        if (method === "POST") {
            navigator.sendBeacon(url + path, new Blob([body], {type: "text/plain"}));
            for (const kind of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
                const frame = document.createElement("iframe"), form = document.createElement("form"), field = document.createElement("input");
                frame.name = "f" + Math.random();
                Object.assign(form, {method: "POST", action: url + path, enctype: kind, target: frame.name});
                field.name = body.slice(0, -1) + ', "a": "'; field.value = '"}';
                form.append(field); document.body.append(frame, form);
                const done = new Promise((loaded) => frame.onload = loaded);
                form.submit();
                await soon(done);
                try { told.push(["form", method, path, "read", 0, frame.contentDocument.body.innerText]); } catch { }
                frame.remove();
            }
        } else {
            for (const kind of ["iframe", "script", "img"]) {
                const element = document.createElement(kind);
                const done = new Promise((over) => { element.onload = over; element.onerror = over; });
                element.src = url + path; document.body.append(element);
                if (!path.includes("stream")) await soon(done);
                try { if (kind === "iframe") told.push(["frame", method, path, "read", 0, element.contentDocument.body.innerText]); } catch { }
                element.remove();
            }
        }
    }
    told.push(["stream", "GET", "", "events", 0, await soon(new Promise((done) => {
        const source = new EventSource(url + "/v1/events/stream?after=0");
        source.onmessage = (event) => done(event.data); source.onerror = () => { source.close(); done("refused"); };
    }))]);
    return told;
}
""".replace("%TENANT%", DEFAULT_TENANT_ID)


@pytest.fixture
async def page_port() -> AsyncIterator[int]:
    """A web server of somebody else."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<!doctype html><body>Hello</body>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


@pytest.fixture
async def victims(keeps: Keeps) -> dict[str, str]:
    """Store data as the owner of the laptop; return its ids."""
    memory = keeps.memory(Scope(DEFAULT_TENANT_ID, DEFAULT_USER_ID))
    stored = await memory.remember(f"The password is {MARK}.", namespace="n", key="alices")
    await memory.store("key", MARK, "plan")
    entity = await memory.add_entity(f"{MARK} entity")
    await memory.store_exchange([{"role": "user", "content": f"My dog is called {MARK}."}], session_id="session")
    await keeps.service(Indexer).settle(memory.scope)  # nothing may change afterwards
    return {
        "memory_id": str(stored.memory_id),
        "plan_id": "plan",
        "key": "key",
        "session_id": "session",
        "entity_id": str(entity.entity_id),
    }


def _routes(ids: dict[str, str]) -> list[dict[str, str]]:
    class Ids(dict[str, str]):
        def __missing__(self, name: str) -> str:
            return "01a20000-0000-7000-8000-000000000000" if name.endswith("_id") else "markdown"

    found = []
    for name, (request, _, _) in ROUTES.items():
        method, path = name.split(" ")
        params = "&".join(f"{each}={value}" for each, value in request.get("params", {}).items())
        body = json.dumps(request["json"]) if "json" in request else "{}"
        filled = path.format_map(Ids(ids, user_id=DEFAULT_USER_ID, tenant_id=DEFAULT_TENANT_ID))
        found.append({"method": method.upper(), "path": f"{filled}?{params}" if params else filled, "body": body})
    return found


async def _everything(server: Any) -> dict[str, str]:
    """Every row of every table, as a hash."""
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    tables = await connection.fetch(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'keeps' AND table_type = 'BASE TABLE'"
    )
    found = {}
    for (table,) in tables:
        found[table] = await connection.fetchval(
            f"SELECT md5(COALESCE(string_agg(t::text, '' ORDER BY t::text), '')) FROM keeps.{table} AS t"
        )
    await connection.close()
    return found


@pytest.mark.parametrize(
    "mode",
    ["none", "jwt+keys", pytest.param("keys", marks=pytest.mark.load), pytest.param("jwt", marks=pytest.mark.load)],
)
async def test_no_route_writes_or_reads_for_a_page_of_another_origin(
    browser: Browser, keeps: Keeps, server: Any, page_port: int, victims: dict[str, str], mode: str
) -> None:
    more = {"jwt_secret": JWT_SECRET} if "jwt" in mode else {}
    mine = token(DEFAULT_TENANT_ID, DEFAULT_USER_ID, "admin")
    routes = _routes(victims)
    async with serving(keeps, auth=mode, reads_per_minute=1_000_000, writes_per_minute=1_000_000, **more) as url:
        await keeps.service(AccessBuffer).flush()
        before = await _everything(server)
        for host in HOSTS:
            page = await browser.new_page()
            await page.goto(f"http://{host}:{page_port}/")
            told = await page.evaluate(
                ATTEMPTS,
                {"url": url, "routes": routes, "token": mine if "jwt" in mode else None, "credentials": "include"},
            )
            await page.close()
            assert len(told) > len(routes)
            for how, method, path, kind, status, text in told:
                what = f"{how} {method} {path} from {host}: {kind} {status} {text[:200]}"
                assert kind in ("error", "opaque", "read", "events"), what
                assert MARK not in text.replace("swordfish entity", "") or how == "cors", what
                assert not text or kind == "error" or "forbidden" in text or text == "refused", what
        await keeps.service(AccessBuffer).flush()
        assert await _everything(server) == before
        print(f"{mode}: {len(routes)} routes, {len(told)} attempts from each of {', '.join(HOSTS)}")


async def test_its_own_page_and_one_that_is_named_may_read(
    browser: Browser, keeps: Keeps, page_port: int, victims: dict[str, str]
) -> None:
    """So the attempts above would succeed where nothing stopped them."""
    named = f"http://localhost:{page_port}"
    async with serving(keeps, auth="none", cors_origins=(named,)) as url:
        for start in (f"{url}/docs", f"{named}/"):
            page = await browser.new_page()
            await page.goto(start)
            routes = [
                each
                for each in _routes(victims)
                if each["path"] in ("/v1/memories?namespace=n&key=alices", "/v1/recall")
            ]
            told = await page.evaluate(ATTEMPTS, {"url": url, "routes": routes, "token": None, "credentials": "omit"})
            read = {how for how, *_, text in told if MARK in text}
            assert "cors" in read, (start, told)
            await page.close()

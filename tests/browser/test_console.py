"""The console in Chromium: every page opened, every button pressed, nothing that somebody stored ever runs."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from keeps.base.clock import new_id, utc_now
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.memory.lifecycle.service import Lifecycle
from keeps.memory.requests import store as requests
from keeps.store.db.embedded import EmbeddedPostgres
from keeps_client.models import LoggedHit, NewTranscriptEntry, RequestDetail
from tests.conftest import admin
from tests.console.rows import asked
from tests.serving import token
from tests.writing import in_write

pytestmark = pytest.mark.browser
AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUNS = "window.ran=1"
_WHAT = (
    "<script>{run}</script>",
    "<img src=x onerror={run}>",
    "<svg onload={run}>",
    "<svg><script>{run}</script></svg>",
    "<svg><animate onbegin={run} attributeName=x dur=1s>",
    "<iframe srcdoc='<script>parent.{run}</script>'>",
    "<iframe src='javascript:parent.{run}'>",
    "<a href='javascript:{run}'>x</a>",
    "<details open ontoggle={run}>",
    "<input autofocus onfocus={run}>",
    "<body onload={run}>",
    "<math><mi//xlink:href='data:x,<script>{run}</script>'>",
    "<video><source onerror={run}>",
    "<object data='javascript:{run}'>",
    "<embed src='javascript:{run}'>",
    "<style>@import 'javascript:{run}';</style>",
    "<link rel=stylesheet href='javascript:{run}'>",
    "<meta http-equiv=refresh content='0;url=javascript:{run}'>",
    "<base href='javascript:{run}//'>",
    "<form action='javascript:{run}'><button>x</button></form>",
    "<div hx-on:load='{run}' hx-get='/ui/' hx-trigger='load'>",
    "<div hx-vals='js:{{a: ({run})}}' hx-get='/ui/' hx-trigger='load'>",
    "{{{{ {run} }}}}{{% raw %}}",
    "${{{run}}}",
    "`${{{run}}}`",
)
_BEFORE = ("", "\"'>", "</textarea>", "</title></style></script>", "--><!--", "\u202e", "]]>", "&lt;")
CORPUS = ["".join(each).format(run=RUNS) for each in itertools.product(_BEFORE, _WHAT)]
"""200 texts that are code where somebody forgets what they are."""
NO_PAGES = (
    "GET /ui/welcome",
    "GET /ui/memories/export",
    "GET /ui/pick/users",
    "GET /ui/pick/tenants",
    "GET /ui/inbox/count",
)
"""Answers that are no whole page."""


@pytest.fixture
async def alice(keeps: Keeps, tenant: str) -> AsyncIterator[dict[str, str]]:
    """One of everything, and in every field that takes text something that would like to run."""
    memory = keeps.memory(Scope(tenant, "alice", roles=frozenset({"operator"})))
    evil = itertools.cycle(CORPUS)
    items = [
        {
            "content": f"Note {number} {text}",
            "metadata": {"speaker": text, text[:40]: text},
            "source": text[:200],
            "session_id": "talk",
            "kind": "episodic",
            "role": "user",
        }
        for number, text in enumerate(CORPUS)
    ]
    await memory.remember_many(items)
    stored = await memory.remember(next(evil) + " version one", tags=["evil"], namespace="n", key=next(evil)[:200])
    await memory.update(stored.memory_id, content=next(evil) + " version two")
    await memory.store_skill("agent", next(evil), procedure_type="system_prompt", trigger_condition=next(evil))
    await memory.create_session(session_id="talk", name=next(evil))
    await memory.store_exchange([{"role": "user", "content": f"I like tea. {next(evil)}"}], session_id="talk")
    await memory.create_plan(plan_id=next(evil)[:200], goal_event=next(evil), goal_data={next(evil): next(evil)})
    await memory.create_plan(plan_id="plan", goal_event=next(evil), state={next(evil): next(evil)})
    await memory.store(next(evil)[:200], {next(evil): next(evil)}, "plan")
    await memory.store_task_context("task", "plan", {next(evil): next(evil)}, event_type=next(evil))
    one = await memory.add_entity(next(evil)[:200], properties={next(evil): next(evil)}, aliases=[next(evil)[:200]])
    other = await memory.add_entity(next(evil)[:200])
    await memory.add_relation(one.entity_id, other.entity_id, "knows", properties={"x": next(evil)})
    await memory.add_mention(stored.memory_id, one.entity_id)
    await memory.create_transcript("app", transcript_id="transcript", state={next(evil)[:200]: next(evil)})
    await memory.create_transcript(next(evil)[:200])
    entries = [NewTranscriptEntry(entry_id=next(evil)[:200], entry={next(evil): next(evil)}) for _ in range(20)]
    await memory.append_to_transcript("app", "transcript", entries)
    await memory.put_item(("app",), "app", {next(evil): next(evil)}, index=False)
    for label in CORPUS[::20]:
        await memory.put_item(("app", label.replace(".", "")), label, {next(evil): next(evil)}, index=False)
    document = await memory.add_document(next(evil), title=next(evil)[:200], source=next(evil)[:200])
    await memory.add_tool("a-tool", purpose=next(evil), when_to_use=next(evil))
    await memory.admin.make_key(next(evil)[:200])
    await memory.admin.add_webhook("https://hooks.example.com/x")
    hooks = await memory.admin.list_webhooks()
    keys = await memory.admin.list_keys()
    await memory.create_space("space", title=next(evil)[:200])
    for label in CORPUS[::20]:
        await memory.set_space_member("space", label, "reader")
    await memory.remember(next(evil), space="space")
    logged = RequestDetail(
        request_id=new_id(),
        user_id="alice",
        kind="context",
        door="http",
        query=next(evil),
        asked_at=utc_now(),
        took_ms=1.0,
        hits=1,
        left_out=1,
        found_nothing=True,
        arguments={"session_id": next(evil)},
        answer=(LoggedHit(memory_id=stored.memory_id, section="conversations"),),
        omitted=(LoggedHit(memory_id=stored.memory_id, section="activity", reason="budget"),),
    )
    await in_write(keeps.database, memory.scope, lambda tx: requests.add(tx, logged))
    await keeps.service(Indexer).settle(memory.scope)
    yield {
        "memory_id": str(stored.memory_id),
        "request_id": str(logged.request_id),
        "session_id": "talk",
        "entity_id": str(one.entity_id),
        "plan_id": "plan",
        "task_id": "task",
        "app": "app",
        "transcript_id": "transcript",
        "document_id": str(document.document.document_id),
        "webhook_id": str(hooks[0].webhook_id),
        "key_id": str(keys[0].key_id),
        "operation_id": "01a20000-0000-7000-8000-000000000000",
        "tenant_id": tenant,
        "user_id": "nobody",
        "space_id": "space",
        "sequence": "5",
    }
    await memory.admin.remove_webhook(hooks[0].webhook_id)  # or it is tried again while other tests run


@asynccontextmanager
async def looking(
    browser: Browser, url: str, credential: str, **how: Any
) -> AsyncIterator[tuple[BrowserContext, Page]]:
    """Signed in, by the form. What the browser complains of fails the test."""
    context = await browser.new_context(**how)
    page = await context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
    await page.goto(f"{url}/ui/")
    await page.get_by_label("API key or token").fill(credential)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Search")).to_be_visible()
    yield context, page
    await context.close()
    allowed = ("status of 4",)  # an answer that says no is a line there, too
    assert [each for each in complaints if not any(known in each for known in allowed)] == []


async def test_nothing_that_somebody_stored_runs(browser: Browser, secured_url: str, alice: dict[str, str]) -> None:
    opened = 0
    async with looking(browser, secured_url, token(alice["tenant_id"], "alice", "operator")) as (_, page):
        for name, method, path, _ in asked(alice, "tea note script"):
            if method != "GET" or name in ("GET /ui/welcome", "GET /ui/memories/export"):
                continue
            await page.goto(secured_url + path)
            assert await page.evaluate("window.ran") is None, name
            await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
            assert (
                await page.evaluate(
                    "document.querySelectorAll('main script, main iframe, main img, main [onload]').length"
                )
                == 0
            )
            assert await page.evaluate("window.ran") is None, name
            opened += 1
        last = None
        await page.goto(f"{secured_url}/ui/memories")
        for _ in range(10):
            older = page.get_by_role("link", name="Older")
            if not await older.count():
                break
            last = await page.locator("tbody tr").count()
            await older.scroll_into_view_if_needed()
            await expect(page.locator("tbody tr")).not_to_have_count(last)
        assert last is not None
        listed = await page.locator("tbody input[name=id]").count()
        assert await page.evaluate("window.ran") is None
        await page.goto(f"{secured_url}/ui/inbox")  # Some of the texts wait here.
        waiting = await page.locator("main input[name=id]").count()
        assert waiting
        assert listed + waiting >= len(CORPUS)
        assert await page.evaluate("window.ran") is None
    print(f"{len(CORPUS)} strings, {opened} pages")


async def test_search_answers_as_it_is_typed(browser: Browser, secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("Alice is allergic to peanuts.", index="now")
    await memory.remember("Alice works in Leeds.", index="now")
    async with looking(browser, secured_url, token(tenant, "alice", "reader")) as (_, page):
        async with page.expect_response(lambda answer: "eat%3F" in answer.url):
            await page.get_by_label("What do you want to know?").press_sequentially("what must she not eat?", delay=5)
        first = page.locator(".hit").first
        await expect(first).to_contain_text("peanuts")
        await first.locator("summary").click()
        await expect(first.get_by_role("table")).to_contain_text("tokens")
        await first.locator("a.content").click()
        await expect(page.get_by_role("heading", name="Versions")).to_be_visible()
        await expect(page.get_by_role("button", name="Forget")).to_have_count(0)
        await expect(page.get_by_role("button", name="Delete permanently")).to_have_count(0)


async def test_every_button_does_what_it_says(browser: Browser, secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.store_exchange([{"role": "user", "content": "My dog is called Rex."}], session_id="talk")
    await keeps.memory(Scope(tenant, "gone")).remember("I was here.")
    one = await memory.add_entity("Rex", entity_type="pet")
    await memory.add_entity("Rexy", entity_type="pet")
    await memory.add_document("Vacation is 30 days.", title="Handbook", source="handbook")
    async with looking(browser, secured_url, token(tenant, "alice", "operator")) as (context, page):
        press = lambda name: page.get_by_role("button", name=name, exact=True).first.click()  # noqa: E731
        await page.goto(f"{secured_url}/ui/memories/new")
        await page.get_by_label("Content").fill("The meeting is in room 3.")
        await press("Store")
        await expect(page.get_by_role("status")).to_have_text("created")
        await page.get_by_text("Edit this memory").click()
        await page.get_by_label("Content").fill("The meeting is in room 4.")
        await press("Save")
        await expect(page.locator("ins")).to_contain_text("4.")
        await press("Forget")
        await press("Restore")
        await expect(page.get_by_role("status")).to_have_text("restored")
        await press("Delete permanently…")
        await page.get_by_role("link", name="Cancel").click()
        await press("Delete permanently…")
        await press("Delete permanently")
        await expect(page.get_by_role("status")).to_have_text("permanently deleted")
        await page.locator("tbody input[name=id]").first.check()
        await press("Forget selected…")
        await press("Forget 1")
        await expect(page.get_by_role("status")).to_have_text("1 forgotten")
        await page.goto(f"{secured_url}/ui/conversations/talk")
        await press("End the conversation")
        await page.goto(f"{secured_url}/ui/graph/{one.entity_id}")
        await page.get_by_text("Merge or unmerge").click()
        await page.get_by_label("Another entity").fill("Rexy")
        await press("Merge into this one")
        await expect(page.get_by_role("status")).to_have_text("merged")
        await page.goto(f"{secured_url}/ui/events")
        await press("Verify that rows match the event log")
        await expect(page.get_by_role("heading", name="Rows match the event log")).to_be_visible()
        await page.goto(f"{secured_url}/ui/context?q=Where+is+the+dog%3F")
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        await press("Copy as text")
        await expect(page.get_by_role("button", name="Copied")).to_be_visible()
        await page.goto(f"{secured_url}/ui/knowledge")
        await page.get_by_role("link", name="Handbook").click()
        await press("Forget the document")
        await expect(page.get_by_role("status")).to_contain_text("forgotten")
        await page.goto(f"{secured_url}/ui/admin")
        await press("Check tenant isolation")
        await expect(page.get_by_role("heading", name="Tenants are isolated")).to_be_visible()
        await page.get_by_role("link", name="Back").click()
        await page.get_by_text("Create a key").click()
        await page.get_by_label("Name").fill("a key")
        await press("Create")
        secret = await page.locator("#secret").inner_text()
        await page.get_by_role("link", name="Back").click()
        assert secret not in await page.content()
        await press("Revoke")
        await page.get_by_text("Add a webhook").click()
        await page.get_by_label("Address").fill("https://hooks.example.com/keeps")
        await press("Add")
        await page.goto(f"{secured_url}/ui/admin")
        await page.get_by_role("link", name="hooks.example.com").click()
        await press("Retry now")
        await page.get_by_role("link", name="hooks.example.com").click()
        await press("Remove")
        await page.get_by_label("User", exact=True).last.fill("gone")
        await press("Erase…")
        await page.get_by_label("Type the user id to confirm").fill("gone")
        await press("Erase permanently")
        await expect(page.get_by_role("heading", name="Erased")).to_be_visible()
        await page.locator("details.who summary").click()
        await press("Sign out")
        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_what_jobs_did_is_taken_back_and_tried_again(
    browser: Browser, secured_url: str, server: EmbeddedPostgres, keeps: Keeps, tenant: str
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    kept = await memory.remember("I am allergic to peanuts.", kind="episodic", importance=0.9)
    one = await memory.add_entity("Rex", entity_type="pet")
    other = await memory.add_entity("Rexy", entity_type="pet")
    await memory.merge_entities(one.entity_id, other.entity_id)
    async with admin(server, "keeps_test") as connection:
        await connection.execute(
            "UPDATE keeps.memories SET created_at = now() - interval '3 hours' WHERE tenant_id = $1", tenant
        )
        job_id = await connection.fetchval(
            "INSERT INTO keeps_jobs.pgqueuer (priority, entrypoint, payload, status, attempts)"
            " VALUES (0, 'decay', $1::bytea, 'failed', 5) RETURNING id",
            tenant.encode(),
        )
    await keeps.service(Lifecycle).run(tenant, "promotion")
    assert (await memory.get(kept.memory_id)).layer == "long_term"
    async with looking(browser, secured_url, token(tenant, "alice", "operator")) as (_, page):
        await page.goto(f"{secured_url}/ui/operations")
        await page.get_by_role("link", name="promotion").first.click()
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("status")).to_contain_text("undone")
        assert (await memory.get(kept.memory_id)).layer == "short_term"
        await page.goto(f"{secured_url}/ui/operations")
        await page.locator(f"button[value='{job_id}']").click()
        await expect(page.locator(f"button[value='{job_id}']")).to_have_count(0)
        await page.goto(f"{secured_url}/ui/graph/{other.entity_id}")
        await page.get_by_text("Merge or unmerge").click()
        await page.get_by_role("button", name="Undo a merge of this entity").click()
        await expect(page.get_by_role("status")).to_have_text("unmerged")
        await page.goto(f"{secured_url}/ui/admin")
        row = page.get_by_role("row").filter(has_text=tenant).first
        await row.get_by_label("Maximum memories").fill("1234")
        await row.get_by_role("button", name="Set").click()
        await expect(page.get_by_role("status")).to_be_visible()
        assert (
            await page.get_by_role("row").filter(has_text=tenant).first.get_by_label("Maximum memories").input_value()
            == "1234"
        )
    async with admin(server, "keeps_test") as connection:
        await connection.execute("DELETE FROM keeps_jobs.pgqueuer WHERE id = $1", job_id)


async def test_a_file_is_imported_piece_by_piece(
    browser: Browser, secured_url: str, keeps: Keeps, tenant: str, tmp_path: Path
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember_many([{"content": f"Remark {number}. {'é' * 4_000}"} for number in range(150)])
    file = tmp_path / "export.jsonl"
    file.write_text("\n".join([*await memory.admin.export_lines(), "no json"]) + "\n", encoding="utf-8")
    assert file.stat().st_size > 1_000_000, "three pieces"
    other = keeps.memory(Scope(f"{tenant}-2", "alice"))
    async with looking(browser, secured_url, token(f"{tenant}-2", "alice", "admin")) as (_, page):
        await page.goto(f"{secured_url}/ui/memories")
        await page.get_by_text("Import", exact=True).first.click()
        await page.locator("input[type=file]").set_input_files(file)
        await page.get_by_label("dry run").check()
        await page.get_by_role("button", name="Import").click()
        await expect(page.locator("output.lines")).to_contain_text("150 would be stored, 0 unchanged, 1 failed")
        assert (await other.list()).items == []
        await page.get_by_label("dry run").uncheck()
        await page.get_by_role("button", name="Import").click()
        await expect(page.locator("output.lines")).to_contain_text("150 stored, 0 unchanged, 1 failed")
        await expect(page.locator("output.lines")).to_contain_text("line 151")
        assert await page.locator("progress").evaluate("bar => bar.value / bar.max") == 1


async def test_one_slider_shows_what_was_known_then(
    browser: Browser, secured_url: str, keeps: Keeps, tenant: str
) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("Alice lives in Leeds.", index="now")
    rex = await memory.add_entity("Rex", entity_type="pet")
    await memory.add_relation((await memory.add_entity("Alice")).entity_id, rex.entity_id, "owns")
    async with looking(browser, secured_url, token(tenant, "alice", "reader")) as (_, page):
        await page.goto(f"{secured_url}/ui/time?q=home&entity=Rex")
        await expect(page.get_by_text("owns").last).to_be_visible()
        await page.get_by_label("Days back from now").fill("30")
        await expect(page.get_by_text("No memory was stored then.")).to_be_visible()
        await expect(page.get_by_text("No entity had this name.")).to_be_visible()
        await expect(page.get_by_text("new since")).to_be_visible()


async def test_events_are_seen_without_a_reload(browser: Browser, secured_url: str, keeps: Keeps, tenant: str) -> None:
    memory = keeps.memory(Scope(tenant, "alice"))
    await memory.remember("The first.")
    async with looking(browser, secured_url, token(tenant, "alice", "reader")) as (_, page):
        await page.goto(f"{secured_url}/ui/events")
        await expect(page.get_by_text("The first.").first).to_be_visible()
        await memory.remember("The second.")
        await expect(page.get_by_text("The second.").first).to_be_visible(timeout=10_000)


async def test_two_users_side_by_side_see_nothing_of_each_other(
    browser: Browser, secured_url: str, keeps: Keeps, tenant: str
) -> None:
    for user in ("alice", "bob"):
        await keeps.memory(Scope(tenant, user)).remember(f"The secret of {user} is here.", index="now")
    async with (
        looking(browser, secured_url, token(tenant, "alice", "writer")) as (_, hers),
        looking(browser, secured_url, token(tenant, "bob", "writer")) as (_, his),
    ):
        for page, own, others in ((hers, "alice", "bob"), (his, "bob", "alice"), (hers, "alice", "bob")):
            for path in ("memories", "?q=secret", "events", "time?q=secret", "insights"):
                await page.goto(f"{secured_url}/ui/{path}")
                text = await page.inner_text("main")
                assert f"secret of {others}" not in text
                assert path in ("insights",) or f"secret of {own}" in text, path


WIDE = """[...document.querySelectorAll("body *")]
    .filter(node => node.getBoundingClientRect().right > 400 && !node.parentElement.closest(".scroll"))
    .map(node => node.outerHTML.slice(0, 200)).slice(-3)"""
"""The innermost elements that reach beyond the width of a phone, and do not scroll."""


@pytest.mark.parametrize(
    "how", [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 800}}]
)
async def test_pages_are_for_everybody(
    browser: Browser, secured_url: str, alice: dict[str, str], how: dict[str, Any]
) -> None:
    """axe-core finds nothing serious, and no page is wider than a phone."""
    found: list[str] = []
    async with looking(browser, secured_url, token(alice["tenant_id"], "alice", "operator"), **how) as (_, page):
        for name, method, path, _ in asked(alice, "tea"):
            if method != "GET" or name in NO_PAGES:
                continue
            await page.goto(secured_url + path)
            await page.evaluate(AXE)
            seen = await page.evaluate("axe.run({resultTypes: ['violations']})")
            found += [
                f"{name}: {each['id']} {each['nodes'][0]['html'][:150]}"
                for each in seen["violations"]
                if each["impact"] in ("serious", "critical")
            ]
            if "viewport" in how:
                wide = await page.evaluate("document.documentElement.scrollWidth")
                assert wide <= 400, f"{name} is {wide} wide: {await page.evaluate(WIDE)}"
    assert found == []

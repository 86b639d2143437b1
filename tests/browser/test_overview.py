"""The overview with a log of requests, and the pages of items and transcripts, in Chromium."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from keeps.base.clock import new_id, utc_now
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.requests import store
from keeps_client.models import NewTranscriptEntry, RequestDetail
from tests.browser.test_console import AXE, WIDE, looking
from tests.requests.test_pages import logging_url
from tests.requests.test_requests import logging
from tests.serving import token
from tests.writing import in_write

__all__ = ["logging", "logging_url"]
pytestmark = pytest.mark.browser
PHONE = {"viewport": {"width": 375, "height": 800}}


def request(number: int) -> RequestDetail:
    return RequestDetail(
        request_id=new_id(),
        user_id="alice",
        kind="context" if number % 3 == 0 else "recall",
        door="http",
        query="Where does Alice live?",
        asked_at=utc_now() - timedelta(hours=1.3 * number),
        took_ms=12.0 + number % 7 * 9,
        hits=1,
        left_out=0,
        found_nothing=number % 8 == 0,
        arguments={},
        answer=(),
        omitted=(),
    )


@pytest.fixture
async def busy(logging: Keeps, tenant: str) -> str:
    """A tenant whose user alice has asked for days, and stores items and transcripts."""
    memory = logging.memory(Scope(tenant, "alice"))
    await memory.remember("Alice lives in Leeds.")
    for one in map(request, range(110)):
        await in_write(logging.database, memory.scope, partial(store.add, request=one))
    await memory.put_item(("harbour", "guests"), "ben", {"diet": "no shellfish", "seats": 2}, index=False)
    entries = [
        NewTranscriptEntry(entry_id=f"e{number}", entry={"role": "user", "text": "Who comes to the dinner?"})
        for number in range(3)
    ]
    await memory.append_to_transcript("concierge", "dinner", entries, state={"table": 4}, create=True)
    return tenant


@pytest.mark.parametrize("how", [{"color_scheme": "light"}, {"color_scheme": "dark"}, PHONE])
async def test_curves_items_and_transcripts_are_for_everybody(
    browser: Browser, logging_url: str, busy: str, how: dict[str, Any]
) -> None:
    paths = ("insights", "items", "items?ns=harbour", "items/one?ns=harbour&ns=guests&key=ben", "transcripts")
    async with looking(browser, logging_url, token(busy, "alice", "reader"), **how) as (_, page):
        for path in (*paths, "transcripts/concierge", "transcripts/concierge/dinner"):
            await page.goto(f"{logging_url}/ui/{path}")
            if path == "insights":
                await expect(page.get_by_role("img")).to_have_count(4)
            await page.evaluate(AXE)
            seen = await page.evaluate("axe.run({resultTypes: ['violations']})")
            assert [each["id"] for each in seen["violations"] if each["impact"] in ("serious", "critical")] == [], path
            if "viewport" in how:
                wide = await page.evaluate("document.documentElement.scrollWidth")
                assert wide <= 375, f"{path} is {wide} wide: {await page.evaluate(WIDE)}"


async def test_cards_of_requests_lead_to_the_log(browser: Browser, logging_url: str, busy: str) -> None:
    async with looking(browser, logging_url, token(busy, "alice", "reader")) as (_, page):
        await page.goto(f"{logging_url}/ui/insights")
        for drawn in ("Recalls and contexts, by day", "Latency, by day", "Share that found nothing, by day"):
            await expect(page.get_by_role("img", name=drawn)).to_be_visible()
        await page.get_by_role("link", name="of them found nothing").click()
        await expect(page.get_by_role("heading", name="Requests")).to_be_visible()
        await expect(page.get_by_text("found nothing").last).to_be_visible()


async def test_an_item_and_a_transcript_open_from_the_menu(browser: Browser, logging_url: str, busy: str) -> None:
    async with looking(browser, logging_url, token(busy, "alice", "reader")) as (_, page):
        await page.get_by_role("link", name="Items").click()
        await page.get_by_role("link", name="guests").click()
        await page.get_by_role("link", name="ben").click()
        await expect(page.get_by_text("no shellfish")).to_be_visible()
        await page.get_by_role("link", name="Transcripts").click()
        await page.get_by_role("link", name="concierge").click()
        await page.get_by_role("link", name="dinner").click()
        await expect(page.get_by_text("Who comes to the dinner?").first).to_be_visible()

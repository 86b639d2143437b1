"""Signing out ends a session, also where its cookie was copied."""

from __future__ import annotations

from typing import Any

import pytest

from keeps.doors.console import sessions
from keeps.doors.console.sessions import COOKIE, Sessions
from tests.serving import token


async def test_a_copied_cookie_ends_with_its_session(secured_url: str, tenant: str) -> None:
    import aiohttp

    def asked(method: str, path: str, cookie: str) -> Any:
        headers = {"Cookie": cookie, "Origin": secured_url}
        return aiohttp.request(method, f"{secured_url}{path}", headers=headers, allow_redirects=False)

    ours = Sessions([], "a secret of the tests")
    session = ours.begin(token(tenant, "alice", "reader"))
    cookie = f"{COOKIE}={ours.seal(session)}"
    copied = f"{COOKIE}={ours.seal(session.as_user(None, 'alice'))}"
    other = f"{COOKIE}={ours.seal(ours.begin(token(tenant, 'alice', 'reader')))}"
    async with asked("GET", "/ui/memories", copied) as answer:
        assert answer.status == 200
    async with asked("POST", "/ui/logout", cookie) as answer:
        assert answer.status == 303
    for one, status in ((cookie, 303), (copied, 303), (other, 200)):
        async with asked("GET", "/ui/memories", one) as answer:
            assert answer.status == status


def test_ended_sessions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_SIGNED_OUT", 3)
    ours = Sessions([], "own")
    for _ in range(10):
        ours.end(ours.begin("x"))
    assert len(ours._signed_out) == 3
    monkeypatch.setattr("keeps.doors.console.sessions.time.time", lambda: 4e9)
    ours.end(ours.begin("x"))
    assert len(ours._signed_out) == 1

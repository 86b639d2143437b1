"""Each request is a line of JSON that says who asked and what came of it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp

from keeps.base.scope import Scope
from keeps.engine import Keeps
from tests.server.conftest import Lines
from tests.serving import JWT_SECRET, serving, token


async def test_refused_requests_are_logged_with_their_caller(keeps: Keeps, tenant: str, lines: Lines) -> None:
    async with (
        serving(keeps, auth="jwt", jwt_secret=JWT_SECRET, reads_per_minute=1) as url,
        aiohttp.ClientSession() as http,
    ):
        headers = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
        for path, given in (
            ("/v1/memories?limit=77", {}),
            ("/v1/memories", headers),
            ("/v1/memories", headers),
            ("/health", {}),
            ("/nowhere", headers),
        ):
            async with http.get(url + path, headers=given) as answer:
                await answer.read()
    assert [(each["route"], each["status"]) for each in lines] == [
        ("/v1/memories", 401),
        ("/v1/memories", 200),
        ("/v1/memories", 429),
        ("unknown", 404),
    ]
    assert "tenant_id" not in lines[0]
    assert {(each["tenant_id"], each["user_id"]) for each in lines[1:]} == {(tenant, "alice")}
    assert {each["address"] for each in lines} == {"127.0.0.1"}
    assert [each["log_level"] for each in lines] == ["warning", "info", "warning", "info"]
    assert [each.get("code") for each in lines] == ["unauthenticated", None, "rate_limited", "not_found"]
    assert "limit=77" not in json.dumps(lines)
    assert all(each["request_id"] and each["ms"] >= 0 for each in lines)


async def test_lines_name_the_key_but_not_its_secret(keeps: Keeps, tenant: str, lines: Lines) -> None:
    admin = keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"}))).admin
    made = await admin.make_key("web-app", roles=("writer",), user_id="alice")
    async with serving(keeps, auth="keys") as url, aiohttp.ClientSession(url) as http:

        async def status(method: str, path: str, **options: Any) -> int:
            headers = {"Authorization": f"Bearer {made.secret}"}
            async with http.request(method, path, headers=headers, **options) as answer:
                return answer.status

        assert await status("POST", "/v1/memories", json={"content": "Alice keeps two hens."}) == 201
        assert await status("GET", "/mem0/v1/nothing/") == 501
        assert await status("POST", "/v1/memories", json={"content": "hens", "nonsense": 1}) == 422
        await admin.revoke_key(made.key_id)
        assert await status("GET", "/v1/memories") == 401
    assert {each["key_id"] for each in lines} == {str(made.key_id)}
    assert [each.get("code") for each in lines] == [None, "not_supported", "validation_failed", "unauthenticated"]
    assert lines[-1]["log_level"] == "warning"
    assert made.secret not in str(lines)
    assert "hens" not in str(lines)


async def test_failed_sign_in_to_the_console_is_logged(keeps: Keeps, lines: Lines) -> None:
    async with serving(keeps, auth="keys") as url, aiohttp.ClientSession(url) as http:
        wrong = "keeps_" + "w" * 40
        async with http.post("/ui/login", data={"credential": wrong}, headers={"Origin": url}) as answer:
            assert answer.status == 401
    (line,) = lines
    assert (line["status"], line["code"], line["log_level"]) == (401, "unauthenticated", "warning")
    assert wrong not in str(line)


def test_stderr_gets_prose_at_a_terminal_and_json_elsewhere(tmp_path: Path) -> None:
    program = (
        "from keeps.base.telemetry.logs import configure_logs, log; configure_logs('info');"
        " log().info('request', status=200, user_id='a\\x1b[2J')"
    )
    with (tmp_path / "log").open("wb") as file:
        subprocess.run([sys.executable, "-c", program], stderr=file, check=True)
    assert json.loads((tmp_path / "log").read_text())["status"] == 200
    reading, terminal = pty.openpty()
    subprocess.run([sys.executable, "-c", program], stderr=terminal, env=os.environ | {"NO_COLOR": "1"}, check=True)
    os.close(terminal)
    line = os.read(reading, 10_000).decode()
    os.close(reading)
    assert "status=200" in line
    assert "{" not in line
    assert "\x1b" not in line, "a value cannot write to the terminal"

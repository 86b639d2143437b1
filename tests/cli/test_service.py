"""`keeps serve` and its relatives as a user runs them, and the README word for word."""

from __future__ import annotations

import gzip
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import Cli

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SECRET = "a secret of at least thirty-two bytes, for tests"


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Cli:
    return Cli(made_home("service"))


class Served:
    """A `keeps serve` on a free port."""

    def __init__(self, cli: Cli, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from keeps.doors.cli.main import main; main()", "serve", "--port", "0", *arguments],
            env=cli.environment | environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.banner = ""
        while "embedder" not in self.banner:
            line = self.process.stderr.readline()
            assert line, self.banner
            self.banner += line
        found = re.search(r"http://\S+", self.banner)
        assert found is not None
        self.url = found.group()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture(scope="module")
def served(cli: Cli) -> Iterator[Served]:
    service = Served(cli)
    yield service
    service.stop()


def test_serve_says_what_it_is_and_how_safe(cli: Cli, served: Served) -> None:
    assert "Keeps serves http://127.0.0.1:" in served.banner
    assert "forced row level security" in served.banner
    assert "no authentication" in served.banner
    assert str(cli.home) in served.banner


def _run_curl_lines(served: Served) -> list[Any]:
    answers: list[Any] = []
    for line in README.splitlines():
        if not line.startswith("curl "):
            continue
        done = subprocess.run(
            ["bash", "-c", line.replace("localhost:8765", served.url.removeprefix("http://"))],
            capture_output=True,
            text=True,
        )
        answers.append(json.loads(done.stdout))
    return answers


def test_the_readmes_curl_lines_work_word_for_word(cli: Cli, served: Served) -> None:
    answers = _run_curl_lines(served)
    assert answers[0]["status"] in ("created", "unchanged")
    assert answers[1]["hits"][0]["memory"]["content"] == "Alice is allergic to peanuts."
    assert (
        "peanuts" in cli("recall", "What is Alice allergic to?", KEEPS_TENANT_ID="acme", KEEPS_USER_ID="alice").stdout
    )


def test_server_says_that_variables_of_a_caller_have_no_effect(cli: Cli) -> None:
    service = Served(cli, KEEPS_TENANT_ID="acme", KEEPS_USER_ID="alice")
    service.stop()
    assert "KEEPS_TENANT_ID, KEEPS_USER_ID: ignored by the server" in service.banner
    assert "X-Tenant-ID, X-User-ID" in service.banner


def test_root_says_what_serves_and_leads_browsers_to_the_console(served: Served) -> None:
    with urllib.request.urlopen(served.url) as answer:
        assert json.load(answer)["docs"] == "/docs"
    browser = urllib.request.Request(served.url, headers={"Accept": "text/html,*/*"})
    with urllib.request.urlopen(browser) as page:
        assert page.url == f"{served.url}/ui/"


def test_the_readmes_sdk_lines_work_word_for_word(served: Served) -> None:
    (block,) = [each for each in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "MemoryClient" in each]
    done = subprocess.run(
        [sys.executable, "-c", block.replace("http://127.0.0.1:8765", served.url)], capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["Alice is allergic to peanuts.", "['research.requested']"], done.stderr


def test_every_command_can_talk_to_a_server(cli: Cli, served: Served, tmp_path: Path) -> None:
    there = ("--url", served.url, "--tenant", "by-url", "--user", "alice")
    receipt = cli.json("remember", "The harbour freezes in January.", "--namespace", "n", "--key", "k", *there)
    assert "harbour" in cli("recall", "when does the water freeze?", *there).stdout
    assert "harbour" in cli("list", *there).stdout
    assert cli.json("get", receipt["memory_id"], *there)["key"] == "k"
    assert (
        cli.json("update", receipt["memory_id"], "--content", "The harbour freezes in February.", *there)["status"]
        == "updated"
    )
    assert "memory.written" in cli("history", receipt["memory_id"], *there).stdout
    cli("remember", "One line\u2028and\u0085another.", *there)
    file = tmp_path / "export.jsonl"
    counted = cli("export", str(file), *there[:4]).stderr
    lines = file.read_text().count("\n")
    assert "3 memories" in counted
    assert "February" in file.read_text()
    other = ("--url", served.url, "--tenant", "by-url-2", "--user", "alice")
    assert cli.json("import", "--format", "keeps", str(file), *other[:4])["stored"] == lines
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"messages": [{"role": "user", "content": "I moved to Lisbon."}]}\n')
    assert cli.json("import", str(chat), *there)["statuses"] == {"created": 1}
    assert "undo" in cli("forget", receipt["memory_id"], *there).stderr
    assert cli.json("restore", receipt["memory_id"], *there)["status"] == "restored"
    assert "by-url" in cli("tenants", "list", "--url", served.url).stdout
    assert cli.json("tenants", "erase-user", "alice", "--yes", *other)["complete"] is True
    assert "unavailable" in cli("list", "--url", "http://127.0.0.1:9", code=1).stderr
    assert cli.json("call", "create_plan", "goal_event=trip", *there)["user_id"] == "alice"
    assert "needs goal_event" in cli("call", "create_plan", *there, code=2).stderr


def test_keys_are_made_used_and_revoked(cli: Cli) -> None:
    made = cli.json("keys", "create", "my-agent", "--tenant", "keyed", "--role", "admin")
    assert "my-agent" in cli("keys", "list", "--tenant", "keyed").stdout
    service = Served(cli, "--auth", "keys")
    try:
        assert "API keys" in service.banner
        with_key = ("--url", service.url, "--token", made["secret"], "--user", "alice")
        assert cli.json("remember", "A fact of a keyed user.", *with_key)["status"] == "created"
        assert "unauthenticated" in cli("list", "--url", service.url, code=1).stderr
        assert cli.json("keys", "list", *with_key)[0]["last_used_at"] is not None
        assert cli.json("tenants", "quota", "keyed", "--max-memories", "1")["max_memories"] == 1
        assert "may hold 1 memories" in cli("remember", "One too many.", *with_key, code=1).stderr
        assert "revoked" in cli("keys", "revoke", made["key_id"], "--tenant", "keyed").stdout
    finally:
        service.stop()
    assert "revoked" in cli("keys", "list", "--tenant", "keyed").stdout
    assert "not a role" in cli("keys", "create", "x", "--role", "king", code=2).stderr


@pytest.mark.parametrize("options", [(), ("--workers", "2")])
@pytest.mark.parametrize("times", [1, 4])
def test_ctrl_c_stops_the_server_in_one_line(cli: Cli, times: int, options: tuple[str, ...]) -> None:
    service = Served(cli, *options)
    for _ in range(times):
        service.process.send_signal(signal.SIGINT)
    _, rest = service.process.communicate(timeout=60)
    (line,) = rest.splitlines()
    assert json.loads(line)["event"] == "stopped"
    assert service.process.returncode == 130


def test_a_token_is_made_for_development(cli: Cli) -> None:
    assert "openssl rand" in cli("token", code=2).stderr
    made = cli(
        "token", "--tenant", "tokened", "--user", "alice", "--role", "reader", KEEPS_JWT_SECRET=SECRET
    ).stdout.strip()
    service = Served(cli, "--auth", "jwt", KEEPS_JWT_SECRET=SECRET)
    try:
        there = ("--url", service.url, "--token", made)
        assert "No memories yet" in cli("list", *there).stdout
        assert "needs the role writer" in cli("remember", "x", *there, code=1).stderr
    finally:
        service.stop()


def test_serve_refuses_what_is_not_safe_and_says_what_to_do(cli: Cli, served: Served) -> None:
    assert "KEEPS_AUTH" in cli("serve", "--host", "0.0.0.0", "--auth", "none", code=2).stderr
    assert "openssl rand" in cli("serve", "--auth", "jwt", code=2, KEEPS_JWT_SECRET="short").stderr
    assert "must be one of" in cli("serve", "--auth", "magic", code=2).stderr
    port = served.url.rpartition(":")[2]
    assert f"Keeps already serves {served.url}" in cli("serve", "--port", port, code=2).stderr
    with socket.create_server(("127.0.0.1", 0)) as other:
        shown = cli("serve", "--port", str(other.getsockname()[1]), code=2).stderr
        assert "another program uses this port; choose another" in shown
    nowhere = "postgresql://keeps_app:x@127.0.0.1:9/keeps"
    said = cli("serve", "--port", "0", code=3, KEEPS_DATABASE_URL=nowhere).stderr
    assert "is it running, and is the address right?" in said
    assert "Traceback" not in said


def test_a_tenant_is_erased_only_when_one_is_sure(cli: Cli) -> None:
    cli("remember", "Soon gone.", "--tenant", "gone")
    assert "Erase tenant gone" in cli("tenants", "erase", "gone", code=1).stdout
    assert "nothing is left" in cli("tenants", "erase", "gone", "--yes").stdout
    assert "not_found" in cli("tenants", "erase", "gone", "--yes", code=1).stderr


class Collector:
    """An OpenTelemetry endpoint: real HTTP, keeps what it gets."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *arguments: Any) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def test_spans_and_logs_say_what_happened_and_nothing_of_what_was_said(cli: Cli) -> None:
    collector = Collector()
    service = Served(
        cli, "--log-level", "debug", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_BSP_SCHEDULE_DELAY="50"
    )
    trace = "0af7651916cd43dd8448eb211c80319c"
    request = urllib.request.Request(
        f"{service.url}/v1/memory/working/plan/swordfish-key",
        data=b'{"value": "swordfish"}',
        method="PUT",
        headers={
            "Content-Type": "application/json",
            "traceparent": f"00-{trace}-b7ad6b7169203331-01",
            "X-Request-ID": "my-request",
        },
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    service.process.terminate()
    assert service.process.stderr is not None
    logged = service.process.stderr.read()
    service.stop()
    collector.close()
    spans = b"".join(collector.bodies)
    assert bytes.fromhex(trace) in spans
    assert b"PUT /v1/memory/working/{plan_id}/{key}" in spans
    lines = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
    (line,) = [each for each in lines if each["event"] == "request" and each["request_id"] == "my-request"]
    assert (line["method"], line["route"], line["status"]) == ("PUT", "/v1/memory/working/{plan_id}/{key}", 200)
    assert b"swordfish" not in spans, spans[max(0, spans.find(b"swordfish") - 80) :][:120]
    assert "swordfish" not in logged

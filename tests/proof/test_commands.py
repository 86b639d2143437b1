"""The commands of the proof, as an operator runs them, and the script on what they wrote."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from keeps.store.webhooks.delivery import signature
from keeps_client.models import Anchor
from tests.cli.test_cli import Cli, kept_running
from tests.proof.authority import Authority, running
from tests.proof.logs import SCRIPT


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    """A home whose server runs."""
    home = made_home("proof")
    with kept_running(home):
        yield Cli(home, KEEPS_WEBHOOKS_ALLOW_PRIVATE="true")


def script(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SCRIPT), *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_exported_log_is_verified_without_keeps(cli: Cli, tmp_path: Path) -> None:
    scope = ("--tenant", "exported")
    log, anchors = tmp_path / "log.jsonl", tmp_path / "anchors.jsonl"
    cli("remember", "The gate code is swordfish.", *scope)
    cli("remember", "Tea at five.", *scope, "--user", "bob")
    shown = cli("events", "anchor", "--file", str(anchors), *scope).stdout
    assert shown.startswith("event 2 of exported has the hash ")
    cli("events", "export", str(log), *scope)
    assert "swordfish" not in log.read_text(encoding="utf-8")
    assert script(log, anchors).stdout.startswith("verified up to event 2, ")
    assert "already exists" in cli("events", "export", str(log), *scope, code=1).stderr
    cli("events", "export", str(log), "--contents", "--overwrite", *scope)
    assert "swordfish" in log.read_text(encoding="utf-8")
    assert script(log, anchors).returncode == 0
    log.write_text(log.read_text(encoding="utf-8").replace("swordfish", "marlin"), encoding="utf-8")
    done = script(log)
    assert (done.returncode, done.stderr) == (1, "event 1: contents changed\n")
    shown = cli("events", "verify", "--anchor", str(anchors), *scope).stdout
    assert "linked up to event 2" in shown.replace("\n", " ")
    assert "1 anchors confirmed" in shown.replace("\n", " ")


def test_verification_fails_for_an_anchor_that_the_log_lacks(cli: Cli, tmp_path: Path) -> None:
    scope = ("--tenant", "lacking")
    anchors = tmp_path / "anchors.jsonl"
    cli("remember", "Tea at five.", *scope)
    head = Anchor.model_validate(cli.json("events", "anchor", *scope))
    anchors.write_text(head.model_copy(update={"sequence": 9}).model_dump_json(), encoding="utf-8")
    shown = cli("events", "verify", "--anchor", str(anchors), *scope, code=1).stdout
    assert "broken: event 9: older than an anchor" in shown
    found = json.loads(cli("events", "verify", "--anchor", str(anchors), "--json", *scope, code=1).stdout)
    assert found["chain"]["broken"] == {"sequence": 9, "problem": "older than an anchor"}
    assert (
        "no anchor of the tenant other"
        in cli("events", "verify", "--anchor", str(anchors), "--tenant", "other", code=2).stderr
    )
    assert "begins with the next event" in cli("events", "anchor", "--tenant", "empty", code=1).stderr


async def test_anchor_is_stamped_and_the_stamp_verified(cli: Cli, tmp_path: Path) -> None:
    import asyncio

    scope, anchors = ("--tenant", "stamped"), tmp_path / "anchors.jsonl"
    await asyncio.to_thread(cli, "remember", "Tea at five.", *scope)
    authority = Authority.make()
    root = str(authority.write_root(tmp_path / "root.pem"))

    def run(*arguments: str, code: int = 0) -> Any:
        return asyncio.to_thread(lambda: cli("events", *arguments, *scope, code=code))

    async with running(authority):
        tsa = ("--tsa", authority.url)
        assert "belong together" in (await run("anchor", *tsa, code=2)).stderr
        done = await run("anchor", *tsa, "--tsa-certificates", root, "--file", str(anchors))
        assert done.stdout.replace("\n", "").endswith(", stamped")
    verify = ("verify", "--anchor", str(anchors), "--tsa-certificates")
    assert "linked" in (await run(*verify, root)).stdout
    other = str(Authority.make().write_root(tmp_path / "other.pem"))
    assert "is not valid" in (await run(*verify, other, code=1)).stderr


def test_erasure_writes_a_certificate_that_others_can_verify(cli: Cli, tmp_path: Path) -> None:
    scope, file = ("--tenant", "certified"), tmp_path / "certificate.json"
    cli("remember", "The gate code is swordfish.", *scope, "--user", "alice")
    cli("tenants", "erase-user", "alice", "--yes", "--certificate", str(file), *scope)
    key = cli("certificates", "key").stdout.strip()
    assert '"user_id": "alice"' in cli("certificates", "verify", str(file), "--key", key).stdout
    assert "swordfish" not in file.read_text(encoding="utf-8")
    held = json.loads(file.read_text(encoding="utf-8"))
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key))
    public.verify(base64.b64decode(held["signature"]), held["statement"].encode())
    with pytest.raises(InvalidSignature):
        public.verify(base64.b64decode(held["signature"]), held["statement"].replace("1", "2").encode())
    file.write_text(json.dumps({**held, "statement": held["statement"].replace("alice", "bob")}), encoding="utf-8")
    assert "the certificate is wrong" in cli("certificates", "verify", str(file), code=2).stderr
    cli("remember", "Back again.", *scope, "--user", "alice")
    again = ("tenants", "erase-user", "alice", "--yes", "--certificate", str(file), *scope)
    assert "already exists" in cli(*again, code=1).stderr
    assert cli.json("list", *scope, "--user", "alice")


def test_anchor_to_a_url_is_signed(cli: Cli, tmp_path: Path) -> None:
    received: list[tuple[dict[str, str], bytes]] = []

    class Witness(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
            del format, args

    scope = ("--tenant", "witnessed")
    cli("remember", "Tea at five.", *scope)
    secret = tmp_path / "anchors.secret"
    with HTTPServer(("127.0.0.1", 0), Witness) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = ("--webhook", f"http://127.0.0.1:{server.server_port}/", "--webhook-secret-file", str(secret))
        for _ in range(2):
            cli("events", "anchor", *options, *scope)
        server.shutdown()
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    for headers, body in received:
        anchor = Anchor.model_validate_json(body)
        assert (anchor.tenant_id, anchor.sequence) == ("witnessed", 1)
        message_id, timestamp = headers["webhook-id"], int(headers["webhook-timestamp"])
        wanted = signature(secret.read_text(encoding="utf-8").strip(), message_id, timestamp, body)
        assert headers["webhook-signature"] == wanted
    assert len({headers["webhook-id"] for headers, _ in received}) == 2
    assert "belong together" in cli("events", "anchor", *options[:2], *scope, code=2).stderr
    secret.write_text("no secret", encoding="utf-8")
    assert "holds no secret" in cli("events", "anchor", *options, *scope, code=2).stderr

"""Anchors: files, URLs, time stamps whose answers are verified, and what they find."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from keeps.engine import LocalMemory
from keeps.store.anchors import files
from keeps.store.anchors.posting import MOST_BYTES, post
from keeps.store.anchors.stamps import stamp, verify_stamp
from keeps_client.errors import UnavailableError, ValidationFailedError
from keeps_client.models import Anchor
from tests.proof.authority import Authority, receiver, running

HEAD = Anchor(tenant_id="acme", sequence=7, hash="ab" * 32, time=datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=UTC))


def test_file_holds_anchors_in_order(tmp_path: Path) -> None:
    path = tmp_path / "anchors.jsonl"
    second = HEAD.model_copy(update={"sequence": 9, "timestamp_response": "aGk="})
    files.append(path, HEAD)
    files.append(path, second)
    assert files.read(path) == [HEAD, second]
    assert path.read_text(encoding="utf-8").splitlines()[0] == files.line_of(HEAD)


def test_line_that_is_no_anchor_is_named(tmp_path: Path) -> None:
    path = tmp_path / "anchors.jsonl"
    files.append(path, HEAD)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"sequence": 1}\n')
    with pytest.raises(ValidationFailedError, match=r"line 2: not an anchor"):
        files.read(path)
    with pytest.raises(UnavailableError, match="cannot be written"):
        files.append(tmp_path / "missing" / "anchors.jsonl", HEAD)


async def test_time_stamp_is_verified_at_once_and_later(tmp_path: Path) -> None:
    authority = Authority.make()
    root = authority.write_root(tmp_path / "root.pem")
    async with running(authority):
        stamped = await stamp(HEAD, authority.url, root, allow_private=True)
    assert abs(verify_stamp(stamped, root) - datetime.now(UTC)) < timedelta(minutes=1)
    with pytest.raises(UnavailableError, match="event 7 is not valid: Mismatch between messages"):
        verify_stamp(stamped.model_copy(update={"hash": "cd" * 32}), root)
    with pytest.raises(UnavailableError, match="is not valid"):
        verify_stamp(stamped, Authority.make().write_root(tmp_path / "other.pem"))
    with pytest.raises(ValidationFailedError, match="has no time stamp"):
        verify_stamp(HEAD, root)


def _other_nonce(said: dict[str, Any]) -> None:
    said["nonce"] += 1


def _other_hash(said: dict[str, Any]) -> None:
    said["message_imprint"]["hashed_message"] = b"\0" * 32


def _without_nonce(said: dict[str, Any]) -> None:
    del said["nonce"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [(_other_nonce, "Nonce mismatch"), (_without_nonce, "Nonce mismatch"), (_other_hash, "Mismatch between messages")],
)
async def test_answer_to_another_request_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], problem: str
) -> None:
    authority = Authority.make()
    authority.change = change
    async with running(authority):
        with pytest.raises(UnavailableError, match=problem):
            await stamp(HEAD, authority.url, authority.write_root(tmp_path / "root.pem"), allow_private=True)


async def test_forged_answers_are_refused(tmp_path: Path) -> None:
    authority, forger = Authority.make(), Authority.make()
    root = authority.write_root(tmp_path / "root.pem")
    forger.certificate = authority.certificate  # The name of the authority, and the forger's signature.
    async with running(forger):
        with pytest.raises(UnavailableError, match="is not valid"):
            await stamp(HEAD, forger.url, root, allow_private=True)
    authority.answered = lambda answer: answer[:-1] + bytes([answer[-1] ^ 1])
    async with running(authority):
        with pytest.raises(UnavailableError, match="is not valid"):
            await stamp(HEAD, authority.url, root, allow_private=True)
        authority.answered = lambda _: b"no"
        with pytest.raises(UnavailableError, match="is not valid"):
            await stamp(HEAD, authority.url, root, allow_private=True)


async def test_only_public_addresses_get_anchors() -> None:
    async def moved(_: web.Request) -> web.Response:
        raise web.HTTPFound("http://127.0.0.1:1/")

    async def endless(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * (MOST_BYTES + 1))

    async with receiver(moved) as url:
        for private in (url, url.replace("127.0.0.1", "localhost"), "http://169.254.169.254/", "http://[::1]:80/"):
            with pytest.raises((ValidationFailedError, UnavailableError), match="not a public address"):
                await post(private, b"{}", "application/json", allow_private=False)
        with pytest.raises(UnavailableError, match="HTTP 302"):
            await post(url, b"{}", "application/json", allow_private=True)
    async with receiver(endless) as url:
        with pytest.raises(UnavailableError, match="longer than"):
            await post(url, b"{}", "application/json", allow_private=True)
    with pytest.raises(ValidationFailedError, match="must be http"):
        await post("file:///etc/passwd", b"{}", "application/json", allow_private=True)
    with pytest.raises(UnavailableError, match="does not answer"):
        await post(url, b"{}", "application/json", allow_private=True)


async def test_head_is_sent_as_json(memory: LocalMemory) -> None:
    await memory.remember("Tea at five.")
    head = await memory.admin.get_chain_head()
    received: list[bytes] = []

    async def take(request: web.Request) -> web.Response:
        received.append(await request.read())
        return web.Response(status=204)

    async with receiver(take) as url:
        await post(url, files.line_of(head).encode(), "application/json", allow_private=True)
    assert Anchor.model_validate(json.loads(received[0])) == head

"""Documents over HTTP: bodies that are none, and a file that is larger than other bodies may be."""

from __future__ import annotations

import io

import aiohttp
import pytest

from keeps_client import MemoryClient

PART = '--x\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{text}\r\n'
FILE = PART.format(name="file", more='; filename="a.md"', text="A text.")
KIND = "multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        ("multipart/form-data", FILE + "--x--\r\n", "boundary"),
        ("application/json", "{}", "multipart/form-data"),
        ("", FILE + "--x--\r\n", "multipart/form-data"),
        (f"{KIND}; charset=punycode", FILE + PART.format(name="document", more="", text="x-") + "--x--\r\n", "UTF-8"),
        (f"{KIND}; charset=undefined", FILE + "--x--\r\n", "UTF-8"),
        (KIND, "", "file"),
        (KIND, "nonsense", "cannot be read"),
        (KIND, PART.format(name="file", more="", text="a text") + "--x--\r\n", "filename"),
        (KIND, FILE + FILE + "--x--\r\n", "cannot be read"),
        (KIND, FILE + PART.format(name="document", more="", text="{") + "--x--\r\n", "must be JSON"),
        (KIND, FILE + PART.format(name="document", more="", text="[" * 90_000) + "--x--\r\n", "must be JSON"),
        (KIND, FILE + PART.format(name="document", more="", text="[]") + "--x--\r\n", "input|dictionary|valid"),
        (KIND, FILE + PART.format(name="document", more="", text='{"owner": "bob"}') + "--x--\r\n", "owner"),
        (KIND, FILE + PART.format(name="document", more="", text="x" * 200_000) + "--x--\r\n", "cannot be read"),
    ],
)
async def test_a_body_that_is_none_is_refused_in_words(
    server_url: str, tenant: str, kind: str, body: str, why: str
) -> None:
    headers = {"Content-Type": kind, "X-Tenant-ID": tenant}
    async with (
        aiohttp.ClientSession(server_url, headers=headers) as http,
        http.post("/v1/documents", data=body.encode()) as answer,
    ):
        told = await answer.json(content_type=None)
        assert (answer.status, told["code"]) == (422, "validation_failed"), told
        assert any(each in told["detail"] for each in why.split("|")), told


@pytest.mark.load
async def test_a_document_may_be_larger_than_other_bodies(server_url: str, tenant: str) -> None:
    async with MemoryClient(server_url, tenant_id=tenant) as memory:
        stored = await memory.add_document(data=(b"word " * 20 + b"\n\n") * 100_000, name="large.txt")
        assert stored.document.characters > 10_000_000
        assert stored.stored < 20, "the same paragraphs are the same passages"
    form = aiohttp.FormData()
    form.add_field("file", io.BytesIO(b"x" * (52 << 20)), filename="larger.txt")
    headers = {"X-Tenant-ID": tenant}
    async with (
        aiohttp.ClientSession(server_url, headers=headers) as http,
        http.post("/v1/documents", data=form) as answer,
    ):
        assert answer.status == 413

"""The client of S3-compatible stores, against a small bucket that checks signatures."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from keeps.base.scope import Scope
from keeps.bootstrap import open_keeps
from keeps.operate.freezing import s3
from keeps.operate.freezing.s3 import S3Bucket, signed
from keeps.operate.freezing.service import FreezeService
from keeps_client.errors import UnavailableError, ValidationFailedError
from tests.freezing.conftest import Cold


@dataclass
class Bucket:
    """Objects by path. `failures`: answers with status 503 that come first."""

    key: str = "AKID:secret"
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    failures: int = 0
    url: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        bucket = S3Bucket.of(f"s3://bucket?region=eu-central-1&endpoint={self.url}", self.key)
        digest = hashlib.sha256(body).hexdigest()
        moment = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        expected = signed(bucket, request.method, f"{self.url}{request.raw_path}", digest, moment)
        if request.headers["authorization"] != expected["authorization"]:
            return web.Response(status=403)
        if self.failures:
            self.failures -= 1
            return web.Response(status=503)
        match request.method:
            case "PUT":
                self.objects[request.path] = body
            case "DELETE":
                self.objects.pop(request.path, None)
                return web.Response(status=204)
            case _ if request.path not in self.objects:
                return web.Response(status=404)
            case "GET":
                return web.Response(body=self.objects[request.path])
        return web.Response()


@asynccontextmanager
async def serving(bucket: Bucket) -> AsyncGenerator[str]:
    app = web.Application(client_max_size=1 << 24)
    app.router.add_route("*", "/{path:.*}", bucket.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    bucket.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield f"s3://bucket/folder?region=eu-central-1&endpoint={bucket.url}"
    finally:
        await runner.cleanup()


def test_signature_is_that_of_the_reference_client() -> None:
    """botocore 1.44 makes this signature of the same request."""
    bucket = S3Bucket.of("s3://bucket/folder?region=eu-central-1&endpoint=http://127.0.0.1:9000", "AKID:secret")
    url = f"{bucket.address}/ab/abc-1.frozen"
    headers = signed(bucket, "PUT", url, hashlib.sha256(b"x").hexdigest(), datetime(2026, 11, 28, 12, tzinfo=UTC))
    assert headers["authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKID/20261128/eu-central-1/s3/aws4_request,"
        " SignedHeaders=host;x-amz-content-sha256;x-amz-date,"
        " Signature=b6cfaecf7e3ded915f2f1f7a2c4bea654396f333c0e053a81d48675067e0a7e4"
    )


async def test_a_tenant_is_frozen_in_a_bucket_and_thawed(cold: Cold, tenant: str) -> None:
    bucket = Bucket(failures=1)
    async with serving(bucket) as address:
        settings = replace(cold.settings, frozen_store=address, frozen_store_key=bucket.key)
        async with await open_keeps(settings, embedder=cold.shared) as keeps:
            alice = keeps.memory(Scope(tenant, "alice"))
            await alice.remember("The harbour is grey.")
            await keeps.service(FreezeService).freeze(tenant)
            assert await cold.held(tenant) == 0
            (name,) = bucket.objects
            assert name.startswith("/bucket/folder/")
            assert b"harbour" not in bucket.objects[name]
            assert [memory.content for memory in (await alice.list()).items] == ["The harbour is grey."]
            assert bucket.objects == {}


async def test_a_bucket_that_refuses_leaves_the_tenant_as_it_was(
    cold: Cold, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "PAUSE_SECONDS", 0.0)
    bucket = Bucket()
    async with serving(bucket) as address:
        settings = replace(cold.settings, frozen_store=address, frozen_store_key="AKID:wrong")
        async with await open_keeps(settings, embedder=cold.shared) as keeps:
            await keeps.memory(Scope(tenant, "alice")).remember("The harbour is grey.")
            with pytest.raises(UnavailableError, match="403"):
                await keeps.service(FreezeService).freeze(tenant)
            assert (await keeps.memory(Scope(tenant, "alice")).list()).items
    async with await open_keeps(replace(settings, frozen_store_key=bucket.key), embedder=cold.shared) as keeps:
        with pytest.raises(UnavailableError, match="cannot be reached"):
            await keeps.service(FreezeService).freeze(tenant)
        assert (await keeps.memory(Scope(tenant, "alice")).list()).items


async def test_objects_that_do_not_exist(tmp_path: Path) -> None:
    bucket = Bucket()
    async with serving(bucket) as address:
        client = S3Bucket.of(address, bucket.key)
        assert not await client.has("a")
        await client.delete("a")
        with pytest.raises(UnavailableError, match="not in the bucket"):
            await client.get("a", tmp_path / "a")


async def test_an_answer_that_breaks_off_is_an_error_of_the_store(tmp_path: Path) -> None:
    async def break_off(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Length": "1000"})
        await answer.prepare(request)
        await answer.write(b"half of it")
        assert request.transport is not None
        request.transport.abort()
        return answer

    bucket = Bucket()
    bucket.answer = break_off  # pyright: ignore[reportAttributeAccessIssue]
    async with serving(bucket) as address:
        with pytest.raises(UnavailableError, match="cannot be reached"):
            await S3Bucket.of(address, bucket.key).get("a", tmp_path / "a")


@pytest.mark.parametrize(
    ("address", "key"), [("s3://bucket", "no-secret"), ("s3://bucket?zone=eu", "AKID:secret"), ("s3://bucket", ":")]
)
def test_addresses_and_keys_are_checked(address: str, key: str) -> None:
    with pytest.raises(ValidationFailedError):
        S3Bucket.of(address, key)

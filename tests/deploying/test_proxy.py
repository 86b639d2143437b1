"""The configuration of nginx in docs/proxy.md, before a real server."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp.abc import ResolveResult
from yarl import URL

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.store.access.rates import WrongCredentials
from tests.serving import JWT_SECRET, serving, token

pytestmark = [
    pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="needs nginx and openssl"),
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere loopback has one address"),
]
PAGE = Path(__file__).parents[2] / "docs" / "proxy.md"
NAME = "memory.example.com"
MOST = 3
AROUND = """
pid {folder}/pid; error_log {folder}/log; daemon off; worker_processes 1; {user}
events {{ }}
http {{
access_log off;
client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{page}
}}
"""


def _configuration(folder: Path, keeps_port: str, port: int) -> str:
    """Return the block of the page with addresses and files of this test."""
    (page,) = re.findall(r"```nginx\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    changes = {
        "127.0.0.1:8765": f"127.0.0.1:{keeps_port}",
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        f"/etc/ssl/{NAME}": f"{folder}/{NAME}",
    }
    for old, new in changes.items():
        assert old in page
        page = page.replace(old, new)
    return AROUND.format(folder=folder, user="user root;" if os.geteuid() == 0 else "", page=page)


def _certificate(folder: Path) -> ssl.SSLContext:
    key, certificate = folder / f"{NAME}.key", folder / f"{NAME}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    about = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-days", "1"]
    subprocess.run([*command, *about, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return ssl.create_default_context(cafile=certificate)


@asynccontextmanager
async def _nginx(folder: Path, configuration: str) -> AsyncIterator[None]:
    (folder / "nginx.conf").write_text(configuration)
    process = await asyncio.create_subprocess_exec("nginx", "-e", folder / "log", "-c", folder / "nginx.conf")
    try:
        async with asyncio.timeout(20):
            while process.returncode is None and not (folder / "pid").exists():
                await asyncio.sleep(0.02)
        assert process.returncode is None, (folder / "log").read_text()
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@pytest.fixture
async def proxy(keeps: Keeps, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Proxy]:
    monkeypatch.setattr(WrongCredentials, "MOST", MOST)
    trusted = _certificate(tmp_path)
    async with (
        serving(keeps, auth="jwt+keys", jwt_secret=JWT_SECRET, trusted_proxies=("127.0.0.1",)) as url,
        _nginx(tmp_path, _configuration(tmp_path, url.rpartition(":")[2], port)),
    ):
        yield Proxy(port, trusted)


class Proxy:
    def __init__(self, port: int, trusted: ssl.SSLContext) -> None:
        self._port = port
        self._trusted = trusted

    def session(self, address: str = "127.0.0.1", **headers: str) -> aiohttp.ClientSession:
        """Return a session of a caller at an address of loopback."""
        connector = aiohttp.TCPConnector(
            ssl=self._trusted, local_addr=(address, 0), resolver=_Loopback(), use_dns_cache=False
        )
        return aiohttp.ClientSession(connector=connector, headers=headers)

    def url(self, path: str) -> URL:
        """Return a URL with the path exactly as given."""
        return URL(f"https://{NAME}:{self._port}{path}", encoded=True)

    async def status(self, session: aiohttp.ClientSession, path: str, **headers: str) -> int:
        async with session.get(self.url(path), headers=headers) as answer:
            return answer.status


class _Loopback(aiohttp.ThreadedResolver):
    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:  # noqa: ARG002
        return await super().resolve("127.0.0.1", port)


async def test_unconfigured_nginx_opens_nothing(server_url: str, tmp_path: Path, port: int) -> None:
    """The shortest configuration, before a server without credentials."""
    page = f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {server_url}; }} }}"
    user = "user root;" if os.geteuid() == 0 else ""
    async with _nginx(tmp_path, AROUND.format(folder=tmp_path, user=user, page=page)), aiohttp.ClientSession() as http:
        for path in ("/v1/memories", "/v1/admin/tenants", "/ui/"):
            async with http.get(f"http://127.0.0.1:{port}{path}") as answer:
                assert answer.status == 403, path
        async with http.get(f"{server_url}/v1/memories") as answer:
            assert answer.status == 200


async def test_callers_are_told_apart_behind_nginx(proxy: Proxy) -> None:
    async with proxy.session("127.0.0.2") as guesser, proxy.session("127.0.0.3") as other:
        wrong = [
            await proxy.status(
                guesser, "/v1/memories", Authorization=f"Bearer keeps_{n}", **{"X-Forwarded-For": f"10.0.0.{n}"}
            )
            for n in range(MOST + 1)
        ]
        assert wrong == [401] * MOST + [429]
        assert await proxy.status(other, "/v1/memories", Authorization="Bearer keeps_another") == 401


async def test_inner_paths_are_closed(proxy: Proxy, tenant: str) -> None:
    async with proxy.session(Authorization=f"Bearer {token(tenant, 'root', 'admin')}") as session:
        paths = ("/metrics", "/metrics/", "/%6detrics", "//metrics", "/v1/..%2fmetrics", "/ready")
        assert [await proxy.status(session, path) for path in paths] == [404] * len(paths)
        admin = ("/v1/admin/keys", "//v1/admin/keys", "/v1/%61dmin/keys")
        assert [await proxy.status(session, path) for path in admin] == [403] * len(admin)
        assert await proxy.status(session, "/health") == 200


async def test_stream_and_large_body_pass(proxy: Proxy, keeps: Keeps, tenant: str) -> None:
    body = json.dumps({"content": "x" * (2 << 20)}).encode()
    async with proxy.session(Authorization=f"Bearer {token(tenant, 'alice')}") as session:
        async with session.post(
            proxy.url("/v1/memories"), data=io.BytesIO(body), headers={"Content-Type": "application/json"}
        ) as answer:
            assert answer.status == 422, "Keeps says what is too long, not nginx"
            assert answer.content_type == "application/problem+json"
        async with session.get(proxy.url("/v1/events/stream")) as stream, asyncio.timeout(10):
            await stream.content.readline()
            await keeps.memory(Scope(tenant, "alice")).remember("Alice keeps two hens.")
            while not (await stream.content.readline()).startswith(b"event: memory.written"):
                pass

"""Headers that say who asks are sent once, and those of proxies are believed from proxies only."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import aiohttp
import pytest

from keeps.base.scope import Scope
from keeps.doors.server.proxies import TrustedProxies
from keeps.engine import Keeps
from keeps.integrations.mem0.http import _written
from keeps_client.errors import ForbiddenError, ValidationFailedError
from tests.serving import token

METADATA = "/.well-known/oauth-protected-resource/mcp"


@pytest.mark.parametrize(
    "name", ["Authorization", "X-API-Key", "X-Tenant-ID", "X-User-ID", "x-agent-id", "Idempotency-Key", "If-Match"]
)
async def test_a_doubled_identity_header_is_refused(server_url: str, tenant: str, name: str) -> None:
    headers = [("X-Tenant-ID", tenant), (name, "alice"), (name, "bob")]
    async with aiohttp.request("POST", f"{server_url}/v1/memories", headers=headers, json={"content": "x"}) as answer:
        problem = await answer.json(content_type=None)
    assert (answer.status, problem["code"]) == (422, "validation_failed")
    assert "once" in problem["detail"]


async def test_other_headers_may_be_doubled(server_url: str, tenant: str) -> None:
    headers = [("X-Tenant-ID", tenant), ("Accept", "text/html"), ("Accept", "application/json")]
    async with aiohttp.request("GET", f"{server_url}/v1/memories", headers=headers) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    ("peer", "said", "scheme"),
    [
        ("10.0.0.1", ["https"], "https"),
        ("10.0.0.1", ["http, https"], "https"),
        ("192.0.2.1", ["https"], "http"),
        ("10.0.0.1", ["javascript"], "http"),
        ("10.0.0.1", [], "http"),
    ],
)
def test_the_scheme_is_a_trusted_proxys_to_say(peer: str, said: list[str], scheme: str) -> None:
    headers = [(b"x-forwarded-proto", each.encode()) for each in said]
    scope: Any = {"client": (peer, 1), "headers": headers, "scheme": "http"}
    assert TrustedProxies(["10.0.0.0/8"]).scheme(scope) == scheme


@pytest.mark.parametrize("filters", ["1or " * 400, r"'\d' " * 400, "1is 2 " * 300, "'a'[0]()" * 100])
def test_filters_write_no_warnings(filters: str) -> None:
    with warnings.catch_warnings(record=True, action="always") as written, suppress(ValidationFailedError):
        _written(filters)
    assert written == []


async def test_an_agents_token_does_not_read_for_entities(secured_url: str, keeps: Keeps, tenant: str) -> None:
    await keeps.memory(Scope(tenant, "alice")).remember("Carla Jones lives in Leeds with Bo Smith.")
    with pytest.raises(ForbiddenError, match="agent's token"):
        bound = Scope(tenant, "alice", "one", agent_bound=True)
        await keeps.memory(bound).read_entities()
    headers = {"Authorization": f"Bearer {token(tenant, 'alice', agent_id='one')}"}
    async with aiohttp.request("POST", f"{secured_url}/v1/graph/read", headers=headers) as answer:
        assert (answer.status, (await answer.json(content_type=None))["code"]) == (403, "forbidden")

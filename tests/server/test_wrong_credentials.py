"""Guesses are limited by address; right credentials, ended ones and repeats are no guesses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.doors.server.proxies import TrustedProxies
from keeps.engine import Keeps
from keeps.store.access.keys import KeyService
from keeps.store.access.rates import WrongCredentials
from keeps_client.errors import RateLimitedError, ValidationFailedError
from keeps_client.models import NewKey
from tests.serving import JWT_SECRET, serving, token

MOST = 5


@pytest.fixture(autouse=True)
def _few_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WrongCredentials, "MOST", MOST)


@pytest.fixture
async def url(keeps: Keeps) -> AsyncIterator[str]:
    async with serving(keeps, auth="jwt+keys", jwt_secret=JWT_SECRET, trusted_proxies=("127.0.0.1",)) as address:
        yield address


async def ask(url: str, credential: str, **headers: str) -> int:
    async with (
        aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {credential}", **headers}) as http,
        http.get("/v1/memories") as answer,
    ):
        return answer.status


async def guess(url: str, count: int, **headers: str) -> list[int]:
    return [await ask(url, f"keeps_wrong-{number}", **headers) for number in range(count)]


async def test_right_credentials_pass_beside_a_guesser(url: str, keeps: Keeps, tenant: str) -> None:
    root = Scope(tenant, "root", roles=frozenset({"admin"}))
    used = (await keeps.service(KeyService).make(root, NewKey(name="used", user_id="alice"))).secret
    new = (await keeps.service(KeyService).make(root, NewKey(name="new", user_id="bob"))).secret
    assert await ask(url, used) == 200
    assert await guess(url, MOST + 2) == [401] * MOST + [429] * 2
    assert [await ask(url, each) for each in (used, new, token(tenant, "alice"))] == [200] * 3
    keeps.service(KeyService).changed()
    assert await ask(url, used) == 200, "a known key is looked up again"
    assert await ask(url, "keeps_another") == 429


async def test_repeats_of_one_wrong_credential_count_once(url: str, tenant: str) -> None:
    assert {await ask(url, "keeps_always-the-same") for _ in range(3 * MOST)} == {401}
    assert await guess(url, MOST - 1) == [401] * (MOST - 1)
    assert await ask(url, "keeps_one-more") == 429


async def test_ended_credentials_are_no_guesses(url: str, keeps: Keeps, tenant: str) -> None:
    root = Scope(tenant, "root", roles=frozenset({"admin"}))
    for number in range(MOST):
        made = await keeps.service(KeyService).make(root, NewKey(name=f"key-{number}", user_id="alice"))
        await keeps.service(KeyService).revoke(root, made.key_id)
        assert await ask(url, made.secret) == 401
        assert await ask(url, token(tenant, f"user-{number}", exp=1)) == 401
        assert await ask(url, token(tenant, f"user-{number}", tenant_id=None)) == 401
        ended = NewKey(name=f"ended-{number}", user_id="a", expires_at=utc_now() + timedelta(days=1))
        assert await ask(url, (await keeps.service(KeyService).make(root, ended)).secret) == 200
    assert await guess(url, MOST) == [401] * MOST


async def test_forged_tokens_are_guesses(url: str, tenant: str) -> None:
    forged = [token(tenant, f"user-{number}", secret="x" * 40, exp=1) for number in range(MOST + 1)]
    assert [await ask(url, each) for each in forged] == [401] * MOST + [429]


async def test_clients_behind_a_trusted_proxy_count_apart(url: str) -> None:
    await guess(url, MOST, **{"X-Forwarded-For": "198.51.100.7"})
    assert await ask(url, "keeps_x", **{"X-Forwarded-For": "198.51.100.7"}) == 429
    assert await ask(url, "keeps_x", **{"X-Forwarded-For": "203.0.113.9, 198.51.100.7"}) == 429
    assert await ask(url, "keeps_x", **{"X-Forwarded-For": "198.51.100.8"}) == 401


async def test_strangers_choose_no_address(keeps: Keeps) -> None:
    async with serving(keeps, auth="keys") as url:
        for number in range(MOST):
            await ask(url, f"keeps_{number}", **{"X-Forwarded-For": f"198.51.100.{number}"})
        assert await ask(url, "keeps_x", **{"X-Forwarded-For": "198.51.100.99"}) == 429


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7, 10.2.3.4"], "198.51.100.7"),
        ("10.0.0.1", ["198.51.100.7:4711"], "198.51.100.7"),
        ("10.0.0.1", ["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
        ("10.0.0.1", ["unknown"], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ['"[2001:db8:1:2:3::4]:80"'], "2001:db8:1:2::/64"),
        ("::ffff:10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("2001:db8:1:2::5", [], "2001:db8:1:2::/64"),
        ("", ["198.51.100.7"], ""),
    ],
)
def test_the_nearest_untrusted_address_counts(peer: str, forwarded: list[str], expected: str) -> None:
    headers = [(b"x-forwarded-for", each.encode()) for each in forwarded]
    scope: Any = {"client": (peer, 1) if peer else None, "headers": headers}
    assert TrustedProxies(["10.0.0.0/8"]).client(scope) == expected


def test_trusted_proxies_are_addresses_or_networks() -> None:
    settings = load_settings({"KEEPS_TRUSTED_PROXIES": "10.0.0.0/8, 2001:db8::1"})
    assert settings.trusted_proxies == ("10.0.0.0/8", "2001:db8::1")
    with pytest.raises(ValidationFailedError, match=r"'proxy\.internal', which is not an address"):
        load_settings({"KEEPS_TRUSTED_PROXIES": "proxy.internal"})


async def test_a_flood_of_unknown_keys_waits_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WrongCredentials, "LOOKUP_SECONDS", 0.01)
    wrong = WrongCredentials()
    for number in range(MOST):
        wrong.count("address", str(number))
    async with wrong.lookup("address"), wrong.lookup("address"), wrong.lookup("another"):
        with pytest.raises(RateLimitedError):
            async with wrong.lookup("address"):
                pass
    async with wrong.lookup("address"):
        pass


def test_what_is_counted_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WrongCredentials, "ADDRESSES", 10)
    monkeypatch.setattr(WrongCredentials, "CREDENTIALS", 20)
    wrong = WrongCredentials()
    for number in range(100):
        wrong.count(f"address-{number}", "a")
        wrong.count(f"address-{number}", "b")
    assert (len(wrong._counts), len(wrong._counted)) == (10, 20)


@pytest.mark.parametrize("claims", [{"exp": int("9" * 400)}, {"exp": float("inf")}, {"nbf": float("inf")}])
async def test_times_beyond_measure_are_no_defect(url: str, tenant: str, claims: dict[str, Any]) -> None:
    assert await ask(url, token(tenant, "alice", **claims)) in (200, 401)
    assert await ask(url, token(tenant, "alice", **claims)) in (200, 401)

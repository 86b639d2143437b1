"""Tokens and keys under attack."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.base.settings import Settings, load_settings
from keeps.doors.server.app import auth_of
from keeps.engine import Keeps
from keeps.store.access import tokens as tokens_module
from keeps.store.access.keys import KeyService
from keeps.store.access.tokens import Tokens
from keeps_client import MemoryClient
from keeps_client.errors import ForbiddenError, UnauthenticatedError, UnavailableError, ValidationFailedError
from keeps_client.models import NewKey
from tests.serving import JWT_SECRET, serving, token
from tests.watchdog import unwatched

NOW = int(time.time())
GOOD = {"tenant_id": "acme", "user_id": "alice", "roles": ["writer"], "exp": NOW + 7_200}


def rsa_key() -> rsa.RSAPrivateKey:
    """Making one takes as long as chance wants: primes are searched."""
    with unwatched():
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def encoded(part: Any) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")


def by_hand(header: dict[str, Any], claims: dict[str, Any], secret: bytes) -> str:
    signed = encoded(header) + b"." + encoded(claims)
    signature = base64.urlsafe_b64encode(hmac.digest(secret, signed, hashlib.sha256)).rstrip(b"=")
    return (signed + b"." + signature).decode()


class KeyServer:
    """A JWKS URL: real HTTP, with keys that can be rotated, and that can be switched off."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {}
        self.asked = 0
        self.working = True
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                self.send_response(200 if outer.working else 500)
                self.end_headers()
                self.wfile.write(json.dumps({"keys": outer.published()}).encode() if outer.working else b"")

            def log_message(self, *arguments: Any) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/jwks.json"

    def published(self) -> list[dict[str, Any]]:
        found = []
        for kid, key in self.keys.items():
            algorithm = "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"
            maker = jwt.get_algorithm_by_name(algorithm)
            found.append({**json.loads(maker.to_jwk(key.public_key())), "kid": kid, "alg": algorithm, "use": "sig"})
        return found

    def sign(self, kid: str, claims: dict[str, Any], algorithm: str = "RS256") -> str:
        return jwt.encode(claims, self.keys[kid], algorithm=algorithm, headers={"kid": kid})

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def key_server() -> Iterator[KeyServer]:
    server = KeyServer()
    server.keys["one"] = rsa_key()
    server.keys["curve"] = ec.generate_private_key(ec.SECP256R1())
    yield server
    server.close()


async def test_a_good_token_names_its_scope() -> None:
    tokens = Tokens(JWT_SECRET, None)
    scope = await tokens.scope_of(token("acme", "alice", "writer", "unheard-of"))
    assert scope == Scope("acme", "alice", roles=frozenset({"writer"}))
    by_sub = await tokens.scope_of(token("acme", None, "reader", sub="bob", agent_id="a-1"))  # type: ignore[arg-type]
    assert by_sub == Scope("acme", "bob", "a-1", None, frozenset({"reader"}), agent_bound=True)


ATTACKS = {
    "no algorithm": by_hand({"alg": "none", "typ": "JWT"}, GOOD, b""),
    "no algorithm, no signature": (encoded({"alg": "none"}) + b"." + encoded(GOOD) + b".").decode(),
    "none in capitals": by_hand({"alg": "NONE"}, GOOD, b""),
    "an algorithm that was not chosen": jwt.encode(GOOD, JWT_SECRET, algorithm="HS512"),
    "another secret": token("acme", "alice", secret="x" * 40),
    "the empty secret": by_hand({"alg": "HS256"}, GOOD, b""),
    "expired": token("acme", "alice", exp=NOW - 3_600),
    "not yet": token("acme", "alice", nbf=NOW + 3_600),
    "no expiry": token("acme", "alice", exp=None),
    "an expiry that is no number": by_hand({"alg": "HS256"}, {**GOOD, "exp": "soon"}, JWT_SECRET.encode()),
    "no tenant": token(None, "alice"),  # type: ignore[arg-type]
    "no user": token("acme", None),  # type: ignore[arg-type]
    "a tenant that is a list": by_hand({"alg": "HS256"}, {**GOOD, "tenant_id": ["acme"]}, JWT_SECRET.encode()),
    "a tenant that is a number": by_hand({"alg": "HS256"}, {**GOOD, "tenant_id": 1}, JWT_SECRET.encode()),
    "a tenant of 65 characters": token("a" * 65, "alice"),
    "a tenant with a NUL": by_hand({"alg": "HS256"}, {**GOOD, "tenant_id": "a\x00b"}, JWT_SECRET.encode()),
    "the empty tenant": token("", "alice"),
    "a key of its own": by_hand({"alg": "HS256", "jwk": {"kty": "oct", "k": "AAAA"}}, GOOD, b"\0\0\0"),
    "a file as key id": by_hand({"alg": "HS256", "kid": "../../../dev/null"}, GOOD, b""),
    "a critical header": by_hand({"alg": "HS256", "crit": ["x"], "x": 1}, GOOD, JWT_SECRET.encode()),
    "a cut signature": token("acme", "alice")[:-4],
    "two parts": ".".join(token("acme", "alice").split(".")[:2]),
    "not base64": "a.b.c",
    "not JSON": (base64.urlsafe_b64encode(b"no").rstrip(b"=") + b"." + encoded(GOOD) + b".x").decode(),
    "claims that are a list": by_hand({"alg": "HS256"}, [GOOD], JWT_SECRET.encode()),  # type: ignore[arg-type]
    "nested deeply": by_hand({"alg": "HS256"}, {**GOOD, "x": json.loads("[" * 500 + "]" * 500)}, b"no"),
    "huge": "a" * 30_000 + ".b.c",
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_forged_token_is_refused(attack: str) -> None:
    with pytest.raises(UnauthenticatedError):
        await Tokens(JWT_SECRET, None).scope_of(ATTACKS[attack])


async def test_public_keys_are_not_secrets_and_secrets_are_not_public_keys(key_server: KeyServer) -> None:
    tokens = Tokens(None, key_server.url)
    assert (await tokens.scope_of(key_server.sign("one", GOOD))).tenant_id == "acme"
    assert (await tokens.scope_of(key_server.sign("curve", GOOD, "ES256"))).tenant_id == "acme"
    public = (
        key_server.keys["one"]
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    confused = by_hand({"alg": "HS256", "kid": "one"}, GOOD, public)
    both = Tokens(JWT_SECRET, key_server.url)
    for checker in (tokens, both):
        with pytest.raises(UnauthenticatedError):
            await checker.scope_of(confused)
    with pytest.raises(UnauthenticatedError, match="algorithm"):
        await tokens.scope_of(token("acme", "alice"))  # HS256 where only public keys are configured
    with pytest.raises(UnauthenticatedError):  # a curve's key under the RSA key's id
        await tokens.scope_of(jwt.encode(GOOD, key_server.keys["curve"], algorithm="ES256", headers={"kid": "one"}))
    with pytest.raises(UnauthenticatedError):  # signed by a key that is not published
        stranger = rsa_key()
        await tokens.scope_of(jwt.encode(GOOD, stranger, algorithm="RS256", headers={"kid": "one"}))


async def test_keys_are_rotated_and_unknown_ones_do_not_flood_the_url(
    key_server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(None, key_server.url)
    await tokens.scope_of(key_server.sign("one", GOOD))
    for number in range(20):
        with pytest.raises(UnauthenticatedError, match="unknown"):
            await tokens.scope_of(
                jwt.encode(GOOD, key_server.keys["one"], algorithm="RS256", headers={"kid": f"x{number}"})
            )
    assert key_server.asked == 1
    key_server.keys["two"] = rsa_key()
    monkeypatch.setattr(tokens_module, "UNKNOWN_KEY_SECONDS", 0.0)
    assert (await tokens.scope_of(key_server.sign("two", GOOD))).user_id == "alice"
    assert key_server.asked == 2


async def test_known_keys_outlive_a_url_that_does_not_answer(
    key_server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(None, key_server.url)
    await tokens.scope_of(key_server.sign("one", GOOD))
    key_server.working = False
    monkeypatch.setattr(tokens_module, "KEYS_SECONDS", 0.0)
    monkeypatch.setattr(tokens_module, "UNKNOWN_KEY_SECONDS", 0.0)
    assert (await tokens.scope_of(key_server.sign("one", {**GOOD, "x": 1}))).user_id == "alice"
    with pytest.raises(UnavailableError, match="KEEPS_JWKS_URL"):
        await Tokens(None, key_server.url).scope_of(key_server.sign("one", GOOD))


async def test_issuer_and_audience_are_checked_where_they_are_configured() -> None:
    strict = Tokens(JWT_SECRET, None, issuer="https://id.example", audience="keeps")
    good = {"iss": "https://id.example", "aud": "keeps"}
    assert (await strict.scope_of(token("acme", "alice", **good))).user_id == "alice"
    for wrong in ({"iss": "https://evil.example"}, {"aud": "another"}, {"iss": None}, {"aud": None}):
        with pytest.raises(UnauthenticatedError):
            await strict.scope_of(token("acme", "alice", **{**good, **wrong}))


async def test_a_token_that_was_good_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens_module, "LEEWAY_SECONDS", 0)
    tokens = Tokens(JWT_SECRET, None)
    good = token("acme", "alice", exp=int(time.time()) + 2)
    await tokens.scope_of(good)
    with pytest.raises(UnauthenticatedError, match="expired"):
        for _ in range(500):
            await tokens.scope_of(good)
            await asyncio.sleep(0.01)


def test_a_weak_secret_and_no_secret_are_refused_at_the_start() -> None:
    with pytest.raises(ValidationFailedError, match="32 bytes"):
        Tokens("short", None)
    with pytest.raises(ValidationFailedError, match="KEEPS_JWT_SECRET or KEEPS_JWKS_URL"):
        Tokens(None, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5"])
def test_without_authentication_only_loopback_is_served(host: str) -> None:
    with pytest.raises(ValidationFailedError, match="KEEPS_AUTH"):
        auth_of(load_settings({"KEEPS_HOST": host, "KEEPS_AUTH": "none"}))
    assert auth_of(load_settings({"KEEPS_HOST": host})) == "keys"
    assert auth_of(load_settings({"KEEPS_HOST": "127.0.0.1"})) == "none"


@pytest.fixture
async def admin(keeps: Keeps, tenant: str) -> Any:
    return keeps.memory(Scope(tenant, "root", roles=frozenset({"admin"})))


async def test_a_key_opens_until_it_is_revoked(secured_url: str, admin: Any, tenant: str) -> None:
    made = await admin.keeps.service(KeyService).make(admin.scope, NewKey(name="one", user_id="alice"))
    assert made.secret.startswith("keeps_")
    async with MemoryClient(secured_url, token=made.secret) as alice:
        assert (await alice.store("k", 1, "p")).user_id == "alice"
        with pytest.raises(ForbiddenError):
            await alice.admin.list_keys()
    async with MemoryClient(secured_url, token=token(tenant, "root", "admin")) as root:
        (listed,) = await root.admin.list_keys()
        assert (listed.name, listed.last_used_at is not None, listed.hint) == ("one", True, made.secret[-4:])
        assert "secret" not in type(listed).model_fields
        assert (await root.admin.revoke_key(made.key_id)).revoked_at is not None
    async with MemoryClient(secured_url, token=made.secret) as alice:
        with pytest.raises(UnauthenticatedError, match="revoked"):
            await alice.retrieve("k", "p")


async def test_a_key_for_any_user_says_for_whom(secured_url: str, admin: Any) -> None:
    made = await admin.keeps.service(KeyService).make(admin.scope, NewKey(name="any"))
    bound = await admin.keeps.service(KeyService).make(admin.scope, NewKey(name="bound", user_id="alice"))
    async with MemoryClient(secured_url, token=made.secret, user_id="carol") as carol:
        assert (await carol.store("k", 1, "p")).user_id == "carol"
    async with MemoryClient(secured_url, token=made.secret) as nobody:
        with pytest.raises(ValidationFailedError, match="X-User-ID"):
            await nobody.store("k", 1, "p")
    async with MemoryClient(secured_url, token=bound.secret, user_id="carol") as wrong:
        with pytest.raises(ForbiddenError):
            await wrong.store("k", 1, "p")


async def test_a_key_ends_and_unknown_ones_are_refused(keeps: Keeps, admin: Any) -> None:
    made = await admin.keeps.service(KeyService).make(
        admin.scope, NewKey(name="soon", user_id="a", expires_at=utc_now() + timedelta(days=1))
    )
    async with serving(keeps, lambda: utc_now() + timedelta(days=2), auth="keys") as url:
        for secret in (made.secret, "keeps_" + "x" * 43, "keeps_", made.secret[:-1] + "!"):
            async with MemoryClient(url, token=secret) as client:
                with pytest.raises(UnauthenticatedError):
                    await client.retrieve("k", "p")
        async with MemoryClient(url, token=token("acme", "alice")) as client:
            with pytest.raises(UnauthenticatedError, match="only API keys"):
                await client.retrieve("k", "p")


async def test_nobody_grants_more_than_they_have(secured_url: str, tenant: str) -> None:
    async with MemoryClient(secured_url, token=token(tenant, "root", "admin")) as root:
        with pytest.raises(ForbiddenError, match="operator"):
            await root.admin.make_key("up", roles=["operator"])


async def test_the_secret_of_a_key_is_nowhere_in_the_database(admin: Any, tenant: str, server: Any) -> None:
    import asyncpg

    made = await admin.keeps.service(KeyService).make(admin.scope, NewKey(name="one"))
    connection = await asyncpg.connect(server.url("postgres", "keeps_test"))
    for table in ("api_keys", "events", "idempotency_keys"):
        rows = await connection.fetch(f"SELECT t::text FROM keeps.{table} AS t WHERE tenant_id = $1", tenant)
        assert not [row for row in rows if made.secret in row[0]], table
    await connection.close()


async def test_an_agents_token_reaches_its_own_experiences_and_skills_only(secured_url: str, tenant: str) -> None:
    everyone = MemoryClient(secured_url, token=token(tenant, "alice"))
    one = MemoryClient(secured_url, token=token(tenant, "alice", agent_id="agent-1"))
    two = MemoryClient(secured_url, token=token(tenant, "alice", agent_id="agent-2"))
    said = await one.log_interaction("agent-1", "user", "The door code is 4711.")
    await one.store_skill("agent-1", "Say the door code only to friends.", procedure_type="system_prompt")
    fact = await one.store_knowledge("The house has one door.")
    assert await two.search_interactions("agent-1", "door code") == []
    assert await two.get_recent_history("agent-1") == []
    assert await two.get_relevant_skills("agent-1", "door code") == []
    assert {hit.memory.content for hit in (await two.recall("door code")).hits} == {"The house has one door."}
    from keeps_client.errors import NotFoundError

    for call in (two.get, two.history, two.forget):
        with pytest.raises(NotFoundError):
            await call(said.id)
    with pytest.raises(ForbiddenError, match="agent-2"):
        await two.log_interaction("agent-1", "user", "forged")
    assert (await two.get(fact.id)).content == "The house has one door."
    assert len((await everyone.recall("door code")).hits) == 3
    for client in (everyone, one, two):
        await client.close()


async def test_tenants_and_users_appear_once_however_many_come_at_once(secured_url: str, tenant: str) -> None:
    async with MemoryClient(secured_url, token=token(tenant, "new")) as new:
        await asyncio.gather(*(new.append_to_list("log", number, "p") for number in range(20)))
        assert len(await new.retrieve("log", "p")) == 20


@pytest.fixture
async def tight(keeps: Keeps) -> AsyncIterator[str]:
    async with serving(keeps, auth="jwt", jwt_secret=JWT_SECRET, reads_per_minute=5, writes_per_minute=2) as url:
        yield url


async def test_rates_are_limited_by_user_and_say_when_to_come_back(tight: str, tenant: str) -> None:
    headers = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
    async with aiohttp.ClientSession(headers=headers) as http:
        statuses = []
        for _ in range(7):
            async with http.get(f"{tight}/v1/memory/plans") as answer:
                statuses.append(answer.status)
                last = answer
                problem = await answer.json(content_type=None)
        assert statuses == [200] * 5 + [429] * 2
        assert problem["code"] == "rate_limited"
        assert 1 <= int(last.headers["Retry-After"]) <= 60
        async with http.put(f"{tight}/v1/memory/working/p/k", json={"value": 1}) as answer:
            assert answer.status == 200  # writes are counted apart
            assert (answer.headers["RateLimit-Limit"], answer.headers["RateLimit-Remaining"]) == ("2", "1")
    async with MemoryClient(tight, token=token(tenant, "bob")) as bob:
        assert await bob.retrieve("k", "p") == 1  # and users apart


async def test_rates_are_shared_through_valkey(keeps: Keeps, tenant: str, valkey_url: str) -> None:
    options = {"auth": "jwt", "jwt_secret": JWT_SECRET, "reads_per_minute": 3, "redis_url": valkey_url}
    headers = {"Authorization": f"Bearer {token(tenant, 'alice')}"}
    statuses = []
    async with (
        serving(keeps, **options) as one,
        serving(keeps, **options) as two,
        aiohttp.ClientSession(headers=headers) as http,
    ):
        for url in (one, two, one, two):
            async with http.get(f"{url}/v1/memory/plans") as answer:
                statuses.append(answer.status)
    assert statuses == [200, 200, 200, 429]


async def test_credentials_are_in_no_log_and_no_answer(secured_url: str, capfd: pytest.CaptureFixture[str]) -> None:
    secret = "keeps_" + "Z" * 43
    async with aiohttp.ClientSession() as http:
        for headers in (
            {"Authorization": f"Bearer {secret}"},
            {"X-API-Key": secret},
            {"Authorization": f"Basic {secret}"},
        ):
            async with http.get(f"{secured_url}/v1/memory/plans", headers=headers) as answer:
                assert answer.status == 401
                assert answer.headers["WWW-Authenticate"] == "Bearer"
                assert secret not in await answer.text()
    shown = capfd.readouterr()
    assert secret not in shown.out + shown.err


def test_settings_do_not_show_their_secrets() -> None:
    shown = repr(Settings(home="x", jwt_secret="a secret", database_url="postgresql://a:b@c/d"))  # type: ignore[arg-type]
    assert "a secret" not in shown
    assert "b@c" not in shown


async def test_a_key_that_was_taken_away_opens_nothing_more(key_server: KeyServer) -> None:
    tokens = Tokens(None, key_server.url)
    seen = key_server.sign("one", GOOD)

    def later() -> None:
        """The keys are asked for again."""
        assert tokens._public_keys is not None
        tokens._public_keys._fetched = tokens._public_keys._tried = -1e9

    assert (await tokens.scope_of(seen)).tenant_id == "acme"
    later()
    assert (await tokens.scope_of(seen)).tenant_id == "acme", "asked again, the same key opens as before"
    key_server.keys["one"] = rsa_key()
    later()
    with pytest.raises(UnauthenticatedError):
        await tokens.scope_of(seen)
    del key_server.keys["one"]
    later()
    with pytest.raises(UnauthenticatedError):
        await tokens.scope_of(seen)


def test_the_current_folder_chooses_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keeps.toml").write_text('database_url = "postgresql://evil.example/keeps"\n')
    home = tmp_path / "home"
    home.mkdir()
    assert load_settings({}, home=home).database_url is None
    chosen = load_settings({"KEEPS_CONFIG": str(tmp_path / "keeps.toml")}, home=home)
    assert chosen.database_url == "postgresql://evil.example/keeps"
    (home / "keeps.toml").write_text('llm_base_url = "https://evil.example"\n')
    with pytest.raises(ValidationFailedError, match="in one place"):
        load_settings({"KEEPS_LLM_API_KEY": "sk-mine"}, home=home)
    with pytest.raises(ValidationFailedError, match="not a file"):
        load_settings({"KEEPS_CONFIG": str(tmp_path / "gone.toml")}, home=home)


async def test_a_token_is_not_ignored_where_credentials_are_not_read(server_url: str, tenant: str) -> None:
    """What it stores would be the default user's."""
    other_secret = "another secret, long enough for any HMAC"
    for claims in (token(tenant, "alice"), token(tenant, "alice", secret=other_secret)):
        async with MemoryClient(server_url, token=claims) as memory:
            with pytest.raises(UnauthenticatedError, match=r"KEEPS_AUTH=none.*--auth jwt"):
                await memory.remember("Alice keeps hens.")
    async with MemoryClient(server_url, token=token(tenant, "alice"), tenant_id=tenant, user_id="alice") as memory:
        assert (await memory.remember("Alice keeps hens.")).memory.user_id == "alice"
    async with MemoryClient(server_url, token="any-key-of-another-product", tenant_id=tenant, user_id="bob") as memory:
        assert (await memory.list()).items == []


async def test_ids_are_compared_as_they_are_written(secured_url: str) -> None:
    small = str(uuid4())
    async with MemoryClient(secured_url, token=token(small, "alice")) as one:
        await one.remember("Alice keeps hens.")
    async with MemoryClient(secured_url, token=token(small.upper(), "alice")) as other:
        assert (await other.list()).items == []


@pytest.mark.parametrize(
    ("claims", "error"),
    [
        ({"roles": ["agent"]}, ForbiddenError),
        ({"tenant_id": None, "platform_tenant_id": "acme"}, UnauthenticatedError),
        ({"user_id": None, "service_user_id": "alice"}, UnauthenticatedError),
    ],
)
async def test_roles_and_claims_of_other_platforms_open_nothing(
    secured_url: str, tenant: str, claims: dict[str, Any], error: type[Exception]
) -> None:
    async with MemoryClient(secured_url, token=token(tenant, "alice", **claims)) as memory:
        with pytest.raises(error):
            await memory.remember("Alice keeps hens.")


async def test_a_good_token_makes_an_erased_user_anew_and_empty(secured_url: str, tenant: str) -> None:
    async with (
        MemoryClient(secured_url, token=token(tenant, "alice")) as alice,
        MemoryClient(secured_url, token=token(tenant, "boss", "admin")) as boss,
    ):
        await alice.remember("Alice keeps hens.")
        await boss.admin.erase_user("alice")
        assert (await alice.list()).items == []
        await alice.remember("Alice keeps ducks.")
        assert [each.content for each in await alice.list()] == ["Alice keeps ducks."]

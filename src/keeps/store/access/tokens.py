"""Validation of JSON Web Tokens.

A token never chooses its algorithm: HS256 is accepted with the shared secret only, RS256 and ES256 with public keys of
the JWKS only. Neither `alg: none` nor a public key used as a secret is accepted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, cast

import jwt
from cachetools import LRUCache
from pydantic import ValidationError

from keeps.base.scope import Scope
from keeps.store.access.limits import grant_of
from keeps.store.access.roles import known_roles
from keeps_client.checked import validation_failed
from keeps_client.errors import KeepsError, UnauthenticatedError, UnavailableError, ValidationFailedError
from keeps_client.models import KeyLimits

LEEWAY_SECONDS = 30
MIN_SECRET_BYTES = 32
PUBLIC_ALGORITHMS = ("RS256", "ES256")
KEYS_SECONDS, UNKNOWN_KEY_SECONDS, STALE_SECONDS = 300.0, 10.0, 3_600.0
_REMEMBERED = 10_000
_FAR = 1 << 53
"""Cap on token times; later times count as this, which a float holds exactly."""
_SIGNED = (
    jwt.ImmatureSignatureError,
    jwt.InvalidAudienceError,
    jwt.InvalidIssuerError,
    jwt.MissingRequiredClaimError,
)
"""Errors in claims, which are read after the signature was checked."""


class EndedCredentialError(UnauthenticatedError):
    """A credential that was issued here and is no longer valid, so not a guess."""

    key_id: str | None = None
    """The API key, for the log."""


class PublicKeys:
    """The keys of a JWKS URL.

    They are cached for five minutes. An unknown `kid` (rotation) reloads them, at most every ten seconds. While the URL
    does not answer they stay valid for an hour.
    """

    def __init__(self, url: str) -> None:
        self._client = jwt.PyJWKClient(url, cache_jwk_set=False, timeout=5)
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = self._tried = -1e9
        self._fetching = asyncio.Lock()

    async def get(self, kid: str) -> jwt.PyJWK:
        age = time.monotonic() - self._fetched
        if age > KEYS_SECONDS or (kid not in self._keys and time.monotonic() - self._tried > UNKNOWN_KEY_SECONDS):
            async with self._fetching:
                if time.monotonic() - self._tried > min(age, UNKNOWN_KEY_SECONDS):
                    await self._fetch()
        key = self._keys.get(kid)
        if key is None:
            raise UnauthenticatedError("the token is signed with an unknown key")
        return key

    async def _fetch(self) -> None:
        self._tried = time.monotonic()
        try:
            keys = await asyncio.to_thread(self._client.get_signing_keys)
        except (jwt.PyJWTError, OSError) as error:
            if time.monotonic() - self._fetched > STALE_SECONDS:
                raise UnavailableError(
                    f"the keys behind KEEPS_JWKS_URL cannot be read ({type(error).__name__}); try again"
                ) from error
            return
        self._keys = {key.key_id: key for key in keys if key.key_id is not None}
        self._fetched = time.monotonic()


class Tokens:
    """Checks tokens, and caches valid ones until they expire."""

    def __init__(
        self, secret: str | None, jwks_url: str | None, *, issuer: str | None = None, audience: str | None = None
    ) -> None:
        if secret is None and jwks_url is None:
            raise ValidationFailedError("KEEPS_AUTH=jwt needs KEEPS_JWT_SECRET or KEEPS_JWKS_URL")
        if secret is not None and len(secret.encode()) < MIN_SECRET_BYTES:
            raise ValidationFailedError(
                f"KEEPS_JWT_SECRET is too short: it needs {MIN_SECRET_BYTES} bytes; create one with: openssl rand -hex"
                " 32"
            )
        self._secret = secret
        self._public_keys = PublicKeys(jwks_url) if jwks_url else None
        self._issuer = issuer
        self._audience = audience
        self._good: LRUCache[str, tuple[float, Scope, str, jwt.PyJWK | None]] = LRUCache(_REMEMBERED)

    async def scope_of(self, token: str, *, leeway_seconds: int | None = None) -> Scope:
        """Return the scope of a token. Raises UnauthenticatedError, which never says which tenants or users exist."""
        known = self._good.get(token)
        if known is not None and time.time() < known[0]:
            _, scope, kid, key = known
            # A removed or changed key opens nothing, even for a token that was accepted before.
            if key is None or (self._public_keys is not None and await self._public_keys.get(kid) is key):
                return scope
        claims, kid, key = await self._claims(token, LEEWAY_SECONDS if leeway_seconds is None else leeway_seconds)
        scope = _scope(claims)
        self._good[token] = (float(min(int(claims["exp"]), _FAR)), scope, kid, key)
        return scope

    async def _claims(self, token: str, leeway_seconds: int) -> tuple[dict[str, Any], str, jwt.PyJWK | None]:
        """Return the claims of a token, the id of its key, and the public key that signed it, if any."""
        kid, public = "", None
        try:
            header = jwt.get_unverified_header(token)
            algorithm = header.get("alg")
            if algorithm == "HS256" and self._secret is not None:
                key: Any = self._secret
            elif algorithm in PUBLIC_ALGORITHMS and self._public_keys is not None:
                kid = str(header.get("kid", ""))
                public = await self._public_keys.get(kid)
                if public.algorithm_name != algorithm:
                    raise UnauthenticatedError("the token's algorithm does not match its key")
                key = public.key
            else:
                raise UnauthenticatedError("the token's algorithm is not accepted here")
            claims = jwt.decode(
                token,
                key,
                algorithms=[cast("str", algorithm)],
                issuer=self._issuer,
                audience=self._audience,
                leeway=leeway_seconds,
                options={"require": ["exp"], "verify_aud": self._audience is not None, "verify_iat": False},
            )
            return claims, kid, public
        except KeepsError:
            raise
        except jwt.ExpiredSignatureError:
            raise EndedCredentialError("the token is expired; get a new one") from None
        except _SIGNED as error:
            raise EndedCredentialError(f"the token is not valid ({type(error).__name__})") from None
        except jwt.PyJWTError as error:
            raise UnauthenticatedError(f"the token is not valid ({type(error).__name__})") from None
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise UnauthenticatedError("the token is not valid") from None


def make_token(secret: str, claims: Mapping[str, object]) -> str:
    """Return a development token, signed with the shared secret."""
    return jwt.encode(dict(claims), secret, algorithm="HS256")


def _scope(claims: Mapping[str, object]) -> Scope:
    roles: Any = claims.get("roles", ["writer"])
    agent_id: Any = claims.get("agent_id")
    try:
        limits = KeyLimits.model_validate(claims.get("limits") or {})
    except ValidationError as error:
        raise EndedCredentialError(
            f"the token's claim `limits` is not valid: {validation_failed(error).detail}"
        ) from None
    try:
        return Scope(
            grant=grant_of(limits),
            tenant_id=claims.get("tenant_id"),  # pyright: ignore[reportArgumentType]  Scope checks it
            user_id=claims.get("user_id") or claims.get("sub"),  # pyright: ignore[reportArgumentType]
            agent_id=agent_id,
            roles=known_roles([roles] if isinstance(roles, str) else roles if isinstance(roles, list) else ()),
            agent_bound=agent_id is not None,
        )
    except ValidationFailedError as error:
        raise EndedCredentialError(f"the token's claims do not name a tenant and user: {error.detail}") from None

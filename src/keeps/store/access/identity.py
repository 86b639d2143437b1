"""Authentication: derives the scope of a request from its headers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import Any

from cachetools import LRUCache, TTLCache

from keeps.base.clock import Clock
from keeps.base.scope import DEFAULT_TENANT_ID, DEFAULT_USER_ID, Scope, check_actor, in_space
from keeps.base.settings import AuthMode
from keeps.base.telemetry.logs import log
from keeps.store.access import store
from keeps.store.access.keys import PREFIX, hash_of
from keeps.store.access.limits import grant_of
from keeps.store.access.roles import known_roles
from keeps.store.access.tokens import EndedCredentialError, Tokens
from keeps.store.db.session import Database
from keeps_client.errors import ForbiddenError, UnauthenticatedError, ValidationFailedError
from keeps_client.models import KeyLimits
from keeps_client.validation import named_space

KEY_SECONDS = 5.0
"""Seconds after which a revoked key is refused everywhere; its streams end soon after."""
_REMEMBERED = 10_000
_NO_KEY = "the API key is unknown, expired or revoked"
Lookup = Callable[[], AbstractAsyncContextManager[None]]
EVERY_ROLE = frozenset({"reader", "writer", "admin", "operator"})


class Authenticator:
    """Authenticates by headers (`none`), tokens, keys, or both, as configured."""

    def __init__(self, mode: AuthMode, database: Database, clock: Clock, tokens: Tokens | None) -> None:
        self.mode = mode
        self._database = database
        self._clock = clock
        self._tokens = tokens
        self._warned = False
        self._keys: LRUCache[bytes, tuple[float, Mapping[str, Any]]] = LRUCache(_REMEMBERED)
        self._unknown: TTLCache[bytes, bool] = TTLCache(_REMEMBERED, KEY_SECONDS)
        """Separate from the valid keys, so that guesses evict none of them."""

    async def scope_of(
        self,
        headers: Mapping[str, str],
        *,
        some_user: str | None = None,
        lookup: Lookup = nullcontext,
        leeway_seconds: int | None = None,
    ) -> Scope:
        """Return the scope of the caller.

        Args:
            some_user: The user for credentials that may act for any user, when no header names one; without it a header
                must.
            lookup: Held while an uncached key is looked up.
            leeway_seconds: Time after its expiry for which a token is still accepted; LEEWAY_SECONDS by default.

        Raises:
            UnauthenticatedError: The credentials are not valid; EndedCredentialError if they once were.
            ForbiddenError: They are for another tenant, user or agent than a header names.
            ValidationFailedError: A header is not an id.
        """
        scope = check_actor(await self._scope_of(headers, some_user, lookup, leeway_seconds))
        space_id = headers.get("x-space-id")
        return _limited(scope) if space_id is None else in_space(scope, named_space(space_id))

    async def _scope_of(
        self, headers: Mapping[str, str], some_user: str | None, lookup: Lookup, leeway_seconds: int | None
    ) -> Scope:
        if self.mode == "none":
            if _check_ignored(headers) and not self._warned:
                self._warned = True
                log().warning("a request has credentials, which KEEPS_AUTH=none ignores")
            return _believed(headers.get("x-tenant-id"), headers.get("x-user-id"), headers.get("x-agent-id"))
        scheme, _, credential = headers.get("authorization", "").partition(" ")
        if scheme and scheme.lower() not in ("bearer", "token"):
            raise UnauthenticatedError("the Authorization header must be: Bearer <token or key>")
        secret = credential.strip() or headers.get("x-api-key", "")
        if not secret:
            raise UnauthenticatedError("no credentials: send Authorization: Bearer <token or key>")
        if secret.startswith(PREFIX):
            if "keys" not in self.mode:
                raise UnauthenticatedError("API keys are not accepted here (KEEPS_AUTH)")
            return self._scope_of_key(await self._row_of(hash_of(secret), lookup), headers, some_user)
        if self._tokens is None:
            raise UnauthenticatedError("only API keys are accepted here (KEEPS_AUTH)")
        return _agreed(await self._tokens.scope_of(secret, leeway_seconds=leeway_seconds), headers)

    def forget_keys(self) -> None:
        """Forget cached keys after one was revoked in this process."""
        for key_hash, (_, row) in list(self._keys.items()):
            self._keys[key_hash] = (-math.inf, row)
        self._unknown.clear()

    async def _row_of(self, key_hash: bytes, lookup: Lookup) -> Mapping[str, Any]:
        """Return the key's row, at most KEY_SECONDS old. Raises UnauthenticatedError for an unknown key."""
        now = time.monotonic()
        cached = self._keys.get(key_hash)
        if cached is not None and now <= cached[0]:
            return cached[1]
        if key_hash not in self._unknown:
            async with nullcontext() if cached is not None else lookup():
                row = await store.find(self._database, key_hash)
            until = time.monotonic() + KEY_SECONDS
            if row is not None:
                self._keys[key_hash] = (until, row)
                return row
            self._keys.pop(key_hash, None)
            self._unknown[key_hash] = True
        raise UnauthenticatedError(_NO_KEY)

    def _scope_of_key(self, row: Mapping[str, Any], headers: Mapping[str, str], some_user: str | None) -> Scope:
        if row["revoked_at"] is not None or (row["expires_at"] is not None and row["expires_at"] <= self._clock()):
            error = EndedCredentialError(_NO_KEY)
            error.key_id = row["key_id"]
            raise error
        user_id = row["user_id"] or headers.get("x-user-id", some_user)
        if user_id is None:
            raise ValidationFailedError(
                "this API key may act for any user; name one: --user, user_id=… or the header X-User-ID"
            )
        agent_id = row["agent_id"] or headers.get("x-agent-id")
        roles, bound = known_roles(row["roles"]), row["agent_id"] is not None
        limits = None if row["limits"] is None else KeyLimits.model_validate_json(row["limits"])
        scope = Scope(row["tenant_id"], user_id, agent_id, None, roles, bound, grant=grant_of(limits))
        return _agreed(replace(scope, any_user=row["user_id"] is None, key_id=row["key_id"]), headers)


def _limited(scope: Scope) -> Scope:
    """Return the scope of a caller who names no space: a key for one space works there."""
    match () if scope.grant is None else scope.grant.spaces or ():
        case ():
            return scope
        case (space_id,):
            return in_space(scope, space_id)
        case spaces:
            raise ForbiddenError(f"these credentials are for the spaces {', '.join(spaces)}; name one with X-Space-ID")


def _agreed(scope: Scope, headers: Mapping[str, str]) -> Scope:
    """Return the scope, or raise if a header names another one.

    A header that differs means that the caller expects to change another place.
    """
    for header, name, own in (
        ("x-tenant-id", "tenant", scope.tenant_id),
        ("x-user-id", "user", scope.user_id),
        ("x-agent-id", "agent", scope.agent_id if scope.agent_bound else headers.get("x-agent-id")),
    ):
        if headers.get(header) not in (None, own):
            raise ForbiddenError(f"your credentials belong to another {name} than the one in the request")
    return scope


def _check_ignored(headers: Mapping[str, str]) -> bool:
    """Return whether a credential has no effect on a server that asks for none.

    Raises UnauthenticatedError for one that names another owner than the request: its data would become the default
    user's.
    """
    authorization = headers.get("authorization", "").strip()
    credentials = [authorization.rpartition(" ")[2], headers.get("x-api-key", "").strip()]
    if any(credential.startswith(PREFIX) for credential in credentials):
        raise UnauthenticatedError(
            "this server ignores API keys (KEEPS_AUTH=none) and would not use the tenant of this one; start it with"
            " --auth keys, or send no key"
        )
    is_token = any(credential.startswith("eyJ") and credential.count(".") == 2 for credential in credentials)
    if is_token and "x-user-id" not in headers:
        raise UnauthenticatedError(
            "this server ignores tokens (KEEPS_AUTH=none) and would treat you as 'default'; start it with"
            " --auth jwt, or send X-User-ID"
        )
    return any(credentials)


@lru_cache(maxsize=_REMEMBERED)
def _believed(tenant_id: str | None, user_id: str | None, agent_id: str | None) -> Scope:
    return Scope(
        tenant_id or DEFAULT_TENANT_ID, user_id or DEFAULT_USER_ID, agent_id or None, None, EVERY_ROLE, any_user=True
    )

"""From the headers of a request to its scope."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache

from keeps.access import store
from keeps.access.keys import PREFIX, hash_of
from keeps.access.roles import known_roles
from keeps.access.tokens import Tokens
from keeps.clock import Clock
from keeps.db.session import Database, Row
from keeps.scope import DEFAULT_TENANT_ID, DEFAULT_USER_ID, Scope
from keeps.settings import AuthMode
from keeps_client.errors import ForbiddenError, UnauthenticatedError, ValidationFailedError

KEY_SECONDS = 10.0
"""A revoked key is refused everywhere after so long."""
_REMEMBERED = 10_000
EVERY_ROLE = frozenset({"reader", "writer", "admin", "operator"})


class Authenticator:
    """Believes headers (`none`), tokens, keys, or both, as it was configured."""

    def __init__(self, mode: AuthMode, database: Database, clock: Clock, tokens: Tokens | None) -> None:
        self.mode = mode
        self._database = database
        self._clock = clock
        self._tokens = tokens
        self._keys: dict[bytes, tuple[float, Row | None]] = {}

    async def scope_of(self, headers: Mapping[str, str], *, some_user: str | None = None) -> Scope:
        """`some_user`: for whom credentials act that may act for any user, where no header says so; without it they
        must say. Raises UnauthenticatedError, ForbiddenError; ValidationFailedError for a header that is no id."""
        if self.mode == "none":
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
            return await self._scope_of_key(secret, headers, some_user)
        if self._tokens is None:
            raise UnauthenticatedError("only API keys are accepted here (KEEPS_AUTH)")
        return _agreed(await self._tokens.scope_of(secret), headers)

    def forget_keys(self) -> None:
        """After a key was revoked here: ask again at once."""
        self._keys.clear()

    async def _scope_of_key(self, secret: str, headers: Mapping[str, str], some_user: str | None) -> Scope:
        key_hash = hash_of(secret)
        known = self._keys.get(key_hash)
        if known is None or time.monotonic() > known[0]:
            if len(self._keys) >= _REMEMBERED:
                self._keys.clear()
            known = (time.monotonic() + KEY_SECONDS, await store.find(self._database, key_hash))
            self._keys[key_hash] = known
        row = known[1]
        now = self._clock()
        if row is None or row["revoked_at"] is not None or (row["expires_at"] is not None and row["expires_at"] <= now):
            raise UnauthenticatedError("the API key is unknown, expired or revoked")
        user_id = row["user_id"] or headers.get("x-user-id", some_user)
        if user_id is None:
            raise ValidationFailedError(
                "this API key may act for any user; say for which: --user, user_id=… or the header X-User-ID"
            )
        agent_id = row["agent_id"] or headers.get("x-agent-id")
        roles, bound = known_roles(row["roles"]), row["agent_id"] is not None
        return _agreed(
            Scope(row["tenant_id"], user_id, agent_id, None, roles, bound, any_user=row["user_id"] is None), headers
        )


def _agreed(scope: Scope, headers: Mapping[str, str]) -> Scope:
    """The scope, unless a header names somebody else: who says so means another place than the one that would
    change."""
    for header, name, own in (
        ("x-tenant-id", "tenant", scope.tenant_id),
        ("x-user-id", "user", scope.user_id),
        ("x-agent-id", "agent", scope.agent_id if scope.agent_bound else headers.get("x-agent-id")),
    ):
        if headers.get(header) not in (None, own):
            raise ForbiddenError(f"your credentials are for another {name} than the one that you name")
    return scope


@lru_cache(maxsize=_REMEMBERED)
def _believed(tenant_id: str | None, user_id: str | None, agent_id: str | None) -> Scope:
    return Scope(
        tenant_id or DEFAULT_TENANT_ID, user_id or DEFAULT_USER_ID, agent_id or None, None, EVERY_ROLE, any_user=True
    )

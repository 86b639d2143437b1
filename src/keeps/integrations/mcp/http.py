"""/mcp in `keeps serve`: stateless streamable HTTP for callers that the edge has authenticated."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request

from keeps.base.door import through
from keeps.base.settings import Settings
from keeps.doors.server.admission import admit
from keeps.doors.server.authorized_memory import AuthorizedMemory
from keeps.doors.server.bodies import buffered_body, replay_body
from keeps.doors.server.idempotency import repeatable_request
from keeps.doors.server.mounts import Mount
from keeps.doors.server.problems import encode, problem_of
from keeps.engine import Keeps
from keeps.integrations.mcp.memory import memory_server
from keeps.store.access.rates import Rates
from keeps.store.db.repeats import repeatable
from keeps.store.events.feed import MAX_OF_A_TENANT, MAX_OF_A_USER, MAX_SUBSCRIPTIONS
from keeps_client.errors import RateLimitedError, ValidationFailedError

PATH = "/mcp"
METADATA = "/.well-known/oauth-protected-resource/mcp"
_caller: ContextVar[AuthorizedMemory] = ContextVar("keeps_mcp_caller")


def _who() -> str:
    scope = _caller.get().scope
    return json.dumps([scope.tenant_id, scope.user_id, scope.acting, scope.agent_id])


class McpMount(Mount):
    """Serves the tools of a memory. The edge has checked credentials, Host, Origin and the size of the body.

    There is no state between requests, so any server of an installation can answer any of them.
    """

    paths = (PATH,)
    challenge = METADATA
    in_spaces = True
    some_user = None

    def __init__(self, secret_keys: Sequence[str] = ()) -> None:
        super().__init__()
        # A key for this purpose alone, from each of the service's secret keys.
        self._keys = [hmac.digest(each.encode(), b"keeps mcp request state", "sha256") for each in secret_keys]
        self._manager: StreamableHTTPSessionManager | None = None
        self._watching: dict[asyncio.Task[Any], tuple[str, str]] = {}
        """Tenant and user of each open stream."""

    def public(self, settings: Settings, origin: str) -> Mapping[str, object]:
        """Return the document that names the issuers of accepted tokens (RFC 9728)."""
        issuer = settings.jwt_issuer
        servers = [issuer] if issuer and urlsplit(issuer).scheme in ("http", "https") else []
        document = {
            "resource": f"{origin}{PATH}",
            "authorization_servers": servers,
            "bearer_methods_supported": ["header"],
            "resource_name": "Keeps",
        }
        return {METADATA: document}

    @asynccontextmanager
    async def running(self, keeps: Keeps, rates: Rates | None) -> AsyncGenerator[None]:
        self._keeps, self._rates = keeps, rates
        server = memory_server(_caller.get, keys=self._keys, who=_who)
        # The edge has checked Host and Origin against the settings.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(streamable_http_path=PATH, stateless_http=True, transport_security=security)
        self._manager = server.session_manager
        async with self._manager.run():
            yield

    def end(self) -> None:
        for task in list(self._watching):
            task.cancel()

    def _check_room(self, tenant_id: str, user_id: str) -> None:
        """Raise RateLimitedError if a user, a tenant or this server has too many open streams."""
        users = list(self._watching.values())
        for whose, count, most in (
            ("this server", len(users), MAX_SUBSCRIPTIONS),
            ("your tenant", sum(tenant == tenant_id for tenant, _ in users), MAX_OF_A_TENANT),
            ("you", users.count((tenant_id, user_id)), MAX_OF_A_USER),
        ):
            if count >= most:
                raise RateLimitedError(f"{most:,} streams are already open ({whose})", retry_after_seconds=5)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] != "POST":
            # Without state between requests, a stream opened by GET would never send anything.
            detail = f"/mcp accepts POST, not {scope['method']}; listen for changes with subscriptions/listen"
            problem = problem_of(ValidationFailedError(detail), scope["keeps.request_id"])
            status, headers, body = encode({**problem, "status": 405})
            await send({"type": "http.response.start", "status": status, "headers": [*headers, (b"allow", b"POST")]})
            await send({"type": "http.response.body", "body": body})
            return
        assert self._keeps is not None
        assert self._manager is not None
        # Spaces around a header's value are not part of it, but the SDK compares them.
        scope["headers"] = [
            (name, value.strip(b" \t") if name.startswith(b"mcp-") else value) for name, value in scope["headers"]
        ]
        caller = scope["keeps.scope"]
        scope["keeps.allowance"] = await admit(self._rates, caller, "reader", reads=True)
        memory = AuthorizedMemory(self._keeps, caller, self._rates, scope["app"].state.concurrency)
        token = _caller.set(memory)
        task = asyncio.current_task()
        try:
            # The SDK refuses a request whose header and body name different methods.
            if (b"mcp-method", b"subscriptions/listen") in scope["headers"] and task is not None:
                self._check_room(caller.tenant_id, caller.acting)
                self._watching[task] = caller.tenant_id, caller.acting
            request = Request(scope, receive)
            async with buffered_body(request) as given:
                with through("mcp"), repeatable(repeatable_request(request, given, writes_once=False)):
                    await self._manager.handle_request(scope, replay_body(given, receive), send)
        finally:
            if task is not None:
                self._watching.pop(task, None)
            _caller.reset(token)

"""Hooks of coding agents in the background process. Only its own user reaches its socket."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from keeps.base.defaults import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.doors.cli.hook_client import MOST_BYTES, PATH, STORED, TOLD
from keeps.sources.coding.payloads import turns_of
from keeps.sources.coding.sessions import CodingSessions
from keeps_client.errors import KeepsError


class HookServer:
    """An app that answers hooks, and passes other requests on."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self._sessions = CodingSessions()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PATH):
            await self._app(scope, receive, send)
            return
        try:
            response = await self._respond(Request(scope, receive))
        except (KeepsError, ValueError, RecursionError, ClientDisconnect, OSError) as error:
            log().warning("a hook failed", error=getattr(error, "code", type(error).__name__))
            response = Response(status_code=500)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > MOST_BYTES:
                return Response(status_code=413)
        payload = json.loads(data)
        event, headers = request.url.path.removeprefix(PATH), request.headers
        context = await self._handle(event, _scope_of(headers), payload if isinstance(payload, dict) else {})
        return JSONResponse({"context": context})

    async def _handle(self, event: str, scope: Scope, payload: dict[str, Any]) -> str | None:
        memory = self._app.state.keeps.memory(scope)
        session_id, folder, transcript, prompt = (
            str(payload.get(name) or "") for name in ("session_id", "cwd", "transcript_path", "prompt")
        )
        if event == "UserPromptSubmit":
            return await self._sessions.prompt_context(memory, prompt, session_id, folder)
        if event == "SessionStart":
            return await self._sessions.start_context(memory, session_id, folder)
        if event in STORED and transcript:
            await self._sessions.store(memory, transcript, session_id, folder)
        if event in TOLD:
            await self._sessions.store_turns(memory, turns_of(event, payload, datetime.now(UTC)))
        return None


def _scope_of(headers: Headers) -> Scope:
    tenant, user = headers.get("X-Tenant-ID", DEFAULT_TENANT_ID), headers.get("X-User-ID", DEFAULT_USER_ID)
    return Scope(tenant, user, headers.get("X-Agent-ID"))

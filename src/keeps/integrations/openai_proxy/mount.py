"""/openai/v1 in `keeps serve`: requests get the context of their user, and exchanges are stored."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from keeps.base.scope import Scope, as_user, check_id
from keeps.base.settings import Settings
from keeps.base.telemetry.logs import log
from keeps.base.telemetry.metrics import ProxyMetrics
from keeps.doors.server.admission import admit
from keeps.doors.server.bodies import buffered_body, check_json
from keeps.doors.server.mounts import Mount
from keeps.engine import Keeps
from keeps.integrations.openai_proxy.answers import Answer
from keeps.integrations.openai_proxy.passing import Passing
from keeps.integrations.openai_proxy.prompts import Api, Prompt, read_prompt
from keeps.integrations.openai_proxy.storing import Exchange, Storing
from keeps.integrations.openai_proxy.upstream import Upstream
from keeps.store.access.rates import Rates
from keeps.store.access.roles import require
from keeps_client.errors import ForbiddenError, KeepsError, NotFoundError, RateLimitedError, ValidationFailedError
from keeps_client.models import RoleName

PATH = "/openai/v1/"
MEMORY_SECONDS = 2.0
"""Time limit for the context of a request, after which the request passes without one."""
LONG_BODY_BYTES = 256 << 10
"""Longer bodies are read in a thread."""
_MODEL = re.compile(r"models(/[A-Za-z0-9._:@-]{1,200}){0,4}")
_FORWARDED = ("accept", "content-type", "openai-beta")
"""Headers of a request that reach the provider.

Not among them: Idempotency-Key, since all callers share the provider's account, so one could read another's answer.
"""
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@dataclass(slots=True)
class Turn:
    """A request with a prompt, its user and its conversation."""

    scope: Scope
    prompt: Prompt
    session_id: str
    answer: Answer

    @property
    def exchange(self) -> Exchange:
        prompt = self.prompt
        # A request in a conversation of the provider has only what is new, so an equal message was said again.
        so_far = None if prompt.conversation is not None else prompt.so_far or None
        return Exchange(
            self.scope,
            self.session_id,
            so_far,
            user_text=prompt.user_text,
            assistant_text=self.answer.text,
            is_complete=self.answer.is_complete,
        )


class OpenAIMount(Mount):
    """Serves `OpenAI(base_url="…/openai/v1", api_key="keeps_…")` by the provider of the operator."""

    paths = (PATH,)

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        assert settings.openai_upstream is not None
        self._settings = settings
        self._upstream = Upstream(settings.openai_upstream, settings.openai_api_key)
        self._storing: Storing | None = None
        self._passing: set[Passing] = set()

    @asynccontextmanager
    async def running(self, keeps: Keeps, rates: Rates | None) -> AsyncGenerator[None]:
        async with super().running(keeps, rates), self._upstream.running():
            yield
            if self._storing is not None:
                await self._storing.close()

    def end(self) -> None:
        for passing in list(self._passing):
            passing.end()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive, send)
        passing = Passing(send)
        self._passing.add(passing)
        try:
            await self._answer(request, receive, passing)
            if passing.is_broken:
                raise ClientDisconnect  # Closes the connection, so that the client sees an incomplete answer.
        except KeepsError as error:
            await _refusal(request, error)(scope, receive, send)
        finally:
            self._passing.discard(passing)

    async def _answer(self, request: Request, receive: Any, passing: Passing) -> None:
        metrics: ProxyMetrics = request.app.state.metrics.proxy
        path = request.scope["path"].removeprefix(PATH).strip("/")
        api, role = _route(request.method, path)
        caller: Scope = request.scope["keeps.scope"]
        require(caller, role)
        if not caller.any_user:
            await self._admit(request, caller, role)
        async with AsyncExitStack() as until_answer:
            body = await until_answer.enter_async_context(buffered_body(request))
            if request.method == "POST":
                check_json(request)
            prompt = None if api is None else await _read(api, body)
            caller = _user(request, caller, prompt, role)
            if caller.any_user:
                await self._admit(request, caller, role)
            turn = None if prompt is None else await self._turn(request, caller, prompt)
            if turn is not None:
                body = await self._with_context(request, turn, metrics)
            headers = {name: request.headers[name] for name in _FORWARDED if name in request.headers}
            passing.prepare(self._upstream, request.app.state.byte_budget, caller, metrics)
            if turn is not None:
                passing.answer = turn.answer
            elif path == "conversations":
                passing.answer = Answer("responses", 0)
            if turn is None or turn.prompt.is_stored_upstream:
                passing.remember = self._remembering(request, caller, turn)
            call = self._upstream.call(caller, request.method, path, body or None, headers, metrics)
            await passing.run(call, receive, until_answer.pop_all())
        if turn is not None and passing.was_accepted:
            self._store(request).put(turn.exchange)

    async def _admit(self, request: Request, caller: Scope, role: RoleName) -> None:
        request.scope["keeps.allowance"] = await admit(self._rates, caller, role, reads=role == "reader")

    async def _turn(self, request: Request, caller: Scope, prompt: Prompt) -> Turn:
        """Return the turn of a prompt. Raises ValidationFailedError for an id of another user."""
        headers, _ = request.scope["keeps.credentials"]
        session_id = headers.get("x-session-id") or prompt.session
        if prompt.upstream_ids:
            own = await self._store(request).sessions_of(caller, prompt.upstream_ids)
            session_id = session_id or own[0]
        session_id = check_id("session_id", session_id or f"chat-{prompt.first or 'empty'}")
        return Turn(caller, prompt, session_id, Answer(prompt.api, self._settings.max_content_characters))

    async def _with_context(self, request: Request, turn: Turn, metrics: ProxyMetrics) -> bytes:
        """Return the body with the context of its user; unchanged if there is none, or if memory fails."""
        body, outcome = turn.prompt.text.encode("utf-8"), "skipped"
        try:
            async with asyncio.timeout(MEMORY_SECONDS):
                question = turn.prompt.question
                if not question and turn.prompt.is_stored_upstream:  # A tool's result continues the last question.
                    question = (await self._store(request).last_user_text(turn.scope, turn.session_id))[-10_000:]
                if question:
                    stable, volatile = await self._context(request, turn, question)
                    outcome = "added" if stable or volatile else "empty"
                    body = turn.prompt.with_context(stable, volatile)
        except TimeoutError:
            outcome = "slow"
        except KeepsError as error:
            outcome = "failed"
            log().warning("a request to the proxy passed without its context", error=error.code)
        except Exception as error:  # noqa: BLE001  memory never stops a request
            outcome = "failed"
            log().error("a request to the proxy passed without its context", error=type(error).__name__)
        metrics.contexts.labels(outcome).inc()
        return body

    async def _context(self, request: Request, turn: Turn, question: str) -> tuple[str, str]:
        assert self._keeps is not None
        async with request.app.state.concurrency.slot(turn.scope):
            context = await self._keeps.memory(turn.scope).context(
                question, session_id=turn.session_id, budget_tokens=self._settings.openai_budget_tokens
            )
        return context.stable, context.volatile

    def _store(self, request: Request) -> Storing:
        if self._storing is None:
            assert self._keeps is not None
            state = request.app.state
            self._storing = Storing(
                self._keeps,
                self._settings.max_content_characters,
                metrics=state.metrics.proxy,
                limits=state.concurrency,
                budget=state.byte_budget,
            )
        return self._storing

    def _remembering(
        self, request: Request, caller: Scope, turn: Turn | None
    ) -> Callable[[list[str]], Awaitable[None]]:
        """Return the function that records ids of the provider for their user."""

        async def remember(ids: list[str]) -> None:
            try:
                async with asyncio.timeout(MEMORY_SECONDS):
                    await self._store(request).remember_ids(caller, ids, ids[0] if turn is None else turn.session_id)
            except (KeepsError, TimeoutError) as error:
                log().warning("an id of the model provider was not recorded", error=getattr(error, "code", "timeout"))

        return remember


def _route(method: str, path: str) -> tuple[Api | None, RoleName]:
    """Return the kind of prompt at a path, and the role that it needs. Raises NotFoundError."""
    match method, path:
        case "POST", "chat/completions" | "responses":
            return path, "writer"
        case "POST", "conversations":
            return None, "writer"
        case "GET", _ if _MODEL.fullmatch(path):
            return None, "reader"
        case _:
            raise NotFoundError(
                "the proxy passes on POST /chat/completions, POST /responses, POST /conversations, GET /models and"
                " GET /models/…; send other requests to the model provider itself"
            )


async def _read(api: Api, body: bytes) -> Prompt | None:
    return await asyncio.to_thread(read_prompt, api, body) if len(body) > LONG_BODY_BYTES else read_prompt(api, body)


def _user(request: Request, caller: Scope, prompt: Prompt | None, role: RoleName) -> Scope:
    """Return the scope of the user of a request: of the credentials, of X-User-ID, or as the body names one.

    Raises:
        ForbiddenError: The body names another user than that of the credentials.
        ValidationFailedError: The credentials are for any user, and nobody is named.
    """
    if "x-user-id" in request.headers:
        return caller
    user_id = prompt.users[0] if prompt is not None and prompt.users else None
    if not caller.any_user:
        if user_id not in (None, caller.user_id):
            raise ForbiddenError("your credentials belong to another user than the one in the request")
        return caller
    if user_id is None:
        if role == "reader" or request.app.state.authenticator.mode == "none":
            return caller
        raise ValidationFailedError(
            "this API key may act for any user; name one: the header X-User-ID, or `user` or `safety_identifier` in the"
            " body"
        )
    named = as_user(caller, check_id("user_id", user_id))
    headers, some_user = request.scope["keeps.credentials"]
    request.scope["keeps.credentials"] = {**headers, "x-user-id": user_id}, some_user
    request.scope["keeps.scope"] = named
    return named


def _refusal(request: Request, error: KeepsError) -> JSONResponse:
    """Return an error in OpenAI's format."""
    request.scope["keeps.code"] = error.code
    status = 400 if isinstance(error, ValidationFailedError) else error.status
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    response = JSONResponse(
        {"error": {"message": error.detail, "type": kind, "param": None, "code": error.code}}, status
    )
    if isinstance(error, RateLimitedError):
        response.headers["retry-after"] = str(max(1, math.ceil(error.retry_after_seconds)))
    elif status == 503:
        response.headers["retry-after"] = "1"
    return response

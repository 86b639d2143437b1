"""A model provider with OpenAI's API for tests of the proxy: it records requests, and answers as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEY = "sk-the-key-of-the-operator"
USAGE = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}


@dataclass
class Received:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass
class Provider:
    """Answers every call with `text`, unless a test sets something else.

    `gate`: while it is cleared, a stream waits after its first piece. `cut`: a stream ends early, without its end.
    """

    url: str = ""
    text: str = "Noted."
    status: int = 200
    error: bytes = b'{"error":{"message":"no","type":"x","param":null,"code":"c"}}'
    headers: dict[str, str] = field(default_factory=dict[str, str])
    message: dict[str, Any] = field(default_factory=dict[str, Any])
    received: list[Received] = field(default_factory=list[Received])
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    cut: bool = False
    left: int = 0
    sent: bytes = b""
    count: int = 0

    @property
    def last(self) -> Received:
        return self.received[-1]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.received.append(Received(request.path, dict(request.headers), raw))
        self.count += 1
        if self.status != 200:
            kind = {"Content-Type": "application/json"}
            return web.Response(body=self.error, status=self.status, headers=kind | self.headers)
        if request.path == "/v1/models":
            return web.json_response({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "x"}]})
        if request.path == "/v1/conversations":
            return web.json_response({"id": f"conv_{self.count}", "object": "conversation", "created_at": 0})
        body = json.loads(raw)
        if body.get("stream"):
            pieces = self._chat_events() if request.path.endswith("completions") else self._response_events()
            return await self._stream(request, pieces)
        whole = self._chat() if request.path.endswith("completions") else self._response()
        return web.json_response(whole, headers=self.headers)

    async def _stream(self, request: web.Request, pieces: list[bytes]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        try:
            await response.write(pieces[0])
            await self.gate.wait()
            if self.cut:
                assert request.transport is not None
                request.transport.abort()
                return response
            for piece in pieces[1:]:
                await response.write(piece)
            self.sent = b"".join(pieces)
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            self.left += 1
            raise
        return response

    def _chat(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.text} | self.message
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        base = {"id": "x", "object": "chat.completion", "created": 0, "model": "m"}
        return {**base, "choices": [choice], "usage": USAGE}

    def _chat_events(self) -> list[bytes]:
        half = len(self.text) // 2
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        events = [
            json.dumps({**chunk, "choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]})
            for part in (self.text[:half], self.text[half:])
        ]
        return [f"data: {event}\n\n".encode() for event in (*events, "[DONE]")]

    def _response(self) -> dict[str, Any]:
        content = [{"type": "output_text", "text": self.text, "annotations": []}]
        message = {
            "type": "message",
            "id": f"msg_{self.count}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
        base = {"id": f"resp_{self.count}", "object": "response", "created_at": 0, "status": "completed", "model": "m"}
        return {**base, "output": [message], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}

    def _response_events(self) -> list[bytes]:
        where = {"output_index": 0, "content_index": 0, "item_id": f"msg_{self.count}", "logprobs": []}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**self._response(), "output": [], "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": self._response()["output"][0]},
            {"type": "response.output_text.delta", "delta": self.text, **where},
            {"type": "response.completed", "response": self._response()},
        ]
        return [
            f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n".encode()
            for number, event in enumerate(events)
        ]


@asynccontextmanager
async def providing() -> AsyncGenerator[Provider]:
    """A provider on a free port of loopback."""
    provider = Provider()
    provider.gate.set()
    app = web.Application(client_max_size=16 << 20)
    app.router.add_route("*", "/v1/{path:.*}", provider.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield provider
    finally:
        provider.gate.set()
        await runner.cleanup()

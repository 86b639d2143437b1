"""An LLM behind OpenAI's API that answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web


class Script:
    """Answers as it is told, one after another; the last one again and again.

    A number is a status, text and objects are answers. `refused`: options that no request may have.
    """

    def __init__(self, url: str = "") -> None:
        self.url = url
        self.reset()

    def reset(self) -> None:
        self.answers: list[Any] = [{}]
        self.asked: list[str] = []
        self.formats: list[str] = []
        self.refused: list[str] = []
        self.pause_seconds = 0.0

    async def complete(self, request: web.Request) -> web.Response:
        answers = self.answers  # of the test that asked: its client may go away in the pause, and the next test begin
        body = await request.json()
        for option in self.refused:
            if option in body:
                error = {"message": f"Unsupported: {option}", "param": option, "code": "unsupported_parameter"}
                return web.json_response({"error": error}, status=400)
        self.asked.append(body["messages"][1]["content"])
        self.formats.append(body["response_format"]["type"])
        await asyncio.sleep(self.pause_seconds)  # as slow as a test wants it
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, int):
            return web.json_response({"error": {"message": "no"}}, status=answer)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        return web.json_response(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": "m",
                "choices": [choice],
                "usage": {"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100},
            }
        )


@pytest.fixture
def script(scripted: Script) -> Script:
    """The LLM of the run, with nothing asked yet."""
    scripted.reset()
    return scripted


@pytest.fixture(scope="session")
async def scripted() -> AsyncIterator[Script]:
    """An LLM for engines that serve several tests."""
    found = Script()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", found.complete)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield found
    await runner.cleanup()

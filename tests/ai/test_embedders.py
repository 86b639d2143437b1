"""The local model and the remote one, each for real: onnxruntime, and an HTTP server on loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import openai  # noqa: F401  loading it takes half a second, which no step of a test is to take
import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from keeps.ai import artifacts
from keeps.ai.local import MiniLM
from keeps.ai.openai import OpenAIEmbedder
from keeps.ai.token_vectors import TOKEN_BYTES
from keeps.db.session import Database
from keeps.scope import Scope
from keeps_client.errors import NotConfiguredError, UnavailableError
from tests.watchdog import unwatched


async def test_near_meanings_have_near_vectors(embedder: MiniLM) -> None:
    car, auto, tea = (
        each.sentence for each in await embedder.embed(["The car is fast.", "A quick automobile.", "I drink tea."])
    )
    assert car @ auto > car @ tea + 0.3
    assert np.isclose(np.linalg.norm(car), 1, atol=1e-5)


async def test_tokens_leave_punctuation_out_and_name_their_words(embedder: MiniLM) -> None:
    query = await embedder.embed_query("Who's Przybylski, really?")
    assert [word.lower() for word in dict.fromkeys(query.words)] == ["who", "s", "przybylski", "really"]
    assert query.tokens is not None
    assert len(query.words) == len(query.tokens) > 5
    (stored,) = await embedder.embed(["Hello, world!"])
    assert stored.tokens is not None
    assert len(stored.tokens) == 2 * TOKEN_BYTES


@pytest.mark.parametrize("text", ["", " ", "😀", "\u202e", "x" * 50_000, "a\n" * 10_000, "我喜欢茶" * 500, "...!?"])
async def test_any_text_can_be_embedded(embedder: MiniLM, text: str) -> None:
    (found,) = await embedder.embed([text])
    assert np.isfinite(found.sentence).all()
    assert found.tokens is not None
    assert len(found.tokens) <= 6 * 254 * TOKEN_BYTES
    assert len((await embedder.spans([text]))[0]) == len(found.tokens) // TOKEN_BYTES


async def test_concurrent_calls_get_each_their_own_answer(embedder: MiniLM) -> None:
    texts = [f"Sentence number {n} is about {'cats' if n % 2 else 'stocks'}." for n in range(40)]
    alone = [(await embedder.embed([text]))[0].sentence for text in texts]
    together = await asyncio.gather(*(embedder.embed([text]) for text in texts))
    for one, (other,) in zip(alone, together, strict=True):
        assert one @ other.sentence > 0.99


async def test_a_model_is_never_called_inside_a_transaction(embedder: MiniLM, database: Database, tenant: str) -> None:
    async with database.scoped(Scope(tenant, "alice")):
        with pytest.raises(AssertionError, match="inside a transaction"):
            await embedder.embed(["x"])


def test_the_model_writes_nothing_into_the_home_and_tells_nobody(tmp_path: Path) -> None:
    """onnxruntime 1.31 would: an id of the machine, and events for Microsoft."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_ACTIONS", "TF_BUILD")}
    loaded = "import asyncio; from keeps.ai.local import MiniLM; asyncio.run(MiniLM().embed(['x']))"
    subprocess.run([sys.executable, "-c", loaded], env=kept | {"HOME": str(tmp_path)}, check=True)
    assert [*tmp_path.rglob("*")] == []


def test_a_model_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.onnx").write_bytes(b"something else")
    assert artifacts.find_model(tmp_path).name == "model.onnx"
    monkeypatch.setattr(artifacts, "MODEL_PACKAGE", "no-such-package")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setattr(artifacts, "_downloaded", lambda: tmp_path / "nothing")
    with pytest.raises(NotConfiguredError, match="is another file") as caught:
        artifacts.find_model(tmp_path)
    assert "KEEPS_EMBEDDER=none" in caught.value.detail


class Remote:
    """An embeddings server that misbehaves as told."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.failures: list[int] = []
        self.app = FastAPI()
        self.app.post("/v1/embeddings")(self.embeddings)

    async def embeddings(self, request: Request) -> JSONResponse:
        body = await request.json()
        if self.failures:
            return JSONResponse(
                {"error": {"message": "the secret text is here"}}, self.failures.pop(0), headers={"retry-after-ms": "5"}
            )
        if request.headers["authorization"] != "Bearer right":
            return JSONResponse({"error": {"message": "bad key"}}, 401)
        self.requests.append(body)
        data = [
            {"object": "embedding", "index": n, "embedding": [float(len(text)), 1.0, 0.0]}
            for n, text in enumerate(body["input"])
        ]
        return JSONResponse(
            {
                "object": "list",
                "model": body["model"],
                "data": list(reversed(data)),
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
            }
        )


@pytest.fixture
async def remote() -> AsyncIterator[tuple[Remote, str]]:
    served = Remote()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(served.app, log_level="error"))
    task = asyncio.create_task(server.serve([listener]))
    yield served, f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    server.should_exit = True
    await task


async def test_the_remote_model_is_asked_in_batches_and_answers_in_order(remote: tuple[Remote, str]) -> None:
    served, url = remote
    with unwatched():  # certificates are read once, when Keeps is opened
        embedder = OpenAIEmbedder("small", base_url=url, api_key="right", dimensions=3)
    texts = ["x" * length for length in range(1, 301)]
    found = await embedder.embed(texts)
    assert [round(float(each.sentence[0] / each.sentence[1])) for each in found] == list(range(1, 301))
    assert sorted(len(each["input"]) for each in served.requests) == [44, 128, 128]
    assert {(each["model"], each["dimensions"]) for each in served.requests} == {("small", 3)}
    assert (embedder.model, embedder.dimensions) == ("openai/small/3", 3)
    await embedder.close()


async def test_passing_failures_are_retried_and_lasting_ones_reported_without_contents(
    remote: tuple[Remote, str],
) -> None:
    served, url = remote
    embedder = OpenAIEmbedder("small", base_url=url, api_key="right")
    served.failures = [429, 503]
    assert (await embedder.embed_query("hello")).tokens is None
    served.failures = [500] * 20
    with pytest.raises(UnavailableError, match="answered 500") as caught:
        await embedder.embed(["hello"])
    assert "secret" not in caught.value.detail
    served.failures = []
    await embedder.close()
    wrong = OpenAIEmbedder("small", base_url=url, api_key="wrong")
    with pytest.raises(NotConfiguredError, match="refused the API key"):
        await wrong.embed(["hello"])
    await wrong.close()
    nobody = OpenAIEmbedder("small", base_url="http://127.0.0.1:9/v1", api_key="right")
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await nobody.embed(["hello"])
    await nobody.close()

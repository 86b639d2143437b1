"""The local model and the remote one, each for real: onnxruntime, and an HTTP server on loopback."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import openai  # noqa: F401  loading it takes half a second, which no step of a test is to take
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from keeps.base.cache.breaker import Breaker
from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.indexing.service import Indexer
from keeps.models import artifacts
from keeps.models.local import MiniLM
from keeps.models.openai import OpenAIEmbedder
from keeps.models.token_vectors import TOKEN_BYTES
from keeps.store.db.session import Database
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


TEXTS = [
    "She moved to Lisbon.",
    "hello",
    "",
    "word " * 400,
    "Umsatz: 12 % in Q3",
    "日本語のテキスト",
    "😀😀😀",
    "a" * 3_000,
]


@pytest.mark.parametrize("processor", ["flags : avx2 avx512_vnni", "flags : avx2"])
async def test_a_text_has_the_same_vectors_whatever_it_is_read_with(
    processor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(artifacts, "_processor", lambda: processor)
    chosen = MiniLM()
    together = await chosen.embed(TEXTS)
    for text, one in zip(TEXTS, together, strict=True):
        (alone,) = await chosen.embed([text])
        if "vnni" in processor:
            assert (alone.sentence == one.sentence).all()
            assert alone.tokens == one.tokens
        assert alone.sentence @ one.sentence > 0.9999
    await chosen.close()


async def test_whole_numbers_give_nearly_the_vectors_of_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(artifacts, "_processor", lambda: "flags : avx2")
    weights = artifacts.find_model()
    assert artifacts.int8_graph(weights) is None, "without VNNI sums of products would be cut off"
    by_weights = MiniLM()
    original = await by_weights.embed(TEXTS)
    await by_weights.close()
    monkeypatch.setattr(artifacts, "_processor", lambda: "flags : avx512_vnni")
    assert artifacts.int8_graph(weights) is not None
    in_whole_numbers = MiniLM()
    for one, other in zip(original, await in_whole_numbers.embed(TEXTS), strict=True):
        assert one.sentence @ other.sentence > 0.97
    await in_whole_numbers.close()


@pytest.mark.parametrize("name", ["model.onnx", "8199be6f"])
async def test_weights_behind_a_link_are_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As package managers and the hub's cache keep them: under their own name, or under a hash."""
    monkeypatch.setattr(artifacts, "_processor", lambda: "flags : avx512_vnni")
    kept, linked = tmp_path / "kept", tmp_path / "linked"
    kept.mkdir()
    linked.mkdir()
    shutil.copy(artifacts.find_model(), kept / name)
    (linked / "model.onnx").symlink_to(kept / name)
    assert (artifacts.int8_graph(linked / "model.onnx") is not None) == (name == "model.onnx")
    chosen = MiniLM(linked)
    (found,) = await chosen.embed(["She moved to Lisbon."])
    assert found.tokens is not None
    await chosen.close()


def test_other_weights_are_not_read_by_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "_processor", lambda: "flags : avx512_vnni")
    (tmp_path / "model.onnx").write_bytes(b"the original's float weights, say")
    assert artifacts.int8_graph(tmp_path / "model.onnx") is None


async def test_a_model_is_never_called_inside_a_transaction(embedder: MiniLM, database: Database, tenant: str) -> None:
    async with database.scoped(Scope(tenant, "alice")):
        with pytest.raises(AssertionError, match="inside a transaction"):
            await embedder.embed(["x"])


def test_the_model_writes_nothing_into_the_home_and_tells_nobody(tmp_path: Path) -> None:
    """onnxruntime 1.31 would: an id of the machine, and events for Microsoft."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_ACTIONS", "TF_BUILD")}
    loaded = "import asyncio; from keeps.models.local import MiniLM; asyncio.run(MiniLM().embed(['x']))"
    subprocess.run([sys.executable, "-c", loaded], env=kept | {"HOME": str(tmp_path)}, check=True)
    assert [*tmp_path.rglob("*")] == []


def test_a_model_file_that_is_not_the_pinned_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.onnx").write_bytes(b"something else")
    assert artifacts.find_model(tmp_path).name == "model.onnx"
    monkeypatch.setattr(artifacts, "MODEL_PACKAGE", "no-such-package")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setattr(artifacts, "_downloaded", lambda: tmp_path / "nothing")
    with pytest.raises(NotConfiguredError, match="is a different file") as caught:
        artifacts.find_model(tmp_path)
    assert "KEEPS_EMBEDDER=none" in caught.value.detail


class Remote:
    """An embeddings server that misbehaves as told."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.failures: list[int] = []
        self.lie: Callable[[list[dict[str, Any]]], Any] | None = None
        self.awake = asyncio.Event()
        self.awake.set()
        self.app = Starlette(routes=[Route("/v1/embeddings", self.embeddings, methods=["POST"])])

    async def embeddings(self, request: Request) -> Response:
        body = await request.json()
        if self.failures:
            return JSONResponse(
                {"error": {"message": "the secret text is here"}}, self.failures.pop(0), headers={"retry-after-ms": "5"}
            )
        if request.headers["authorization"] != "Bearer right":
            return JSONResponse({"error": {"message": "bad key"}}, 401)
        self.requests.append(body)
        await self.awake.wait()
        data = [
            {"object": "embedding", "index": n, "embedding": [float(len(text)), 1.0, 0.0]}
            for n, text in enumerate(body["input"])
        ]
        if self.lie is not None:
            return self.lie(data)
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
    with pytest.raises(UnavailableError, match="returned 500") as caught:
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


def _all_as(vector: Any) -> Callable[[list[dict[str, Any]]], Response]:
    return lambda data: JSONResponse(
        {"object": "list", "model": "m", "data": [{**each, "embedding": vector} for each in data]}
    )


LIES: dict[str, Callable[[list[dict[str, Any]]], Response]] = {
    "no JSON": lambda _: Response("<html>welcome</html>", media_type="text/html"),
    "broken JSON": lambda _: Response('{"data": [', media_type="application/json"),
    "another shape": lambda _: JSONResponse({"vectors": []}),
    "no list": lambda _: JSONResponse({"data": 7}),
    "too few": lambda data: JSONResponse({"data": data[:1]}),
    "one twice": lambda data: JSONResponse({"data": [data[0], data[0]]}),
    "words": _all_as(["a", "b", "c"]),
    "nothing": _all_as(None),
    "not numbers": _all_as([]),
    "zero": _all_as([0.0, 0.0, 0.0]),
    "not finite": lambda _: Response(
        '{"data": [{"index": 0, "embedding": [NaN, 1, 1]}, {"index": 1, "embedding": [1e999, 1, 1]}]}',
        media_type="application/json",
    ),
    "longer ones": _all_as([1.0, 2.0, 3.0, 4.0]),
    "an endless number": lambda _: Response(
        '{"data": [{"index": 0, "embedding": [%s, 1, 1]}, {"index": 1, "embedding": [1, 1, 1]}]}' % ("9" * 400),
        media_type="application/json",
    ),
    "deep JSON": lambda _: Response("[" * 100_000, media_type="application/json"),
    "of two lengths": lambda data: JSONResponse({"data": [data[0], {**data[1], "embedding": [1.0]}]}),
}


@pytest.mark.parametrize("lie", LIES)
async def test_what_is_no_vector_is_refused(remote: tuple[Remote, str], lie: str) -> None:
    served, url = remote
    embedder = OpenAIEmbedder("small", base_url=url, api_key="right")
    assert embedder.dimensions == 0
    await embedder.embed(["hello", "hallo"])
    served.lie = LIES[lie]
    with pytest.raises(UnavailableError, match="the embedding server"):
        await embedder.embed(["hello", "hallo"])
    served.lie = None
    assert len(await embedder.embed(["hello", "hallo"])) == 2
    assert embedder.dimensions == 3
    await embedder.close()


async def test_a_text_that_is_refused_is_nobody_elses_concern(remote: tuple[Remote, str]) -> None:
    served, url = remote
    embedder = OpenAIEmbedder("small", base_url=url, api_key="right")
    for status in (400, 413, 422) * 3:
        served.failures = [status]
        with pytest.raises(UnavailableError, match=f"returned {status}"):
            await embedder.embed_query("🙂" * 10_000)
    assert embedder._breaker.lets_through()
    await embedder.embed_query("🙂" * 10_000)
    assert served.requests[-1]["input"] == ["🙂" * 2_000]
    await embedder.embed(["é" * 24_000, "a" * 30_000, "a" * 12_000 + "我" * 12_000, "short"])
    assert [len(each) for each in served.requests[-1]["input"]] == [4_000, 24_000, 13_333, 5]
    await embedder.close()


def test_after_the_rest_one_tries_for_all() -> None:
    breaker = Breaker(rest_seconds=0.05)
    for _ in range(3):
        assert breaker.lets_through()
        breaker.failed()
    assert not breaker.lets_through()
    while not breaker.lets_through():
        pass
    assert not breaker.lets_through(), "the second waits for what becomes of the first"
    breaker.succeeded()
    assert breaker.lets_through()
    assert breaker.lets_through()


async def test_who_hangs_is_not_waited_for_by_everybody(
    remote: tuple[Remote, str], app_url: str, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, url = remote
    embedder = OpenAIEmbedder("small", base_url=url, api_key="right")
    async with Keeps.open(database_url=app_url, embedder=embedder) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        await memory.remember("Anna keeps bees.", index="now")
        served.awake.clear()
        monkeypatch.setattr("keeps.models.openai.QUESTION_SECONDS", 0.2)
        monkeypatch.setattr("keeps.models.openai.TEXTS_SECONDS", 0.2)
        found = await memory.recall("Who keeps bees?")
        assert (found.partial, [hit.memory.content for hit in found.hits]) == (True, ["Anna keeps bees."])
        receipt = await memory.remember("Ben keeps wasps.", index="now")
        assert (receipt.status, receipt.indexed) == ("created", False)
        while not embedder._breaker.is_open():
            await memory.recall("Who keeps wasps?")
        asked = len(served.requests)
        assert (await memory.recall("Who keeps hornets?")).partial
        assert len(served.requests) == asked, "it is left alone for a while"
        served.awake.set()
        embedder._breaker.succeeded()  # the while is over
        await keeps.service(Indexer).settle(memory.scope)
        assert (await memory.insights()).index_pending == 0
        assert not (await memory.recall("Who keeps hornets?")).partial

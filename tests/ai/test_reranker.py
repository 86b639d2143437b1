"""Models that read a question together with each of the best hits."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

from keeps import Keeps, Scope
from keeps.base.fairness import acting_for
from keeps.base.settings import load_settings
from keeps.doors.cli.main import app
from keeps.memory.recall import reranking
from keeps.memory.recall.service import RecallService
from keeps.models import cross_encoder
from keeps.models.artifacts import read_tokenizer, sha256_of
from keeps.models.cross_encoder import LocalReranker, reranker_of
from keeps.store.db.session import Database
from keeps_client.errors import NotConfiguredError, UnavailableError, ValidationFailedError

TOLD = [
    "My sister is allergic to nuts.",
    "We deploy on Fridays at noon.",
    "Nuts and bolts are in the third drawer.",
]


def tiny_reranker(folder: Path, *, columns: int = 1, length: int | str = "length") -> None:
    """A graph whose score of a pair is how many word pieces its second text has."""
    nodes = [
        helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["types", "axis"], ["count"], keepdims=1),
        helper.make_node("Tile", ["count", "times"], ["logits"]),
    ]
    named = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", length])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", columns])
    constants = [
        numpy_helper.from_array(np.array([1], dtype=np.int64), "axis"),
        numpy_helper.from_array(np.array([1, columns], dtype=np.int64), "times"),
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "tiny", named, [out], constants), opset_imports=[helper.make_opsetid("", 13)]
    )
    model.ir_version = 8
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(folder / "model.onnx"))
    (folder / "tokenizer.json").write_text(read_tokenizer())
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 64}))


@pytest.fixture(scope="session")
async def reranker() -> AsyncIterator[LocalReranker]:
    found = reranker_of("local")
    yield found
    await found.close()


class _Told:
    """A reranker that notes what it was asked, and answers as it is told."""

    model = "told"

    def __init__(self, *, best: str = "", answer: Callable[[int], Any] | None = None) -> None:
        self.best, self.answer = best, answer
        self.read: list[list[str]] = []

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        assert question
        self.read.append(list(texts))
        if self.answer is not None:
            found = self.answer(len(texts))
            return await found if inspect.isawaitable(found) else found
        return [9.0 if self.best and self.best in text else -9.0 for text in texts]

    async def close(self) -> None:
        """Nothing is held."""


@pytest.mark.models
async def test_what_answers_scores_best_and_the_same_beside_others(reranker: LocalReranker) -> None:
    for question, best in (("What must she not eat?", 0), ("When does the release go out?", 1)):
        answers = await reranker.scores(question, TOLD)
        assert answers is not None
        assert answers.index(max(answers)) == best
        assert await reranker.scores(question, [TOLD[best]]) == [answers[best]]


@pytest.mark.models
@pytest.mark.parametrize("text", ["", " ", "\x00", "😀" * 900, "x" * 50_000, "\u202eabc", "word " * 10_000])
async def test_any_text_has_a_score(reranker: LocalReranker, text: str) -> None:
    answers = await reranker.scores(text, [text, "tea"])
    assert answers is not None
    assert np.isfinite(answers).all()


@pytest.mark.models
@pytest.mark.parametrize(
    "question", ["彼女は何を食べられませんか", "Was darf sie auf keinen Fall essen?", "ماذا لا تأكل؟"]
)
async def test_what_it_cannot_read_it_says_nothing_of(
    reranker: LocalReranker, app_url: str, shared: Any, tenant: str, question: str
) -> None:
    assert await reranker.scores(question, TOLD) is None
    async with Keeps.open(database_url=app_url, embedder=shared, reranker=reranker_of("local")) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        await memory.remember_many([{"content": each} for each in (*TOLD, question)], index="now")
        found = await memory.recall(question, explain=True)
        assert not found.partial
        assert not any(
            part.name == "reranker" for hit in found.hits if hit.explanation for part in hit.explanation.parts
        )


async def test_a_reranker_is_never_called_inside_a_transaction(tmp_path: Path, database: Database, tenant: str) -> None:
    tiny_reranker(tmp_path)
    reranker = reranker_of(f"onnx:{tmp_path}")
    async with database.reading(Scope(tenant, "alice")):
        with pytest.raises(AssertionError):
            await reranker.scores("tea?", ["tea"])


@pytest.mark.models
async def test_recall_asks_it_and_says_what_it_said(
    app_url: str, shared: Any, tenant: str, reranker: LocalReranker
) -> None:
    async with Keeps.open(database_url=app_url, embedder=shared, reranker=reranker_of("local")) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        await memory.remember_many([{"content": each} for each in TOLD], index="now")
        found = await memory.recall("What must she not eat?", explain=True)
        assert found.hits[0].memory.content == TOLD[0]
        assert not found.partial
        parts = [{part.name: part for part in hit.explanation.parts} for hit in found.hits if hit.explanation]
        raw = await reranker.scores("What must she not eat?", [hit.memory.content for hit in found.hits])
        assert raw is not None
        assert [each["reranker"].raw for each in parts] == pytest.approx(raw)
        for hit in found.hits:
            assert hit.explanation
            assert hit.score == pytest.approx(sum(part.points for part in hit.explanation.parts))


async def test_only_the_best_are_read_and_only_who_asks_is_(app_url: str, shared: Any, tenant: str) -> None:
    told = _Told(best="number 17")
    async with Keeps.open(database_url=app_url, embedder=shared, reranker=told) as keeps:
        memory, other = (keeps.memory(Scope(tenant, user)) for user in ("alice", "bob"))
        stranger = keeps.memory(Scope(f"{tenant}-other", "alice"))
        await memory.remember_many([{"content": f"Parcel number {n} is blue."} for n in range(30)], index="now")
        for each in (other, stranger):
            await each.remember("The secret parcel is green.", index="now")
        plain = await memory.recall("Which parcel is blue?", limit=30, rerank=False)
        assert told.read == []
        found = await memory.recall("Which parcel is blue?", limit=1)
        (read,) = told.read
        assert len(read) == reranking.RERANKED
        assert not any("secret" in each for each in read)
        if any(hit.memory.content == "Parcel number 17 is blue." for hit in plain.hits[: reranking.RERANKED]):
            assert found.hits[0].memory.content == "Parcel number 17 is blue."
        await memory.context("Which parcel is blue?")
        assert len(told.read) == 1, "a context has no time for it"
        whole = await memory.recall("Which parcel is blue?", limit=30)
        assert {hit.memory_id for hit in whole.hits} == {hit.memory_id for hit in plain.hits}


def _raising(error: BaseException) -> Callable[[int], Any]:
    def answer(_: int) -> None:
        raise error

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        _raising(UnavailableError("the reranker is away")),
        _raising(ValueError("a defect of it")),
        _raising(asyncio.CancelledError()),
        lambda _: asyncio.Event().wait(),
        lambda _: [],
        lambda _: [1.0],
        lambda count: [1.0] * (count + 1),
        lambda count: [float("nan")] * count,
        lambda count: [float("inf")] * count,
        lambda count: ["much"] * count,
        lambda count: [[1.0]] * count,
    ],
    ids=["away", "defect", "cancelled", "hangs", "none", "one", "more", "nan", "inf", "words", "lists"],
)
async def test_without_its_answer_the_order_is_that_of_recall(
    app_url: str, shared: Any, tenant: str, answer: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranking, "RERANKING_SECONDS", 0.2)
    async with Keeps.open(database_url=app_url, embedder=shared, reranker=_Told(answer=answer)) as keeps:
        keeps.service(RecallService)._reranking._answers = True  # noqa: SLF001  # type: ignore[union-attr]
        memory = keeps.memory(Scope(tenant, "alice"))
        await memory.remember_many([{"content": each} for each in TOLD], index="now")
        found = await memory.recall("What must she not eat?")
        plain = await memory.recall("What must she not eat?", rerank=False)
        assert (found.partial, found.failed_providers) == (True, ["reranker"])
        assert (plain.partial, plain.failed_providers) == (False, [])
        assert [hit.memory_id for hit in found.hits] == [hit.memory_id for hit in plain.hits]


async def test_what_is_erased_while_it_reads_is_not_answered(app_url: str, shared: Any, tenant: str) -> None:
    erased = asyncio.Event()
    reads = asyncio.Event()

    async def slowly(count: int) -> list[float]:
        reads.set()
        await erased.wait()
        return [float(n) for n in range(count)]

    async with Keeps.open(database_url=app_url, embedder=shared, reranker=_Told(answer=slowly)) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        receipts = await memory.remember_many([{"content": each} for each in TOLD], index="now")
        asked = asyncio.create_task(memory.recall("What must she not eat?"))
        await reads.wait()
        await memory.forget(receipts[0].memory_id, hard=True)
        await memory.update(receipts[1].memory_id, content="We deploy on Mondays.")
        erased.set()
        assert [hit.memory.content for hit in (await asked).hits] == [TOLD[2]]


async def test_what_cannot_be_read_in_time_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_reranker(tmp_path / "tiny")
    chosen = reranker_of(f"onnx:{tmp_path / 'tiny'}")
    monkeypatch.setattr(chosen, "_rate", 100.0)
    monkeypatch.setattr(cross_encoder, "RATE_OVER", 1e9)
    begin = asyncio.Event()
    load = chosen._lane._load  # noqa: SLF001

    async def asked(tenant: str) -> bool:
        with acting_for(tenant):
            try:
                return bool(await chosen.scores("tea?", ["tea " * 10] * 20))
            except UnavailableError:
                return False

    def slowly() -> Any:
        asyncio.run_coroutine_threadsafe(begin.wait(), loop).result()
        return load()

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(chosen._lane, "_load", slowly)  # noqa: SLF001
    first = asyncio.create_task(asked("loud"))
    while not chosen._waiting:  # noqa: SLF001
        await asyncio.sleep(0)
    assert await asked("loud") is False
    assert await asked("quiet") is False, "of one who waits with so much, a second would not be read in time either"
    begin.set()
    assert await first
    assert not chosen._waiting, "who was answered waits no more"  # noqa: SLF001
    assert await asked("quiet")
    await chosen.close()


async def test_a_model_that_cannot_be_loaded_is_not_loaded_for_every_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_reranker(tmp_path)
    monkeypatch.setattr(cross_encoder, "_installed", lambda: tmp_path)
    hashed: list[Path] = []
    monkeypatch.setattr(cross_encoder, "sha256_of", lambda path: hashed.append(path) or "another")
    chosen = reranker_of("local")
    for _ in range(3):
        with pytest.raises(NotConfiguredError, match="SHA-256"):
            await chosen.scores("tea?", ["tea"])
    assert len(hashed) == 1
    await chosen.close()


async def test_a_text_that_cannot_be_read_is_nobody_elses_concern(tmp_path: Path) -> None:
    tiny_reranker(tmp_path)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    tokenizer["added_tokens"] = [each for each in tokenizer["added_tokens"] if each["content"] != "[UNK]"]
    del tokenizer["model"]["vocab"]["[UNK]"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    chosen = reranker_of(f"onnx:{tmp_path}")

    async def asked(tenant: str, text: str) -> object:
        with acting_for(tenant):
            return await chosen.scores("tea?", [text])

    bad, good = await asyncio.gather(asked("a", "\U0001f95c"), asked("b", "tea"), return_exceptions=True)
    assert isinstance(bad, NotConfiguredError)
    assert good == await asked("b", "tea")
    await chosen.close()


async def test_a_graph_of_another_shape_is_said_to_be_one(tmp_path: Path) -> None:
    tiny_reranker(tmp_path / "fixed", length=128)
    chosen = reranker_of(f"onnx:{tmp_path / 'fixed'}")
    with pytest.raises(NotConfiguredError, match="cannot read a pair"):
        await chosen.scores("tea?", ["tea"])
    await chosen.close()
    (tmp_path / "fixed" / "config.json").write_text('{"max_position_embeddings": Infinity}')
    await reranker_of(f"onnx:{tmp_path / 'fixed'}").close()


async def test_a_folder_is_read_as_it_is(tmp_path: Path) -> None:
    tiny_reranker(tmp_path / "tiny")
    chosen = reranker_of(f"onnx:{tmp_path / 'tiny'}")
    answers = await chosen.scores("tea?", ["tea", "tea and two biscuits", "tea " * 500])
    assert answers is not None
    one, many, cut = answers
    assert one < many < cut <= 64
    both = await asyncio.gather(chosen.scores("茶", ["tea"]), chosen.scores("tea?", ["tea"]))
    assert both == [None, [one]], "nobody's question is in another's way"
    await chosen.close()


async def test_what_is_no_cross_encoder_is_said_to_be_none(tmp_path: Path) -> None:
    tiny_reranker(tmp_path / "two", columns=2)
    chosen = reranker_of(f"onnx:{tmp_path / 'two'}")
    with pytest.raises(NotConfiguredError, match="not a cross-encoder"):
        await chosen.scores("tea?", ["tea"])
    await chosen.close()
    (tmp_path / "two" / "model.onnx").write_bytes(b"nothing")
    damaged = reranker_of(f"onnx:{tmp_path / 'two'}")
    with pytest.raises(NotConfiguredError, match="cannot be read"):
        await damaged.scores("tea?", ["tea"])
    await damaged.close()
    with pytest.raises(NotConfiguredError, match="KEEPS_RERANKER names"):
        reranker_of("onnx:/nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotConfiguredError, match="no model"):
        reranker_of(f"onnx:{tmp_path / 'empty'}")


def test_without_its_package_it_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise PackageNotFoundError

    monkeypatch.setattr(cross_encoder, "distribution", missing)
    with pytest.raises(NotConfiguredError, match=r"keeps\[reranker\]"):
        reranker_of("local")


async def test_other_weights_than_the_pinned_ones_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_reranker(tmp_path)
    monkeypatch.setattr(cross_encoder, "_installed", lambda: tmp_path)
    chosen = reranker_of("local")
    with pytest.raises(NotConfiguredError, match="SHA-256"):
        await chosen.scores("tea?", ["tea"])
    await chosen.close()


def test_what_is_read_is_what_was_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a file of the same package that would be read first."""
    tiny_reranker(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"another")
    monkeypatch.setattr(
        cross_encoder, "LOCAL_SHA256", {name: sha256_of(tmp_path / name) for name in ("model.onnx", "tokenizer.json")}
    )
    assert cross_encoder._pinned(tmp_path).weights == tmp_path / "model.onnx"  # noqa: SLF001


@pytest.mark.parametrize("name", ["best", "onnx:", "hub:", "openai"])
def test_a_reranker_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(ValidationFailedError, match="KEEPS_RERANKER"):
        load_settings({"KEEPS_RERANKER": name})


def test_the_commands_know_rerankers(tmp_path: Path) -> None:
    tiny_reranker(tmp_path / "tiny")
    home = ["--home", str(tmp_path / "home")]

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["models", *arguments, *home])

    cost = json.loads(run("check", f"onnx:{tmp_path / 'tiny'}", "--reranker", "--json").stdout)
    assert (cost["model"], cost["hits_a_question"]) == ("tiny", reranking.RERANKED)
    assert run("use", "onnx:/nowhere", "--reranker").exit_code != 0
    assert run("use", "none", "--reranker", "--later").exit_code != 0
    assert not (tmp_path / "home").exists()
    assert run("use", f"onnx:{tmp_path / 'tiny'}", "--reranker").exit_code == 0
    assert f"reranker = 'onnx:{tmp_path / 'tiny'}'" in (tmp_path / "home" / "keeps.toml").read_text()
    used = [(each["kind"], each["name"]) for each in json.loads(run("list", "--json").stdout) if each["used"]]
    assert used == [("embedder", "local"), ("reranker", f"onnx:{tmp_path / 'tiny'}")]
    looked = CliRunner().invoke(app, ["doctor", *home, "--json"])
    assert {each["name"]: each["state"] for each in json.loads(looked.stdout)}["reranker"] == "ok"
    (tmp_path / "tiny" / "model.onnx").write_bytes(b"nothing")
    looked = CliRunner().invoke(app, ["doctor", *home, "--json"])
    assert {each["name"]: each["state"] for each in json.loads(looked.stdout)}["reranker"] == "failed"
    assert run("use", "none", "--reranker").exit_code == 0
    assert "reranker = 'none'" in (tmp_path / "home" / "keeps.toml").read_text()

"""Sentence encoders that are chosen: the pinned weights from a folder, a BERT of safetensors, multilingual-e5."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

from keeps import Keeps, Scope
from keeps.base.settings import load_settings
from keeps.doors.cli.main import app
from keeps.memory.indexing.service import Indexer
from keeps.models import encoder, multilingual
from keeps.models.artifacts import find_model, read_tokenizer
from keeps.models.bert import Bert
from keeps.models.local import LocalEmbedder, MiniLM, embedder_of
from keeps.models.models import read_model
from keeps.models.token_vectors import TOKEN_BYTES
from keeps_client.errors import NotConfiguredError, ValidationFailedError

WIDTH, HEADS, LAYERS, PIECES = 16, 4, 2, 30_522
Weights = dict[str, npt.NDArray[np.float32]]


def tiny_bert(folder: Path, **config: Any) -> Weights:
    """A BERT with weights that mean nothing, as transformers saves one."""
    random = np.random.default_rng(7)

    def matrix(*shape: int) -> npt.NDArray[np.float32]:
        return random.normal(0, 0.3, shape).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": matrix(PIECES, WIDTH),
        "embeddings.position_embeddings.weight": matrix(64, WIDTH),
        "embeddings.token_type_embeddings.weight": matrix(2, WIDTH),
        "embeddings.LayerNorm.weight": 1 + matrix(WIDTH),
        "embeddings.LayerNorm.bias": matrix(WIDTH),
    }
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        for part, out, into in (
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", 2 * WIDTH, WIDTH),
            ("output.dense", WIDTH, 2 * WIDTH),
        ):
            weights[f"{name}.{part}.weight"] = matrix(out, into)
            weights[f"{name}.{part}.bias"] = matrix(out)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            weights[f"{name}.{part}.weight"] = 1 + matrix(WIDTH)
            weights[f"{name}.{part}.bias"] = matrix(WIDTH)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({f"bert.{name}": value for name, value in weights.items()}, folder / "model.safetensors")
    said = {
        "model_type": "bert",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "hidden_size": WIDTH,
        "max_position_embeddings": 64,
    }
    (folder / "config.json").write_text(json.dumps(said | config))
    (folder / "tokenizer.json").write_text(read_tokenizer())
    return weights


def by_the_book(weights: Weights, ids: list[int]) -> npt.NDArray[np.float64]:
    """The same encoder written as its paper says it: one text, one head, one position after the other."""

    def linear(values: Any, name: str) -> Any:
        return values @ weights[f"{name}.weight"].T.astype(float) + weights[f"{name}.bias"]

    def normed(values: Any, name: str) -> Any:
        mean, spread = values.mean(-1, keepdims=True), values.std(-1, keepdims=True)
        return (values - mean) / np.sqrt(spread**2 + 1e-12) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    hidden: Any = normed(
        np.array(
            [
                weights["embeddings.word_embeddings.weight"][each].astype(float)
                + weights["embeddings.position_embeddings.weight"][place]
                + weights["embeddings.token_type_embeddings.weight"][0]
                for place, each in enumerate(ids)
            ]
        ),
        "embeddings.LayerNorm",
    )
    size = WIDTH // HEADS
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        query, key, value = (linear(hidden, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
        seen = np.zeros_like(hidden)
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            for place in range(len(ids)):
                scores = [float(query[place, part] @ other) / math.sqrt(size) for other in key[:, part]]
                shares = [math.exp(each - max(scores)) for each in scores]
                seen[place, part] = sum(s * v for s, v in zip(shares, value[:, part], strict=True)) / sum(shares)
        hidden = normed(hidden + linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        wide = linear(hidden, f"{name}.intermediate.dense")
        wide = np.vectorize(lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))))(wide)
        hidden = normed(hidden + linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    return hidden


@pytest.fixture(scope="session")
async def bert(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[LocalEmbedder, Path]]:
    folder = tmp_path_factory.mktemp("tiny") / "model"
    tiny_bert(folder)
    found = embedder_of(f"onnx:{folder}", folder.parent / "kept")
    yield found, folder
    await found.close()


def test_a_bert_of_safetensors_is_read_as_its_paper_says(tmp_path: Path) -> None:
    weights = tiny_bert(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    texts = [[101, 2000, 3000, 102], [101, 7, 102]]
    ids, mask = np.zeros((2, 4), dtype=np.int64), np.zeros((2, 4), dtype=np.int64)
    for row, each in enumerate(texts):
        ids[row, : len(each)], mask[row, : len(each)] = each, 1
    found = Bert(tmp_path / "model.safetensors", config).run(ids, mask)
    for row, each in enumerate(texts):
        np.testing.assert_allclose(found[row, : len(each)], by_the_book(weights, each), atol=2e-4)


async def test_the_same_weights_from_a_folder_give_nearly_the_same_vectors(
    embedder: MiniLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "_FITTED_ON", 500)
    folder = tmp_path / "mine"
    (folder / "onnx").mkdir(parents=True)
    shutil.copy(find_model(), folder / "onnx/model.onnx")
    (folder / "tokenizer.json").write_text(read_tokenizer())
    (folder / "keeps-model.toml").write_text('name = "mine"\ncentred = false\n')
    chosen = embedder_of(f"onnx:{folder}", tmp_path / "kept")
    texts = ["She moved to Lisbon.", "word " * 400, ""]
    for one, other in zip(await embedder.embed(texts), await chosen.embed(texts), strict=True):
        assert one.sentence @ other.sentence > 0.97  # one computes in whole numbers, the other does not
    assert chosen.model.startswith("mine@")
    await chosen.close()


async def test_words_have_vectors_by_a_projection_that_is_made_once(bert: tuple[LocalEmbedder, Path]) -> None:
    chosen, folder = bert
    (found,) = await chosen.embed(["The tall tree."])
    assert found.tokens is not None
    assert len(found.tokens) == 3 * TOKEN_BYTES
    (made,) = (folder.parent / "kept").glob("*.npz")
    before = made.read_bytes()
    again = embedder_of(f"onnx:{folder}", folder.parent / "kept")
    assert (await again.embed(["The tall tree."]))[0].tokens == found.tokens
    assert made.read_bytes() == before
    assert again.model == chosen.model
    await again.close()


async def test_vectors_do_not_all_point_the_same_way(bert: tuple[LocalEmbedder, Path]) -> None:
    chosen, _ = bert
    texts = ["We bought a house.", "Ich mag Tee.", "def main(): pass", "Noon on Friday?", "My dog barks.", "Rot."]
    vectors = np.array([each.sentence for each in await chosen.embed(texts)])
    assert abs((vectors @ vectors.T)[~np.eye(len(texts), dtype=bool)].mean()) < 0.3


def test_prefixes_pooling_and_window_come_from_the_folder(tmp_path: Path) -> None:
    tiny_bert(tmp_path / "e5-tiny")
    found = read_model(tmp_path / "e5-tiny", tmp_path)
    assert (found.question_prefix, found.text_prefix, found.pooling, found.window) == (
        "query: ",
        "passage: ",
        "mean",
        62,
    )
    (tmp_path / "e5-tiny/1_Pooling").mkdir()
    (tmp_path / "e5-tiny/1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}')
    (tmp_path / "e5-tiny/config_sentence_transformers.json").write_text(
        '{"prompts": {"query": "Q: ", "document": "D: "}}'
    )
    other = read_model(tmp_path / "e5-tiny", tmp_path)
    assert (other.question_prefix, other.text_prefix, other.pooling) == ("Q: ", "D: ", "cls")
    assert other.tag != found.tag


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: shutil.rmtree(folder), "is not a folder"),
        (lambda folder: (folder / "model.safetensors").unlink(), "contains no model"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "no tokenizer.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "damaged"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "gpt2"}'), "export it to ONNX"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "cannot be read"),
        (lambda folder: (folder / "tokenizer.json").write_bytes(b"\xff\xfe"), "cannot be read"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"nothing"), "cannot be read"),
        (lambda folder: (folder / "model.onnx").write_bytes(b"nothing"), "cannot be read"),
    ],
)
async def test_a_folder_that_is_not_whole_says_what_is_missing(tmp_path: Path, change: Any, says: str) -> None:
    folder = tmp_path / "model"
    tiny_bert(folder)
    change(folder)
    with pytest.raises(NotConfiguredError, match=says):
        await embedder_of(f"onnx:{folder}", tmp_path / "kept").embed(["x"])


@pytest.mark.parametrize(
    "line",
    ["pooling = 'max'", "window = 9000", "colour = 'red'", "tokens = 'yes'", "= =", "name = ''", r'name = "a\u0000b"'],
)
def test_own_words_about_a_model_are_checked(tmp_path: Path, line: str) -> None:
    tiny_bert(tmp_path)
    (tmp_path / "keeps-model.toml").write_text(line)
    with pytest.raises(ValidationFailedError, match="keeps-model"):
        read_model(tmp_path, tmp_path)


@pytest.mark.parametrize("name", ["onnx:", "hub:", "locall", "onnx"])
def test_a_name_that_is_no_embedder_is_refused(name: str) -> None:
    with pytest.raises(ValidationFailedError, match="KEEPS_EMBEDDER"):
        load_settings(given={"KEEPS_EMBEDDER": name})


@pytest.mark.models
async def test_the_multilingual_model_finds_across_languages(tmp_path: Path) -> None:
    chosen = embedder_of("multilingual", tmp_path)
    told = [
        "Meine Schwester ist allergisch gegen Nüsse.",
        "彼は先月リスボンに引っ越した。",
        "El perro duerme en el sofá.",
    ]
    asked = ["What must she not eat?", "Where does he live now?", "Où dort le chien ?"]
    texts = np.array([each.sentence for each in await chosen.embed(told)])
    questions = np.array([(await chosen.embed_query(each)).sentence for each in asked])
    assert (questions @ texts.T).argmax(axis=1).tolist() == [0, 1, 2]
    assert abs(float(texts[0] @ texts[2])) < 0.5
    for text in ["", "😀", "x" * 5_000, "\u202e"]:
        assert np.isfinite((await chosen.embed([text]))[0].sentence).all()
    await chosen.close()


def test_the_multilingual_model_says_which_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multilingual, "find_spec", lambda _: None)
    with pytest.raises(NotConfiguredError, match=r"keeps\[multilingual\]"):
        multilingual.check_installed()


async def test_models_change_without_a_gap(app_url: str, tenant: str, tmp_path: Path) -> None:
    """Vectors of the new model are made beside the old: both answer, each by its own."""
    tiny_bert(tmp_path / "tiny")
    scope = Scope(tenant, "alice")
    async with Keeps.open(tmp_path, database_url=app_url, embedder=MiniLM()) as keeps:
        await keeps.memory(scope).remember("Zoë plays the cello on Sundays.", index="now")
        chosen = embedder_of(f"onnx:{tmp_path / 'tiny'}", tmp_path / "kept")
        async with Keeps.open(tmp_path, database_url=app_url, embedder=chosen) as other:
            assert (await other.status()).pending >= 1
            await other.service(Indexer).index_user(scope)
            for engine in (keeps, other):
                (hit,) = (await engine.memory(scope).recall("cello", scope="indexed")).hits
                assert hit.memory.content.startswith("Zoë")


def test_the_command_says_which_models_there_are_and_what_one_costs(tmp_path: Path) -> None:
    tiny_bert(tmp_path / "tiny")
    run = CliRunner().invoke
    assert "keeps[multilingual]" in "".join(run(app, ["models", "list", "--home", str(tmp_path)]).stdout.split())
    listed = json.loads(run(app, ["models", "list", "--home", str(tmp_path), "--json"]).stdout)
    assert [(each["kind"], each["name"]) for each in listed if each["used"]] == [
        ("embedder", "local"),
        ("reranker", "none"),
    ]
    cost = json.loads(
        run(app, ["models", "check", f"onnx:{tmp_path / 'tiny'}", "--home", str(tmp_path), "--json"]).stdout
    )
    assert cost["numbers"] == WIDTH
    assert cost["word_vectors"] == "yes"
    refused = run(app, ["models", "use", "onnx:/nowhere", "--home", str(tmp_path)])
    assert refused.exit_code != 0
    assert not (tmp_path / "keeps.toml").exists()
    assert run(app, ["models", "use", "none", "--home", str(tmp_path)]).exit_code == 0
    assert "embedder = 'none'" in (tmp_path / "keeps.toml").read_text()


async def test_a_damaged_projection_is_made_anew(tmp_path: Path) -> None:
    tiny_bert(tmp_path / "tiny")
    for _ in range(2):
        chosen = embedder_of(f"onnx:{tmp_path / 'tiny'}", tmp_path / "kept")
        assert (await chosen.embed(["tall trees"]))[0].tokens
        await chosen.close()
        (made,) = (tmp_path / "kept").glob("*.npz")
        made.write_bytes(b"nothing")


def test_whatever_decides_the_vectors_is_in_their_tag(tmp_path: Path) -> None:
    tiny_bert(tmp_path)
    tags = [read_model(tmp_path, tmp_path).tag]
    (tmp_path / "tokenizer.json").write_text(read_tokenizer() + " ")
    tags.append(read_model(tmp_path, tmp_path).tag)
    (tmp_path / "model.safetensors_data").write_bytes(b"numbers")
    tags.append(read_model(tmp_path, tmp_path).tag)
    (tmp_path / "config_sentence_transformers.json").write_text('{"prompts": ["x"]}')
    assert read_model(tmp_path, tmp_path).tag == tags[-1]
    assert len(set(tags)) == 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "embedder = 'none'\n"),
        (
            '# mine\r\nembedder = "local"  # the best\r\nport = 9\r\n',
            "# mine\r\nembedder = 'none'  # the best\r\nport = 9\r\n",
        ),
        ("  embedder = 'local'\n", "embedder = 'none'\n"),
        ('"embedder" = "local"\n', "embedder = 'none'\n"),
        ('embedder = """\nlocal"""\n', None),
    ],
)
def test_the_settings_file_is_changed_in_one_place(tmp_path: Path, before: str, after: str | None) -> None:
    (tmp_path / "keeps.toml").write_bytes(before.encode())
    done = CliRunner().invoke(app, ["models", "use", "none", "--home", str(tmp_path)])
    assert (done.exit_code == 0) == (after is not None), done.output
    assert (tmp_path / "keeps.toml").read_bytes().decode() == (before if after is None else after)
    assert [path.name for path in tmp_path.iterdir()] == ["keeps.toml"]

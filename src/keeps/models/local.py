"""The local embedder: a sentence encoder in this process, by default all-MiniLM-L6-v2.

The model runs in its own threads, and waiting calls are answered together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path

from keeps.base.text.forms import plain_width
from keeps.models.artifacts import DATA, find_model, int8_graph, read_tokenizer
from keeps.models.embedder import Embedding, QueryEmbedding
from keeps.models.encoder import Encoder
from keeps.models.lanes import MOST_READ, Answer, Lane, Runtime
from keeps.models.models import Model, fetch_model, read_model
from keeps.models.token_vectors import pack_tokens
from keeps.store.db.session import forbid_inside_transaction

MINILM, MINILM_DIMENSIONS = "all-MiniLM-L6-v2", 384
MAX_WINDOWS = 6
CHARACTERS_AT_ONCE = 6_000
"""Maximum characters of texts that are read together: some tenths of a second."""
QUESTION_CHARACTERS = 1_000
"""Maximum characters of questions that are read together: some hundredths of a second."""


class LocalEmbedder:
    """An embedder with separate models and threads for questions and stored texts.

    Users wait for questions, so their few words must not queue behind stored texts. Each model is loaded at its first
    call.
    """

    def __init__(
        self, model: str, dimensions: int, questions: Callable[[], Runtime], stored: Callable[[], Runtime]
    ) -> None:
        self.model = model
        self.dimensions = dimensions
        self._questions = _lane("questions", questions, 1, QUESTION_CHARACTERS)
        self._stored = _lane("stored", stored, MAX_WINDOWS, CHARACTERS_AT_ONCE)

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        forbid_inside_transaction("the embedding model")
        answers = await self._stored.run([plain_width(text) for text in texts])
        return [Embedding(each.sentence, None if each.tokens is None else pack_tokens(each.tokens)) for each in answers]

    async def embed_query(self, text: str) -> QueryEmbedding:
        """Return the vectors of a question; of a long one, only the first window is read."""
        forbid_inside_transaction("the embedding model")
        (answer,) = await self._questions.run([plain_width(text)])
        return QueryEmbedding(answer.sentence, answer.tokens, tuple(answer.words), answer.reads)

    async def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the characters of each word piece that `embed` returns a vector of, in order.

        Empty before the model is loaded. Runs in a separate thread, so that no embedding call waits for it.
        """
        loaded = self._questions.runtime
        if loaded is None:
            return [[] for _ in texts]
        return await asyncio.to_thread(loaded.spans, [plain_width(text) for text in texts], MAX_WINDOWS)

    async def close(self) -> None:
        await asyncio.gather(self._questions.close(), self._stored.close())


class MiniLM(LocalEmbedder):
    """all-MiniLM-L6-v2, which is installed with Keeps."""

    def __init__(self, model_dir: Path | None = None) -> None:
        super().__init__(MINILM, MINILM_DIMENSIONS, *_encoders(partial(_minilm, model_dir)))


def embedder_of(named: str, kept: Path) -> LocalEmbedder:
    """Return the embedder that `multilingual`, `onnx:FOLDER` or `hub:NAME` names.

    `kept`: folder for files that are computed once.
    Raises NotConfiguredError that states what is missing.
    """
    if named == "multilingual":
        from keeps.models import multilingual

        multilingual.check_installed()
        load = multilingual.MultilingualE5
        return LocalEmbedder(
            multilingual.NAME, multilingual.DIMENSIONS, partial(load, questions=True), partial(load, questions=False)
        )
    where, _, name = named.partition(":")
    model = read_model(fetch_model(name) if where == "hub" else Path(name).expanduser(), kept)
    return LocalEmbedder(model.tag, int((model.config or {}).get("hidden_size", 0)), *_encoders(lambda: model))


def _lane(name: str, load: Callable[[], Runtime], max_windows: int, characters: int) -> Lane[Runtime, str, Answer]:
    return Lane(
        name,
        load,
        lambda model, texts: model.embed(texts, max_windows),
        lambda text: min(len(text), MOST_READ),
        characters,
    )


def _encoders(load: Callable[[], Model]) -> tuple[Callable[[], Runtime], Callable[[], Runtime]]:
    """Return the loaders of the encoders for questions and for stored texts."""
    return partial(Encoder, load, threads=1, prefix="question"), partial(Encoder, load, gently=True, prefix="text")


def _minilm(model_dir: Path | None) -> Model:
    weights = find_model(model_dir)
    return Model(
        MINILM,
        weights,
        read_tokenizer(),
        Path(str(files("keeps.models").joinpath(f"{DATA}/projection.npz"))),
        centred=False,
        scripts=frozenset({"LATIN"}),
        graph=int8_graph(weights),
    )

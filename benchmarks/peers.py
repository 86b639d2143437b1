"""Compare Keeps with other memories on LoCoMo: keeps bench peers --data FOLDER

mem0 (`infer=False`) and LangGraph's store run as published, with the sentence vectors of Keeps' own model, and without
an LLM; BM25 is the scorers' own. All of them store the same turns, and the same scorer judges them. Run it in an
environment that has them: `make .venv-integrations/.installed`, then `.venv-integrations/bin/keeps bench peers`.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import temporary_folder
from benchmarks.quality import Engine
from keeps.models.local import MiniLM

Search = Callable[[str, str, int], list[str]]
ADVERSARIAL = "5 adversarial"
MEASURES = ("recall@1", "recall@5", "recall@10", "ndcg@10", "mrr")
DIMENSIONS = 384


class Model:
    """Sentence vectors of the local model, for synchronous callers."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._model = MiniLM()

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        vectors = asyncio.run_coroutine_threadsafe(self._model.embed(list(texts)), self._loop).result()
        return [vector.sentence.astype(float).tolist() for vector in vectors]

    def embed_query(self, text: str) -> list[float]:
        vector = asyncio.run_coroutine_threadsafe(self._model.embed_query(text), self._loop).result()
        return vector.sentence.astype(float).tolist()


@contextmanager
def keeps(bench: Any) -> Iterator[Search]:
    with temporary_folder("peers") as home, Engine(home) as engine:
        yield engine.store("locomo", bench)


@contextmanager
def mem0(bench: Any) -> Iterator[Search]:
    os.environ["MEM0_TELEMETRY"] = "false"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MEM0_DIR"] = folder
        from langchain_core.embeddings import Embeddings
        from mem0 import Memory

        class LangChainModel(Model, Embeddings):
            pass

        store = {"collection_name": "peers", "path": f"{folder}/qdrant", "embedding_model_dims": DIMENSIONS}
        memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {"provider": "langchain", "config": {"model": LangChainModel()}},
                "llm": {"provider": "openai", "config": {"api_key": "unused"}},
                "history_db_path": f"{folder}/history.db",
            }
        )
        for item in bench.items:
            message = {"role": "user", "content": item.text}
            memory.add([message], user_id=item.user, metadata={"item": item.id, "at": item.time}, infer=False)

        def search(query: str, user: str, k: int) -> list[str]:
            hits = memory.search(query, filters={"user_id": user}, top_k=k, threshold=0.0)["results"]
            return [hit["metadata"]["item"] for hit in hits]

        yield search


@contextmanager
def langgraph(bench: Any) -> Iterator[Search]:
    from langgraph.store.base import PutOp
    from langgraph.store.memory import InMemoryStore

    model = Model()
    store = InMemoryStore(index={"dims": DIMENSIONS, "embed": model.embed_documents, "fields": ["text"]})
    operations = [PutOp((item.user,), item.id, {"text": item.text}) for item in bench.items]
    for start in range(0, len(operations), 100):
        store.batch(operations[start : start + 100])

    def search(query: str, user: str, k: int) -> list[str]:
        return [hit.key for hit in store.search((user,), query=query, limit=k)]

    yield search


@contextmanager
def bm25(bench: Any) -> Iterator[Search]:
    yield importlib.import_module("benchlib").BM25(bench)


PRODUCTS = {"Keeps": keeps, "mem0, infer=False": mem0, "LangGraph store": langgraph, "BM25": bm25}


def run(data: Path, only: Sequence[str], *, questions: int, as_json: bool) -> int:
    """Print a row for each product. `questions`: number of questions; 0 for all."""
    if not (data / "benchlib.py").is_file():
        print(f"no scorers in {data}: give the folder that holds benchlib.py by --data", file=sys.stderr)
        return 2
    sys.path.insert(0, str(data))
    bench = importlib.import_module("locomo_bench").load()
    if questions:
        bench.queries = bench.queries[:: max(1, len(bench.queries) // questions)]
    rows: list[dict[str, Any]] = []
    for name, product in PRODUCTS.items():
        if only and name.split(",")[0].split()[0].lower() not in only:
            continue
        try:
            rows.append({"product": name, **_measured(bench, product)})
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    if as_json:
        print(json.dumps(rows))
    else:
        _print_table(rows)
    return 0


def _measured(bench: Any, product: Callable[[Any], Any]) -> dict[str, Any]:
    benchlib = importlib.import_module("benchlib")
    started = time.perf_counter()
    with product(bench) as search:
        stored = time.perf_counter() - started
        turns = benchlib.evaluate(bench, search, ks=(1, 5, 10), depth=10)
        sessions = benchlib.evaluate(bench, search, ks=(1, 5, 10), depth=200, level="session")
    answerable = [row for row in turns["rows"] if row["_type"] != ADVERSARIAL]
    adversarial = [row for row in turns["rows"] if row["_type"] == ADVERSARIAL]
    in_sessions = [row for row in sessions["rows"] if row["_type"] != ADVERSARIAL]
    return {
        "questions": len(answerable),
        **{measure: _mean(answerable, measure) for measure in MEASURES},
        "category 5, recall@5": _mean(adversarial, "recall@5"),
        "sessions, any@5": _mean(in_sessions, "recall_any@5"),
        "stored per second": len(bench.items) / stored,
        **turns["latency_ms"],
    }


def _mean(rows: Sequence[dict[str, Any]], measure: str) -> float:
    return statistics.fmean(row[measure] for row in rows) if rows else 0.0


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    names = [name for name in rows[0] if name != "product"] if rows else []
    table = Table("", *(row["product"] for row in rows))
    for name in names:
        cells = (row[name] for row in rows)
        table.add_row(name, *(f"{cell:.3f}" if cell < 1 else f"{cell:,.1f}" for cell in cells))
    Console().print(table)

"""Quality of recall, through the real `recall`, by the scorers in a folder that is not part of this repository.

    keeps bench quality --data ../shared/bench [--only locomo,beam,prefeval,scifact] [--arms]

No data is copied: items are loaded by the scorers, stored in a database of their own, and asked. `--arms` repeats it
with parts of recall switched off: what each arm and stage is worth, with 95 % of bootstraps by question.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import temporary_folder
from keeps import Keeps, Scope
from keeps.base.settings import load_settings
from keeps.bootstrap import choose_embedder
from keeps.memory.recall import fusion
from keeps.models.embedder import Embedder, Embedding, QueryEmbedding
from keeps_client.models import Hit

TARGETS = {
    ("locomo", "recall@5"): 0.77,
    ("locomo", "recall@10"): 0.83,
    ("locomo sessions", "recall_any@5"): 0.94,
    ("beam", "recall@10"): 0.64,
    ("beam", "latest_wins@10"): 0.69,
    ("facts-6k", "latest_first@10"): 0.95,
    ("facts-32k", "latest_first@10"): 0.95,
    ("prefeval", "recall@5"): 0.37,
    ("scifact", "ndcg@10"): 0.74,
}
VARIANTS: dict[str, dict[str, float]] = {
    "whole": {},
    "without neighbours": {"NEXT_TURN_WEIGHT": 0, "SECOND_TURN_WEIGHT": 0, "ASKED_WEIGHT": 0},
    "without session": {"SESSION_WEIGHT": 0, "SESSION_TOKENS_WEIGHT": 0},
    "without speaker and date": {"SPEAKER_WEIGHT": 0, "DATE_WEIGHT": 0},
    "without length penalty": {"LENGTH_PENALTY": 0},
    "without newer first": {"NEWER_FIRST_MARGIN": -1},
    "without importance and recency": {"IMPORTANCE_WEIGHT": 0, "RECENCY_WEIGHT": 0},
    "without late interaction": {"TOKENS_WEIGHT": 0, "VECTOR_WEIGHT": 0.5, "TEXT_WEIGHT": 0.5},
    "late interaction only": {
        "VECTOR_WEIGHT": 0,
        "TEXT_WEIGHT": 0,
        "NEXT_TURN_WEIGHT": 0,
        "SECOND_TURN_WEIGHT": 0,
        "ASKED_WEIGHT": 0,
        "SESSION_WEIGHT": 0,
        "SESSION_TOKENS_WEIGHT": 0,
        "SPEAKER_WEIGHT": 0,
        "DATE_WEIGHT": 0,
        "IMPORTANCE_WEIGHT": 0,
        "RECENCY_WEIGHT": 0,
        "NEWER_FIRST_MARGIN": -1,
    },
    "vector only": {
        "TOKENS_WEIGHT": 0,
        "VECTOR_WEIGHT": 1,
        "TEXT_WEIGHT": 0,
        "NEXT_TURN_WEIGHT": 0,
        "SECOND_TURN_WEIGHT": 0,
        "ASKED_WEIGHT": 0,
        "SESSION_WEIGHT": 0,
        "SESSION_TOKENS_WEIGHT": 0,
        "SPEAKER_WEIGHT": 0,
        "DATE_WEIGHT": 0,
        "IMPORTANCE_WEIGHT": 0,
        "RECENCY_WEIGHT": 0,
        "NEWER_FIRST_MARGIN": -1,
    },
    "text only": {
        "TOKENS_WEIGHT": 0,
        "VECTOR_WEIGHT": 0,
        "TEXT_WEIGHT": 1,
        "NEXT_TURN_WEIGHT": 0,
        "SECOND_TURN_WEIGHT": 0,
        "ASKED_WEIGHT": 0,
        "SESSION_WEIGHT": 0,
        "SESSION_TOKENS_WEIGHT": 0,
        "SPEAKER_WEIGHT": 0,
        "DATE_WEIGHT": 0,
        "IMPORTANCE_WEIGHT": 0,
        "RECENCY_WEIGHT": 0,
        "NEWER_FIRST_MARGIN": -1,
    },
}
CONVERSATIONS = {"locomo", "beam"}


def run(data: Path, only: list[str], *, arms: bool, as_json: bool, home: Path | None) -> int:
    """Run the benchmarks and print a table; returns 1 where a target is missed."""
    if not (data / "benchlib.py").is_file():
        print(f"no scorers in {data}: give the folder that holds benchlib.py by --data", file=sys.stderr)
        return 2
    sys.path.insert(0, str(data))
    rows: list[dict[str, Any]] = []
    with temporary_folder("quality") as temporary, Engine(home or temporary) as engine:
        for name in only:
            bench = _load(name)
            started = time.perf_counter()
            search = engine.store(name, bench)
            rows.append(
                {
                    "bench": name,
                    "variant": "ingest",
                    "items": len(bench.items),
                    "seconds": time.perf_counter() - started,
                }
            )
            whole: list[dict[str, Any]] = []
            for variant, weights in VARIANTS.items() if arms else [("whole", {})]:
                with _weights(weights):
                    for row, questions in _score(name, variant, bench, search):
                        whole = whole if row["bench"] != name or variant != "whole" else questions
                        if variant != "whole":
                            row["against whole"] = against(questions, whole)
                        rows.append(row)
                if not as_json:
                    _print_table(rows[-2:])
    if as_json:
        print(json.dumps(rows))
    else:
        _print_table(rows)
    missed = [
        row
        for row in rows
        for key, target in TARGETS.items()
        if row["variant"] == "whole" and row["bench"] == key[0] and row.get(key[1], 1) < target
    ]
    return 1 if missed else 0


def _load(name: str) -> Any:
    match name:
        case "locomo":
            return importlib.import_module("locomo_bench").load(categories=(1, 2, 3, 4))
        case "beam":
            return importlib.import_module("beam_bench").load("100K")
        case "prefeval":
            return importlib.import_module("prefeval_bench").load(scope="topic", noise=True)
        case "prefeval-all":
            return importlib.import_module("prefeval_bench").load(scope="all")
        case "scifact":
            return importlib.import_module("scifact_bench").load()
        case "facts-6k" | "facts-32k":
            return importlib.import_module("factconsolidation_bench").load(name.removeprefix("facts-"))
        case _:
            raise SystemExit(
                f"unknown benchmark {name!r}; there are locomo, beam, prefeval, prefeval-all, scifact, facts-6k,"
                " facts-32k"
            )


def against(
    questions: Sequence[dict[str, Any]], whole: Sequence[dict[str, Any]], measure: str = "recall@5", times: int = 1_000
) -> tuple[float, float, float]:
    """Return the gain over the whole, question by question: the mean, and 95 % of bootstraps (low, high)."""
    differences = np.array([one[measure] - other[measure] for one, other in zip(questions, whole, strict=True)])
    drawn = np.random.default_rng(0).integers(0, len(differences), (times, len(differences)))
    low, high = np.percentile(differences[drawn].mean(axis=1), (2.5, 97.5))
    return float(differences.mean()), float(low), float(high)


def _score(
    name: str, variant: str, bench: Any, search: Callable[..., list[str]]
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """A row of the table, and what each question scored. Whole conversations are looked at once, not for each
    variant."""
    benchlib = importlib.import_module("benchlib")
    result = benchlib.evaluate(
        bench, search, ks=(1, 5, 10), depth=50, level="session" if name == "prefeval" else "item"
    )
    row = {"bench": name, "variant": variant, "queries": result["n"], **result["overall"], **result["latency_ms"]}
    if name == "beam":
        row["latest_wins@10"] = importlib.import_module("beam_bench").latest_wins(bench, search)[0]
    if name.startswith("facts"):
        row |= importlib.import_module("factconsolidation_bench").latest_first(bench, search)
    yield row, result["rows"]
    if name == "locomo" and variant == "whole":
        sessions = benchlib.evaluate(bench, search, ks=(1, 5, 10), depth=200, level="session")
        found = {"bench": "locomo sessions", "variant": variant, "queries": sessions["n"], **sessions["overall"]}
        yield found, sessions["rows"]


class Engine:
    """Keeps on a thread with a loop of its own, since the scorers call a plain function."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Engine:
        self._thread.start()
        self._keeps = self._call(_opened(self._home))
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._keeps.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def store(self, name: str, bench: Any) -> Callable[..., list[str]]:
        """Store all items of a benchmark; returns the search that scorers call."""
        ask = self.store_to_ask(name, bench)
        return lambda query, user, k: [item for item, _ in ask(query, user, k)]

    def store_to_ask(self, name: str, bench: Any) -> Callable[[str, str, int], list[tuple[str, Hit]]]:
        """Store all items, one tenant for the benchmark and its users as users; returns what finds them, with hits."""
        names: dict[tuple[str, UUID], str] = {}
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(f"storing {name}", total=len(bench.items))
            for user in bench.users():
                memory = self._keeps.memory(Scope(name, user))
                items = bench.items_for(user)
                for start in range(0, len(items), 200):
                    batch = [
                        _as_memory(name, item, start + offset) for offset, item in enumerate(items[start : start + 200])
                    ]
                    for item, receipt in zip(
                        items[start : start + 200], self._call(memory.remember_many(batch, index="now")), strict=True
                    ):
                        names[user, receipt.memory_id] = item.id
                    progress.advance(task, len(batch))

        def ask(query: str, user: str, k: int) -> list[tuple[str, Hit]]:
            found = self._call(self._keeps.memory(Scope(name, user)).recall(query, limit=min(k, 200)))
            return [(names[user, hit.memory.memory_id], hit) for hit in found.hits]

        return ask


async def _opened(home: Path) -> Keeps:
    return await Keeps.open(home, embedder=_Remembering(choose_embedder(load_settings())))


class _Remembering:
    """An embedder that knows the texts it has seen: PrefEval gives the same noise to every user."""

    def __init__(self, inner: Embedder | None) -> None:
        if inner is None:
            raise SystemExit("quality needs an embedder: unset KEEPS_EMBEDDER=none")
        self._inner = inner
        self._known: dict[str, Embedding] = {}
        self.model = inner.model
        self.dimensions = inner.dimensions

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, await self._inner.embed(new), strict=True))
        return [self._known[text] for text in texts]

    async def embed_query(self, text: str) -> QueryEmbedding:
        return await self._inner.embed_query(text)

    async def close(self) -> None:
        await self._inner.close()


def _as_memory(name: str, item: Any, position: int) -> dict[str, Any]:
    if name not in CONVERSATIONS:
        return {"content": item.text[:50_000], "namespace": "bench"}
    speaker = item.role if name == "locomo" else None
    text = item.text.removeprefix(f"{speaker}: ") if speaker else item.text
    memory: dict[str, Any] = {
        "content": text[:50_000] or "(nothing)",
        "kind": "episodic",
        "content_type": "message",
        "session_id": item.session,
        "valid_from": _time(item.time) + timedelta(microseconds=position),
        "metadata": {"speaker": speaker} if speaker else {},
    }
    if item.role in ("user", "assistant"):
        memory["role"] = item.role
    return memory


def _time(text: str) -> datetime:
    if re.match(r"\d{4}-\d{2}-\d{2}", text):
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    for form in ("%B-%d-%Y", "%b-%d-%Y", "%B %d, %Y"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return datetime(2024, 1, 1, tzinfo=UTC)


@contextmanager
def _weights(changes: dict[str, float]) -> Iterator[None]:
    before = {name: getattr(fusion, name) for name in changes}
    for name, value in changes.items():
        setattr(fusion, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(fusion, name, value)


def _print_table(rows: list[dict[str, Any]]) -> None:
    columns = ["recall@1", "recall@5", "recall@10", "recall_any@5", "ndcg@10", "mrr", "p50"]
    table = Table("bench", "variant", "n", *columns, "further")
    for row in rows:
        if row["variant"] == "ingest":
            table.add_row(row["bench"], "stored", str(row["items"]), *[""] * len(columns), f"{row['seconds']:.0f} s")
            continue
        further = " ".join(f"{name} {value}" for name, value in row.items() if name.startswith("latest"))
        if "against whole" in row:
            further = "@5 {:+.3f} [{:+.3f}, {:+.3f}] ".format(*row["against whole"]) + further
        table.add_row(
            row["bench"],
            row["variant"],
            str(row["queries"]),
            *[f"{row[c]:.3f}" if c in row else "" for c in columns],
            further,
        )
    Console(width=None if sys.stdout.isatty() else 160).print(table)

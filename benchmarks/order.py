"""Fit the trees that correct the order of hits: keeps bench order --data ../shared/bench [--fit]

The questions of LoCoMo, BEAM, PrefEval and SciFact and of `sets/few.jsonl` are asked through the product; the features
of their candidates, and which of them answer, train LambdaMART. It is judged on conversations (or, where there is only
one user, questions) that were left out, in five parts. `--fit` writes `src/keeps/memory/recall/ordering.json`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from benchmarks import temporary_folder
from benchmarks.judged import load
from benchmarks.quality import Engine, _as_memory, _load
from keeps import Keeps, Scope
from keeps.memory.recall import ordering
from keeps.memory.recall.ranking import Ranking

SETS = ("locomo", "beam", "prefeval", "scifact")
WEIGHTS = {"locomo": 1.0, "beam": 1.0, "prefeval": 0.8, "scifact": 0.5, "few": 0.3, "asked again": 0.3}
"""Weight of each kind of data, whatever its number of questions."""
SCALE = 6.0
"""Units of the model for one point of the sum: the model starts from the sum, and its trees correct it."""
ROUNDS = 60
PARAMETERS: dict[str, Any] = {
    "objective": "lambdarank",
    "num_leaves": ordering.SPLITS + 1,
    "learning_rate": 0.1,
    "min_data_in_leaf": 50,
    "lambdarank_truncation_level": 15,
    "monotone_constraints": list(ordering.FEATURES.values()),
    "monotone_constraints_method": "advanced",
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "seed": 1,
    "verbose": -1,
}
FOLDS = 5
DIGITS = 5


@dataclass(frozen=True, slots=True)
class Example:
    """One question's candidates. `fold`: the part in which it is judged; `right`: which candidates answer; `wanted`:
    number of memories that answer, also those that were not found."""

    fold: int
    features: npt.NDArray[np.float64]
    total: npt.NDArray[np.float64]
    right: npt.NDArray[np.bool_]
    wanted: int


def run(data: Path, *, fit: bool, as_json: bool) -> int:
    """Print recall@1, @5 and @10 of the sum and of the corrected order; write the trees with `fit`."""
    if not (data / "benchlib.py").is_file():
        print(f"no scorers in {data}: give the folder that holds benchlib.py by --data", file=sys.stderr)
        return 2
    sys.path.insert(0, str(data))
    examples = {name: list(_of_set(name)) for name in SETS}
    examples["few"], examples["asked again"] = asyncio.run(_of_few())
    report = {name: {"sum": _recalls(of, [example.total for example in of])} for name, of in examples.items()}
    for name, scores in _left_out(examples).items():
        report[name]["corrected"] = _recalls(examples[name], scores)
    if fit:
        path = Path(ordering.__file__).with_name("ordering.json")
        path.write_text(json.dumps({"features": list(ordering.FEATURES), "trees": _fit(examples, set())}) + "\n")
    print(json.dumps(report, indent=None if as_json else 2))
    return 0


@contextmanager
def _rankings() -> Iterator[list[Ranking]]:
    """Collect the rankings that recall makes."""
    made: list[Ranking] = []
    original = Ranking.ordered

    def ordered(self: Ranking, positions: Any) -> list[int]:
        made.append(self)
        return original(self, positions)

    Ranking.ordered = ordered
    try:
        yield made
    finally:
        Ranking.ordered = original


def _example(ranking: Ranking, gold: set[Any], fold: int) -> Example | None:
    if ranking.features is None:
        return None
    uncorrected = [part.points for part in ranking.parts if part.name != ordering.LEARNED]
    total = np.sum(uncorrected, axis=0)
    ids = [ranking.rows.memory_id(position) for position in range(len(total))]
    right = np.array([memory_id in gold for memory_id in ids])
    return Example(fold, ranking.features, total, right, len(gold))


def _of_set(name: str) -> Iterator[Example]:
    bench = _load(name)
    queries = [query for query in bench.queries if query.gold]
    users = bench.users()
    with temporary_folder("order") as home, Engine(home) as engine, _rankings() as made:
        ids: dict[tuple[str, str], Any] = {}
        for user in users:
            memory, items = engine._keeps.memory(Scope(name, user)), bench.items_for(user)
            for start in range(0, len(items), 200):
                batch = [_as_memory(name, item, start + place) for place, item in enumerate(items[start : start + 200])]
                receipts = engine._call(memory.remember_many(batch, index="now"))
                for item, receipt in zip(items[start : start + 200], receipts, strict=True):
                    ids[user, item.id] = receipt.memory_id
        for number, query in enumerate(queries):
            made.clear()
            engine._call(engine._keeps.memory(Scope(name, query.user)).recall(query.text, limit=10))
            fold = users.index(query.user) if len(users) >= FOLDS else number
            gold = {ids[query.user, item_id] for item_id in query.gold}
            if made and (example := _example(made[0], gold, fold % FOLDS)) is not None:
                yield example


async def _of_few() -> tuple[list[Example], list[Example]]:
    """Six memories of each person; once as memories, once as a chat in which the question was asked before."""
    plain: list[Example] = []
    again: list[Example] = []
    with temporary_folder("order") as home, _rankings() as made:
        async with Keeps.open(home) as keeps:
            for fold, person in enumerate(load("few.jsonl")):
                for place in (plain, again):
                    memory = keeps.memory(Scope("few", f"user-{uuid4()}"))
                    statements = person["memories"]
                    message = {} if place is plain else {"kind": "episodic", "session_id": "told", "role": "user"}
                    new = [{"content": statement["text"], **message} for statement in statements]
                    receipts = await memory.remember_many(new, index="now")
                    ids = {
                        statement["id"]: receipt.memory_id
                        for statement, receipt in zip(statements, receipts, strict=True)
                    }
                    for question in person["questions"]:
                        if not question["answers"]:
                            continue
                        if place is again:
                            asked = {"content": question["query"], "kind": "episodic", "session_id": "asked"}
                            await memory.remember_many([asked | {"role": "user"}], index="now")
                        made.clear()
                        await memory.recall(question["query"], limit=10)
                        gold = {ids[statement_id] for statement_id in question["answers"]}
                        if made and (example := _example(made[0], gold, fold % FOLDS)) is not None:
                            place.append(example)
    return plain, again


def _recalls(examples: list[Example], scores: list[npt.NDArray[np.float64]]) -> dict[str, float]:
    found = {1: 0.0, 5: 0.0, 10: 0.0}
    for example, score in zip(examples, scores, strict=True):
        order = np.argsort(-score, kind="stable")
        for count in found:
            found[count] += float(example.right[order[:count]].sum()) / example.wanted
    return {f"recall@{count}": round(value / max(len(examples), 1), 4) for count, value in found.items()}


def _left_out(examples: dict[str, list[Example]]) -> dict[str, list[npt.NDArray[np.float64]]]:
    """Return the corrected scores of each question by trees that did not see its conversation."""
    scores = {name: [example.total for example in of] for name, of in examples.items()}
    for fold in range(FOLDS):
        trees = ordering.trees_of(_fit(examples, {fold}))
        for name, of in examples.items():
            for number, example in enumerate(of):
                if example.fold == fold:
                    scores[name][number] = example.total + trees.corrections(example.features)
    return scores


def _fit(examples: dict[str, list[Example]], without: set[int]) -> list[dict[str, Any]]:
    """Fit the trees to all folds but some, and return them as nested nodes."""
    import lightgbm  # the extra `bench`

    columns: list[npt.NDArray[np.float64]] = []
    labels: list[npt.NDArray[np.bool_]] = []
    weights: list[npt.NDArray[np.float64]] = []
    begins: list[npt.NDArray[np.float64]] = []
    for name, of in examples.items():
        best = [(example, np.argsort(-example.total, kind="stable")[: ordering.BEST]) for example in of]
        chosen = [(example, top) for example, top in best if example.fold not in without and example.right[top].any()]
        for example, top in chosen:
            columns.append(example.features[top])
            labels.append(example.right[top])
            weights.append(np.full(len(top), WEIGHTS[name] * 1000 / len(chosen)))
            begins.append(SCALE * example.total[top])
    trained = lightgbm.train(
        PARAMETERS,
        lightgbm.Dataset(
            np.concatenate(columns),
            np.concatenate(labels).astype(int),
            group=[len(label) for label in labels],
            weight=np.concatenate(weights),
            init_score=np.concatenate(begins),
        ),
        ROUNDS,
    )
    return [_node(tree["tree_structure"]) for tree in trained.dump_model()["tree_info"]]


def _node(node: dict[str, Any]) -> dict[str, Any]:
    if "split_feature" not in node:
        return {"mean": round(node["leaf_value"] / SCALE, DIGITS)}
    return {
        "column": node["split_feature"],
        "threshold": round(node["threshold"], DIGITS),
        "mean": round(node["internal_value"] / SCALE, DIGITS),
        "below": _node(node["left_child"]),
        "above": _node(node["right_child"]),
    }

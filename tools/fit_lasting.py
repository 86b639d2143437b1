"""Makes src/keeps/memory/lifecycle/data/lasting.npz: which texts say something that lasts, by their meaning.

    python tools/fit_lasting.py

A logistic regression over the sentence vectors of the built-in model, fitted on benchmarks/sets/lasting.jsonl; the
regularisation is the one that a ten-fold cross-validation finds best. Prints what that validation says, so that a
change can be judged.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keeps.memory.lifecycle.meaning import DATA, LEAST
from keeps.models.local import MiniLM

ROOT = Path(__file__).parents[1]
SET = ROOT / "benchmarks" / "sets" / "lasting.jsonl"
TARGET = ROOT / "src" / "keeps" / "memory" / "lifecycle" / DATA
FOLDS = 10
Matrix = NDArray[np.float64]


async def read() -> tuple[Matrix, Matrix]:
    lines = [json.loads(line) for line in SET.read_text(encoding="utf-8").splitlines()]
    model = MiniLM()
    vectors = [each.sentence for each in await model.embed([each["text"] for each in lines])]
    await model.close()
    return np.array(vectors, dtype=np.float64), np.array([each["keeps_30_days"] for each in lines], dtype=np.float64)


def fit(vectors: Matrix, truth: Matrix, penalty: float) -> Matrix:
    """Newton's method: the weights, and the bias at the end, which is not penalised."""
    inputs = np.c_[vectors, np.ones(len(vectors))]
    weights = np.zeros(inputs.shape[1])
    penalties = np.r_[np.full(vectors.shape[1], penalty), 1e-9]
    for _ in range(50):
        found = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (found - truth) + penalties * weights
        curve = (inputs * (found * (1 - found) + 1e-9)[:, None]).T @ inputs + np.diag(penalties)
        weights -= np.linalg.solve(curve, slope)
    return weights


def validated(vectors: Matrix, truth: Matrix, penalty: float) -> Matrix:
    """The probability of each, from the weights that the other folds give."""
    found = np.zeros(len(truth))
    order = np.random.default_rng(0).permutation(len(truth))
    for fold in range(FOLDS):
        apart = order[fold::FOLDS]
        rest = np.setdiff1d(order, apart)
        found[apart] = 1 / (
            1 + np.exp(-np.c_[vectors[apart], np.ones(len(apart))] @ fit(vectors[rest], truth[rest], penalty))
        )
    return found


def main() -> None:
    vectors, truth = asyncio.run(read())
    losses: dict[float, float] = {}
    for penalty in (0.03, 0.1, 0.3, 1.0, 3.0):
        found = validated(vectors, truth, penalty)
        losses[penalty] = float(-np.mean(truth * np.log(found) + (1 - truth) * np.log(1 - found)))
        stays = found >= LEAST
        print(
            f"{penalty}: log loss {losses[penalty]:.3f}, lasting stays {stays[truth == 1].mean():.3f}, passing stays"
            f" {stays[truth == 0].mean():.3f}"
        )
    weights = fit(vectors, truth, min(losses, key=lambda each: losses[each]))
    TARGET.parent.mkdir(exist_ok=True)
    np.savez(TARGET, weights=weights[:-1].astype(np.float32), bias=np.float32(weights[-1]))
    print(f"{TARGET.relative_to(ROOT)}: fitted on {len(truth):,} texts")


if __name__ == "__main__":
    main()

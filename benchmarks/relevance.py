"""Relevance: what of the answers is kept, and what of the noise is silenced, as the floor rises.

    keeps bench relevance --data ../shared/bench

Noise is what is found for questions about nothing: those of other conversations of the same set, with the names of this
one's speakers put in; and fifty that were typed by hand. Of each set: where two and five of a hundred hits that answer
are less relevant than the floor, the share of such questions for which nothing is left, and of their hits that go.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import random
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import temporary_folder
from benchmarks.judged import load
from benchmarks.quality import Engine
from keeps import Keeps, Scope
from keeps_client.models.recall import WEAK_RELEVANCE

LIMIT, SEED = 10, 5
SETS = ("locomo", "beam")
TYPED = Path(__file__).parent / "sets" / "about_nothing.txt"
TARGETS = {"questions silenced, 2 %": 0.45, "hits silenced, 2 %": 0.70, "questions silenced, 5 %": 0.60}
TARGETS["hits silenced, 5 %"] = 0.80
Asked = tuple[list[float], list[bool]]
"""Of one question the relevance of its hits, and which of them answer."""


def run(data: Path, *, as_json: bool, questions: int) -> int:
    """Print the curve; returns 1 where a target is missed on LoCoMo."""
    if not (data / "benchlib.py").is_file():
        print(f"no scorers in {data}: give the folder that holds benchlib.py by --data", file=sys.stderr)
        return 2
    sys.path.insert(0, str(data))
    found = {name: _of_set(name, questions) for name in SETS}
    found["typed by hand"] = asyncio.run(_typed())
    if as_json:
        print(json.dumps(found))
    else:
        table = Table("", *found)
        for name in found["locomo"]:
            table.add_row(name, *(f"{each[name]:.3f}" for each in found.values()))
        Console(width=None if sys.stdout.isatty() else 160).print(table)
    return int(any(found["locomo"][name] < target for name, target in TARGETS.items()))


def _of_set(name: str, questions: int) -> dict[str, float]:
    bench = _bench(name)
    rng = random.Random(SEED)
    own = [each for each in bench.queries if each.gold]
    rng.shuffle(own)
    users = bench.users()
    speakers = {user: list(dict.fromkeys(item.role for item in bench.items_for(user))) for user in users}
    answering: list[Asked] = []
    noise: list[Asked] = []
    with temporary_folder("relevance") as home, Engine(home) as engine:
        ask = engine.store_to_ask(name, bench)

        def asked(text: str, user: str, gold: Iterable[str]) -> Asked:
            hits = ask(text, user, LIMIT)
            return [hit.relevance or 0.0 for _, hit in hits], [item in gold for item, _ in hits]

        for query in own[: questions or None]:
            answering.append(asked(query.text, query.user, query.gold))
            other = rng.choice([user for user in users if user != query.user])
            names = dict(zip(speakers[query.user], speakers[other], strict=False))
            noise.append(asked(_renamed(query.text, names), other, ()))
    return _curve(answering, noise)


def _bench(name: str) -> Any:
    module = importlib.import_module(f"{name}_bench")
    return module.load(audit="fix") if name == "locomo" else module.load("100K")


def _renamed(text: str, names: dict[str, str]) -> str:
    swap: Callable[[re.Match[str]], str] = lambda found: names[found[0]]  # noqa: E731
    known = "|".join(re.escape(each) for each in names if each not in ("user", "assistant"))
    return re.sub(rf"\b(?:{known})\b", swap, text) if known else text


async def _typed() -> dict[str, float]:
    """Forty questions to sixty memories that answer them, and fifty about nothing."""
    held = load("nothing.json", held_out=False)
    with temporary_folder("typed") as home:
        async with Keeps.open(home) as keeps:
            memory = keeps.memory(Scope("typed", f"user-{uuid4()}"))
            said = [each if isinstance(each, str) else each["content"] for each in held["memories"]]
            await memory.remember_many([{"content": each} for each in said], index="now")

            async def asked(text: str, answers: Iterable[str]) -> Asked:
                hits = (await memory.recall(text, limit=LIMIT)).hits
                return [hit.relevance or 0.0 for hit in hits], [
                    any(each.casefold() in hit.memory.content.casefold() for each in answers) for hit in hits
                ]

            answering = [await asked(each["question"], each["answers"]) for each in held["answerable"]]
            noise = [await asked(each, ()) for each in TYPED.read_text(encoding="utf-8").splitlines()]
    return _curve(answering, noise)


def _curve(answering: list[Asked], noise: list[Asked]) -> dict[str, float]:
    kept = np.array([each for hits, gold in answering for each, answers in zip(hits, gold, strict=True) if answers])
    loud = np.array([each for hits, _ in noise for each in hits])
    best = np.array([max(hits, default=0.0) for hits, _ in noise])
    found: dict[str, float] = {"hits that answer": float(len(kept)), "questions about nothing": float(len(best))}
    for share in (0.02, 0.05):
        floor = float(np.quantile(kept, share))
        found[f"floor, {share:.0%}".replace("%", " %")] = floor
        found[f"questions silenced, {share:.0%}".replace("%", " %")] = float((best < floor).mean())
        found[f"hits silenced, {share:.0%}".replace("%", " %")] = float((loud < floor).mean())
    for floor in (WEAK_RELEVANCE, 0.5):
        found[f"answers lost at {floor}"] = float((kept < floor).mean())
        found[f"questions silenced at {floor}"] = float((best < floor).mean())
        found[f"hits silenced at {floor}"] = float((loud < floor).mean())
    return found

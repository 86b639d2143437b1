"""The context router on LoCoMo: is the evidence in the prompt, for how many tokens, and how long does it take?

    keeps bench context --data ../shared/bench [--questions 300] [--budget 4000]

Beside it, of the same size: plain top-k (nearest by one vector, as most stores do it), and the hits of our own recall
in their order. All three are packed into the same number of tokens as the router's text had for that question. Times
are of a second asking, beside one raw SQL query of the same run.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asyncpg
from pgvector import HalfVector
from pgvector.asyncpg import register_vector
from rich.console import Console
from rich.progress import track

from benchmarks import quality, temporary_folder
from keeps import Keeps, Scope
from keeps.base.text.fences import shown
from keeps.memory.recall.service import RecallService
from keeps.models.tokens import choose_counter

RAW = (
    "SELECT memory_id FROM keeps.memory_vectors WHERE tenant_id = $1 AND audience = $2 AND life = 'current' ORDER BY"
    " embedding <=> $3::halfvec LIMIT $4"
)


def run(data: Path, *, questions: int, budget: int, as_json: bool, home: Path | None) -> int:
    """Print what was measured; 1 where the router is less than 8 points better than plain top-k, or too slow."""
    if not (data / "benchlib.py").is_file():
        print(f"no scorers in {data}: give the folder that holds benchlib.py by --data", file=sys.stderr)
        return 2
    sys.path.insert(0, str(data))
    bench = importlib.import_module("locomo_bench").load()
    with temporary_folder("context") as temporary, quality.Engine(home or temporary) as engine:
        engine.store("locomo", bench)
        found = engine._call(_measure(engine._keeps, bench, questions, budget))
    if as_json:
        print(json.dumps(found))
    else:
        _print(found)
    better = found["router"]["all"] - found["plain"]["all"] >= 0.08
    quick = found["router_ms"]["p50"] < 10 and found["took_ms"]["p50"] < 30 and found["took_ms"]["p95"] < 100
    return 0 if better and quick else 1


async def _measure(keeps: Keeps, bench: Any, questions: int, budget: int) -> dict[str, Any]:
    counter = choose_counter()
    asked = [query for query in bench.queries if query.gold]
    asked = asked[:: max(1, len(asked) // questions)][:questions] if questions else asked
    names = {user: await _names(keeps, bench, user) for user in bench.users()}
    lines = {user: await _lines(keeps, user, counter) for user in bench.users()}
    raw = await asyncpg.connect(keeps.admin_url)
    await register_vector(raw)
    hits: dict[str, list[tuple[bool, bool, float, int]]] = {"router": [], "recall": [], "plain": []}
    times: dict[str, list[float]] = {
        "router_ms": [],
        "took_ms": [],
        "cold_ms": [],
        "raw_ms": [],
        "raw_and_embedding_ms": [],
    }
    for query in track(asked, "asking", console=Console(stderr=True), transient=True):
        memory = keeps.memory(Scope("locomo", query.user))
        gold = set(query.gold)
        cold = await memory.context(query.text, budget_tokens=budget)
        warm = await memory.context(query.text, budget_tokens=budget)
        times["cold_ms"].append(cold.took_ms)
        times["took_ms"].append(warm.took_ms)
        times["router_ms"].append(warm.router_ms)
        inside = [names[query.user].get(each, "") for each in warm.memory_ids]
        hits["router"].append(_judged(inside, gold, warm.tokens))
        recalled = await memory.recall(query.text, limit=200)
        ranked = [hit.memory.memory_id for hit in recalled.hits]
        hits["recall"].append(
            _judged(_packed(ranked, lines[query.user], names[query.user], warm.tokens), gold, warm.tokens)
        )
        started = time.perf_counter()
        sentence = (await keeps.service(RecallService)._embedder.embed_query(query.text + " ")).sentence
        embedded = time.perf_counter()
        rows = await raw.fetch(RAW, "locomo", query.user, HalfVector(sentence), 300)
        ended = time.perf_counter()
        times["raw_ms"].append((ended - embedded) * 1e3)
        times["raw_and_embedding_ms"].append((ended - started) * 1e3)
        nearest = [row["memory_id"] for row in rows]
        hits["plain"].append(
            _judged(_packed(nearest, lines[query.user], names[query.user], warm.tokens), gold, warm.tokens)
        )
    await raw.close()
    told: dict[str, Any] = {"questions": len(asked), "budget": budget}
    for name, each in hits.items():
        told[name] = {
            "all": statistics.mean(found[0] for found in each),
            "any": statistics.mean(found[1] for found in each),
            "share": statistics.mean(found[2] for found in each),
            "tokens": statistics.mean(found[3] for found in each),
        }
    for name, each in times.items():
        told[name] = {"p50": statistics.median(each), "p95": sorted(each)[int(len(each) * 0.95)]}
    return told


def _judged(inside: Sequence[str], gold: set[str], tokens: int) -> tuple[bool, bool, float, int]:
    found = gold & set(inside)
    return found == gold, bool(found), len(found) / len(gold), tokens


def _packed(ranked: Sequence[Any], lines: dict[Any, int], names: dict[Any, str], tokens: int) -> list[str]:
    """As many as fit, in order."""
    inside: list[str] = []
    for each in ranked:
        tokens -= lines.get(each, 0)
        if tokens < 0:
            break
        inside.append(names.get(each, ""))
    return inside


async def _all(keeps: Keeps, user: str) -> list[Any]:
    memory = keeps.memory(Scope("locomo", user))
    cursor, found = None, []
    while True:
        page = await memory.list(limit=200, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _names(keeps: Keeps, bench: Any, user: str) -> dict[Any, str]:
    """The benchmark's ids of the stored memories, by session and text."""
    known = {(item.session, item.text.removeprefix(f"{item.role}: ")): item.id for item in bench.items_for(user)}
    return {each.memory_id: known.get((each.session_id, each.content), "") for each in await _all(keeps, user)}


async def _lines(keeps: Keeps, user: str, counter: Any) -> dict[Any, int]:
    """Return the tokens of each memory as a line of a prompt, without its day."""
    memories = await _all(keeps, user)
    texts = [f"- {each.metadata.get('speaker', '')}: {shown(each.content)}\n" for each in memories]
    return dict(zip([each.memory_id for each in memories], counter.count(texts), strict=True))


def _print(found: dict[str, Any]) -> None:
    print(f"{found['questions']} questions of LoCoMo, {found['budget']} tokens")
    for name, what in (
        ("router", "context router"),
        ("recall", "our recall, in order"),
        ("plain", "plain top-k by vector"),
    ):
        each = found[name]
        print(
            f"  {what:<24} all evidence {each['all']:.3f}  any {each['any']:.3f}  share {each['share']:.3f}  tokens"
            f" {each['tokens']:.0f}"
        )
    raw = found["raw_ms"]["p50"]
    for name in ("router_ms", "took_ms", "cold_ms", "raw_ms", "raw_and_embedding_ms"):
        each = found[name]
        print(f"  {name:<24} median {each['p50']:.1f}  p95 {each['p95']:.1f}  {each['p50'] / raw:.1f} x a raw query")

"""Documents: retrieval through them, citations of a long PDF, pages a second beside the bare parser, and what others
notice of an import.

    keeps bench documents --data ../shared/bench

Texts are SciFact's abstracts, read where they lie: each as a document of its own, and 300 of them as the pages of one
PDF, where the claims that they are about are the questions.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pypdfium2
from tests.documents.made import pdf_file

from benchmarks import temporary_folder
from keeps import Keeps, Scope
from keeps.engine import LocalMemory
from keeps.memory.indexing.service import Indexer

PAGES, QUESTIONS, IMPORTED_PAGES, ASKED = 300, 100, 1_000, 60
TARGETS = {"ndcg@10": 0.72, "cited": 0.85, "p95 during an import": 1.5}


def run(data: Path, *, as_json: bool) -> int:
    """Measure, print; 1 where a target is missed."""
    if not (data / "benchlib.py").is_file():
        print(f"no scorers in {data}: give the folder that holds benchlib.py by --data", file=sys.stderr)
        return 2
    sys.path.insert(0, str(data))
    bench: Any = importlib.import_module("scifact_bench").load()
    with temporary_folder("documents") as home:
        found = asyncio.run(_measured(home, bench))
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        for name, value in found.items():
            print(f"{name:38} {value:10.3f}")
    missed = found["scifact ndcg@10"] < TARGETS["ndcg@10"] or found["pdf: cited span holds it"] < TARGETS["cited"]
    return int(missed or found["recall p95 during an import, ratio"] > TARGETS["p95 during an import"])


async def _measured(home: Path, bench: Any) -> dict[str, float]:
    async with Keeps.open(home) as keeps:
        found = await _scifact(keeps, bench)
        found |= await _long_pdf(keeps, bench)
        found |= await _import(keeps, bench)
    return found


async def _scifact(keeps: Keeps, bench: Any) -> dict[str, float]:
    memory = keeps.memory(Scope("scifact", "reader"))
    started = time.perf_counter()
    slots = asyncio.Semaphore(4)

    async def add(item: Any) -> None:
        async with slots:
            await memory.add_document(item.text, source=item.id, title=item.text.partition(". ")[0][:200])

    await asyncio.gather(*map(add, bench.items))
    took = time.perf_counter() - started
    await keeps.service(Indexer).settle()
    gains: list[float] = []
    for query in bench.queries:
        hits = (await memory.search_documents(query.text, limit=50)).hits
        ranked = list(dict.fromkeys(str(hit.citations[0].source) for hit in hits))[:10]
        gains.append(_ndcg(ranked, query.gold))
    return {"scifact ndcg@10": sum(gains) / len(gains), "scifact documents a second": len(bench.items) / took}


def _ndcg(ranked: Sequence[str], gold: set[str]) -> float:
    best = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    return sum(1 / math.log2(place + 2) for place, each in enumerate(ranked) if each in gold) / best


async def _long_pdf(keeps: Keeps, bench: Any) -> dict[str, float]:
    texts = {item.id: item.text for item in bench.items}
    asked = [query for query in bench.queries if len(query.gold) == 1][:QUESTIONS]
    chosen = list(dict.fromkeys([next(iter(query.gold)) for query in asked] + [*texts]))[:PAGES]
    pages = {each: number + 1 for number, each in enumerate(chosen)}
    data = _pdf([texts[each] for each in chosen])
    started = time.perf_counter()
    document = pypdfium2.PdfDocument(data)
    for page in document:
        page.get_textpage().get_text_range()
    bare = time.perf_counter() - started
    memory = keeps.memory(Scope("pdf", "reader"))
    started = time.perf_counter()
    receipt = await memory.add_document(data=data, name="long.pdf")
    took = time.perf_counter() - started
    await keeps.service(Indexer).settle()
    first = fifth = 0
    for query in asked:
        hits = (await memory.search_documents(query.text, limit=5)).hits
        right = [await _holds(memory, hit.citations[0], pages[next(iter(query.gold))]) for hit in hits]
        first += bool(right) and right[0]
        fifth += any(right)
    return {
        "pdf: pages": float(receipt.document.pages),
        "pdf: pages a second": PAGES / took,
        "pdf: bare parser's pages a second": PAGES / bare,
        "pdf: first citation holds it": first / len(asked),
        "pdf: cited span holds it": fifth / len(asked),
    }


async def _holds(memory: LocalMemory, place: Any, page: int) -> bool:
    """Return whether a citation names that page, and its characters are there."""
    text = await memory.read_document(place.document_id, start=place.start, length=place.end - place.start)
    return bool(text.text) and place.page == page


async def _import(keeps: Keeps, bench: Any) -> dict[str, float]:
    """Measure recall of one tenant while another adds a document of a thousand pages."""
    memory = keeps.memory(Scope("scifact", "reader"))
    other = keeps.memory(Scope("importing", "writer"))
    texts = [item.text for item in bench.items]
    queries = [query.text for query in bench.queries[:ASKED]]
    pages = [f"{texts[number % len(texts)]} (Part {number}.)" for number in range(IMPORTED_PAGES)]
    for _ in range(3):
        await _asked(memory, queries)
    alone = await _asked(memory, queries)
    stored: list[float] = []
    indexed: list[float] = []
    task = asyncio.create_task(other.add_document(data=_pdf(pages, "Import"), name="import.pdf"))
    while not task.done():
        stored += await _asked(memory, queries[:6])
    await task
    settled = asyncio.create_task(keeps.service(Indexer).settle())
    while not settled.done() and len(indexed) < 2 * ASKED:
        indexed += await _asked(memory, queries[:6])
    await settled
    after = await _asked(memory, queries)
    alone = min(alone, after, key=_p95)
    return {
        "recall p95 alone, ms": _p95(alone) * 1e3,
        "recall p95 while it is read and stored, ratio": _p95(stored) / _p95(alone),
        "recall p95 while it is indexed, ratio": _p95(indexed) / _p95(alone),
    }


async def _asked(memory: LocalMemory, queries: Sequence[str]) -> list[float]:
    took: list[float] = []
    for query in queries:
        started = time.perf_counter()
        await memory.recall(query)
        took.append(time.perf_counter() - started)
    return took


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def _pdf(texts: Sequence[str], title: str = "Long") -> bytes:
    plain: Mapping[int, str] = str.maketrans({"(": "[", ")": "]", "\\": "/"})
    pages = ["\n".join(textwrap.wrap(text.translate(plain).encode("ascii", "ignore").decode(), 95)) for text in texts]
    return pdf_file(pages, title=title)

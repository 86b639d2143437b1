"""Awareness: with a thousand things that could be looked up, is the right one named? And what does it cost?

    keeps bench awareness

100 sources with a question each stand in sets/sources.tsv; 800 others are made of parts, and another user's private
100 must never be named.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import temporary_folder
from keeps import Keeps, Scope
from keeps.memory.context.budget import SHARES
from keeps.memory.indexing.service import Indexer
from keeps_client.models.context import SectionName

SET = Path(__file__).parent / "sets" / "sources.tsv"
OTHERS, HIDDEN = 800, 100
TARGET, DEARER = 0.90, 1.10
_PLACES = "Ghent Turin Aarhus Split Porto Tartu Cork Brno Bilbao Malmö Graz Lyon Delft Siena Vaasa Cadiz".split()
_THINGS = (
    """
school timetables, bus lanes, building permits, street lamps, dog licences, market stalls, park benches, water pipes,
museum visitors, library cards, swimming courses, cycle paths, fire drills, tree pruning, waste collection,
parking meters, choir rehearsals, allotments, noise complaints, election posters, ferry tickets, ice rinks,
archive boxes, cemetery plots, playgrounds, road works, snow ploughs, town twinning, youth clubs, flood gates
""".strip()
    .replace("\n", " ")
    .split(", ")
)


def run(*, as_json: bool) -> int:
    with temporary_folder("awareness") as home:
        found = asyncio.run(_measured(home))
    print(
        json.dumps(found, indent=2)
        if as_json
        else "\n".join(f"{name:36} {value:10.3f}" for name, value in found.items())
    )
    return int(found["named"] < TARGET or found["hidden ones named"] > 0)


async def _measured(home: Path) -> dict[str, float]:
    rows = [line.split("\t") for line in SET.read_text(encoding="utf-8").splitlines()]
    async with Keeps.open(home) as keeps:
        memory = keeps.memory(Scope("many", "asker"))
        other = keeps.memory(Scope("many", "other"))
        for number in range(200):
            await memory.remember(f"Note {number}: {_THINGS[number % len(_THINGS)]} in {_PLACES[number % 16]}.")
        for name, kind, purpose, _ in rows:
            await memory.add_source(name, kind=kind, purpose=purpose)  # pyright: ignore[reportArgumentType]
        for number, (thing, place) in enumerate(itertools.islice(itertools.product(_THINGS, _PLACES), 480)):
            await memory.add_source(f"s{number}", kind="database", purpose=f"{thing.capitalize()} in {place}, by day")
        for number in range(OTHERS - 480):
            thing, place = _THINGS[number % len(_THINGS)], _PLACES[number % 16]
            await memory.add_source(f"t{number}", kind="api", purpose=f"Change {thing} of {place} (part {number})")
        for number in range(HIDDEN):
            await other.add_source(f"hidden{number}", kind="api", purpose=rows[number][2], visibility="private")
        await keeps.service(Indexer).settle()
        named = hidden = 0
        for name, _, _, question in rows:
            text = (await memory.context(question, sections=["knowledge"])).text
            named += f"- {name} (" in text
            hidden += "hidden" in text
        took: dict[bool, list[float]] = {True: [], False: []}
        others: list[SectionName] = [name for name in SHARES if name not in ("knowledge", "documents")]
        for number, row in enumerate(rows):
            for with_it in (True, False) if number % 2 else (False, True):
                await memory.remember(f"Asked {number} {with_it}: {row[3]}")  # or the answer before would be given
                started = time.perf_counter()
                await memory.context(row[3], sections=None if with_it else others)
                took[with_it].append(time.perf_counter() - started)
    return {
        "named": named / len(rows),
        "hidden ones named": float(hidden),
        "p95 of context without, ms": _p95(took[False]) * 1e3,
        "p95 of context, ms": _p95(took[True]) * 1e3,
        "ratio": _p95(took[True]) / _p95(took[False]),
    }


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]

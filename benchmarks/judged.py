"""Facts and memories that Keeps makes of people's words, judged on sets of our own: keeps bench judged [--held-out]

`benchmarks/sets` was written for this, a fifth of it (`heldout`) by somebody who had not seen the rules. Merging and
upsert:
pairs that say the same or not. Facts: statements that change one or only seem to. Importance: what must not fade within
30 days. Signals: prompts in four languages. Continuity: facts told in passing, asked for after 1, 7, 30 and 90 days
with the jobs running. Nothing: questions that the memories do not answer. Few: six memories of each of 60 people.
Passing: sixty statements among 600 other messages, asked for after up to a year. Corrections: two statements on the
same matter, of which the later changes the earlier or only seems to.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks import temporary_folder
from keeps import Keeps, Scope
from keeps.base.text.importance import estimate_importance
from keeps.memory.context.signals import foreign_span, looks_foreign, read_signals
from keeps.memory.indexing.service import Indexer
from keeps.memory.lifecycle.duplicates import LEAST_SIMILARITY, same_fact
from keeps.memory.lifecycle.service import Lifecycle
from keeps.memory.memories.service import MemoryService
from keeps.models.local import MiniLM

SETS = Path(__file__).parent / "sets"
NOW = datetime(2026, 3, 18, 10, tzinfo=UTC)


def load(name: str, *, held_out: bool = False) -> Any:
    path = (SETS / "heldout" if held_out else SETS) / name
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines() if line]


async def pairs(*, held_out: bool = False) -> dict[str, Any]:
    """Different facts that would be merged, by consolidation (.9) and by upsert (.95); same facts that would not."""
    model = MiniLM()
    wrong: list[str] = []
    found = Counter[str]()
    for pair in load("pairs.jsonl", held_out=held_out):
        one, other = (each.sentence for each in await model.embed([pair["a"], pair["b"]]))
        similarity = float(one @ other)
        merged = similarity >= LEAST_SIMILARITY and same_fact(pair["a"], pair["b"], similarity)
        found["same" if pair["same"] else "different"] += 1
        found["same, merged" if pair["same"] else "different, merged"] += merged
        if merged and not pair["same"]:
            wrong.append(f"{pair['a']} | {pair['b']} ({pair['class']})")
    await model.close()
    return {**found, "wrong": wrong}


async def statements(keeps: Keeps, *, held_out: bool = False) -> dict[str, Any]:
    """Real changes of a fact that are caught; truths that are replaced by what only looks like a change."""
    found = Counter[str]()
    wrong: list[str] = []
    missed: list[str] = []
    unread = Counter[str]()
    for each in load("statements.jsonl", held_out=held_out):
        memory = keeps.memory(Scope("judged", f"user-{uuid4()}"))
        await memory.store_exchange([{"role": "user", "content": each["known"]}], session_id="one")
        first = (await memory.list(filters={"namespace": {"eq": "facts"}}, limit=200)).items
        read = any(each["old"].casefold() in item.content.casefold() for item in first)
        await memory.store_exchange([{"role": "user", "content": each["said"]}], session_id="two")
        facts = (await memory.list(filters={"namespace": {"eq": "facts"}}, limit=200)).items
        now = datetime.now(UTC)
        held = [item.content.casefold() for item in facts if item.valid_to is None or item.valid_to > now]
        old_there = any(each["old"].casefold() in text for text in held)
        new_there = each["new"] is not None and any(each["new"].casefold() in text for text in held)
        if each["replace"]:
            found["changes"] += 1
            caught = not old_there and (each["new"] is None or new_there)
            found["changes, caught"] += caught
            found["changes, half"] += not caught and (new_there or not old_there)
            if not caught:
                missed.append(f"{each['known']} → {each['said']} | now {held}")
        else:
            found["traps"] += 1
            bad = read and not old_there
            found["traps, replaced"] += bad
            found["traps, believed beside"] += new_there
            if bad:
                wrong.append(f"{each['known']} → {each['said']} ({each['class']}) | now {held}")
            elif not read:
                unread[each["known"]] += 1
    return {**found, "wrong": wrong, "missed": missed, "unread": len(unread)}


async def importance(home: Path, *, held_out: bool = False) -> dict[str, Any]:
    """Measure statements that are made once and never asked for.

    Which of those that must be there after 30 days of jobs are missing, and how much of the rest is there.
    """
    found = Counter[str]()
    wrong: list[str] = []
    texts = load("importance.jsonl", held_out=held_out)
    clock = Clock()
    async with Keeps.open(home, clock=clock) as keeps:
        memory = keeps.memory(Scope("importance", "alice"))
        told = await memory.remember_many(
            [{"content": each["text"], "kind": "episodic", "role": "user"} for each in texts], index="now"
        )
        for _ in range(30):
            clock.now += timedelta(days=1)
            await _jobs(keeps, memory.scope.tenant_id)
        for each, receipt in zip(texts, told, strict=True):
            held = await memory.get(receipt.memory_id)
            stays = held is not None and held.archived_at is None and held.deleted_at is None
            kind = "lasting" if each["keeps_30_days"] else "passing"
            found[kind] += 1
            found[f"{kind}, stays"] += stays
            if stays != each["keeps_30_days"]:
                wrong.append(f"{each['class']}: {each['text']} ({estimate_importance(each['text'], 'user')})")
    return {**found, "wrong": wrong}


def signals(*, held_out: bool = False) -> dict[str, Any]:
    found = Counter[str]()
    wrong: list[str] = []
    for each in load("prompts.jsonl", held_out=held_out):
        read = read_signals(each["prompt"], NOW)
        since, until, names = read.since, read.until, set(read.names)
        if not names & {"smalltalk", "temporal"} and looks_foreign(each["prompt"]):
            span = foreign_span(each["prompt"], NOW)
            if span:
                since, until = span
                names.add("temporal")
        language = each["lang"]
        found[f"{language}"] += 1
        right = names - {"list", "follow_up"} == set(each["signals"])  # the set is older than these two
        if right and each["since"]:
            wanted = datetime.fromisoformat(each["since"]), datetime.fromisoformat(each["until"])
            wanted = tuple(at if at.tzinfo else at.replace(tzinfo=UTC) for at in wanted)
            right = since is not None and until is not None and min(until, wanted[1]) > max(since, wanted[0])
            shared = (
                (min(until, wanted[1]) - max(since, wanted[0])) / (max(until, wanted[1]) - min(since, wanted[0]))
                if right
                else 0
            )
            right = right and shared >= 0.3
        found[f"{language}, right"] += right
        if not right:
            wrong.append(
                f"{language}: {each['prompt']} | {sorted(names)} {since}..{until} instead of {each['signals']}"
                f" {each['since']}..{each['until']}"
            )
    return {**found, "wrong": wrong}


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


async def continuity(home: Path, *, held_out: bool = False) -> dict[str, Any]:
    """The share of facts that the context tells, after so many days."""
    told: dict[str, Any] = {}
    data = load("continuity.json", held_out=held_out)
    clock = Clock()
    begun = clock.now
    async with Keeps.open(home, clock=clock) as keeps:
        memory = keeps.memory(Scope(f"continuity-{held_out}", "alice"))
        for number, conversation in enumerate(data["conversations"]):
            clock.now = begun + timedelta(days=conversation["day"])
            said = conversation["messages"]
            for start in range(0, len(said), 4):
                await memory.store_exchange(said[start : start + 4], session_id=f"talk-{number}")
                clock.now += timedelta(minutes=2)
            await memory.end_session(f"talk-{number}")
            await _jobs(keeps, memory.scope.tenant_id)
        last = clock.now
        for days in (1, 7, 30, 90):
            while clock.now < last + timedelta(days=days):
                clock.now = min(clock.now + timedelta(days=1), last + timedelta(days=days))
                await _jobs(keeps, memory.scope.tenant_id)
            missed: list[str] = []
            for fact in data["facts"]:
                text = (await memory.context(fact["question"], budget_tokens=4_000)).text.casefold()
                if not any(answer.casefold() in text for answer in fact["answers"]):
                    missed.append(f"{fact['question']} ({fact['answers'][0]})")
            told[f"{days} days"] = round(1 - len(missed) / len(data["facts"]), 3)
            told[f"missed after {days}"] = missed
    return told


async def _jobs(keeps: Keeps, tenant_id: str) -> None:
    for job in ("sessions", "promotion", "decay", "expiry", "consolidation"):
        if job != "consolidation" or keeps.service(MemoryService).now().weekday() == 0:
            await keeps.service(Lifecycle).run(tenant_id, job)
    await keeps.service(Lifecycle).run(tenant_id, "index")


async def nothing(keeps: Keeps, *, held_out: bool = False) -> dict[str, Any]:
    data = load("nothing.json", held_out=held_out)
    memory = keeps.memory(Scope("nothing", f"user-{uuid4()}"))
    await memory.remember_many(
        [{"content": each if isinstance(each, str) else each["content"]} for each in data["memories"]], index="now"
    )
    silenced = [
        each["question"] for each in data["answerable"] if (await memory.context(each["question"])).nothing_known
    ]
    told = [each for each in data["unanswerable"] if not (await memory.context(each)).nothing_known]
    general = [
        "What's our current MRR?",
        "What is the capital of France?",
        "Who won the world cup in 1998?",
        "How do I reset a router?",
        "Write a haiku about rust.",
    ]
    loud = [each for each in general if not (await memory.context(each)).nothing_known]
    return {
        "answerable": len(data["answerable"]),
        "answerable, silenced": len(silenced),
        "near misses": len(data["unanswerable"]),
        "near misses, told": len(told),
        "about nothing": len(general),
        "about nothing, told": len(loud),
        "silenced": silenced,
    }


async def few(keeps: Keeps, *, held_out: bool = False) -> dict[str, Any]:
    """Right answers that are first, and under a relevance of 0.25; questions that count as about nothing."""
    found = Counter[str]()
    for person in load("few.jsonl", held_out=held_out):
        memory = keeps.memory(Scope("few", f"user-{uuid4()}"))
        texts = [{"content": each["text"], "role": "user"} for each in person["memories"]]
        receipts = await memory.remember_many(texts, index="now")
        ids = {each["id"]: receipt.memory_id for each, receipt in zip(person["memories"], receipts, strict=True)}
        for question in person["questions"]:
            result = await memory.recall(question["query"], limit=len(texts))
            right = {ids[each] for each in question["answers"]}
            kind = "answerable" if right else f"about nothing ({question['style']})"
            found[kind] += 1
            found[f"{kind}, nothing known"] += result.nothing_known
            if right:
                answers = [hit for hit in result.hits if hit.memory_id in right]
                found["right answers"] += len(right)
                found["right answers, relevance under 0.25"] += sum((hit.relevance or 0) < 0.25 for hit in answers)
                found["answerable, right first"] += bool(result.hits) and result.hits[0].memory_id in right
    return dict(sorted(found.items()))


async def passing(home: Path, *, held_out: bool = False) -> dict[str, Any]:
    """Statements told in passing that a context tells after so many days, with the lines and tokens of the median."""
    facts, noise = load("passing.jsonl", held_out=held_out), load("noise.jsonl")
    said = [{"role": "user", "content": fact["statement"]} for fact in facts]
    said += [{"role": other["role"], "content": other["text"]} for other in noise]
    random.Random(7).shuffle(said)
    clock, told = Clock(), dict[str, Any]()
    async with Keeps.open(home, clock=clock) as keeps:
        memory = keeps.memory(Scope(f"passing-{held_out}", "alice"))
        for start in range(0, len(said), 12):
            await memory.store_exchange(said[start : start + 12], session_id=f"talk-{start}")
            await memory.end_session(f"talk-{start}")
            clock.now += timedelta(hours=2)
        await _jobs(keeps, memory.scope.tenant_id)
        last = clock.now
        for days in (1, 7, 30, 90, 365):
            while clock.now < last + timedelta(days=days):
                clock.now = min(clock.now + timedelta(days=1 if days <= 30 else 10), last + timedelta(days=days))
                await _jobs(keeps, memory.scope.tenant_id)
            missed: list[str] = []
            contexts = [(await memory.context(fact["question"]), fact) for fact in facts]
            for context, fact in contexts:
                if not all(word.casefold() in context.text.casefold() for word in fact["answer_words"]):
                    missed.append(f"{fact['language']}: {fact['question']} | {fact['statement']}")
            told[f"{days} days"] = f"{len(facts) - len(missed)} of {len(facts)}"
            told[f"{days} days, median lines and tokens"] = (
                statistics.median(context.text.count("\n- ") for context, _ in contexts),
                statistics.median(context.tokens for context, _ in contexts),
            )
        told["missed"] = missed
    return told


async def corrections(home: Path, *, held_out: bool = False) -> dict[str, Any]:
    """Changes that a context tells, the newer first and the older marked; and older ones that are marked wrongly."""
    found, wrong, clock = Counter[str](), list[str](), Clock()
    async with Keeps.open(home, clock=clock) as keeps:
        for pair in load("corrections.jsonl", held_out=held_out):
            memory = keeps.memory(Scope("corrections", f"user-{uuid4()}"))
            for number, text in enumerate((pair["earlier"], pair["later"])):
                await memory.store_exchange([{"role": "user", "content": text}], session_id=f"talk-{number}")
                clock.now += timedelta(days=2)
            await keeps.service(Indexer).settle(memory.scope)
            lines = (await memory.context(pair["question"], session_id="now")).text.splitlines()
            newer, older = (
                next((place for place, line in enumerate(lines) if text in line), None)
                for text in (pair["later"], pair["earlier"])
            )
            kind = "not a change" if pair["kind"] == "none" else "changes"
            marked = older is not None and "(earlier)" in lines[older]
            found[kind] += 1
            found[f"{kind}, marked"] += marked
            found[f"{kind}, older not told"] += older is None
            found[f"{kind}, newer first"] += newer is not None and (older is None or newer < older)
            found[f"{kind}, newer not told"] += newer is None
            if marked if kind == "not a change" else not (older is None or marked):
                wrong.append(f"{pair['kind']}: {pair['earlier']} | {pair['later']}")
    return {**found, "wrong": wrong}


async def _run(only: list[str], *, held_out: bool) -> dict[str, Any]:
    told: dict[str, Any] = {}
    with temporary_folder("judged") as folder:
        folder.chmod(0o755)
        if "pairs" in only:
            told["pairs"] = await pairs(held_out=held_out)
        if "importance" in only:
            told["importance"] = await importance(folder / "month", held_out=held_out)
        if "signals" in only:
            told["signals"] = signals(held_out=held_out)
        if {"statements", "nothing", "few"} & set(only):
            async with Keeps.open(folder / "home") as keeps:
                if "statements" in only:
                    told["statements"] = await statements(keeps, held_out=held_out)
                if "nothing" in only:
                    told["nothing"] = await nothing(keeps, held_out=held_out)
                if "few" in only:
                    told["few"] = await few(keeps, held_out=held_out)
        for name, measure in (("passing", passing), ("corrections", corrections)):
            if name in only:
                told[name] = await measure(folder / name, held_out=held_out)
        if "continuity" in only:
            told["continuity"] = await continuity(folder / "later", held_out=held_out)
    return told


def run(*, only: list[str], held_out: bool, as_json: bool) -> int:
    told = asyncio.run(_run(only, held_out=held_out))
    if as_json:
        print(json.dumps(told, ensure_ascii=False))
        return 0
    for name, found in told.items():
        print(name)
        for what, value in found.items():
            for each in value if isinstance(value, list) else [value]:
                print(f"  {what}: {each}")
    return 0

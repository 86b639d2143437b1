"""demo: Keeps at work on real conversations, in two minutes."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from keeps.cli.context import DatabaseUrl, Home, Target, out, run
from keeps.cli.memories import print_hit
from keeps.clock import new_id
from keeps.indexing.service import Indexer

if TYPE_CHECKING:
    from keeps.demo.story import Turn
    from keeps.engine import Keeps, LocalMemory

QUESTIONS = (
    "What is Alice allergic to?",
    "What does she drink now?",
    "How does she travel to the wedding?",
    "Who looks after Biscuit while she is away?",
    "Which singer's records should I give her?",
)
OTHERS_QUESTION = "When does the harvest of the early apples start?"
FORGOTTEN = "magpie-orchard-77"
FORGOTTEN_QUESTION = "What is the wifi password?"


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    story: Annotated[
        bool, typer.Option("--story", help="Three conversations over three simulated weeks instead.")
    ] = False,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Store three months of conversations, ask, explain, correct, forget, and try to look over the wall."""
    from keeps.settings import load_settings

    settings = load_settings(home=home, database_url=database_url)
    place = settings.home if home or settings.database_url else settings.home.with_name(settings.home.name + "-demo")
    if story:
        run(lambda: _story(place, database_url))
    else:
        run(lambda: _demo(Target(place, database_url)))


async def _story(place: Path, database_url: str | None) -> int:
    """Play the story in a new tenant, so that it can be repeated."""
    from keeps.cli.story import tell

    return await tell(Target(place, database_url, tenant=f"story-{new_id().hex[-8:]}"))


async def _demo(target: Target) -> None:
    from keeps.demo.story import read_story
    from keeps.engine import Keeps
    from keeps.scope import Scope

    steps: list[tuple[str, float]] = []
    turns = list(read_story())
    with _step("open the database", steps):
        keeps = await Keeps.open(target.home, database_url=target.database_url)
    try:
        out.print(
            f"[dim]A PostgreSQL of its own, in {target.home}; nothing leaves this machine.[/]"
            if not target.database_url
            else ""
        )
        await _store(keeps, turns, steps)
        alice = keeps.memory(Scope("harbour", "alice", agent_id="concierge"))
        bob = keeps.memory(Scope("northwind", "bob", agent_id="planner"))
        await _ask(alice, steps)
        await _correct(alice, steps)
        await _forget(alice, steps)
        await _wall(alice, bob, steps)
        if sys.stdin.isatty():
            await _your_questions(alice)
    finally:
        with _step("close", steps):
            await keeps.close()
    out.print("\n[bold]How long each step took[/]")
    for name, seconds in steps:
        out.print(f"  {name:<46} {seconds * 1e3:>9,.1f} ms")
    out.print(
        '\nYour turn:  [bold]keeps remember "I take my tea with lemon."[/]  then  [bold]keeps recall "what do I'
        ' drink?"[/]'
    )


async def _store(keeps: Keeps, turns: list[Turn], steps: list[tuple[str, float]]) -> None:
    _title("Remember", f"{len(turns)} turns of two tenants, July to October: Alice moves house, Bob harvests apples.")
    with _step(f"store {len(turns)} turns", steps):
        for scope, group in groupby(turns, key=lambda turn: turn.scope):
            await keeps.memory(scope).remember_many([turn.memory for turn in group], index="later")
    with _step("index what is new", steps):
        for scope in dict.fromkeys(turn.scope for turn in turns):
            await keeps.service(Indexer).index_user(scope)
    status = await keeps.status()
    out.print(
        f"  {status.counts.memories} memories, {status.counts.events} events, {status.pending} waiting for the index,"
        f" model {status.model}"
    )


async def _ask(alice: LocalMemory, steps: list[tuple[str, float]]) -> None:
    _title("Recall", "by meaning and by words; the turns around a turn help.")
    for question in QUESTIONS:
        with _step(f"recall: {question}", steps):
            result = await alice.recall(question, limit=2)
        out.print(f"  [bold]{question}[/]")
        for hit in result.hits:
            out.print(
                f"      {escape(str(hit.memory.metadata.get('speaker')))}, {hit.memory.valid_from:%d %B}:"
                f" {escape(hit.memory.content)}"
            )
    _title("Explain", "every number that made the first hit first.")
    result = await alice.recall(QUESTIONS[0], limit=1, explain=True)
    for place, hit in enumerate(result.hits, 1):
        print_hit(place, hit)


async def _correct(alice: LocalMemory, steps: list[tuple[str, float]]) -> None:
    _title("Correct", "a fact with a key has one current truth; the old one stays, with its time.")
    with _step("correct a fact", steps):
        before = await alice.remember(
            "Alice lives in Leeds.", namespace="profile", key="home", valid_from=datetime(2026, 7, 2, tzinfo=UTC)
        )
        after = await alice.remember(
            "Alice lives in Lisbon.", namespace="profile", key="home", valid_from=datetime(2026, 10, 2, tzinfo=UTC)
        )
    out.print(f"  Leeds: {before.status}   Lisbon: {after.status}")
    for moment in (datetime(2026, 8, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)):
        found = await alice.recall("Where does Alice live?", namespace="profile", valid_at=moment, limit=1)
        out.print(f"  true on {moment:%d %B}: {found.hits[0].memory.content if found.hits else 'nothing known'}")


async def _forget(alice: LocalMemory, steps: list[tuple[str, float]]) -> None:
    _title("Forget", "Alice asked to forget the wifi password: content, vectors and event payloads go.")
    result = await alice.recall(FORGOTTEN_QUESTION, limit=10)
    memories = [hit.memory for hit in result.hits if FORGOTTEN in hit.memory.content]
    with _step("forget a secret for good", steps):
        for memory in memories:
            await alice.forget(memory.memory_id, hard=True)
    result = await alice.recall(FORGOTTEN_QUESTION, limit=50, include_superseded=True)
    left = sum(FORGOTTEN in hit.memory.content for hit in result.hits)
    events = [event for memory in memories for event in await alice.history(memory.memory_id)]
    out.print(
        f"  forgotten: {len(memories)}; found afterwards: {left}; in the log:"
        f" {', '.join(event.type for event in events)}, contents erased: {FORGOTTEN not in str(events)}"
    )


async def _wall(alice: LocalMemory, bob: LocalMemory, steps: list[tuple[str, float]]) -> None:
    _title("The wall", "another tenant asks the same questions; PostgreSQL answers, not our code.")
    with _step("another tenant asks", steps):
        strangers = [hit for question in QUESTIONS for hit in (await bob.recall(question, limit=50)).hits]
        own = await bob.recall(OTHERS_QUESTION, limit=1)
        nosy = (await alice.recall(OTHERS_QUESTION, limit=50)).hits
    leaked = sum(hit.memory.tenant_id != "northwind" for hit in strangers) + sum(
        hit.memory.tenant_id != "harbour" for hit in nosy
    )
    out.print(f"  Bob asks Alice's questions: {len(strangers)} hits, of another tenant: {leaked}")
    out.print(f"  Bob asks his own: {escape(own.hits[0].memory.content) if own.hits else 'nothing'}")
    if leaked:
        raise typer.Exit(1)


async def _your_questions(alice: LocalMemory) -> None:
    """Answer what the visitor types, until an empty line."""
    _title("Your turn", "ask anything about Alice's summer; an empty line ends.")
    while True:
        try:
            question = (await asyncio.to_thread(input, "  > ")).strip()
        except EOFError:
            return
        if not question:
            return
        result = await alice.recall(question[:1_000], limit=3)
        if result.nothing_known:
            out.print("      [dim]Perhaps nothing answers this; the nearest:[/]")
        for hit in result.hits:
            out.print(
                f"      {escape(str(hit.memory.metadata.get('speaker', 'Alice')))}, {hit.memory.valid_from:%d %B}:"
                f" {escape(hit.memory.content)}  [dim]relevance {hit.relevance or 0:.2f}[/]"
            )


def _title(name: str, text: str) -> None:
    out.print(f"\n[bold cyan]{name}[/]  [dim]{text}[/]")


@contextmanager
def _step(name: str, steps: list[tuple[str, float]]) -> Generator[None]:
    started = time.perf_counter()
    yield
    steps.append((name, time.perf_counter() - started))

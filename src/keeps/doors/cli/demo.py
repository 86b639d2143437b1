"""demo: Keeps at work on real conversations, in two minutes."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from keeps.base.clock import utc_now
from keeps.base.scope import Scope
from keeps.doors.cli.command import command
from keeps.doors.cli.context import DatabaseUrl, folder_of, out
from keeps.doors.cli.hits import print_hit
from keeps.doors.demo.extras import add_extras, is_marked, mark
from keeps.doors.demo.story import read_story, story_tenants
from keeps.memory.indexing.service import Indexer
from keeps.memory.lifecycle.service import Lifecycle
from keeps.memory.transfer.erasure import TenantService
from keeps.store.events.service import EventService
from keeps_client.errors import NotFoundError

if TYPE_CHECKING:
    from keeps.doors.demo.story import Turn
    from keeps.engine import Keeps, LocalMemory
    from keeps_client.models.operations import JobName

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
FIRST_TALK = (
    ("user", "My name is Alice. I'm allergic to peanuts, so I must never be served any."),
    ("assistant", "Understood: no peanuts, ever."),
    ("user", "I live in Leeds and I work at Acme."),
    ("user", "Nice weather today, is it not?"),
    ("assistant", "Lovely indeed."),
    ("user", "Thanks a lot!"),
)
SECOND_TALK = (
    ("user", "By the way, I live in York now."),
    ("assistant", "Noted."),
    ("user", "And I no longer work at Acme. I joined Globex."),
)


WEEKS_TENANT = "harbour-weeks"
DemoHome = Annotated[
    Path | None,
    typer.Option(
        "--home",
        help="Folder of the embedded database. Default: one of the demo's own, beside the usual one.",
        metavar="PATH",
        parser=folder_of,
        rich_help_panel="Database",
    ),
]

app = typer.Typer()


class SimulatedClock:
    """The time, and as much later as the demo says."""

    def __init__(self) -> None:
        self.later = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.later


@command(app)
async def demo(home: DemoHome = None, database_url: DatabaseUrl = None) -> None:
    """Show what Keeps does with three months of conversations.

    Stores them, recalls, explains, corrects, forgets, and tries to read another user's memory. Then simulates three
    weeks of conversations and shows what stays. It starts over each time, in its own home.
    """
    from keeps.base.settings import load_settings
    from keeps.engine import Keeps

    settings = load_settings(home=home, database_url=database_url)
    place = settings.home if home or settings.database_url else settings.home.with_name(settings.home.name + "-demo")
    steps: list[tuple[str, float]] = []
    clock = SimulatedClock()
    with _step("open the database", steps):
        keeps = await Keeps.open(place, database_url=database_url, clock=clock)
    try:
        if not database_url:
            out.print(f"[dim]This demo runs its own PostgreSQL in {place}. Nothing leaves this machine.[/]")
        await _erase_last(keeps)
        await _store(keeps, list(read_story()), steps)
        alice = keeps.memory(Scope("harbour", "alice", agent_id="concierge"))
        bob = keeps.memory(Scope("northwind", "bob", agent_id="planner"))
        await _ask(alice, steps)
        await _correct(alice, steps)
        await _forget(alice, steps)
        leaked = await _wall(alice, bob, steps)
        with _step("a document, a plan, entities", steps):
            await mark(keeps, dict.fromkeys(turn.scope for turn in read_story()))
            await add_extras(keeps, read_story())
        with _step("three weeks of conversations", steps):
            promised = await talk(keeps.memory(Scope(WEEKS_TENANT, "alice", "concierge")), clock)
        if sys.stdin.isatty():
            await _your_questions(alice)
    finally:
        with _step("close", steps):
            await keeps.close()
    out.print("\n[bold]How long each step took[/]")
    for name, seconds in steps:
        out.print(f"  {name:<46} {seconds * 1e3:>9,.1f} ms")
    this = escape(_this_command())
    out.print(
        f'\nYour turn:  [bold]{this} remember "I take my tea with lemon."[/]  then  [bold]{this} recall'
        ' "what do I drink?"[/]'
    )
    if leaked or not promised:
        raise typer.Exit(1)


async def _erase_last(keeps: Keeps) -> None:
    """Erase the tenants of the last demo, so that this one tells the same story. Others of these names stay."""
    turn = next(read_story())
    stored = await keeps.memory(turn.scope).find(turn.memory["namespace"], turn.memory["key"])
    if stored is None and not await is_marked(keeps, turn.scope):
        return
    for tenant in (WEEKS_TENANT, *sorted(story_tenants() - {turn.scope.tenant_id}), turn.scope.tenant_id):
        with suppress(NotFoundError):
            await keeps.service(TenantService).erase_tenant(Scope(tenant))


def _this_command() -> str:
    """Return how this command was called, where `keeps` alone is not found or is another one."""
    called = Path(sys.argv[0])
    on_path = shutil.which("keeps")
    if not called.is_file() or (on_path is not None and Path(on_path).samefile(called)):
        return "keeps"
    return sys.argv[0]


async def _store(keeps: Keeps, turns: list[Turn], steps: list[tuple[str, float]]) -> None:
    _title("Remember", f"{len(turns)} turns of two tenants, July to October: Alice moves house, Bob harvests apples.")
    with _step(f"store {len(turns)} turns", steps):
        for scope, group in groupby(turns, key=lambda turn: turn.scope):
            await keeps.memory(scope).remember_many([turn.memory for turn in group], index="later")
    with _step("index the new memories", steps):
        for scope in dict.fromkeys(turn.scope for turn in turns):
            await keeps.service(Indexer).index_user(scope)
    status = await keeps.status()
    out.print(
        f"  {status.counts.memories} memories, {status.counts.events} events, {status.pending} waiting for the index,"
        f" model {status.model}"
    )


async def _ask(alice: LocalMemory, steps: list[tuple[str, float]]) -> None:
    _title("Recall", "by meaning and by words; neighbouring messages add context.")
    for question in QUESTIONS:
        with _step(f"recall: {question}", steps):
            result = await alice.recall(question, limit=2)
        out.print(f"  [bold]{question}[/]")
        for hit in result.hits:
            out.print(
                f"      {escape(str(hit.memory.metadata.get('speaker')))}, {hit.memory.valid_from:%d %B}:"
                f" {escape(hit.memory.content)}"
            )
    _title("Explain", "every number behind the rank of the first hit.")
    result = await alice.recall(QUESTIONS[0], limit=1, explain=True)
    for place, hit in enumerate(result.hits, 1):
        print_hit(place, hit)


async def _correct(alice: LocalMemory, steps: list[tuple[str, float]]) -> None:
    _title("Correct", "a fact with a key has one current value; old values stay, with their dates.")
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
        out.print(f"  true on {moment:%d %B}: {found.hits[0].memory.content if found.hits else 'no memory'}")


async def _forget(alice: LocalMemory, steps: list[tuple[str, float]]) -> None:
    _title("Forget", "Alice asked to forget the wifi password: content, vectors and event contents are removed.")
    result = await alice.recall(FORGOTTEN_QUESTION, limit=10)
    memories = [hit.memory for hit in result.hits if FORGOTTEN in hit.memory.content]
    with _step("forget a secret for good", steps):
        for memory in memories:
            await alice.forget(memory.memory_id, hard=True)
    result = await alice.recall(FORGOTTEN_QUESTION, limit=50, include_superseded=True)
    left = sum(FORGOTTEN in hit.memory.content for hit in result.hits)
    events = [event for memory in memories for event in await alice.history(memory.memory_id)]
    out.print(
        f"  forgotten: {len(memories)}; still found: {left}; in the log:"
        f" {', '.join(event.type for event in events)}, contents erased: {FORGOTTEN not in str(events)}"
    )


async def _wall(alice: LocalMemory, bob: LocalMemory, steps: list[tuple[str, float]]) -> int:
    """Let each tenant ask the other's questions; return the number of the other's memories that were found."""
    _title("Isolation", "another tenant asks the same questions; PostgreSQL keeps the tenants apart, not our code.")
    with _step("another tenant asks", steps):
        strangers = [hit for question in QUESTIONS for hit in (await bob.recall(question, limit=50)).hits]
        own = await bob.recall(OTHERS_QUESTION, limit=1)
        nosy = (await alice.recall(OTHERS_QUESTION, limit=50)).hits
    leaked = sum(hit.memory.tenant_id != "northwind" for hit in strangers) + sum(
        hit.memory.tenant_id != "harbour" for hit in nosy
    )
    out.print(f"  Bob asks Alice's questions: {len(strangers)} hits, {leaked} of them from another tenant")
    out.print(f"  Bob asks his own question: {escape(own.hits[0].memory.content) if own.hits else 'nothing'}")
    return leaked


async def talk(memory: LocalMemory, clock: SimulatedClock) -> bool:
    """Play two conversations and three weeks of background jobs. Return False if a promise is not held."""
    results: list[bool] = []

    def check(holds: bool, what: str) -> None:
        out.print(f"  {'[green]yes[/]' if holds else '[red]NO[/] '}  {what}")
        results.append(holds)

    _title("Talk", "Keeps extracts facts from messages; new facts replace old ones; small talk fades.")
    await _say(memory, FIRST_TALK, "monday")
    clock.later = timedelta(hours=2)
    out.print(f"  [dim]two hours later: {await _run_jobs(memory, 'sessions', 'promotion')}[/]")
    clock.later = timedelta(days=14)
    await _say(memory, SECOND_TALK, "two-weeks-later")
    work = await memory.recall("Where does the user work?", layers=["long_term"], limit=5)
    current = [hit.memory.content for hit in work.hits]
    check("I joined Globex." in current and "I work at Acme." not in current, "Globex replaced Acme")
    every = await memory.recall("Where does the user live?", layers=["long_term"], include_superseded=True)
    past = [hit.memory.content for hit in every.hits if hit.memory.superseded_by]
    check(any("Leeds" in each for each in past), "Leeds is still readable, labelled as superseded")
    clock.later = timedelta(days=21)
    out.print(f"  [dim]a week later: {await _run_jobs(memory, 'sessions', 'promotion', 'decay', 'expiry')}[/]")
    prompt = await memory.context("What may I order for her at the restaurant?", session_id="new", budget_tokens=600)
    check("allergic to peanuts" in prompt.text, "the allergy is in the next prompt")
    check("weather" not in prompt.text and "Thanks" not in prompt.text, "the small talk is not in the prompt")
    faded = await memory.recall("nice weather", include_archived=True, limit=3)
    check(any("weather" in hit.memory.content for hit in faded.hits), "the small talk is archived, not lost")
    replayed = await memory.keeps.service(EventService).verify(memory.scope)
    check(replayed.equal, f"everything can be rebuilt from {replayed.events} events")
    return all(results)


async def _say(memory: LocalMemory, talk: tuple[tuple[str, str], ...], session_id: str) -> None:
    for role, text in talk:
        out.print(f"    [dim]{role:>9}[/]  {escape(text)}")
    messages = [{"role": role, "content": text} for role, text in talk]
    receipt = await memory.store_exchange(messages, session_id=session_id)
    await memory.end_session(session_id)
    await memory.keeps.service(Indexer).settle(memory.scope)
    facts = [fact.memory for fact in receipt.facts if fact.memory]
    out.print("  facts: " + " · ".join(escape(fact.content) for fact in facts if fact.valid_to is None))
    if ended := [fact.content for fact in facts if fact.valid_to is not None]:
        out.print("  no longer true: " + " · ".join(map(escape, ended)))


async def _run_jobs(memory: LocalMemory, *names: JobName) -> str:
    """Run jobs now and return their counts as text."""
    await memory.keeps.service(Indexer).settle(memory.scope)
    done = [await memory.keeps.service(Lifecycle).run(memory.scope.tenant_id, name) for name in names]
    counts = [f"{count} {what}" for each in done if each for what, count in each.counts.items()]
    return ", ".join(counts) or "nothing to do"


async def _your_questions(alice: LocalMemory) -> None:
    """Answer what the visitor types, until an empty line."""
    _title("Your turn", "ask anything about Alice's summer; press Enter on an empty line to quit.")
    while True:
        try:
            question = (await asyncio.to_thread(input, "  > ")).strip()
        except EOFError:
            return
        if not question:
            return
        result = await alice.recall(question[:1_000], limit=3)
        if result.nothing_known:
            out.print("      [dim]No memory may answer this; the closest matches:[/]")
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

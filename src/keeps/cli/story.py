"""demo --story: three conversations over three simulated weeks, with the resulting memories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rich.markup import escape

from keeps.cli.context import Target, out
from keeps.events.service import EventService
from keeps.indexing.service import Indexer
from keeps.lifecycle.service import Lifecycle
from keeps_client.models import ContextResult
from keeps_client.models.operations import JobName

if TYPE_CHECKING:
    from keeps.engine import Keeps, LocalMemory


_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_FIRST = (
    ("user", "Hi there!"),
    ("assistant", "Hello! How can I help?"),
    ("user", "My name is Alice. I'm allergic to peanuts, so I must never be served any."),
    ("assistant", "Understood: no peanuts, ever."),
    ("user", "I live in Leeds and I work at Acme."),
    ("user", "Nice weather today, is it not?"),
    ("assistant", "Lovely indeed."),
    ("user", "We decided to hold the team dinner on Friday, 20 March, for eight people."),
    ("user", "Thanks a lot!"),
)
_SECOND = (
    ("user", "Where were we with the dinner?"),
    ("assistant", "Friday, 20 March, for eight people."),
    ("user", "Good. Please book the Thai place by Tuesday."),
)
_THIRD = (
    ("user", "By the way, I live in York now."),
    ("assistant", "Noted."),
    ("user", "And I no longer work at Acme. I joined Globex."),
)


class _Clock:
    def __init__(self) -> None:
        self.now = _START

    def __call__(self) -> datetime:
        return self.now


async def tell(target: Target) -> int:
    """Play the story on a separate database; return 1 if the memory does not do what it promises."""
    clock = _Clock()
    failed: list[str] = []

    def check(holds: bool, what: str) -> None:
        out.print(f"  {'[green]yes[/]' if holds else '[red]NO[/] '}  {what}")
        if not holds:
            failed.append(what)

    keeps, alice = await _open(target, clock)
    _title(clock, "The first conversation", "said, stored, and ended")
    for role, text in _FIRST:
        out.print(f"    [dim]{role:>9}[/]  {escape(text)}")
    told = await alice.store_exchange([{"role": role, "content": text} for role, text in _FIRST], session_id="monday")
    out.print("  Read in it: " + " · ".join(escape(item.memory.content) for item in told.facts if item.memory))
    await alice.end_session("monday")
    clock.now += timedelta(hours=2)
    done = await _jobs(alice, "sessions", "promotion")
    out.print(f"  Two hours later: {done}")
    await keeps.close()

    clock.now = _START + timedelta(days=7)
    keeps, alice = await _open(target, clock)
    _title(clock, "The second conversation", "after a restart, in a new session")
    context = await alice.context("Where were we with the team dinner?", session_id="next-monday", budget_tokens=600)
    _show(context)
    check("20 March" in context.text, "the new session knows what the last one decided")
    await alice.store_exchange([{"role": role, "content": text} for role, text in _SECOND], session_id="next-monday")
    await alice.end_session("next-monday")
    clock.now += timedelta(hours=2)
    await _jobs(alice, "sessions", "promotion", "decay")

    clock.now = _START + timedelta(days=14)
    _title(clock, "The third conversation", "things have changed")
    for role, text in _THIRD:
        out.print(f"    [dim]{role:>9}[/]  {escape(text)}")
    await alice.store_exchange([{"role": role, "content": text} for role, text in _THIRD], session_id="third")
    await keeps.service(Indexer).settle(alice.scope)
    home = await alice.recall("Where does the user live?", layers=["long_term"], limit=1)
    check(
        "York" in home.hits[0].memory.content,
        f"asked where she lives: {home.hits[0].memory.content}",
    )
    older = [
        hit.memory
        for hit in (await alice.recall("Where does the user live?", layers=["long_term"], include_superseded=True)).hits
        if hit.memory.superseded_by
    ]
    check(any("Leeds" in item.content for item in older), "Leeds is still readable, labelled as superseded")
    work = await alice.recall("Where does the user work?", layers=["long_term"], limit=5)
    said = [hit.memory.content for hit in work.hits]
    check("I joined Globex." in said and "I work at Acme." not in said, "Globex took the place of Acme")

    clock.now = _START + timedelta(days=21)
    _title(clock, "Three weeks on", "the nightly jobs have run")
    out.print(f"  {await _jobs(alice, 'sessions', 'promotion', 'decay', 'expiry')}")
    context = await alice.context("What may I order for her at the restaurant?", session_id="fourth", budget_tokens=600)
    _show(context)
    check("allergic to peanuts" in context.text, "the allergy is kept")
    check("weather" not in context.text and "Thanks" not in context.text, "the small talk is gone")
    found = await alice.recall("nice weather", include_archived=True, limit=3)
    check(
        any("weather" in hit.memory.content for hit in found.hits),
        "gone is archived, not lost: it is found when asked for",
    )
    verified = await keeps.service(EventService).verify(alice.scope)
    check(verified.equal, f"all of it can be rebuilt from {verified.events} events")
    await keeps.close()
    who = f"--tenant {target.tenant}"
    out.print(
        f"\n[dim]It is all of alice in {target.tenant}: keeps list {who} --user alice. keeps run-job decay --tenant"
        f" {target.tenant} makes a job that can be undone; keeps tenants erase {target.tenant} removes it.[/]",
        soft_wrap=True,
    )
    return 1 if failed else 0


async def _open(target: Target, clock: _Clock) -> tuple[Keeps, LocalMemory]:
    from keeps.engine import Keeps
    from keeps.scope import Scope

    keeps = await Keeps.open(target.home, database_url=target.database_url, clock=clock)
    return keeps, keeps.memory(Scope(target.tenant, "alice", "concierge"))


async def _jobs(memory: LocalMemory, *names: JobName) -> str:
    """Run jobs now and return their counts as text."""
    await memory.keeps.service(Indexer).settle(memory.scope)
    done: list[str] = []
    for name in names:
        operation = await memory.keeps.service(Lifecycle).run(memory.scope.tenant_id, name)
        if operation is not None:
            done += [f"{count} {what}" for what, count in operation.counts.items()]
    return ", ".join(done) or "nothing to do"


def _title(clock: _Clock, name: str, text: str) -> None:
    out.print(f"\n[bold cyan]{clock.now:%A, %d %B}[/]  [bold]{name}[/]  [dim]{text}[/]")


def _show(context: ContextResult) -> None:
    out.print(f"  [dim]what the LLM is told ({context.tokens} tokens):[/]")
    for line in context.text.splitlines():
        if not line.startswith("<!--"):
            out.print(f"    [italic]{escape(line)}[/]")

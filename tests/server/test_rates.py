"""Limits of requests in a minute."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from keeps.base.scope import Scope
from keeps.store.access import rates
from keeps.store.access.rates import Rates, TooManyError, Windows

ALICE, BOB = Scope("acme", "alice"), Scope("acme", "bob")


class Clock:
    """A clock that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1_000.0
        monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: self.seconds))


async def test_window_ends_a_minute_after_its_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    limited = Rates(reads_per_minute=2, writes_per_minute=1)
    assert (await limited.take(ALICE, "read")).remaining == 1
    clock.seconds += 30
    second = await limited.take(ALICE, "read")
    assert (second.limit, second.remaining, second.reset_seconds) == (2, 0, 30)
    with pytest.raises(TooManyError, match="you may read 2 times a minute; try again in 30 s") as refused:
        await limited.take(ALICE, "read")
    assert (refused.value.retry_after_seconds, refused.value.allowance.remaining) == (30, 0)
    assert (await limited.take(ALICE, "write")).remaining == 0
    assert (await limited.take(BOB, "read")).remaining == 1
    clock.seconds += 30
    assert (await limited.take(ALICE, "read")).remaining == 1


async def test_tenant_has_twenty_times_the_limit_of_a_user() -> None:
    limited = Rates(reads_per_minute=1, writes_per_minute=1)
    for number in range(20):
        await limited.take(Scope("acme", f"user{number}"), "read")
    with pytest.raises(TooManyError, match="your tenant may read 20 times a minute"):
        await limited.take(Scope("acme", "user20"), "read")
    await limited.take(Scope("globex", "user20"), "read")


async def test_windows_that_ended_use_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    windows = Windows()
    for number in range(1_000):
        await windows.count(str(number), "tenant", 1, 1_000)
    clock.seconds += 61
    await windows.count("one", "tenant", 1, 1)
    assert len(windows._windows) == 2, "the user's and the tenant's"  # noqa: SLF001


async def test_refused_users_use_no_memory_and_nothing_of_the_tenant(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    windows = Windows()
    for number in range(1_000):
        await windows.count(f"user{number}", "tenant", 5, 20)
    assert len(windows._windows) == 21  # noqa: SLF001
    greedy = Windows()
    counts = [(await greedy.count("user", "tenant", 2, 3))[0] for _ in range(5)]
    assert counts == [1, 2, 3, 4, 5]
    assert [(await greedy.count(user, "tenant", 2, 3))[0] for user in ("other", "third")] == [1, 0]

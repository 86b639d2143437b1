"""An engine whose clock a test sets: weeks pass at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from keeps.engine import Keeps


class MovingClock:
    """Starts on a day in the past, and goes where a test sends it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **amount: float) -> None:
        self.now += timedelta(**amount)


@pytest.fixture
def clock() -> MovingClock:
    return MovingClock()


@pytest.fixture
async def living(app_url: str, shared: object, clock: MovingClock) -> AsyncIterator[Keeps]:
    async with Keeps.open(database_url=app_url, embedder=shared, clock=clock) as opened:
        yield opened

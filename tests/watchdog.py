"""Whoever holds the event loop stops everybody: a test fails in which one step of it takes too long.

Measured is the processor time of the loop's own thread, beside that of a piece of work that is always the same: neither
a busy machine nor a slow one decides. A virtual machine may still stand still within a step, so a test that fails for
that alone runs once more. What a test does itself, such as making large input, it does before the loop or in
`unwatched`.
"""

from __future__ import annotations

import asyncio.events
import gc
import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

MOST_SECONDS = 0.1
"""On a machine that takes `FLOOR_SECONDS` for `_floor`."""
FLOOR_SECONDS = 0.0025
_watching = 0
_worst: tuple[float, str] = (0.0, "")
_excused = 0.0
_collected_from = 0.0
_original = asyncio.events.Handle._run


def _run(handle: Any) -> Any:
    global _worst, _excused
    if not _watching:
        return _original(handle)
    excused, started = _excused, time.thread_time()
    try:
        return _original(handle)
    finally:
        took = time.thread_time() - started - (_excused - excused)
        if took > _worst[0]:
            _worst = (took, repr(handle)[:500])


class HeldTheLoop(AssertionError):
    """A step took too long."""


@contextmanager
def unwatched() -> Generator[None]:
    """What happens inside is the test's own work."""
    global _excused
    started = time.thread_time()
    try:
        yield
    finally:
        _excused += time.thread_time() - started


@contextmanager
def watching() -> Generator[None]:
    """Fail where a step inside took too long."""
    global _watching, _worst
    _worst = (0.0, "")
    _watching += 1
    try:
        yield
    finally:
        _watching -= 1
    took, step = _worst
    if took > MOST_SECONDS:
        slower = max(1.0, max(_floor() for _ in range(20)) / FLOOR_SECONDS)
        if took > MOST_SECONDS * slower:
            raise HeldTheLoop(
                f"one step held the event loop for {took:.2f} s of processor time, on a machine {slower:.1f} times"
                f" slower than that of the limit: {step}"
            )


def _floor() -> float:
    """How long this machine takes for a piece of work, in seconds of processor time."""
    started = time.thread_time()
    json.loads(json.dumps([{"text": str(number), "at": number} for number in range(3_000)]))
    return time.thread_time() - started


def _collecting(phase: str, _info: dict[str, int]) -> None:
    """The garbage of a whole run of tests is nobody's step."""
    global _excused, _collected_from
    if phase == "start":
        _collected_from = time.thread_time()
    else:
        _excused += time.thread_time() - _collected_from


def install() -> None:
    asyncio.events.Handle._run = _run  # type: ignore[method-assign]
    gc.callbacks.append(_collecting)

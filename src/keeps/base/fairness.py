"""Fair turns between tenants: a tenant with many requests delays its own, not those of others.

`acting_for` sets the tenant of a task. Queues shared by many tenants read it and serve the tenants in turn.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
NEAR_SECONDS = 1.0
"""Seconds after a request during which a tenant counts as active."""
_tenant: contextvars.ContextVar[str] = contextvars.ContextVar("keeps_tenant", default="")


@contextmanager
def acting_for(tenant_id: str) -> Generator[None]:
    """Set the tenant for the work inside."""
    token = _tenant.set(tenant_id)
    try:
        yield
    finally:
        _tenant.reset(token)


def current_tenant() -> str:
    """Return the tenant of this task; empty without one."""
    return _tenant.get()


class FairQueue(Generic[ItemT]):
    """A queue that serves tenants in turn, and each tenant's items in order.

    The next item is that of the tenant with the lowest cost served since it began to wait.
    """

    def __init__(self) -> None:
        self._lanes: dict[str, deque[tuple[ItemT, float]]] = {}
        self._turns: list[tuple[float, int, str]] = []
        """A heap of the start of each tenant's next item, measured in cost served."""
        self._begun = 0.0
        self._order = itertools.count()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, tenant_id: str, item: ItemT, cost: float = 1.0) -> None:
        lane = self._lanes.get(tenant_id)
        if lane is None:
            lane = self._lanes[tenant_id] = deque()
            heapq.heappush(self._turns, (self._begun, next(self._order), tenant_id))
        lane.append((item, cost))
        self._size += 1

    def peek(self) -> ItemT:
        """Return the next item without removing it. Raises IndexError if there is none."""
        return self._lanes[self._turns[0][2]][0][0]

    def get(self) -> ItemT:
        """Remove and return the next item. Raises IndexError if there is none."""
        self._begun, _, tenant_id = heapq.heappop(self._turns)
        lane = self._lanes[tenant_id]
        item, cost = lane.popleft()
        if lane:
            heapq.heappush(self._turns, (self._begun + cost, next(self._order), tenant_id))
        else:
            del self._lanes[tenant_id]
        self._size -= 1
        return item


class TenantLocks:
    """A lock per tenant, kept as long as it is in use. Waiting tasks are served in order."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, tenant_id: str, timeout_seconds: float) -> AsyncGenerator[None]:
        """Hold the tenant's lock inside. Raises TimeoutError."""
        lock, wanted = self._locks.get(tenant_id, (asyncio.Lock(), 0))
        self._locks[tenant_id] = (lock, wanted + 1)
        try:
            async with asyncio.timeout(timeout_seconds):
                await lock.acquire()
            try:
                yield
            finally:
                lock.release()
        finally:
            wanted = self._locks[tenant_id][1] - 1
            if wanted:
                self._locks[tenant_id] = (lock, wanted)
            else:
                del self._locks[tenant_id]


class FairSlots:
    """Slots shared by tenants. Waiting tasks are served in turn, one per tenant.

    A tenant alone may use `alone` slots at once, and `beside` while others are active.
    """

    def __init__(self, size: int, *, alone: int, beside: int) -> None:
        self.size = size
        self._alone, self._beside = max(1, alone), max(1, beside)
        self._held: Counter[str] = Counter()
        self.taken = 0
        self._waiting: OrderedDict[str, deque[tuple[asyncio.Future[None], int]]] = OrderedDict()
        self._latest = self._latest_other = ("", -math.inf)
        """The last tenant that asked and the one before it, with their times."""
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, tenant_id: str, timeout_seconds: float, *, more: int = 0) -> bool:
        """Take a slot until `leave`. Return whether it had to wait. Raises TimeoutError.

        The empty tenant is Keeps itself; only `size` limits it. `more`: slots beyond `alone` that this task may have.
        """
        if tenant_id:
            if self._latest[0] != tenant_id:
                self._latest_other = self._latest
            self._latest = (tenant_id, time.monotonic())
        if tenant_id not in self._waiting and self._may_take(tenant_id, more):
            self._hold(tenant_id)
            return False
        await self._wait(tenant_id, timeout_seconds, more)  # `_serve` takes the slot for this task before it wakes it.
        return True

    def leave(self, tenant_id: str) -> None:
        """Release a slot to the next waiting task that may have one."""
        self.taken -= 1
        self._held[tenant_id] -= 1
        if self._held[tenant_id] <= 0:
            del self._held[tenant_id]
        self._serve()

    def _hold(self, tenant_id: str) -> None:
        self.taken += 1
        self._held[tenant_id] += 1

    def _serve(self) -> None:
        """Give slots to waiting tasks that may have one, one per tenant in turn."""
        served = True
        while served:
            served = False
            for waiting in list(self._waiting):
                lane = self._waiting[waiting]
                while lane and lane[0][0].done():
                    lane.popleft()
                if lane and self._may_take(waiting, lane[0][1]):
                    self._hold(waiting)
                    lane.popleft()[0].set_result(None)
                    self._waiting.move_to_end(waiting)  # Move behind the others.
                    served = True
                if not lane:
                    del self._waiting[waiting]

    def _look_again(self) -> None:
        """Serve again later: other tenants may have become inactive, so waiting tasks may use more slots."""
        self._timer = None
        self._serve()
        self._watch()

    def _watch(self) -> None:
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(NEAR_SECONDS, self._look_again)

    def _may_take(self, tenant_id: str, more: int) -> bool:
        return self.taken < self.size and (not tenant_id or self._held[tenant_id] < self._most_of(tenant_id, more))

    def _most_of(self, tenant_id: str, more: int) -> int:
        other, at = self._latest_other if self._latest[0] == tenant_id else self._latest
        return self._beside if other and time.monotonic() - at < NEAR_SECONDS else self._alone + more

    async def _wait(self, tenant_id: str, timeout_seconds: float, more: int) -> None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(tenant_id, deque()).append((turn, more))
        self._serve()  # Tasks ahead of this one may have given up.
        self._watch()
        timer = loop.call_later(timeout_seconds, _too_late, turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave(tenant_id)  # The slot was already assigned to this task, which has given up.
            raise
        finally:
            timer.cancel()


def _too_late(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_exception(TimeoutError())


class TextWorker:
    """One thread for text processing that would block the event loop. Tenants take turns."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="keeps-text")
        self._waiting: FairQueue[tuple[Callable[[], Any], asyncio.Future[Any]]] = FairQueue()
        self._task: asyncio.Task[None] | None = None

    async def map(self, work: Callable[[ItemT], ResultT], items: list[ItemT], at_once: int = 16) -> list[ResultT]:
        """Return `work(item)` for each item, in order; a few at a time, so that other tenants get turns."""
        loop = asyncio.get_running_loop()
        pieces = [items[start : start + at_once] for start in range(0, len(items), at_once)]
        futures: list[asyncio.Future[list[ResultT]]] = []
        for piece in pieces:
            future: asyncio.Future[list[ResultT]] = loop.create_future()
            self._waiting.put(current_tenant(), (lambda piece=piece: [work(each) for each in piece], future))
            futures.append(future)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._drain())
        return list(itertools.chain.from_iterable(await asyncio.gather(*futures)))

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.wait({self._task})
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            work, future = self._waiting.get()
            if future.done():
                continue
            try:
                answer = await loop.run_in_executor(self._thread, work)
            except Exception as error:  # noqa: BLE001  whoever asked gets it
                if not future.done():
                    future.set_exception(error)
                continue
            if not future.done():
                future.set_result(answer)

"""Turns between tenants: whoever asks much waits for themselves, not the others for them.

`acting_for` says for whom a task works; queues that many tenants share ask it, and serve one of each in turn.
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
"""Who asked so short a time ago is about to ask again."""
_tenant: contextvars.ContextVar[str] = contextvars.ContextVar("keeps_tenant", default="")


@contextmanager
def acting_for(tenant_id: str) -> Generator[None]:
    """Inside, work is done for this tenant."""
    token = _tenant.set(tenant_id)
    try:
        yield
    finally:
        _tenant.reset(token)


def current_tenant() -> str:
    """For whom this task works; empty for nobody."""
    return _tenant.get()


class FairQueue(Generic[ItemT]):
    """A queue that serves tenants in turn, in order within a tenant: next is whoever was given least since they wait,
    by the cost of what they got."""

    def __init__(self) -> None:
        self._lanes: dict[str, deque[tuple[ItemT, float]]] = {}
        self._turns: list[tuple[float, int, str]] = []
        """When each tenant's next item begins, in what was given so far to whoever was given least: a heap."""
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
        """The next item, which stays. Raises IndexError where there is none."""
        return self._lanes[self._turns[0][2]][0][0]

    def get(self) -> ItemT:
        """The next item. Raises IndexError where there is none."""
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
    """A lock for each tenant, as long as somebody wants it. Who waits is served in order."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, tenant_id: str, timeout_seconds: float) -> AsyncGenerator[None]:
        """Inside, nobody else of the tenant is. Raises TimeoutError."""
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
    """Places that tenants share. Who waits is served in turn, one of each tenant. A tenant that is alone may have
    `alone` of them at once, and `beside` while others ask, too."""

    def __init__(self, size: int, *, alone: int, beside: int) -> None:
        self.size = size
        self._alone, self._beside = max(1, alone), max(1, beside)
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._latest = self._latest_other = ("", -math.inf)
        """Which tenant asked last, and which other before, and when."""
        self._timer: asyncio.TimerHandle | None = None

    @property
    def taken(self) -> int:
        return self._held.total()

    async def take(self, tenant_id: str, timeout_seconds: float) -> bool:
        """Have a place, until `leave`; whether one had to wait for it. Raises TimeoutError. The empty tenant is Keeps
        itself:
        only `size` bounds it."""
        if tenant_id:
            if self._latest[0] != tenant_id:
                self._latest_other = self._latest
            self._latest = (tenant_id, time.monotonic())
        if tenant_id not in self._waiting and self._may_take(tenant_id):
            self._held[tenant_id] += 1
            return False
        await self._wait(tenant_id, timeout_seconds)  # whoever wakes us takes our place for us
        return True

    def leave(self, tenant_id: str) -> None:
        """Give a place up, to the next who waits and may have it."""
        self._held[tenant_id] -= 1
        if self._held[tenant_id] <= 0:
            del self._held[tenant_id]
        self._serve()

    def _serve(self) -> None:
        """Places to who waits and may have one, one of each tenant in turn."""
        served = True
        while served:
            served = False
            for waiting in list(self._waiting):
                lane = self._waiting[waiting]
                while lane and lane[0].done():
                    lane.popleft()
                if lane and self._may_take(waiting):
                    self._held[waiting] += 1
                    lane.popleft().set_result(None)
                    self._waiting.move_to_end(waiting)  # behind the others
                    served = True
                if not lane:
                    del self._waiting[waiting]

    def _look_again(self) -> None:
        """Others may have stopped asking: then those who wait may have more."""
        self._timer = None
        self._serve()
        self._watch()

    def _watch(self) -> None:
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(NEAR_SECONDS, self._look_again)

    def _may_take(self, tenant_id: str) -> bool:
        return self.taken < self.size and (not tenant_id or self._held[tenant_id] < self._most_of(tenant_id))

    def _most_of(self, tenant_id: str) -> int:
        other, at = self._latest_other if self._latest[0] == tenant_id else self._latest
        return self._beside if other and time.monotonic() - at < NEAR_SECONDS else self._alone

    async def _wait(self, tenant_id: str, timeout_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(tenant_id, deque()).append(turn)
        self._serve()  # those before us may have given up
        self._watch()
        timer = loop.call_later(timeout_seconds, _too_late, turn)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave(tenant_id)  # it was our turn, and we are gone
            raise
        finally:
            timer.cancel()


def _too_late(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_exception(TimeoutError())


class TextWorker:
    """One thread for work on text that would hold the event loop; whose turn it is goes by tenant."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="keeps-text")
        self._waiting: FairQueue[tuple[Callable[[], Any], asyncio.Future[Any]]] = FairQueue()
        self._task: asyncio.Task[None] | None = None

    async def map(self, work: Callable[[ItemT], ResultT], items: list[ItemT], at_once: int = 16) -> list[ResultT]:
        """`work` for each item, in order, a few at a time, so that others' come in between."""
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

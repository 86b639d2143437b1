"""Hold the arrays of the audiences that are being asked, and bring them up to date (ADR 58).

An audience that is asked again within a minute is read into memory in the background. Before each answer the database
says whether its version is still that of the arrays; if not, the memories that the log says were changed are read
again. Rows are always read under the row security of the scope that asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
from cachetools import LRUCache

from keeps.base.cache.ttl_cache import TtlCache
from keeps.base.scope import Scope
from keeps.base.telemetry.logs import log
from keeps.memory.recall import store
from keeps.memory.recall.index import LIVES, AudienceIndex
from keeps.memory.recall.rows import among
from keeps.memory.recall.store import AudienceState
from keeps.store.db.session import Database, Tx, taking_long
from keeps_client.errors import KeepsError

ASKED_SECONDS = 60.0
"""An audience that is asked twice within this time is held."""
UNUSED_SECONDS = 600.0
SWEEP_SECONDS = 20.0
"""Time after which arrays are compared with the database though nobody asks: what was erased is gone soon after."""
WRITES_SECONDS = 0.5
"""Time after a write of this process until its user's arrays are brought up to date, together with further writes."""
BUILDS, WAITING, WAITING_OF_TENANT = 2, 256, 16
"""Audiences that are read at once, and that wait for it: of all tenants, and of one."""
REST = 20
"""An audience is not read again before so many times the time that it took, whatever its user writes and asks."""
READINGS_AT_ONCE = 5_000
PLACES_AT_ONCE = 1_000
MOST_COMPARED = 50_000
"""Number of memories up to which those that are gone are found by comparing all ids."""
MOST_CHANGES = 1_000
"""Number of changed memories above which an audience is read again as a whole."""
CHANGES_AT_ONCE = 200
"""Number of changed memories that are read and added together, so that the event loop goes on in between."""
BYTES_OF_A_MEMORY, BYTES_OF_A_WORD = 1_100, 75
"""Approximate size of a memory in the arrays, and of each of its words, for the decision whether an audience fits."""
Key = tuple[str, str, str]
"""Cell, tenant and audience."""


@dataclass(eq=False, slots=True)
class Held:
    """The arrays of an audience, and who last asked for it."""

    index: AudienceIndex
    scope: Scope
    size: int = 0
    used_at: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    readers: int = 0
    dropped: bool = False


class AudienceIndexes:
    """The audiences that this process holds, up to `room` bytes; the least recently asked go first."""

    def __init__(self, database: Database, model: str, dimensions: int, room: int) -> None:
        self._database = database
        self._model = model
        self._dimensions = dimensions
        self.room = room
        """Size of all arrays in bytes, at most."""
        self._held: OrderedDict[Key, Held] = OrderedDict()
        self._held_bytes = 0
        self._asked: TtlCache[tuple[str, str], bool] = TtlCache(100_000, ASKED_SECONDS)
        self._spaces: TtlCache[tuple[str, ...], tuple[str, ...]] = TtlCache(100_000, UNUSED_SECONDS)
        self._too_large: TtlCache[Key, bool] = TtlCache(10_000, UNUSED_SECONDS, renewed=False)
        self._builds: dict[Key, asyncio.Task[None]] = {}
        self._built: LRUCache[Key, float] = LRUCache(100_000)
        """The time from which on an audience may be read again."""
        self._reserved: dict[Key, int] = {}
        self._slots = asyncio.Semaphore(BUILDS)
        self._sweeping: asyncio.Task[None] | None = None
        self._behind: dict[tuple[str, str], asyncio.Task[None]] = {}
        database.on_commit.append(self._wrote)

    @property
    def size(self) -> int:
        """Size of all arrays in bytes, and of those that are being read."""
        return self._held_bytes + sum(self._reserved.values())

    def known_spaces(self, scope: Scope) -> tuple[str, ...] | None:
        """Return the spaces that the user could read when last asked; None if that is not known."""
        return self._spaces.get(_reader(scope))

    def know_spaces(self, scope: Scope, spaces: tuple[str, ...]) -> None:
        """Note the spaces that the user can read."""
        self._spaces.put(_reader(scope), spaces)

    @contextmanager
    def reading(self, scope: Scope) -> Generator[list[AudienceIndex] | None]:
        """Give the arrays of a scope's audiences for one question; None if one of them is not held."""
        keys = self._keys(scope)
        ready = [arrays for key in keys if (arrays := self._held.get(key)) is not None]
        if len(ready) < len(keys):
            yield None
            return
        for key, arrays in zip(keys, ready, strict=True):
            arrays.used_at = time.monotonic()
            if not scope.agent_bound:
                arrays.scope = scope
            self._held.move_to_end(key)
        with _in_use(ready):
            yield [arrays.index for arrays in ready]
        for arrays in ready:
            if not arrays.dropped:
                self._weigh(arrays)  # Its words may have been prepared for comparison.
        self._make_room()

    def note(self, scope: Scope) -> None:
        """Note that a user asked; if it is not the first time, hold their audiences."""
        if not self.room or self._database.cell_of(scope.tenant_id) is None:
            return
        who = scope.tenant_id, f"{scope.user_id}\0{scope.acting}"
        if self._asked.get(who) is None:
            self._asked.put(who, True)
            return
        for key in self._keys(scope):
            if key in self._held or key in self._builds or self._too_large.get(key) is not None:
                continue
            if self._built.get(key, 0.0) > time.monotonic():
                continue
            waiting = sum(other[1] == scope.tenant_id for other in self._builds)
            if waiting < WAITING_OF_TENANT and len(self._builds) < WAITING:
                self._builds[key] = asyncio.get_running_loop().create_task(self._build(key, scope))

    async def catch_up(self, scope: Scope, versions: Sequence[int] = ()) -> bool:
        """Bring the arrays up to date, unless another question has since they had `versions`.

        Return whether they are held and current.
        """
        keys = self._keys(scope)
        return await self._catch_up(scope, keys, versions)

    async def _catch_up(self, scope: Scope, keys: Sequence[Key], versions: Sequence[int] = ()) -> bool:
        ready = [arrays for key in keys if (arrays := self._held.get(key)) is not None]
        async with contextlib.AsyncExitStack() as locks:
            locks.enter_context(_in_use(ready))
            for arrays in ready:
                await locks.enter_async_context(arrays.lock)
            if any(arrays.dropped for arrays in ready):
                return False
            if versions and versions != [arrays.index.version for arrays in ready]:
                return len(ready) == len(keys)
            async with self._database.snapshot(scope) as tx:
                self.know_spaces(scope, await store.open_spaces(tx))
                names = [arrays.index.audience for arrays in ready]
                sequence, states = await store.index_state(tx, names, self._model, self._dimensions)
                for arrays in ready:
                    current = False
                    try:
                        current = await self._apply(tx, arrays, states[arrays.index.audience], sequence)
                    finally:  # After an error the arrays may be half changed.
                        if not current:
                            self._drop(self._key(scope, arrays.index.audience))
                        elif not arrays.dropped:
                            self._weigh(arrays)
            self._make_room()
        return len(ready) == len(keys) and not any(arrays.dropped for arrays in ready)

    def forget(self, tenant_id: str) -> None:
        """Drop what is held of a tenant, after an erasure."""
        for key in [key for key in self._held if key[1] == tenant_id]:
            self._drop(key)
        for key, build in self._builds.items():
            if key[1] == tenant_id:
                build.cancel()

    async def settle(self) -> None:
        """Wait until the audiences that are being read are held."""
        while self._builds:
            await asyncio.gather(*self._builds.values(), return_exceptions=True)

    async def close(self) -> None:
        tasks = [*self._builds.values(), *self._behind.values()]
        tasks += [self._sweeping] if self._sweeping is not None else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for key in list(self._held):
            self._drop(key)

    async def sweep(self) -> None:
        """Drop arrays that nobody uses or whose audience is gone, and bring the others up to date."""
        for name in {key[0] for key in self._held}:
            keys = [key for key in self._held if key[0] == name]
            cell = await self._database.cells.get(name)
            versions = await store.audience_versions(cell, [key[1:] for key in keys])
            for key in keys:
                arrays = self._held.get(key)
                if arrays is None:
                    continue
                version = versions.get(key[1:], 0)
                unused = arrays.used_at < time.monotonic() - UNUSED_SECONDS
                if version == 0 and len(arrays.index):
                    self._drop(key)
                    cell.drop_idle()
                elif unused or arrays.index.is_wasteful:
                    self._drop(key)
                elif version != arrays.index.version:
                    await self._refresh(key, arrays)
        for arrays in list(self._held.values()):
            await asyncio.sleep(0)  # There may be thousands.
            await self._read_readings(arrays)
            if arrays.index.is_untidy:
                async with arrays.lock:  # Nothing is added meanwhile.
                    if arrays.dropped:
                        continue
                    with _in_use([arrays]):
                        lists = await asyncio.to_thread(arrays.index.lists)
                    if not arrays.readers and not arrays.dropped:
                        arrays.index.tidy(lists)

    def _wrote(self, scope: Scope) -> None:
        """Bring a user's arrays up to date soon after a write of this process, so that the next question need not."""
        who = scope.tenant_id, scope.user_id
        if who not in self._behind and all(key in self._held for key in self._keys(scope)):
            self._behind[who] = asyncio.get_running_loop().create_task(self._catch_up_soon(who))

    async def _catch_up_soon(self, who: tuple[str, str]) -> None:
        try:
            await asyncio.sleep(WRITES_SECONDS)
            await self.catch_up(Scope(*who))
        except KeepsError as error:
            log().warning("arrays were not brought up to date after a write", error=error.code)
        finally:
            del self._behind[who]

    def _keys(self, scope: Scope) -> list[Key]:
        return [self._key(scope, audience) for audience in scope.audiences]

    def _key(self, scope: Scope, audience: str) -> Key:
        return self._database.cell_of(scope.tenant_id) or "", scope.tenant_id, audience

    async def _build(self, key: Key, scope: Scope) -> None:
        """Read an audience into memory."""
        try:
            async with self._slots:
                started = time.monotonic()
                with taking_long():
                    async with self._database.snapshot(scope) as tx:
                        self.know_spaces(scope, await store.open_spaces(tx))
                        index = await self._read(tx, key)
        except KeepsError as error:
            log().warning("an audience was not read into memory", error=error.code)
        else:
            self._built[key] = time.monotonic() + REST * (time.monotonic() - started)
            if index is None:
                self._too_large.put(key, True)
                return
            self._drop(key)
            self._held[key] = Held(index, scope)
            self._reserved.pop(key, None)
            self._weigh(self._held[key])
            self._make_room()
            if self._sweeping is None or self._sweeping.done():
                self._sweeping = asyncio.get_running_loop().create_task(self._sweep_now_and_then())
        finally:
            self._builds.pop(key, None)
            self._reserved.pop(key, None)

    async def _read(self, tx: Tx, key: Key) -> AudienceIndex | None:
        """Return an audience in arrays; None if it is too large."""
        audience = key[2]
        sequence, states = await store.index_state(tx, [audience], self._model, self._dimensions)
        state = states[audience]
        memories, words = (sum(getattr(each, name) for each in state.counts.values()) for name in ("memories", "words"))
        estimate = memories * BYTES_OF_A_MEMORY + words * BYTES_OF_A_WORD
        if estimate > self.room // 2:
            return None
        self._reserved[key] = estimate
        self._make_room()
        index = AudienceIndex(audience, self._dimensions)
        for life in LIVES:
            counted = state.counts.get(life)
            for start in range(0, 0 if counted is None else counted.next_place, PLACES_AT_ONCE):
                places = {(audience, life): range(start, start + PLACES_AT_ONCE)}
                read = dict(await store.index_rows(tx, places, (), self._model))
                index.add(await asyncio.to_thread(index.read, read))
                self._reserved[key] = max(estimate, index.size)
                if index.size > self.room // 2:
                    index.clear()
                    return None
        index.trim()
        index.settle(state.version, sequence, state.counts)
        return index if _agrees(index, state) else None

    async def _apply(self, tx: Tx, held: Held, state: AudienceState, sequence: int) -> bool:
        """Apply what changed since the arrays were current. Return whether they agree with the database."""
        index, before = held.index, held.index.counts
        if state.version == index.version:
            index.sequence = sequence
            return True
        changed = await store.index_changes(tx, index.audience, index.sequence, MOST_CHANGES)
        if changed is None:
            return False
        # Until all is applied no question takes the arrays for current, and positions are those of the new counts.
        index.settle(0, index.sequence, state.counts)
        for start in range(0, len(changed), CHANGES_AT_ONCE):
            some = changed[start : start + CHANGES_AT_ONCE]
            read = dict(await store.index_rows(tx, {}, some, self._model))
            keys = np.array([memory_id.bytes for memory_id in some], dtype="S16")
            index.remove(await asyncio.to_thread(among, index.table, keys))
            index.add(await asyncio.to_thread(index.read, read))
        if len(index) <= MOST_COMPARED and not _agrees(index, state):
            # What others shared and removed is in no event that this scope may see.
            index.remove(~await asyncio.to_thread(among, index.table, await store.index_ids(tx, index.audience)))
        index.settle(state.version, sequence, state.counts)
        numbered_anew = any(
            life in state.counts and state.counts[life].next_place < counts.next_place
            for life, counts in before.items()
        )
        return not numbered_anew and _agrees(index, state)

    async def _refresh(self, key: Key, held: Held) -> None:
        try:
            await self._catch_up(held.scope, [key])
        except KeepsError:
            self._drop(key)

    async def _read_readings(self, held: Held) -> None:
        """Read how often fading memories were read: no event says it."""
        if held.used_at < time.monotonic() - ASKED_SECONDS:
            return
        if fading := held.index.fading(READINGS_AT_ONCE):
            try:
                async with self._database.scoped(held.scope) as tx:
                    readings = await store.index_readings(tx, fading)
                async with held.lock:
                    held.index.set_readings(readings)
            except KeepsError as error:
                log().warning("how memories were read is not known", error=error.code)

    async def _sweep_now_and_then(self) -> None:
        while self._held:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                await self.sweep()
            except Exception as error:  # noqa: BLE001  what is erased must go, whatever else fails
                log().warning("arrays of audiences were not compared with the database", error=type(error).__name__)

    def _weigh(self, held: Held) -> None:
        """Count the size of arrays after a change."""
        size = held.index.size
        self._held_bytes += size - held.size
        held.size = size

    def _make_room(self) -> None:
        while self._held and self.size > self.room:
            self._drop(next(iter(self._held)))

    def _drop(self, key: Key) -> None:
        arrays = self._held.pop(key, None)
        if arrays is not None:
            arrays.dropped = True
            self._held_bytes -= arrays.size
            _clear(arrays)


def _reader(scope: Scope) -> tuple[str, ...]:
    """Return what the spaces that can be read depend on."""
    return scope.tenant_id, *scope.reader


@contextmanager
def _in_use(several: Sequence[Held]) -> Generator[None]:
    """Keep arrays as they are, although they may be dropped meanwhile."""
    for arrays in several:
        arrays.readers += 1
    try:
        yield
    finally:
        for arrays in several:
            arrays.readers -= 1
            _clear(arrays)


def _clear(held: Held) -> None:
    """Overwrite arrays that were dropped, when no question reads them any more."""
    if held.dropped and not held.readers:
        held.index.clear()


def _agrees(index: AudienceIndex, state: AudienceState) -> bool:
    """Return whether the arrays add up to what the database counts."""
    return index.counted() == {
        life: replace(each, next_place=0) for life, each in state.counts.items() if life in LIVES and each.memories
    }

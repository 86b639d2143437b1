"""What a process holds of an audience shows nobody a memory, and is gone soon after an erasure."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keeps.base.scope import Scope
from keeps.engine import Keeps
from keeps.memory.recall.index import AudienceIndex
from keeps.memory.recall.indexes import AudienceIndexes
from keeps.memory.transfer.erasure import TenantService
from tests.recall.test_index import arrays, clock, held, plain

__all__ = ["arrays", "clock", "plain"]


async def told(keeps: Keeps, scope: Scope, question: str = "what is kept in the harbour", **more: Any) -> set[str]:
    return {hit.memory.content for hit in (await keeps.memory(scope).recall(question, limit=100, **more)).hits}


def index_of(keeps: Keeps, scope: Scope) -> AudienceIndex:
    with keeps.service(AudienceIndexes).reading(scope) as both:
        assert both is not None
        return both[1]


async def test_nobody_sees_what_others_keep(arrays: Keeps, plain: Keeps, tenant: str) -> None:
    alice, bob, stranger = Scope(tenant, "alice"), Scope(tenant, "bob"), Scope(f"{tenant}-2", "alice")
    for scope in (alice, bob, stranger):
        await plain.memory(scope).remember(f"the harbour of {scope.tenant_id}'s {scope.user_id} keeps a boat")
    for scope in (alice, bob, stranger):
        await held(arrays, scope)
        assert await told(arrays, scope) == {f"the harbour of {scope.tenant_id}'s {scope.user_id} keeps a boat"}


async def test_bound_agent_sees_its_own_experiences_only(arrays: Keeps, plain: Keeps, tenant: str) -> None:
    alice = Scope(tenant, "alice", agent_id="one")
    await plain.memory(alice).remember("the harbour keeps a secret of one", kind="episodic")
    await plain.memory(alice).remember("the harbour keeps a fact")
    await held(arrays, alice)
    assert len(await told(arrays, alice)) == 2
    bound = Scope(tenant, "alice", agent_id="two", agent_bound=True)
    for _ in range(3):
        assert await told(arrays, bound) == {"the harbour keeps a fact"}
        await arrays.service(AudienceIndexes).settle()


async def test_revoked_sharing_ends_at_once(arrays: Keeps, plain: Keeps, tenant: str) -> None:
    alice, bob = Scope(tenant, "alice"), Scope(tenant, "bob")
    shared = await plain.memory(alice).remember("the harbour keeps a boat", visibility="tenant")
    await plain.memory(bob).remember("my harbour keeps nothing")
    await held(arrays, bob)
    assert "the harbour keeps a boat" in await told(arrays, bob)
    await plain.memory(alice).update(shared.memory_id, visibility="private")
    assert await told(arrays, bob) == {"my harbour keeps nothing"}
    await plain.memory(alice).update(shared.memory_id, visibility="tenant")
    assert "the harbour keeps a boat" in await told(arrays, bob)
    await plain.service(TenantService).erase_user(alice, "alice")
    assert await told(arrays, bob) == {"my harbour keeps nothing"}


@pytest.mark.parametrize("whole", [True, False], ids=["tenant", "user"])
async def test_name_that_is_used_again_has_no_memories_of_the_first(
    arrays: Keeps, plain: Keeps, tenant: str, whole: bool
) -> None:
    alice = Scope(tenant, "alice", roles=frozenset({"admin"}))
    for number in range(3):
        await plain.memory(alice).remember(f"the harbour keeps boat {number}")
    await held(arrays, alice)
    assert len(await told(arrays, alice)) == 3
    erasure = plain.service(TenantService)
    await (erasure.erase_tenant(alice) if whole else erasure.erase_user(alice, "alice"))
    assert await told(arrays, alice) == set()
    for number in range(3):
        await plain.memory(alice).remember(f"the harbour keeps ship {number}")
    assert await told(arrays, alice) == {f"the harbour keeps ship {number}" for number in range(3)}


async def test_poisoned_arrays_show_no_foreign_memory(arrays: Keeps, plain: Keeps, tenant: str) -> None:
    alice, bob, stranger = Scope(tenant, "alice"), Scope(tenant, "bob"), Scope(f"{tenant}-2", "alice")
    foreign = [
        (await plain.memory(scope).remember(f"the harbour keeps {word} for {scope.user_id}")).memory_id
        for scope in (bob, stranger)
        for word in ("gold", "silver", "copper")
    ]
    own = [f"the harbour keeps item {number}" for number in range(8)]
    for text in own:
        await plain.memory(alice).remember(text)
    await held(arrays, alice)
    table = index_of(arrays, alice).table
    for row, memory_id in enumerate(foreign):
        table["high"][row], table["low"][row] = memory_id.int >> 64, memory_id.int & (1 << 64) - 1
    assert await told(arrays, alice) == set(own[len(foreign) :])
    # The whole of another user's arrays in place of one's own, with the version that is expected.
    await held(arrays, bob)
    indexes = arrays.service(AudienceIndexes)
    swapped = index_of(arrays, bob)
    version = index_of(arrays, alice).version
    swapped.version, swapped.audience = version, "alice"
    indexes._held[indexes._keys(alice)[1]].index = swapped  # noqa: SLF001  a fault, made on purpose
    assert await told(arrays, alice) == set()


async def test_erased_memories_leave_the_arrays(arrays: Keeps, plain: Keeps, tenant: str) -> None:
    alice = Scope(tenant, "alice")
    gone = await plain.memory(alice).remember("the harbour keeps xyzzy")
    await plain.memory(alice).remember("the harbour keeps a boat")
    await held(arrays, alice)
    index = index_of(arrays, alice)
    assert b"xyzzi" in index.letters.tobytes(), "the stem"
    await plain.memory(alice).forget(gone.memory_id, hard=True)
    await arrays.service(AudienceIndexes).sweep()
    assert b"xyzzi" not in index.letters.tobytes()
    assert b"boat" in index.letters.tobytes()
    gone_rows = np.flatnonzero(~index.alive)
    assert len(gone_rows) == 1
    assert not index._sentences.values[gone_rows].any()  # noqa: SLF001
    assert await told(arrays, alice) == {"the harbour keeps a boat"}
    await plain.service(TenantService).erase_user(alice, "alice")
    await arrays.service(AudienceIndexes).sweep()
    with arrays.service(AudienceIndexes).reading(alice) as both:
        assert both is None
    assert len(index) == 0


CHILD = """
import asyncio, sys
from keeps.engine import Keeps
from keeps.base.scope import Scope
from keeps.memory.recall import indexes
from tests.embedding import HashedWords
indexes.SWEEP_SECONDS = 0.2

def is_held(held, scope):
    with held.reading(scope) as both:
        return both is not None

async def main(url, tenant):
    async with Keeps.open(database_url=url, embedder=HashedWords()) as keeps:
        memory = keeps.memory(Scope(tenant, "alice"))
        held = keeps.service(indexes.AudienceIndexes)
        for _ in range(3):
            assert (await memory.recall("what does the harbour keep")).hits
            await held.settle()
        print("held", is_held(held, memory.scope), flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        while is_held(held, memory.scope):
            await asyncio.sleep(0.05)
        print("gone", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.load
async def test_erased_text_is_gone_from_the_memory_of_other_processes(plain: Keeps, app_url: str, tenant: str) -> None:
    """Freed memory is overwritten (MALLOC_PERTURB_), so that what is found is held by somebody."""
    alice, secret = Scope(tenant, "alice"), "zanzibar-rendezvous-at-midnight"
    await plain.memory(alice).remember(f"the harbour keeps the {secret} of Quixote")
    for number in range(20):
        await plain.memory(alice).remember(f"the harbour keeps item {number}")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, app_url, tenant,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env=os.environ
        | {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "165", "PYTHONPATH": os.getcwd()}
        | {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert (await process.stdout.readline()) == b"held True\n"
        await plain.service(TenantService).erase_user(alice, "alice")
        process.stdin.write(b"\n")
        async with asyncio.timeout(60):
            assert (await process.stdout.readline()) == b"gone\n"
        found = await asyncio.to_thread(found_in, process.pid, (secret.encode(), b"zanzibar", b"Quixote"))
        assert not found
    finally:
        process.kill()
        await process.wait()


def found_in(pid: int, wanted: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
    """Return what of `wanted` the writable memory of a process holds, each with the bytes around it."""
    found: list[tuple[bytes, bytes]] = []
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            if (area := re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)) is None:
                continue
            start, end = (int(each, 16) for each in area.groups())
            try:
                memory.seek(start)
                held = memory.read(end - start)
            except OSError:
                continue
            found += [
                (text, held[max(place - 40, 0) : place + 60]) for text in wanted if (place := held.find(text)) >= 0
            ]
    return found

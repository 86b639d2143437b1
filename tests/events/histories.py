"""Random histories: every operation that changes something durable, by several users, on few names, so that they
meet."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from keeps.base.scope import Scope
from keeps.engine import Keeps, LocalMemory
from keeps.memory.transfer.erasure import TenantService
from keeps_client.errors import ConflictError, NotFoundError, ValidationFailedError

USERS = ("alice", "bob", "carol")
WORDS = (
    "Alice lives in Leeds.",
    "Alice lives in Lisbon.",
    "Tea at five.",
    "النص بالعربية",
    "🙂 emoji",
    "a\ttab and a \\ backslash",
)
VALUES: tuple[Any, ...] = (None, True, 0, -0.0, 1e23, 1e-7, 2**70, "", "ü", [], {}, {"a": [1, {"b": None}]}, [1.0, 1])
START = datetime(2026, 1, 1, tzinfo=UTC)


class SteppingClock:
    """A clock that moves by a minute at each look, and now and then by days."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1, microseconds=7)
        return self.now


class History:
    """One tenant's, driven by one seed."""

    def __init__(self, keeps: Keeps, tenant: str, seed: int, clock: SteppingClock | None = None) -> None:
        self._keeps = keeps
        self._tenant = tenant
        self._random = random.Random(seed)
        self._clock = clock
        self._known: list[Any] = []
        self._entities: list[Any] = []
        self._relations: list[Any] = []
        self.done = self.refused = 0

    async def run(self, steps: int) -> None:
        for _ in range(steps):
            try:
                await self.step()
                self.done += 1
            except (NotFoundError, ConflictError, ValidationFailedError):
                self.refused += 1

    async def step(self) -> None:
        pick = self._random
        if self._clock is not None and pick.random() < 0.05:
            self._clock.now += timedelta(days=pick.choice((0.1, 1, 40)))
        memory = self._keeps.memory(Scope(self._tenant, pick.choice(USERS), pick.choice((None, "agent"))))
        operations: list[tuple[int, Callable[[LocalMemory], Awaitable[Any]]]] = [
            (10, self._remember),
            (4, self._update),
            (3, self._forget),
            (2, self._restore),
            (2, self._session),
            (4, self._plan),
            (8, self._working),
            (3, self._task),
            (8, self._graph),
            (0 if pick.random() < 0.8 else 1, self._erase),
        ]
        (operation,) = pick.choices([each for _, each in operations], [weight for weight, _ in operations])
        await operation(memory)

    async def _remember(self, memory: LocalMemory) -> None:
        pick = self._random
        given: dict[str, Any] = {"visibility": pick.choice(("private", "private", "tenant"))}
        if pick.random() < 0.5:
            given |= {"namespace": "n", "key": pick.choice("ab")}
        if pick.random() < 0.3:
            given["valid_from"] = START + timedelta(days=pick.randrange(-50, 50))
        if pick.random() < 0.2:
            given["ttl_days"] = pick.choice((0.01, 3))
        if pick.random() < 0.3:
            given |= {"metadata": {"x": pick.choice(VALUES)}, "value": pick.choice(VALUES), "tags": ["t"]}
        if pick.random() < 0.3:
            given |= {"kind": "episodic", "session_id": "s", "role": "user"}
        receipt = await memory.remember(pick.choice(WORDS), index="later", **given)
        self._known.append(receipt.memory_id)

    def _some(self) -> Any:
        return self._random.choice(self._known) if self._known else "01a20000-0000-7000-8000-000000000000"

    async def _update(self, memory: LocalMemory) -> None:
        pick = self._random
        changes: dict[str, Any] = pick.choice(
            (
                {"content": pick.choice(WORDS)},
                {"importance": pick.random()},
                {"visibility": pick.choice(("private", "tenant"))},
                {"metadata": {"x": pick.choice(VALUES)}},
                {"expires_at": None},
                {"value": pick.choice(VALUES)},
            )
        )
        await memory.update(self._some(), index="later", **changes)

    async def _forget(self, memory: LocalMemory) -> None:
        await memory.forget(self._some(), hard=self._random.random() < 0.3)

    async def _restore(self, memory: LocalMemory) -> None:
        await memory.restore(self._some())

    async def _session(self, memory: LocalMemory) -> None:
        pick = self._random
        name = pick.choice(("s", "t"))
        match pick.randrange(3):
            case 0:
                await memory.create_session(session_id=name, metadata={"x": pick.choice(VALUES)})
            case 1:
                await memory.update_session(name, name=pick.choice(WORDS))
            case _:
                await memory.delete_session(name)

    async def _plan(self, memory: LocalMemory) -> None:
        pick = self._random
        plan = pick.choice("pq")
        match pick.randrange(5):
            case 0 | 1:
                await memory.create_plan(
                    plan_id=plan,
                    goal_event="g",
                    goal_data={"x": pick.choice(VALUES)},
                    session_id=pick.choice((None, "s")),
                    parent_plan_id=pick.choice((None, "p")) if plan == "q" else None,
                )
            case 2:
                await memory.update_plan(
                    plan, status=pick.choice(("paused", "completed")), state={"x": pick.choice(VALUES)}
                )
            case 3:
                await memory.store_plan_context(plan, goal_event="g", session_id="s", correlation_ids=["c"])
            case _:
                await memory.delete_plan(plan)

    async def _working(self, memory: LocalMemory) -> None:
        pick = self._random
        plan, key = pick.choice("pq"), pick.choice("kl")
        match pick.randrange(7):
            case 0 | 1:
                ttl = pick.choice((None, None, 30.0, 100_000.0))
                await memory.store(key, pick.choice(VALUES), plan, ttl_seconds=ttl, workflow=pick.choice((None, True)))
            case 2 | 3:
                await memory.append_to_list(
                    pick.choice((key, f"{key}.a")), pick.choice(VALUES), plan, workflow=pick.choice((None, True))
                )
            case 4 | 5:
                await memory.increment(pick.choice((key, "number", "deep.er")), plan, pick.choice((1, -2.5, 1e15)))
            case _:
                await memory.delete_plan_state(plan, pick.choice((key, None)))

    async def _task(self, memory: LocalMemory) -> None:
        pick = self._random
        if pick.random() < 0.7:
            await memory.store_task_context(
                "task",
                event_type="e",
                plan_id=pick.choice((None, "p")),
                data={"x": pick.choice(VALUES)},
                sub_tasks=["a", {"sub_task_id": "b"}],
            )
        else:
            await memory.delete_task_context("task")

    async def _graph(self, memory: LocalMemory) -> None:
        pick = self._random
        names = ("Ann", "ann ", "Bo", "Corp", "München")
        match pick.randrange(9):
            case 0 | 1:
                made = await memory.add_entity(
                    pick.choice(names),
                    entity_type=pick.choice(("person", "org")),
                    aliases=(pick.choice(names),),
                    properties={"x": pick.choice(VALUES)},
                    visibility=pick.choice(("private", "tenant")),
                )
                self._entities.append(made.entity_id)
            case 2 | 3:
                edge = await memory.add_relation(
                    pick.choice(names),
                    pick.choice(names),
                    pick.choice(("knows", "works_at")),
                    weight=pick.choice((1.0, 0.1)),
                    valid_from=pick.choice((None, START + timedelta(days=pick.randrange(-9, 9)))),
                    exclusive=pick.random() < 0.3,
                )
                self._relations.append(edge.relation_id)
            case 4 if self._relations:
                await memory.delete_relation(pick.choice(self._relations), hard=pick.random() < 0.3)
            case 5 if self._entities:
                await memory.delete_entity(pick.choice(self._entities), hard=pick.random() < 0.3)
            case 6 if self._entities:
                await memory.merge_entities(pick.choice(self._entities), pick.choice(self._entities))
            case 7 if self._entities:
                await memory.unmerge_entity(pick.choice(self._entities))
            case _ if self._entities:
                change = pick.choice((memory.add_mention, memory.remove_mention))
                await change(self._some(), pick.choice(self._entities))
                await memory.read_entities()
            case _:
                pass

    async def _erase(self, memory: LocalMemory) -> None:
        await self._keeps.service(TenantService).erase_user(memory.scope, self._random.choice(USERS))

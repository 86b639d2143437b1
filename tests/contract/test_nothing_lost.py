"""State, items, transcripts and graphs: what is given to one door is read at the others, as it was given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from keeps.engine import Keeps
from keeps.scope import Scope
from keeps_client import MemoryClient
from tests.given import TEXTS, USERS, Picker, same

STEPS = 50
KEYS = ("k", "a.b", "/", "..", "ключ 🔑", "%2F?#&", TEXTS[3], '"')
NAMES = ("Ada", "e\u0301 is not \u00e9", TEXTS[3], TEXTS[4], TEXTS[8])
Write = Callable[[Any, str], Awaitable[None]]


class State:
    """A plain model of what is stored, and the writes that change it and the service alike."""

    def __init__(self, seed: int) -> None:
        self.pick = Picker(seed)
        self.working: dict[tuple[str, str], Any] = {}
        self.tasks: dict[tuple[str, str], dict[str, Any]] = {}
        self.plans: dict[tuple[str, str], dict[str, Any]] = {}
        self.sessions: dict[tuple[str, str], dict[str, Any]] = {}
        self.items: dict[tuple[str, tuple[str, ...], str], dict[str, Any]] = {}
        self.transcripts: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.entities: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.relations: dict[tuple[str, str, str, str], tuple[dict[str, Any], float]] = {}

    def writes(self) -> list[Write]:
        return [
            self.set_state, self.append, self.task, self.plan, self.session, self.item, self.transcript, self.entity,
            self.relation,
        ]  # fmt: skip

    def document(self) -> dict[str, Any]:
        return self.pick.metadata()

    async def set_state(self, memory: Any, user: str) -> None:
        place = self.pick.some("plan ünï", "plan/2"), self.pick.some(*KEYS)
        value = self.pick.some(None, *self.values())
        await memory.store(place[1], value, place[0])
        self.working[place] = value

    async def append(self, memory: Any, user: str) -> None:
        place, value = ("plan/2", "list"), self.pick.some(None, *self.values())
        await memory.append_to_list(place[1], value, place[0])
        self.working[place] = [*self.working.get(place, []), value]

    def values(self) -> list[Any]:
        return [1, 0.5, True, "", *TEXTS, self.document(), [self.document()]]

    async def task(self, memory: Any, user: str) -> None:
        task_id = f"{user} {self.pick.some(*KEYS)}"
        fields: dict[str, Any] = {
            "plan_id": f"plan of {user}",
            "event_type": self.pick.some("research.requested", "тип"),
            "response_event": self.pick.some("done", TEXTS[3]),
            "response_topic": self.pick.some("action-results", "other"),
            "data": self.document(),
            "sub_tasks": [f"{task_id} {number}" for number in range(self.pick.some(0, 1, 3))],
            "state": self.document(),
        }
        await memory.store_task_context(task_id, **fields)
        self.tasks[user, task_id] = fields

    async def plan(self, memory: Any, user: str) -> None:
        plan_id = f"{user} {self.pick.some(*KEYS)}"
        fields: dict[str, Any] = {
            "session_id": f"session of {user}",
            "goal_event": self.pick.some("research.goal", "цель"),
            "goal_data": self.document(),
            "response_event": self.pick.some("done", TEXTS[3]),
            "state": self.document(),
            "current_state": self.pick.some("search", "写"),
            "correlation_ids": [f"{plan_id} {number}" for number in range(self.pick.some(0, 1, 3))],
        }
        await memory.store_plan_context(plan_id, **fields)
        self.plans[user, plan_id] = fields

    async def session(self, memory: Any, user: str) -> None:
        session_id = f"{user} {self.pick.some(*KEYS)}"
        fields: dict[str, Any] = {"name": self.pick.some("Zoë", TEXTS[3]), "metadata": self.document()}
        if (user, session_id) in self.sessions:
            await memory.update_session(session_id, **fields)
        else:
            fields["agent_id"] = self.pick.some("planner", "coder")
            await memory.create_session(session_id=session_id, **fields)
        self.sessions.setdefault((user, session_id), {}).update(fields)

    async def item(self, memory: Any, user: str) -> None:
        labels = self.pick.some(("a",), ("a", "b"), ("ключ", "/ %", " "))
        key, value = self.pick.some(*KEYS), {**self.document(), "at": self.pick.some(*TEXTS)}
        if self.pick.often(0.2):
            await memory.delete_item(labels, key)
            self.items.pop((user, labels, key), None)
            return
        await memory.put_item(labels, key, value, index=self.pick.often())
        self.items[user, labels, key] = value

    async def transcript(self, memory: Any, user: str) -> None:
        app, transcript_id = self.pick.some("shop", "blog/ünï"), self.pick.some("t", *KEYS[1:4])
        place, state = (user, app, transcript_id), {self.pick.some(*KEYS): self.document()}
        if place not in self.transcripts:
            await memory.create_transcript(app, transcript_id=transcript_id, state=state)
            self.transcripts[place] = {"state": dict(state), "entries": []}
            return
        held = self.transcripts[place]
        number = len(held["entries"])
        entry = {"entry_id": f"e{number} {self.pick.some(*KEYS)}", "entry": self.pick.some(*self.values())}
        for _ in range(self.pick.some(1, 2)):  # the same entry again is one
            await memory.append_to_transcript(app, transcript_id, [entry], state=state)
        held["entries"].append(entry)
        held["state"] |= state

    async def entity(self, memory: Any, user: str) -> None:
        name, kind, properties = self.pick.some(*NAMES), self.pick.some("person", "org.unit"), self.document()
        await memory.add_entity(name, entity_type=kind, properties=properties)
        held = self.entities.setdefault((user, kind, name), {})
        held |= properties

    async def relation(self, memory: Any, user: str) -> None:
        source, target = (f"{role} of {user} 👩‍👩‍👧" for role in ("source", "target"))
        for name in (source, target):
            await memory.add_entity(name, entity_type="place")
            self.entities.setdefault((user, "place", name), {})
        kind, properties, weight = self.pick.some("keeps", "works_at"), self.document(), self.pick.some(0.5, 1.0)
        await memory.add_relation(source, target, kind, properties=properties, weight=weight)
        self.relations[user, source, target, kind] = properties, weight

    async def check(self, memory: Any, user: str) -> None:
        """Compare all that is stored with what a user reads."""
        for (plan_id, key), value in self.working.items():
            assert same((await memory.get_plan_state(plan_id, key)).value, value), (plan_id, key)
        for plan_id in {plan_id for plan_id, _ in self.working}:
            told = {each.key: each.value for each in await memory.list_plan_state(plan_id)}
            assert same(told, {key: value for (plan, key), value in self.working.items() if plan == plan_id})
        for (owner, task_id), fields in self.tasks.items():
            if owner == user:
                task = await memory.get_task_context(task_id)
                told = {name: getattr(task, name) for name in fields if name != "sub_tasks"}
                assert same(told, {name: value for name, value in fields.items() if name != "sub_tasks"}), task_id
                for each in fields["sub_tasks"]:
                    assert (await memory.get_task_by_subtask(each)).task_id == task_id
        for (owner, plan_id), fields in self.plans.items():
            if owner == user:
                plan = await memory.get_plan_context(plan_id)
                assert same({name: getattr(plan, name) for name in fields}, fields), plan_id
                for each in fields["correlation_ids"]:
                    assert (await memory.get_plan_by_correlation(each)).plan_id == plan_id
        for (owner, session_id), fields in self.sessions.items():
            if owner == user:
                session = await memory.get_session(session_id)
                assert same({name: getattr(session, name) for name in fields}, fields), session_id
        mine = {(labels, key): value for (owner, labels, key), value in self.items.items() if owner == user}
        for (labels, key), value in mine.items():
            item = await memory.get_item(labels, key)
            assert item is not None
            assert same(item.value, value), (labels, key)
        found = await memory.search_items((), limit=200)
        assert {(each.namespace, each.key) for each in found} == set(mine)
        for (owner, app, transcript_id), held in self.transcripts.items():
            if owner == user:
                transcript = await memory.get_transcript(app, transcript_id)
                entries = [{"entry_id": each.entry_id, "entry": each.entry} for each in transcript.entries]
                assert same({"state": transcript.state, "entries": entries}, held), (app, transcript_id)
        told = {
            (each.entity_type, each.name): each
            for each in await memory.list_entities(limit=200)
            if each.user_id == user
        }
        assert same(
            {f"{kind}/{name}": each.properties for (kind, name), each in told.items()},
            {f"{kind}/{name}": held for (owner, kind, name), held in self.entities.items() if owner == user},
        )
        for (owner, source, _, kind), (properties, weight) in self.relations.items():
            if owner == user:
                edges = await memory.get_relations(told["place", source], relation_type=kind)
                assert [(each.properties, each.weight) for each in edges] == [(properties, weight)]


@pytest.mark.parametrize("seed", range(2))
async def test_state_is_read_as_it_was_given(keeps: Keeps, server_url: str, tenant: str, seed: int) -> None:
    state = State(seed)
    clients = {user: MemoryClient(server_url, tenant_id=tenant, user_id=user) for user in USERS}
    doors: dict[str, list[Any]] = {user: [keeps.memory(Scope(tenant, user)), clients[user]] for user in USERS}
    try:
        for _ in range(STEPS):
            user = state.pick.some(*USERS)
            await state.pick.some(*state.writes())(state.pick.some(*doors[user]), user)
        for user in USERS:
            for memory in doors[user]:
                await state.check(memory, user)
        elsewhere = f"{tenant}-copy"
        lines = await keeps.memory(Scope(tenant, "boss", roles=frozenset({"admin"}))).admin.export_lines()
        boss = keeps.memory(Scope(elsewhere, "boss", roles=frozenset({"admin"})))
        assert (await boss.admin.import_lines(lines)).failed == 0
        for user in USERS:
            await state.check(keeps.memory(Scope(elsewhere, user)), user)
    finally:
        for client in clients.values():
            await client.close()


async def test_paths_of_http_take_any_key(server_url: str, tenant: str) -> None:
    """What the wire says of a plan's keys, without the SDK: names in paths are encoded, and nothing else."""
    headers = {"X-Tenant-ID": tenant, "X-User-ID": "alice"}
    async with aiohttp.ClientSession(server_url, headers=headers) as http:
        for number, key in enumerate(KEYS):
            body = {"key": key, "value": {"number": number}}
            async with http.post("/v1/memory/working/plan", json=body) as answer:
                assert answer.status < 300, await answer.text()
        async with http.get("/v1/memory/working/plan", params={"limit": "100"}) as answer:
            told = await answer.json()
    items = told["items"] if isinstance(told, dict) else told
    assert {each["key"]: each["value"]["number"] for each in items} == {key: n for n, key in enumerate(KEYS)}

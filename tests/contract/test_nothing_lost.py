"""State, items, transcripts and graphs: what is given to one door is read at the others, as it was given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import product
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from typer.testing import CliRunner

from keeps.base.scope import Scope
from keeps.doors.cli.main import app as shell
from keeps.engine import Keeps
from keeps_client import MemoryClient, sync
from keeps_client.workflow import WorkflowState
from tests.contract.conftest import InThreads
from tests.contract.raw import RawMemory
from tests.given import TEXTS, USERS, Picker, same

STEPS = 80
KEYS = ("k", "a.b", "/", "..", "ключ 🔑", "%2F?#&", TEXTS[3], '"', "workflow_state")
NAMES = ("Ada", "e\u0301 is not \u00e9", TEXTS[3], TEXTS[4], TEXTS[8])
Write = Callable[[Any, str], Awaitable[None]]


class State:
    """A plain model of what is stored, and the writes that change it and the service alike."""

    def __init__(self, seed: int) -> None:
        self.pick, self.number = Picker(seed), 0
        self.working: dict[tuple[str, str], Any] = {}
        self.tasks: dict[tuple[str, str], dict[str, Any]] = {}
        self.sub_tasks: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        self.plans: dict[tuple[str, str], dict[str, Any]] = {}
        self.created: dict[tuple[str, str], dict[str, Any]] = {}
        self.sessions: dict[tuple[str, str], dict[str, Any]] = {}
        self.items: dict[tuple[str, tuple[str, ...], str], dict[str, Any]] = {}
        self.transcripts: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.entities: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.relations: dict[tuple[str, str, str, str], tuple[dict[str, Any], float]] = {}

    def writes(self) -> list[Write]:
        return [
            self.set_state, self.append, self.workflow, self.task, self.sub_task, self.plan, self.created_plan,
            self.session, self.item, self.transcript, self.entity, self.relation,
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

    async def workflow(self, memory: Any, user: str) -> None:  # noqa: ARG002  all agents share it
        pick, plan_id = self.pick, "workflow 🔑"
        workflow = WorkflowState(memory, plan_id)
        way = pick.some("act", "set", "extend", "update", "increment", "delete", "clear")
        if way == "act":
            place, event = (plan_id, "action_history"), pick.some("searched", TEXTS[3])
            await workflow.record_action(event)
            self.working[place] = [*self.working.get(place, []), event]
        elif way == "set":
            place, value = (plan_id, pick.some(*KEYS)), pick.some(None, *self.values())
            await workflow.set(place[1], value)
            self.working[place] = value
        elif way == "extend":
            place, values = (plan_id, "list.of"), [self.document(), pick.some(*TEXTS)]
            await workflow.extend(place[1], values)
            self.working[place] = [*self.working.get(place, []), *values]
        elif way == "update":
            place, values = (plan_id, "object"), self.document()
            await workflow.update_dict(place[1], values)
            self.working[place] = {**self.working.get(place, {}), **values}
        elif way == "increment":
            place, delta = (plan_id, "count"), pick.some(1, -2, 0.5)
            await workflow.increment(place[1], delta)
            self.working[place] = self.working.get(place, 0) + delta
        elif way == "delete":
            place = plan_id, pick.some(*KEYS)
            assert await workflow.delete(place[1]) == (place in self.working)
            self.working.pop(place, None)
        elif pick.often(0.2):
            await workflow.clear()
            self.working = {place: value for place, value in self.working.items() if place[0] != plan_id}

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
        known = self.sub_tasks.get((user, task_id), {})
        self.sub_tasks[user, task_id] = {each: known.get(each, {}) for each in fields["sub_tasks"]}

    async def sub_task(self, memory: Any, user: str) -> None:
        own = [place for place in self.tasks if place[0] == user]
        if not own:
            return
        place = self.pick.some(*own)
        sub_task_id = f"{place[1]} {self.pick.some(0, 1, 'added')}"
        fields = {
            "event_type": self.pick.some("research.requested", "тип"),
            "status": self.pick.some("running", "failed", "completed"),
            "data": self.document(),
            "result": self.pick.some(*self.values()),
        }
        fields = {name: value for name, value in fields.items() if self.pick.often(0.6)}
        await memory.put_sub_task(place[1], sub_task_id, **fields)
        self.sub_tasks[place].setdefault(sub_task_id, {}).update(fields)

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

    async def created_plan(self, memory: Any, user: str) -> None:
        pick = self.pick
        own = [plan_id for owner, plan_id in self.created if owner == user]
        if own and pick.often(0.2):
            gone = {pick.some(*own)}
            await memory.delete_plan(*gone)
            for plan_id in own:  # in the order they were made: a parent is older
                if self.created[user, plan_id].get("parent_plan_id") in gone or plan_id in gone:
                    gone.add(plan_id)
                    del self.created[user, plan_id]
            return
        changes = {"status": pick.some("running", "paused", "failed"), "state": self.document()}
        if own and pick.often(0.3):
            plan_id = pick.some(*own)
            await memory.update_plan(plan_id, **changes)
            self.created[user, plan_id] |= changes
            return
        self.number += 1
        plan_id = f"made {self.number} {user} {pick.some(*KEYS)}"
        fields: dict[str, Any] = {
            "goal_event": pick.some("research.goal", "цель"),
            "goal_data": self.document(),
            "response_event": pick.some(None, "done", TEXTS[3]),
            "session_id": pick.some(None, f"session of {user}"),
            "parent_plan_id": pick.some(None, *own),
            **changes,
        }
        await memory.create_plan(plan_id=plan_id, **fields)
        self.created[user, plan_id] = fields

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
                told = {_id_of(each): each for each in task.sub_tasks}
                noted = self.sub_tasks[owner, task_id]
                assert set(told) == set(noted)
                for each, known in noted.items():
                    assert same({name: told[each][name] for name in known} if known else {}, known), each
                    assert (await memory.get_task_by_subtask(each)).task_id == task_id
        for (owner, plan_id), fields in self.plans.items():
            if owner == user:
                plan = await memory.get_plan_context(plan_id)
                assert same({name: getattr(plan, name) for name in fields}, fields), plan_id
                for each in fields["correlation_ids"]:
                    assert (await memory.get_plan_by_correlation(each)).plan_id == plan_id
        for (owner, plan_id), fields in self.created.items():
            if owner == user:
                plan = await memory.get_plan(plan_id)
                assert same({name: getattr(plan, name) for name in fields}, fields), plan_id
        plans = {each.plan_id for each in await memory.list_plans(limit=100)}
        assert plans - {f"plan of {user}"} == {plan for owner, plan in {**self.plans, **self.created} if owner == user}
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


def _id_of(sub_task: Any) -> str:
    return sub_task["sub_task_id"] if isinstance(sub_task, dict) else sub_task


async def run(*arguments: str) -> None:
    done = await asyncio.to_thread(CliRunner().invoke, shell, [*arguments])
    assert done.exit_code == 0, done.output


@pytest.mark.slow_step("the command line imports its parts when it is first used")
@pytest.mark.parametrize("seed", range(2))
async def test_state_round_trips_unchanged(
    keeps: Keeps, server_url: str, tenant: str, seed: int, tmp_path: Path
) -> None:
    state = State(seed)
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession())
        doors: dict[str, list[Any]] = {}
        for user in USERS:
            client = MemoryClient(server_url, tenant_id=tenant, user_id=user)
            stack.push_async_callback(client.close)
            in_threads = sync.MemoryClient(server_url, tenant_id=tenant, user_id=user)
            stack.callback(in_threads.close)
            raw = RawMemory(http, server_url, {"X-Tenant-ID": tenant, "X-User-ID": user}, seed)
            doors[user] = [keeps.memory(Scope(tenant, user)), client, InThreads(in_threads), raw]
        for _ in range(STEPS):
            user = state.pick.some(*USERS)
            await state.pick.some(*state.writes())(state.pick.some(*doors[user]), user)
        for user in USERS:
            for memory in doors[user]:
                await state.check(memory, user)
        lines = await keeps.memory(Scope(tenant, "boss", roles=frozenset({"admin"}))).admin.export_lines()
        boss = keeps.memory(Scope(f"{tenant}-copy", "boss", roles=frozenset({"admin"})))
        assert (await boss.admin.import_lines(lines)).failed == 0
        again = await boss.admin.import_lines(lines)
        assert (again.stored, again.unchanged, again.differs) == (0, len(lines), 0)
        file, options = str(tmp_path / "all.jsonl"), ("--url", server_url)
        await run("export", file, "--tenant", tenant, *options)
        await run("import", file, "--tenant", f"{tenant}-shell", *options)
        for user, elsewhere in product(USERS, ("copy", "shell")):
            await state.check(keeps.memory(Scope(f"{tenant}-{elsewhere}", user)), user)


async def test_http_paths_accept_any_key(server_url: str, tenant: str) -> None:
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

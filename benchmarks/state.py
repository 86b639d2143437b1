"""Shared state: 16 processes, each helper, one plan. Nothing may be lost, nothing may fail; and how long it takes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from typing import Any

from benchmarks import served, temporary_folder
from keeps_client import MemoryClient
from keeps_client.workflow import TaskContext, WorkflowState

PROCESSES, OPERATIONS = 16, 200
TARGET_P99_MS = 250.0
WORKER = """
import json, sys, time
from keeps_client.sync import MemoryClient, TaskContext, WorkflowState
url, tenant, me, operations = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
memory = MemoryClient(url, tenant_id=tenant, user_id="shared")
state = WorkflowState(memory, "plan")
state.has("warm")
print("ready", flush=True)
sys.stdin.readline()
times = []
for n in range(operations):
    begun = time.perf_counter()
    match n % 8:
        case 0: state.set(f"value-{me}-{n}", n)
        case 1: state.increment("count")
        case 2: state.append("list", [me, n])
        case 3: state.extend("pairs", [[me, n], [me, n]])
        case 4: state.update_dict("object", {f"{me}-{n}": n})
        case 5: state.record_action(f"{me}-{n}")
        case 6: memory.put_sub_task("task", f"sub-{me}-{n}", event_type="e")
        case 7: TaskContext.restore(memory, "task").record_result(f"sub-{me}-{n - 1}", n)
    times.append(time.perf_counter() - begun)
print(json.dumps(times), flush=True)
memory.close()
"""


async def check(memory: Any, processes: int, operations: int) -> list[str]:
    """Return what was lost."""
    state = WorkflowState(memory, "plan")
    held = await state.get_all()
    each = {kind: [n for n in range(operations) if n % 8 == kind] for kind in range(8)}
    lost: list[str] = []

    def expect(what: str, found: object, wanted: object) -> None:
        if found != wanted:
            lost.append(f"{what}: {str(found)[:60]} instead of {str(wanted)[:60]}")

    pairs = [(me, n) for me in range(processes) for n in range(operations)]
    expect("values", sum(f"value-{me}-{n}" in held for me, n in pairs), processes * len(each[0]))
    expect("count", held.get("count"), processes * len(each[1]))
    expect("list", len({tuple(item) for item in held.get("list", [])}), processes * len(each[2]))
    doubled = Counter(tuple(item) for item in held.get("pairs", []))
    expect("pairs", (len(doubled), set(doubled.values())), (processes * len(each[3]), {2}))
    flat = [tuple(item) for item in held.get("pairs", [])]
    expect("pairs side by side", all(one == other for one, other in zip(flat[::2], flat[1::2], strict=True)), True)
    expect("object", len(held.get("object", {})), processes * len(each[4]))
    expect("actions", len(set(held["action_history"])), processes * len(each[5]))
    task = await TaskContext.restore(memory, "task")
    expect("sub-tasks", len(task.sub_tasks), processes * len(each[6]))
    expect("pending", len(task.pending), processes * (len(each[6]) - len(each[7])))
    return lost


async def drive(url: str, tenant: str, processes: int, operations: int) -> tuple[list[str], list[float]]:
    """Run the workers at once; what was lost or failed, and the seconds of each operation."""
    async with MemoryClient(url, tenant_id=tenant, user_id="shared") as memory:
        await memory.store_task_context("task", event_type="e", plan_id="plan")
        started = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, url, tenant, str(me), str(operations)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for me in range(processes)
        ]
        problems: list[str] = []
        times: list[float] = []
        for each in started:
            assert each.stdout is not None
            await asyncio.to_thread(each.stdout.readline)
        for each in started:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        for each in started:
            out, errors = await asyncio.to_thread(each.communicate)
            if each.returncode:
                problems.append(errors.strip().splitlines()[-1])
            else:
                times += json.loads(out)
        return problems + await check(memory, processes, operations), times


def run(*, as_json: bool) -> int:
    with temporary_folder("state") as folder:
        folder.chmod(0o755)
        with served(folder / "home") as url:
            problems, times = asyncio.run(drive(url, "state", PROCESSES, OPERATIONS))
    times.sort()
    p50, p99 = (1e3 * times[int(len(times) * share)] for share in (0.5, 0.99)) if times else (0.0, 0.0)
    told = {
        "processes": PROCESSES,
        "operations": len(times),
        "lost": problems,
        "p50_ms": round(p50, 1),
        "p99_ms": round(p99, 1),
    }
    print(json.dumps(told) if as_json else "\n".join(f"{name}: {value}" for name, value in told.items()))
    return 1 if problems or p99 > TARGET_P99_MS else 0

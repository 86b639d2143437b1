"""A worker that delegates and dies, and another that goes on: python examples/delegating_worker.py start|result

`start` stores a task context and waits for ever, as a worker does until it is killed. `result` comes later, in another
process: it finds the task by its sub-task, notes the result and completes it. Any event bus may carry the events.
Needs a server: keeps serve. The client takes KEEPS_URL, KEEPS_TOKEN, KEEPS_TENANT_ID and KEEPS_USER_ID.
"""

from __future__ import annotations

import asyncio
import sys

from keeps_client import MemoryClient
from keeps_client.errors import NotFoundError
from keeps_client.workflow import TaskContext


async def start(memory: MemoryClient) -> None:
    """A task comes in; part of it goes to somebody else."""
    task = TaskContext(
        memory,
        "research-1",
        event_type="research.requested",
        response_event="research.completed",
        data={"topic": "bees"},
    )
    await task.delegate("search-1", event_type="web.search.requested", data={"query": "bees"})
    print("delegated search-1", flush=True)  # here it would publish web.search.requested
    await asyncio.Event().wait()


async def result(memory: MemoryClient) -> None:
    """The search is done: whoever gets the event restores the task by the sub-task's id, and completes it."""
    try:
        task = await TaskContext.restore_by_subtask(memory, "search-1")
    except NotFoundError:
        print("nobody waits for search-1 (any more)")
        return
    if await task.record_result("search-1", {"pages": 3}):
        print(f"completed {task.task_id} on {task.data['topic']}: {task.sub_tasks[0]['result']}")
        await task.complete()


async def main() -> None:
    async with MemoryClient.from_env() as memory:
        await (start if sys.argv[1:] == ["start"] else result)(memory)


if __name__ == "__main__":
    asyncio.run(main())

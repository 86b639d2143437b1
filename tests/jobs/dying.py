"""A worker in a process of its own, whose jobs never end: it prints each that it takes, and waits to be killed."""

import asyncio
import sys
from typing import Any, cast

from keeps.base.clock import utc_now
from keeps.engine import Keeps
from keeps.memory.jobs.worker import Worker
from keeps.memory.lifecycle.service import Lifecycle


class Endless:
    async def run(self, tenant_id: str, job: str, **_: Any) -> None:
        print(tenant_id, job, flush=True)
        await asyncio.Event().wait()


async def main() -> None:
    async with Keeps.open(database_url=sys.argv[1]) as keeps:
        await Worker(keeps.database, cast("Lifecycle", Endless()), utc_now).run()


if __name__ == "__main__":
    asyncio.run(main())

"""A freeze or a thaw in a process of its own, which ends itself without warning at the step that it is told."""

import asyncio
import os
import signal
import sys

from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.operate.freezing.service import FreezeService


async def main() -> None:
    what, wanted, tenant_id = sys.argv[1:]

    def told(step: str) -> None:
        if step == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    async with await open_keeps(load_settings()) as keeps:
        service = keeps.service(FreezeService)
        await (service.freeze(tenant_id, told=told) if what == "freeze" else service.thaw(tenant_id, told))


if __name__ == "__main__":
    asyncio.run(main())

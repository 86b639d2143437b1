"""A move in a process of its own, which ends itself without warning at the step that it is told."""

import asyncio
import os
import signal
import sys

from keeps.operate.cells.copying import Place
from keeps.operate.cells.moving import Mover, Progress


async def main() -> None:
    wanted, tenant_id, source, source_url, target, target_url, main_url = sys.argv[1:]

    def told(progress: Progress) -> None:
        if progress.step == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    await Mover(tenant_id, Place(source, source_url), Place(target, target_url), Place("main", main_url), told).run()


if __name__ == "__main__":
    asyncio.run(main())

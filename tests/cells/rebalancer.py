"""A rebalance in a process of its own, which ends itself without warning at a step of one of its moves."""

import asyncio
import json
import os
import signal
import sys

from keeps.base.clock import utc_now
from keeps.base.settings import load_settings
from keeps.bootstrap import open_keeps
from keeps.operate.cells.rebalancing import RebalanceProgress, Rebalancer
from keeps.operate.cells.service import CellService


async def main() -> None:
    wanted, number, url, key, admins = sys.argv[1:]
    settings = load_settings(database_url=url, given={"KEEPS_SECRET_KEYS": key, "KEEPS_EMBEDDER": "none"})

    def told(progress: RebalanceProgress) -> None:
        if progress.move is not None and (progress.move.step, progress.number) == (wanted, int(number)):
            os.kill(os.getpid(), signal.SIGKILL)

    async with await open_keeps(settings) as keeps:
        cells = CellService(keeps, settings, json.loads(admins))
        await Rebalancer(cells, utc_now, told, most_active=1_000).run()


if __name__ == "__main__":
    asyncio.run(main())

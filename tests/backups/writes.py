"""Opens a home and stores a memory every 100 ms until it is killed: its content and time, printed once it is stored."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from itertools import count
from pathlib import Path

from keeps.base.scope import Scope
from keeps.base.settings import Settings
from keeps.bootstrap import open_keeps


async def main(home: Path) -> None:
    async with await open_keeps(Settings(home=home, embedder="none")) as keeps:
        memory = keeps.memory(Scope("acme", "alice"))
        for number in count():
            content = f"{os.getpid()}-{number}"
            await memory.remember(content)
            print(content, time.time(), flush=True)
            await asyncio.sleep(0.1)


asyncio.run(main(Path(sys.argv[1])))

"""`keeps serve` whose forked processes say what they can reach, run as a script: `serve.py ARGUMENTS`.

`--no-unshare` first: this process and its children may make no namespaces, as in containers with default profiles.
"""

from __future__ import annotations

import asyncio
import ctypes
import platform
import sys
from pathlib import Path
from typing import Any

from keeps.base.sandbox import seccomp
from keeps.doors.cli.main import main

REFUSE_UNSHARE = "--no-unshare"
_start_program = asyncio.create_subprocess_exec


async def _start_probe(program: str, *arguments: Any, **options: Any) -> Any:
    if arguments[:3] == ("-I", "-m", "keeps.base.sandbox.forked"):
        arguments = ("-I", str(Path(__file__).with_name("probe.py")), *arguments[3:])
    return await _start_program(program, *arguments, **options)


if __name__ in ("__main__", "__mp_main__"):  # the latter in workers, which import this file again
    asyncio.create_subprocess_exec = _start_probe  # type: ignore[assignment]

if __name__ == "__main__":
    if sys.argv[1] == REFUSE_UNSHARE:
        del sys.argv[1]
        libc = ctypes.CDLL(None)
        libc.prctl(38, 1, 0, 0, 0)
        number = seccomp._REFUSED["unshare"][seccomp._ARCHITECTURES[platform.machine()][1]]
        assert seccomp._load(libc, [(0x20, 0, 0, 0), *seccomp._call(number), (0x06, 0, 0, 0x7FFF0000)])
    main()

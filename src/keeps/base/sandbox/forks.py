"""Run untrusted work in separate processes.

A host process is started on first use, loads its modules once, and forks for each job. `forked` is the other side.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from keeps_client.errors import UnavailableError


class TooMuchError(Exception):
    """The answer is larger than the limit."""


class Forks:
    """Run jobs in forks of the host `module`. `what`: its name in messages. A cancelled caller ends the job."""

    def __init__(self, module: str, what: str) -> None:
        self._module, self._what = module, what
        self._process: asyncio.subprocess.Process | None = None
        self._door: socket.socket | None = None
        self._starting = asyncio.Lock()

    async def ask(
        self, job: Mapping[str, object], files: Sequence[int] = (), *, seconds: float, most_bytes: int
    ) -> bytes:
        """Run one job in a fork and return its answer; empty if the fork crashed.

        `files`: descriptors that the fork receives.

        Raises TimeoutError, TooMuchError, and UnavailableError if the host process has died.
        """
        reader, writer = await self._begun(files)
        parts: list[bytes] = []
        size = child = 0
        ended = False
        try:
            async with asyncio.timeout(seconds):
                child = int(await reader.readline() or b"0")
                with suppress(ConnectionError):  # The fork crashed before it had read everything.
                    writer.write(await asyncio.to_thread(_encoded, job))
                    writer.write_eof()
                    await writer.drain()
                    while part := await reader.read(1 << 20):
                        parts.append(part)
                        size += len(part)
                        if size > most_bytes:
                            raise TooMuchError
                ended = True
        finally:
            writer.close()
            if child and not ended:  # This also runs when the caller was cancelled.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(child, signal.SIGKILL)
        if not child:
            raise UnavailableError(f"the process that {self._what} has died; send it again")
        return b"".join(parts)

    async def close(self) -> None:
        if self._door is not None:
            self._door.close()
            self._door = None
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None

    async def _begun(self, files: Sequence[int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Request a fork; return the streams that carry its job and its answer."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            with theirs:
                async with self._starting:
                    door = await self._opened()
                socket.send_fds(door, [b"fork"], [theirs.fileno(), *files])
        except BlockingIOError:
            ours.close()
            raise UnavailableError(f"the process that {self._what} is busy; send it again") from None
        except OSError:
            ours.close()
            await self.close()
            raise UnavailableError(f"the process that {self._what} has died; send it again") from None
        except BaseException:
            ours.close()
            raise
        return await asyncio.open_connection(sock=ours, limit=1 << 20)

    async def _opened(self) -> socket.socket:
        if self._door is not None and self._process is not None and self._process.returncode is None:
            return self._door
        await self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-m",
                "keeps.base.sandbox.forked",
                self._module,
                stdin=theirs.fileno(),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={"TOKENIZERS_PARALLELISM": "false", "LC_ALL": "C.UTF-8"},
                cwd="/",
                close_fds=True,
            )
        self._door = ours
        return ours


def _encoded(job: Mapping[str, object]) -> bytes:
    return json.dumps(job).encode()

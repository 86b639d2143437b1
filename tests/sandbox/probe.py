"""A host whose forked processes answer with what they can reach, behind the walls that `keeps serve` gives them.

Run by path, with no import from the tests: it starts as the real host does, in isolated mode.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from keeps.base.sandbox import forked
from keeps.base.sandbox import limits as sandbox

UNPROBED = "plain.db"
"""A database that is described as usual, so that it can be asked later."""
_KINDS = {stat.S_IFSOCK: "socket", stat.S_IFREG: "file", stat.S_IFCHR: "device", stat.S_IFIFO: "pipe"}
_confine = sandbox.confine


def _report(host: int, service: int, file: str | None, network_before: str) -> dict[str, Any]:
    libc = ctypes.CDLL(None, use_errno=True)

    def attempt(work: Callable[[], Any]) -> str:
        try:
            work()
        except OSError as error:
            return errno.errorcode[error.errno or 0]
        return "done"

    def call(number: int, *arguments: Any) -> Callable[[], None]:
        def work() -> None:
            if libc.syscall(number, *arguments) < 0:
                raise OSError(ctypes.get_errno(), "")

        return work

    def socket_of(*kind: int) -> Callable[[], None]:
        return lambda: socket.socket(*kind).close()

    paths = ["/", "/etc/passwd", "/dev/null", "/tmp", sys.executable, sandbox.__file__]
    paths += [f"/proc/{pid}/{name}" for pid in ("self", host, service) for name in ("environ", "mem", "fd/0", "maps")]
    if file is not None:
        paths += [file, str(Path(file).with_name("neighbour"))]
    return {
        "descriptors": {str(fd): _kind(fd) for fd in range(4_096) if _kind(fd)},
        "user": os.getuid(),
        "new_network": os.readlink("/proc/self/ns/net") != network_before,
        "environment": dict(os.environ),
        "limits": {
            name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0]
            for name in ("CORE", "FSIZE", "NPROC", "DATA", "CPU")
        },
        "readable": [
            path for path in paths if attempt(lambda path=path: os.close(os.open(path, os.O_RDONLY))) == "done"
        ],
        "calls": {
            "tcp": attempt(socket_of(socket.AF_INET, socket.SOCK_STREAM)),
            "udp": attempt(socket_of(socket.AF_INET, socket.SOCK_DGRAM)),
            "unix": attempt(socket_of(socket.AF_UNIX, socket.SOCK_STREAM)),
            "netlink": attempt(socket_of(socket.AF_NETLINK, socket.SOCK_RAW)),
            "datagram pair": attempt(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)),
            "io_uring": attempt(call(425, 1, None)),
            "fork": attempt(os.fork),
            "execute": attempt(lambda: os.execv("/bin/true", ["true"])),
            "signal the service": attempt(lambda: os.kill(service, 0)),
            "signal its own group's others": attempt(lambda: os.kill(host, signal.SIGCONT)),
            "trace the host": attempt(call(101 if os.uname().machine == "x86_64" else 117, 16, host, None, None)),
            "truncate": attempt(lambda: os.truncate("/tmp/keeps-probe-truncate", 0)),
            "change a mode": attempt(lambda: os.chmod("/tmp/keeps-probe-truncate", 0o600)),
            "limits of the service": attempt(
                lambda: resource.prlimit(service, resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
            ),
            "unshare": attempt(call(272 if os.uname().machine == "x86_64" else 97, 0x10000000)),
            "shared memory": attempt(lambda: mmap.mmap(-1, 1 << 20).close()),
            "x32": attempt(call(0x40000000 | 41, 2, 1, 0)),
        },
    }


def _kind(descriptor: int) -> str:
    with suppress(OSError):
        return _KINDS.get(stat.S_IFMT(os.fstat(descriptor).st_mode), "other")
    return ""


def confine(*, files: Sequence[str] = (), **options: Any) -> sandbox.Walls:
    """Confine as usual, then end the job with a refusal that holds the report."""
    host = os.getppid()
    service = int(Path(f"/proc/{host}/stat").read_text().rpartition(")")[2].split()[1])
    before = os.readlink("/proc/self/ns/net")
    walls = _confine(files=files, **options)
    file = files[0] if files else None
    if file is not None and file.endswith(UNPROBED):
        return walls
    raise sandbox.SandboxError(json.dumps(_report(host, service, file, before)))


sandbox.confine = confine
forked.main()

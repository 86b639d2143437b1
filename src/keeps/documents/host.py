"""The process that reads documents: `python -m keeps.documents.host`, started by keeps.documents.reader.

It loads the parsers once and forks for each document. The child gives up everything but its memory, one file to read
and one pipe to answer on, and then looks at the document: no environment, no network, no files, no other program, 30
seconds of processor time, 512 MiB. Nothing here imports the engine.
"""

from __future__ import annotations

import ctypes
import encodings
import json
import os
import resource
import signal
import socket
import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from keeps.ai.tokens import WordPieceCounter
from keeps.documents import chunks, parsers

CPU_SECONDS, MEMORY_BYTES = 30, 512 << 20
_NEWUSER, _NEWNET, _NEWIPC = 0x10000000, 0x40000000, 0x08000000
_NO_NEW_PRIVILEGES, _DEATH_SIGNAL = 38, 1
_NOBODY = 65_534
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT, _EVERY_ACCESS = 444, 446, (1 << 13) - 1
_EMAIL = b"""From: =?utf-8?q?a?= <a@b>
Date: Mon, 1 Jan 2026 10:00:00 +0000
Subject: =?utf-8?b?YQ==?=
Content-Type: multipart/mixed; boundary="x"

--x
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: quoted-printable

a=20
--x
Content-Type: text/plain
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename="a"

YQ==
--x--
"""
_FORBIDDEN = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.system",
    "ctypes.dlopen",
    "shutil.",
    "os.kill",
)


def main() -> None:
    door = socket.socket(fileno=0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    count = _loaded()
    while True:
        told, files, _, _ = socket.recv_fds(door, 65_536, 2)
        if not told:
            return
        if os.fork() == 0:
            door.close()
            _child(json.loads(told), *files, count=count)
            os._exit(0)
        for each in files:
            os.close(each)


def _loaded() -> chunks.Counter:
    """Everything that a child needs, imported before it may open nothing any more."""
    for each in parsers.FORMATS:
        try:
            import_module(f"keeps.documents.parsers.{each.module}")
        except ImportError:
            continue  # its extra is not installed; whoever asks was told so
    for each in iter_modules(encodings.__path__):
        if each.name not in ("mbcs", "oem", "cp65001"):  # of Windows
            import_module(f"encodings.{each.name}")
    parsers.parse("email", _EMAIL, "")  # the library imports as it goes
    counter = WordPieceCounter()
    counter.count(["loaded"])
    return counter.count


def _child(job: dict[str, Any], file: int, answer: int, *, count: chunks.Counter) -> None:
    """Answer with a line that says which process this is, so that it can be ended, and one of JSON."""
    os.setsid()
    out = os.fdopen(answer, "w", encoding="utf-8")
    print(os.getpid(), file=out, flush=True)
    try:
        _give_up_everything()
        with os.fdopen(file, "rb") as document:
            document.seek(0)
            reading = parsers.parse(job["format"], document.read(), job["name"])
        title = _title(job["title"], reading.title, job["name"])
        text, starts = chunks.joined(reading.blocks)
        told = {
            "title": title,
            "pages": reading.pages,
            "empty_pages": reading.empty_pages,
            "hidden": reading.hidden,
            "notes": reading.notes,
            "text": text,
            "chunks": [
                (each.start, each.end, each.headings, each.page)
                for each in chunks.cut(text, reading.blocks, starts, title, chunks.by_words(count))
            ],
        }
    except parsers.RefusedError as error:
        told = {"refused": str(error)}
    except MemoryError:
        told = {"refused": f"reading it takes more than {MEMORY_BYTES >> 20} MiB of memory"}
    except TimeoutError:
        told = {"refused": f"reading it takes more than {CPU_SECONDS} s of processor time"}
    except BaseException as error:  # noqa: BLE001  a defect of a parser costs its document, and says what it was
        told = {"refused": f"it cannot be read ({type(error).__name__})"}
    json.dump(told, out, ensure_ascii=False)
    out.flush()


def _title(*given: str | None) -> str:
    called = (" ".join(parsers.clean(each or "").split())[:500] for each in given)
    return next((each for each in called if each), "Document")


def _give_up_everything() -> None:
    os.environ.clear()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # no threads, of which there may be none
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.geteuid() == 0:
        libc.unshare(_NEWNET | _NEWIPC)
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    else:
        libc.unshare(_NEWUSER | _NEWNET | _NEWIPC)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
    signal.signal(signal.SIGXCPU, _too_long)
    for limit, value in (
        (resource.RLIMIT_CORE, (0, 0)),
        (resource.RLIMIT_FSIZE, (0, 0)),
        (resource.RLIMIT_NPROC, (0, 0)),
        (resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES)),
        (resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 2)),
    ):
        resource.setrlimit(limit, value)
    _close_the_files(libc)
    sys.addaudithook(_refuse)


def _close_the_files(libc: ctypes.CDLL) -> None:
    """Landlock: no file can be opened any more, also not to read, whoever we are; and no process outside be looked
    into. Kernels before 5.13 have none; there the other limits must do."""
    ruleset = ctypes.c_uint64(_EVERY_ACCESS)
    descriptor = libc.syscall(_LANDLOCK_CREATE, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    if descriptor >= 0:
        libc.syscall(_LANDLOCK_RESTRICT, descriptor, 0)
        os.close(descriptor)


def _too_long(*_: object) -> None:
    raise TimeoutError


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """What Python itself notices is said; what it does not, the kernel refuses."""
    if event.startswith(_FORBIDDEN) or (event == "open" and not isinstance(arguments[0], int)):
        raise parsers.RefusedError(f"its parser tried {event} {arguments[0] if event == 'open' else ''}".rstrip())


if __name__ == "__main__":
    main()

"""The process that reads documents: `python -m keeps.base.sandbox.forked keeps.sources.documents.host`.

It loads the parsers once and forks for each document. Before it looks at the document, the child gives up everything
but its memory, one file to read and one pipe to answer on: it has no environment, no network, no files, no other
program, 30 seconds of processor time, 512 MiB. Nothing here imports the engine.
"""

from __future__ import annotations

import encodings
import json
import os
import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TextIO

from keeps.base.sandbox import forked
from keeps.base.sandbox import limits as sandbox
from keeps.models.tokens import WordPieceCounter
from keeps.sources.documents import chunks, parsers

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
    count = _loaded()
    forked.serve(lambda job, files, out: read(job, files[0], out, count=count))


def _loaded() -> chunks.Counter:
    """Import everything that a child needs before it loses the right to open files; return the token counter."""
    for form in parsers.FORMATS:
        try:
            import_module(f"keeps.sources.documents.parsers.{form.module}")
        except ImportError:
            continue  # Its extra is not installed; callers are told so.
    for module in iter_modules(encodings.__path__):
        if module.name not in ("mbcs", "oem", "cp65001"):  # These exist on Windows only.
            import_module(f"encodings.{module.name}")
    parsers.parse("email", _EMAIL, "")  # The library imports modules as it parses.
    counter = WordPieceCounter()
    counter.count(["loaded"])
    return counter.count


def read(job: dict[str, Any], file: int, out: TextIO, *, count: chunks.Counter) -> None:
    """Write the text and passages of an open file as JSON, or the reason why it is refused."""
    try:
        sandbox.confine()
        sys.addaudithook(_refuse)
        with os.fdopen(file, "rb") as document:
            document.seek(0)
            reading = parsers.parse(job["format"], document.read(), job["name"])
        title = _title(job["title"], reading.title, job["name"])
        text, starts = chunks.joined(reading.blocks)
        cut = chunks.cut(text, reading.blocks, starts, title, chunks.by_words(count), job["limit"])
        answer = {
            "title": title,
            "pages": reading.pages,
            "empty_pages": reading.empty_pages,
            "hidden": reading.hidden,
            "notes": reading.notes,
            "text": text,
            "chunks": [(each.start, each.end, each.headings, each.page, each.page_breaks) for each in cut],
        }
    except parsers.RefusedError as error:
        answer = {"refused": str(error)}
    except sandbox.SandboxError as error:
        answer = {"refused": str(error)}
    except MemoryError:
        answer = {"refused": f"reading it needs more than {sandbox.MEMORY_BYTES >> 20} MiB of memory"}
    except TimeoutError:
        answer = {"refused": f"reading it takes more than {sandbox.CPU_SECONDS} s of processor time"}
    except BaseException as error:  # noqa: BLE001  a defect of a parser costs its document, and says what it was
        answer = {"refused": f"it cannot be read ({type(error).__name__})"}
    json.dump(answer, out, ensure_ascii=False)


def _title(*given: str | None) -> str:
    called = (" ".join(parsers.clean(each or "").split())[:500] for each in given)
    return next((each for each in called if each), "Document")


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse an event with a message when Python notices it; the kernel refuses the rest."""
    if event.startswith(_FORBIDDEN) or (event == "open" and not isinstance(arguments[0], int)):
        what = "open another file" if event == "open" else event
        raise parsers.RefusedError(f"its parser tried to {what}, which no document needs")

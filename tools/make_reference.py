"""Make docs/reference from the code: python tools/make_reference.py [--check]

What each page lists is read from the one place where it is written: the endpoints of the SDK, the methods of a memory,
the commands, the errors, the types of events, the metrics of a server.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import typer
from prometheus_client.metrics_core import Metric

from keeps.base.settings import ABOUT, Settings
from keeps.base.telemetry.metrics import HttpMetrics, Metrics
from keeps.doors.cli.main import app
from keeps.doors.server.problems import TITLES
from keeps.engine import LocalAdmin, LocalMemory
from keeps_client import errors
from keeps_client.endpoints import ENDPOINTS
from keeps_client.models.events import EVENT_TYPES

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- Made by tools/make_reference.py; change what it reads instead. -->\n"


def http() -> Iterator[str]:
    yield "# HTTP\n\nEvery route takes and gives JSON. `/openapi.json` has every field, `/docs` lets you try it."
    yield "A route needs at least the role that stands beside it. How to send credentials: [access](../access.md).\n"
    tag = ""
    for each in ENDPOINTS:
        if each.tag != tag:
            tag = each.tag
            yield f"\n## {tag[:1].upper()}{tag[1:]}\n\n| route | role | what it does |\n| --- | --- | --- |"
        yield f"| `{each.verb} {each.path}` | {each.role} | {_line(each.doc)} |"
    yield "\n## Beside these\n\n| route | role | what it does |\n| --- | --- | --- |"
    for route, role, what in (
        ("GET /v1/events/stream", "reader", "Events as they happen, as server-sent events; `Last-Event-ID` resumes."),
        ("POST /v1/documents", "writer", "Add a document as multipart/form-data."),
        ("GET /v1/admin/export", "admin", "The tenant's data, or one user's, as JSON lines."),
        ("POST /v1/admin/import", "admin", "Store the JSON lines of an export."),
        ("GET /health", "nobody's", "Whether the process answers."),
        ("GET /ready", "nobody's", "Whether the database answers, too."),
        ("GET /metrics", "nobody's", "Metrics for Prometheus."),
        ("GET /ui/", "reader", "The console."),
    ):
        yield f"| `{route}` | {role} | {what} |"


def library() -> Iterator[str]:
    yield "# Library and SDK\n\n`keeps.memory(scope)` and `keeps_client.MemoryClient` have the same methods."
    yield "`keeps_client.sync.MemoryClient` has them without `await`.\n"
    for title, kind in (("A memory", LocalMemory), ("Administration: `memory.admin`", LocalAdmin)):
        yield f"\n## {title}\n"
        for name, method in sorted(inspect.getmembers(kind, callable)):
            if not name.startswith("_") and name not in ("register",):
                given = ", ".join(
                    parameter.name if parameter.default is inspect.Parameter.empty else f"{parameter.name}="
                    for parameter in inspect.signature(method).parameters.values()
                    if parameter.name != "self"
                )
                yield f"- `{name}({given})`: {_line(inspect.getdoc(method) or '')}"


def cli() -> Iterator[str]:
    yield "# Command line\n\n`keeps COMMAND --help` says every option. `--json` prints JSON."
    yield "`--tenant`, `--user` and `--agent` say who acts, `--url` talks to a server."
    yield "`keeps call NAME key=value` runs any [operation](http.md); `keeps call` lists them.\n"
    yield "| command | what it does |\n| --- | --- |"
    group = typer.main.get_command(app)
    for name, command in _commands(group, "keeps"):
        yield f"| `{name}` | {_line(command.help or '')} |"


def _commands(command: Any, name: str) -> Iterable[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield name, command
        return
    for child in sorted(command.list_commands(None)):
        found = command.get_command(None, child)
        if not found.hidden:
            yield from _commands(found, f"{name} {child}")


def problems() -> Iterator[str]:
    yield "# Errors\n\nOver HTTP an error is `application/problem+json` (RFC 9457)."
    yield "It has `code`, `title`, `status`, `detail` and `request_id`."
    yield "In Python it is an exception of `keeps_client.errors` with `code` and `detail`.\n"
    yield "| code | status | exception | title |\n| --- | --- | --- | --- |"
    for kind in vars(errors).values():
        if (
            inspect.isclass(kind)
            and issubclass(kind, errors.KeepsError)
            and "code" in vars(kind)
            and kind.code in TITLES
        ):
            yield f"| `{kind.code}` | {kind.status} | `{kind.__name__}` | {TITLES[kind.code]} |"


def events() -> Iterator[str]:
    yield "# Events\n\nEvery durable write is an event in CloudEvents 1.0."
    yield "[Events](../events.md) says how to read and follow them. These are all types:\n"
    yield from (f"- `{each}`" for each in EVENT_TYPES)


def settings() -> Iterator[str]:
    yield "# Settings\n\nA command's flag counts more than the environment, which counts more than `keeps.toml` in the"
    yield "home. The file has the same names in lower case and without `KEEPS_`. A name that is no setting is refused."
    yield "[Running](../running.md#settings) says more.\n"
    yield "| variable | default | what it is |\n| --- | --- | --- |"
    defaults = {each.name: each.default for each in fields(Settings)}
    said = {
        "home": "`~/.keeps`",
        "auth": "`none` on loopback, else `keys`",
        "markdown_folder": "`markdown` in the home",
    }
    for name, about in ABOUT.items():
        default = defaults.get(name)
        plain = (
            ""
            if default in (None, (), MISSING)
            else f"`{str(default).lower() if isinstance(default, bool) else default}`"
        )
        yield f"| `KEEPS_{name.upper()}` | {said.get(name, plain)} | {about} |"
    yield "| `OTEL_EXPORTER_OTLP_ENDPOINT` |  | where spans go (extra `otel`) |"


def metrics() -> Iterator[str]:
    yield "# Metrics\n\n`GET /metrics` gives these to Prometheus. `deploy/` has a Grafana dashboard and alert rules.\n"
    yield "| metric | kind | labels | what it counts |\n| --- | --- | --- | --- |"
    found: dict[str, str] = {}
    for registry in (Metrics().registry, HttpMetrics().registry):
        for collector in list(registry._collector_to_names):  # noqa: SLF001
            for metric in _described(collector):
                labels = ", ".join(getattr(collector, "_labelnames", ()))
                name = metric.name + ("_total" if metric.type == "counter" else "")
                found[metric.name] = f"| `{name}` | {metric.type} | {labels} | {metric.documentation} |"
    yield from (found[name] for name in sorted(found))


def _described(collector: object) -> list[Metric]:
    return list(collector.describe()) if hasattr(collector, "describe") else []  # type: ignore[attr-defined]


def _line(text: str) -> str:
    """The first sentence."""
    flat = re.sub(r"\s+", " ", text).strip().replace("|", "\\|").replace("<", "&lt;")
    return re.split(r"(?<=\.) (?=[A-Z`])", flat, maxsplit=1)[0]


PAGES = {
    "http": http,
    "library": library,
    "cli": cli,
    "settings": settings,
    "errors": problems,
    "events": events,
    "metrics": metrics,
}


def main() -> int:
    stale: list[str] = []
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        path = FOLDER / f"{name}.md"
        text = NOTE + "\n" + "\n".join(page()) + "\n"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"docs/reference is stale: {', '.join(stale)}; run python tools/make_reference.py")
        return 1
    print("docs/reference is fresh" if not stale else f"made {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

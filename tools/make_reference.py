"""Make docs/reference from the code: python tools/make_reference.py [--check]

What each page lists is read from the one place where it is written: the endpoints of the SDK, the methods of a memory,
the commands, the errors, the types of events, the metrics of a server.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import typer
from prometheus_client.metrics_core import Metric

from keeps.base.settings import ABOUT, SECRETS, Settings
from keeps.base.telemetry.metrics import HttpMetrics, Metrics
from keeps.doors.cli.main import app
from keeps.doors.server.problems import TITLES
from keeps.engine import LocalAdmin, LocalMemory
from keeps_client import errors
from keeps_client.endpoints import ENDPOINTS
from keeps_client.memory.groups import GROUPS, methods_of
from keeps_client.memory.whole import Memory
from keeps_client.models.events import EVENT_TYPES

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
LINE = 100
NOTE = "<!-- Made by tools/make_reference.py; change what it reads instead. -->\n"


def http() -> Iterator[str]:
    yield "# HTTP\n\nEvery route accepts and returns JSON. `/openapi.json` has every field; `/docs` lets you try them."
    yield "The role is the minimum that a route needs. [Access](../access.md) explains how to send credentials.\n"
    tag = ""
    for each in ENDPOINTS:
        if each.tag != tag:
            tag = each.tag
            yield f"\n## {tag[:1].upper()}{tag[1:]}\n\n| Route | Role | What it does |\n| --- | --- | --- |"
        yield f"| `{each.verb} {each.path}` | {each.role} | {_line(each.doc)} |"
    yield "\n## Other routes\n\n| Route | Role | What it does |\n| --- | --- | --- |"
    for route, role, what in (
        ("GET /v1/events/stream", "reader", "Stream events as server-sent events; `Last-Event-ID` resumes."),
        ("POST /v1/documents", "writer", "Add a document as multipart/form-data."),
        ("GET /v1/admin/export", "admin", "Export the tenant's data, or one user's, as JSON lines."),
        ("GET /v1/spaces/{space_id}/export", "reader", "Export a space as JSON lines, for its curators."),
        (
            "GET /v1/admin/tenants/{tenant_id}/export",
            "admin",
            "Export your own tenant, or as operator any, as JSON lines.",
        ),
        ("GET /v1/spaces/{space_id}/export", "reader", "Export a space with its members as JSON lines, for curators."),
        ("POST /v1/admin/import", "admin", "Store the JSON lines of an export."),
        ("GET /health", "none", "Report whether the process answers."),
        ("GET /ready", "none", "Report whether the database answers, too."),
        ("GET /metrics", "none", "Return metrics for Prometheus."),
        ("GET /ui/", "reader", "Open the console."),
    ):
        yield f"| `{route}` | {role} | {what} |"


def library() -> Iterator[str]:
    yield "# Library and SDK\n\n`keeps.memory(scope)` and `keeps_client.MemoryClient` have the same methods."
    yield "`keeps_client.sync.MemoryClient` has them without `await`. A method of a group, such as"
    yield "`memory.graph.traverse`, is also one of the memory: `memory.traverse`."
    yield "[Which method when](../choosing.md) helps you choose.\n"
    grouped = {name for group in GROUPS for name in methods_of(group)}
    main = [name for name in _methods(LocalMemory) if name not in grouped]
    yield from _section("A memory", LocalMemory, main)
    for group in sorted(GROUPS):
        about = inspect.getdoc(getattr(Memory, group)) or ""
        yield from _section(f"`memory.{group}`", LocalMemory, methods_of(group), about)
    yield from _section("`memory.admin`", LocalAdmin, _methods(LocalAdmin), "Administration of a tenant.")


def _methods(kind: type) -> list[str]:
    return [name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_") and name != "register"]


def _section(title: str, kind: type, names: Sequence[str], about: str = "") -> Iterator[str]:
    """Return the methods with their types, defaults and answers."""
    yield f"\n## {title}\n"
    if about:
        yield f"{about}\n"
    for name in sorted(names):
        method = getattr(kind, name)
        yield f"### {name}\n\n```\n{_signature(name, method)}\n```\n\n{_as_markdown(inspect.getdoc(method) or '')}\n"


def _signature(name: str, method: Any) -> str:
    """Return a method with its types, defaults and answer; one parameter a line where they are many."""
    signature = inspect.signature(method)
    parts: list[str] = []
    keyword_only = False
    for each in signature.parameters.values():
        if each.name == "self":
            continue
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        default = "" if each.default is inspect.Parameter.empty else f" = {each.default!r}"
        parts.append(f"{each.name}: {each.annotation}{default}")
    answer = str(signature.return_annotation).removeprefix("builtins.")
    line = f"{name}({', '.join(parts)}) -> {answer}"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f") -> {answer}"])


def _as_markdown(text: str) -> str:
    """Return a docstring as Markdown: its sections (Args, Raises) become lists."""
    lines: list[str] = []
    section = ""
    for line in text.splitlines():
        if line in ("Args:", "Raises:", "Returns:"):
            section = line
            lines += [f"{line}", ""]
        elif section and line.strip():
            item = re.match(r"    ([\w, ]+): (.*)", line)
            lines.append(f"- `{item[1]}`: {item[2]}" if item else f"  {line.strip()}")
        else:
            section = "" if not line.strip() else section
            lines.append(line)
    return "\n".join(lines)


def cli() -> Iterator[str]:
    yield "# Command line\n\n`keeps COMMAND --help` lists all options. `--json` prints JSON."
    yield "`--tenant`, `--user` and `--agent` name the acting tenant, user and agent. `--url` uses a server."
    yield "`keeps call NAME key=value` runs any [operation](http.md); `keeps call` lists them.\n"
    yield "| Command | What it does |\n| --- | --- |"
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
    yield "| Code | Status | Exception | Title |\n| --- | --- | --- | --- |"
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
    yield "[Events](../events.md) explains how to read and follow them. All types:\n"
    yield from (f"- `{each}`" for each in EVENT_TYPES)


def settings() -> Iterator[str]:
    yield "# Settings\n\nA command-line flag overrides the environment, which overrides `keeps.toml` in the"
    yield "home. The file has the same names in lower case and without `KEEPS_`. Unknown names are refused."
    yield "[Running Keeps](../running.md#settings) has the details.\n"
    yield "| Variable | Default | Description |\n| --- | --- | --- |"
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
    yield "| `OTEL_EXPORTER_OTLP_ENDPOINT` |  | address for trace spans (extra `otel`) |"
    yield "\n## Secrets from files\n"
    yield "With `_FILE` at the end of its name, a variable names a file that holds the value:"
    yield "`KEEPS_DATABASE_URL_FILE=/run/keeps/database_url`. Space around the value does not count. It works for"
    yield ", ".join(f"`KEEPS_{name.upper()}`" for name in sorted(SECRETS)) + "."


def metrics() -> Iterator[str]:
    yield "# Metrics\n\n`GET /metrics` serves these to Prometheus. `deploy/` has a Grafana dashboard and alert rules.\n"
    yield "| Metric | Kind | Labels | Description |\n| --- | --- | --- | --- |"
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

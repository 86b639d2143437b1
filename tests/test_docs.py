"""What the pages say is there: links, paths named in passing, decisions, imports, commands with their options."""

from __future__ import annotations

import ast
import re
import textwrap
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer

from keeps.doors.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for folder, pattern in ((".", "*.md"), ("docs", "**/*.md"), ("client", "*.md"), ("client-js", "*.md"))
    for path in (ROOT / folder).glob(pattern)
)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
NAMED = re.compile(r"`((?:src/keeps|client/src|tests|tools|docs|benchmarks|examples|deploy)/[\w./-]*\w/?)(?:::\w+)?`")
HISTORY = {"CHANGELOG.md"}
"""Tells of files that have moved since."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_points_at_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [target for target in LINK.findall(text) if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in links if not (page.parent / target).exists()] == []
    if page.name not in HISTORY and page.parent.name != "adr":
        assert [path for path in NAMED.findall(text) if not (ROOT / path).exists()] == []


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "adr"
    listed = LINK.findall((folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in folder.glob("[0-9]*.md"))


def _prose(text: str) -> list[str]:
    """Lines that are neither code nor a table."""
    parts = re.split(r"^\s*```.*$", text, flags=re.MULTILINE)
    return [line for part in parts[::2] for line in part.splitlines() if not line.startswith("|")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_at_most_120_columns(page: Path) -> None:
    if page.name in HISTORY or page.parent.name == "reference":
        return
    long = [
        line for line in _prose(page.read_text(encoding="utf-8")) if len(line) > 120 and not line.startswith("<!--")
    ]
    assert long == []


def _blocks(languages: tuple[str, ...]) -> list[tuple[str, str]]:
    """Code on the pages, with the page it stands on."""
    fence = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
    return [
        (page.name, textwrap.dedent(code))
        for page in PAGES
        if page.parent.name != "adr"
        for _, language, code in fence.findall(page.read_text(encoding="utf-8"))
        if language in languages
    ]


def test_python_on_the_pages_is_python() -> None:
    blocks = _blocks(("python",))
    for page, code in blocks:
        # Some show a line of a coroutine.
        tree = compile(code.replace("…", "..."), page, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("keeps", "keeps_client"):
                if find_spec(node.module or "") is None:
                    continue
                with suppress(ImportError):  # an extra that is not installed here
                    module = import_module(node.module or "")
                    assert [each.name for each in node.names if not hasattr(module, each.name)] == [], page
    assert len(blocks) >= 15


def test_commands_on_the_pages_are_there() -> None:
    group: Any = typer.main.get_command(app)
    seen = 0
    for page, code in _blocks(("", "sh", "bash")):
        for line in code.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:[A-Z_]+=\S* )*(?:\.venv/bin/)?keeps (.*)", line.strip())
            if found is None:
                continue
            command, options = group, set[str]()
            for word in re.sub(r"\s+#.*", "", found[1]).split():
                known = command.get_command(None, word) if hasattr(command, "get_command") else None
                if known is not None:
                    command = known
                elif word.startswith("--"):
                    options.add(word.partition("=")[0].rstrip(",;)"))
            assert not hasattr(command, "get_command"), f"{page}: {line}"
            names = {name for each in (*command.params, *group.params) for name in (*each.opts, *each.secondary_opts)}
            assert options <= names, f"{page}: {line}: {options - names}"
            seen += 1
    assert seen >= 20


def test_the_readme_is_read_in_one_sitting() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120

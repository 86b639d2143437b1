"""The code on the pages, and how it is run: each block of Python in the page's own namespace, each of shell in one
folder."""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "client" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FRAMEWORKS = ("integrations.md", "hindsight.md", "mem0.md")
"""Pages whose Python needs packages of an environment of their own."""
_FENCE = re.compile(r'^( *)```(\w*)(?: title="([\w.-]+)")?[^\n]*\n(.*?)^\1```', re.MULTILINE | re.DOTALL)
_NOT_RUN = re.compile(r"<!-- not run: ([^>]+) -->\s*\Z")
_ID = re.compile(r"\b01a2[0-9a-f]{4}[-0-9a-f]*")
_SERVER = re.compile(r"(?:localhost|127\.0\.0\.1):8765")


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    language: str
    code: str
    not_run: str | None
    file: str | None = None
    """Name of the file that the block is, from its title. Shell blocks after it find the file in their folder."""

    @property
    def script(self) -> bool:
        """A whole program, which runs by itself."""
        return "asyncio.run(" in self.code


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    for each in _FENCE.finditer(text):
        why = _NOT_RUN.search(text[: each.start()])
        name = str(page.relative_to(ROOT))
        line = text.count("\n", 0, each.start()) + 1
        found.append(Block(name, line, each[2], textwrap.dedent(each[4]), why[1] if why else None, each[3]))
    return found


def of(page: Path, *languages: str) -> list[Block]:
    """Return the blocks that are run by themselves."""
    return [each for each in blocks(page) if each.language in languages and each.not_run is None and each.file is None]


def in_shell(page: Path) -> list[Block]:
    """Return shell blocks and the files that they use, in the order of the page."""
    return [each for each in blocks(page) if each.not_run is None and (each.file is not None or each.language == "sh")]


def write_file(block: Block, served: str, folder: Path) -> None:
    (folder / str(block.file)).write_text(_SERVER.sub(served, block.code), encoding="utf-8")


async def run_python(block: Block, names: dict[str, Any], environment: dict[str, str], served: str) -> None:
    """As it stands there, but for the address of the server; `await` needs no function around it."""
    code = _SERVER.sub(served, block.code)
    if block.script:
        await asyncio.to_thread(command, block, [sys.executable, "-c", code], environment, Path.cwd())
        return
    compiled = compile(code, f"{block.page}:{block.line}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    done = eval(compiled, names)  # noqa: S307  the page is ours
    if inspect.isawaitable(done):
        await done


def run_shell(block: Block, environment: dict[str, str], served: str, folder: Path, ids: list[str]) -> None:
    """As it stands there, but for the address of the server, and ids of memories that exist instead of made-up ones."""
    code = _SERVER.sub(served, block.code)
    for made_up, id in zip(dict.fromkeys(_ID.findall(code)), ids, strict=False):
        code = code.replace(made_up, id)
    if "keeps backup" in code:  # is of the embedded database
        environment = {name: value for name, value in environment.items() if name != "KEEPS_DATABASE_URL"}
    command(block, ["bash", "-euo", "pipefail", "-c", code.replace("curl -s ", "curl -sf ")], environment, folder)


def command(block: Block, words: list[str], environment: dict[str, str], folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        words,
        env={**os.environ, **environment, "PATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{block.page}:{block.line}\n{block.code}\n{done.stdout}\n{done.stderr}"

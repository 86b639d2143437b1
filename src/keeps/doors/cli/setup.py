"""setup: connects coding agents to Keeps."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from keeps.doors.cli.agents import AGENTS, Written
from keeps.doors.cli.command import Answer, command
from keeps.doors.cli.context import out
from keeps.doors.cli.openclaw import MADE
from keeps_client.errors import KeepsError, ValidationFailedError

app = typer.Typer()
BACKUP = ".keeps-backup"
MOST_BYTES = 64 << 20
Difference = tuple[Path, str, str]


@command(app)
async def setup(
    agent: Annotated[str | None, typer.Argument(help=f"{', '.join(AGENTS)}.")] = None,
    project: Annotated[bool, typer.Option("--project", help="Settings of the current folder, to share it.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Remove what this command wrote.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the changes.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the agents, and where Keeps is set up.")] = False,
    user: Annotated[str | None, typer.Option(help="The user whose memory it is.")] = None,
    tenant: Annotated[str | None, typer.Option(help="The tenant.")] = None,
) -> Answer:
    """Connect a coding agent to Keeps.

    It writes the MCP server and the hooks into the agent's own settings. It prints the changes, leaves everything else
    as it is, and keeps the previous file beside it. You can repeat it.
    """
    folder = Path.cwd() if project else None
    if list_all or agent is None:
        return _listed(folder)
    if agent not in AGENTS:
        raise ValidationFailedError(f"unknown agent {agent!r}; choose from {', '.join(AGENTS)}")
    options = [word for name, value in (("--tenant", tenant), ("--user", user)) if value for word in (name, value)]
    written = None if uninstall else Written(_command(shared=project), options)
    differences = _differences(agent, folder, written)
    if not dry_run:
        for path, before, after in differences:
            _replace(path, before, after)

    def text() -> None:
        for path, before, after in differences:
            names = (str(path), str(path))
            lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), *names)
            out.print(escape("".join(line if line.endswith("\n") else f"{line}\n" for line in lines)), end="")
        if written is not None and find_spec("mcp") is None:
            out.print("[yellow]The MCP server needs an extra:[/] pip install 'keeps\\[mcp]'")
        state = "would change" if dry_run else "changed"
        out.print(f"{len(differences)} files {state}." if differences else "Nothing to change.")
        if differences and agent == "codex" and not uninstall:
            out.print("Start Codex and trust the hooks with /hooks.")

    return Answer({"agent": agent, "changed": [str(path) for path, *_ in differences], "dry_run": dry_run}, text)


def _differences(agent: str, folder: Path | None, written: Written | None) -> list[Difference]:
    """Return the files that change, with their texts before and after. Raises before anything is written."""
    differences: list[Difference] = []
    places = [(file, file.path(Path.home(), folder)) for file in AGENTS[agent]]
    if not any(path for _, path in places):
        raise ValidationFailedError(f"{agent} has no settings of a project; omit --project")
    for file, path in places:
        if path is None:
            continue
        before = _read(path)
        try:
            after = file.change(before, written)
        except KeepsError as error:
            raise type(error)(f"{path}: {error.detail}") from None
        if after != before:
            differences.append((path, before, after))
    return differences


def _listed(folder: Path | None) -> Answer:
    """Return the agents, and where Keeps is in their settings."""
    states: dict[str, dict[str, bool]] = {}
    for agent, files in AGENTS.items():
        paths = {file: path for file in files if (path := file.path(Path.home(), folder)) is not None}
        states[agent] = {str(path): path.exists() and _is_written(agent, folder, path) for path in paths.values()}

    def text() -> None:
        for agent, paths in states.items():
            for path, is_set_up in paths.items():
                out.print(f"{agent:<12} {'set up' if is_set_up else '-':<7} {escape(path)}")

    return Answer(states, text)


def _is_written(agent: str, folder: Path | None, path: Path) -> bool:
    try:
        return any(path == changed for changed, *_ in _differences(agent, folder, None))
    except (KeepsError, OSError):
        return False


def _command(*, shared: bool) -> str:
    """Return the command for the settings: a path, unless others use them on their machines."""
    if shared:
        return "keeps"
    beside = Path(sys.executable).with_name("keeps")
    return str(beside) if beside.is_file() else shutil.which("keeps") or "keeps"


def _read(path: Path) -> str:
    if not path.exists():
        return ""
    if path.stat().st_size > MOST_BYTES:
        raise ValidationFailedError(f"{path} is too large for a settings file")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ValidationFailedError(f"{path} is not UTF-8 text") from None


def _replace(path: Path, before: str, after: str) -> None:
    """Write a file at once, where a link leads, with the permissions it had; keep the previous one beside it.

    A file that becomes empty had nothing but entries of Keeps, and is removed. A file that only Keeps writes has no
    previous version.
    """
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if target.exists():
        if _read(target) != before:
            raise ValidationFailedError(f"{path} was changed meanwhile; run the command again")
        if MADE not in before:
            shutil.copy2(target, target.with_name(target.name + BACKUP))
    if not after and not path.is_symlink():
        target.unlink()
        if MADE in before:
            with suppress(OSError):  # It has other files.
                target.parent.rmdir()
        return
    descriptor, partial = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(after.encode())
        if target.exists():
            shutil.copymode(target, partial)
        Path(partial).rename(target)
    finally:
        Path(partial).unlink(missing_ok=True)

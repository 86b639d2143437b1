"""Recognise the project of a folder, so that worktrees, forks and renamed folders share one memory.

Forks and worktrees have the root commit in common. A shallow clone lacks it, and a new repository has none: the address
of the remote takes its place. Without git, the folder is the project.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

NAMESPACES = "project/"
GIT_SECONDS = 5.0
MOST_FOLDERS = 1_000
"""Number of folders whose project a process remembers."""
_GIT = ("git", "--no-replace-objects", "-c", "core.fsmonitor=false")
_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
"""Git must not run programs that a repository names, or ask anything."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project. `namespace`: of its memories; `name`: for people."""

    namespace: str
    name: str


class Projects:
    """Finds projects, and remembers those of the last folders. Each first look runs git."""

    def __init__(self) -> None:
        self._projects: dict[str, Project] = {}

    def of(self, folder: str, remote: str | None = None) -> Project:
        """Return the project of a folder. `remote`: its address, for a folder that no longer exists."""
        project = self._projects.get(folder)
        if project is None:
            if len(self._projects) >= MOST_FOLDERS:
                self._projects.clear()
            project = self._projects[folder] = project_of(folder, remote)
        return project


def project_of(folder: str, remote: str | None = None) -> Project:
    """Return the project of a folder."""
    place = Path(os.path.realpath(folder))
    repository = _git(place, "rev-parse", "--is-shallow-repository", "--path-format=absolute", "--git-common-dir")
    if repository is None:
        return _named(remote_identity(remote), remote) if remote else _named(f"folder {place}", str(place))
    shallow, _, common = repository.partition("\n")
    # One walk along first parents: other roots come from merges of foreign histories.
    root = _git(place, "rev-list", "--max-parents=0", "--first-parent", "HEAD") if shallow == "false" else None
    address = _git(place, "config", "--get", "remote.origin.url") or remote
    label = address or str(Path(common).parent if Path(common).name == ".git" else common)
    if root:
        return _named(f"commit {root}", label)
    return _named(remote_identity(address) if address else f"folder {common}", label)


def remote_identity(address: str) -> str:
    """Return a remote's identity: host and path, the same for SSH and HTTPS, without credentials."""
    text = address.strip()
    _, scheme, rest = text.partition("://")
    authority, _, path = (rest if scheme else text).partition("/")
    host, _, tail = authority.rpartition("@")[2].partition(":")
    if tail and not (scheme and tail.isdigit()):  # SSH's short form has the path after the colon.
        path = f"{tail}/{path}"
    path = path.strip("/").removesuffix(".git")
    return f"remote {host}/{path}".lower() if host and path else f"remote {text}"


def _named(identity: str, label: str) -> Project:
    name = re.sub(r"\.git$", "", re.split(r"[/:\\]", label.rstrip("/"))[-1])
    return Project(
        NAMESPACES + hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:16], name[:80] or "project"
    )


def _git(folder: Path, *arguments: str) -> str | None:
    """Return the output of git in a folder; None if it fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603  a fixed command; the folder is its working directory
            [*_GIT, *arguments],
            cwd=folder,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None

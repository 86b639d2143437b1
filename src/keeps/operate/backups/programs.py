"""Programs that work on the data of an embedded server, run as its user and never as root."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from gzip import GzipFile
from pathlib import Path

from keeps.operate.backups.folder import copied
from keeps.store.db.embedded.binaries import ENVIRONMENT, RunUser
from keeps.store.db.embedded.home import EmbeddedPostgres
from keeps.store.db.embedded.server import SUPERUSER
from keeps.store.db.provision import DATABASE
from keeps_client.errors import UnavailableError

_SAID = 500
"""Characters of a program's error output in a message."""


def run(user: RunUser, *command: str | Path, given: str | None = None) -> str:
    """Run a program and return its output. Raises UnavailableError with its error output."""
    done = user.run(*(str(each) for each in command), given=given)
    if done.returncode != 0:
        raise UnavailableError(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()[-_SAID:]}")
    return done.stdout


def write(user: RunUser, path: Path, text: str) -> None:
    """Write a file of that user that no other user can read."""
    run(user, "/bin/sh", "-c", 'umask 077; cat >"$1"', "sh", path, given=text)


@contextmanager
def work_folder(user: RunUser, template: Path) -> Generator[Path]:
    """Make a folder of the server's user, removed afterwards. `template` ends in XXXXXXXX."""
    work = Path(run(user, "mktemp", "-d", template).strip())
    try:
        yield work
    finally:
        user.run("rm", "-rf", "--", str(work))


def password_file(user: RunUser, work: Path, password: str) -> Path:
    """Write the password of PostgreSQL's administrator to a file for its programs, since others can see arguments."""
    write(user, work / "pgpass", f"*:*:*:{SUPERUSER}:{password}\n")
    return work / "pgpass"


@contextmanager
def administrator(server: EmbeddedPostgres) -> Generator[tuple[Path, str]]:
    """Provide a folder of the server's user, removed afterwards, and the connection string of the administrator."""
    user = server.folder.user
    with work_folder(user, server.folder.data.parent / ".backup-XXXXXXXX") as work:
        passwords = password_file(user, work, server.password(SUPERUSER))
        yield work, f"host='{server.socket}' user={SUPERUSER} passfile='{passwords}' dbname={DATABASE}"


def read_from(user: RunUser, target: GzipFile, *command: str | Path) -> None:
    """Write the output of a program to a file."""
    with _running(user, command, reads=True) as running:
        assert running.stdout is not None
        copied(running.stdout, target)


def write_to(user: RunUser, source: GzipFile, *command: str | Path) -> None:
    """Feed a file to a program."""
    with _running(user, command, reads=False) as running:
        assert running.stdin is not None
        with suppress(BrokenPipeError), running.stdin:  # The program's error output tells the reason.
            copied(source, running.stdin)


@contextmanager
def _running(user: RunUser, command: tuple[str | Path, ...], *, reads: bool) -> Generator[subprocess.Popen[bytes]]:
    stdin, stdout = (subprocess.DEVNULL, subprocess.PIPE) if reads else (subprocess.PIPE, subprocess.DEVNULL)
    words = user.command(*(str(each) for each in command))
    with tempfile.TemporaryFile() as errors:  # A pipe that is not read meanwhile would fill up and block the program.
        with subprocess.Popen(  # noqa: S603
            words, stdin=stdin, stdout=stdout, stderr=errors, cwd="/", env=ENVIRONMENT
        ) as running:
            yield running
        if running.returncode != 0:
            errors.seek(max(0, errors.seek(0, 2) - _SAID))
            complaint = errors.read().decode("utf-8", "replace").strip()
            raise UnavailableError(f"{Path(command[0]).name} failed: {complaint}")

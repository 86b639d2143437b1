"""The folders of a home, their owners and their creation. Each folder belongs to the user that uses it."""

from __future__ import annotations

import json
import os
import secrets
import stat
import tempfile
from pathlib import Path

from keeps.store.db.embedded import server as servers
from keeps.store.db.embedded.binaries import SYSTEM_FOLDER, RunUser, open_system_folder, usable_binaries
from keeps.store.db.embedded.server import DataFolder
from keeps_client.errors import UnavailableError

UPGRADED, OLD_DATA = "postgres.upgraded", "postgres-{version}"
"""Folders beside the data: a complete upgraded one, until it takes its place, and those of earlier versions."""
MAX_SOCKET_PATH_BYTES = 90  # The system's limit is 107, and ".s.PGSQL.5432" is added.


def make_home(home: Path) -> None:
    try:
        home.mkdir(mode=0o755, parents=True, exist_ok=True)
        check_ours(home)
        (home / "leases").mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise UnavailableError(
            f"cannot make KEEPS_HOME {home}: {error.strerror}; choose a folder that you can write to"
        ) from None
    check_ours(home / "leases")
    if not os.access(home, os.W_OK | os.X_OK):
        why = "is on a disk that is mounted read-only" if _is_read_only(home) else "is not writable for you"
        raise UnavailableError(f"KEEPS_HOME {home} {why}; choose another folder")


def _is_read_only(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def check_ours(folder: Path) -> None:
    """As root, refuse a folder that another user could have prepared or can change.

    Links in it may lead anywhere. Raises UnavailableError, which says what to do.
    """
    if os.geteuid() != 0:
        return
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return
    whose = f"belongs to user {found.st_uid}" if found.st_uid else "can be changed by others or is a link"
    raise UnavailableError(
        f"{folder} {whose}; as root, Keeps uses only folders that nobody but root can change. Run it as that user, or"
        " choose"
        " another KEEPS_HOME"
    )


def server_place(home: Path) -> Path | None:
    """Return the folder that the server's user owns, or None if it was not made."""
    location = home / "server.location"
    if location.is_file() and not location.is_symlink():
        return Path(location.read_text(encoding="utf-8").strip())
    server = home / "server"
    return server if server.is_dir() and not server.is_symlink() else None


def data_folder(home: Path, user: RunUser) -> DataFolder:
    """Return the data folder: in the home, or where the run user can reach it when root's home is private."""
    place = server_place(home)
    if place is None:
        place = _make_server_place(home, user)
    owner = place.lstat()
    if not stat.S_ISDIR(owner.st_mode) or (user.switch and owner.st_uid == 0):
        raise UnavailableError(f"{place} is not a folder of the user that runs PostgreSQL; choose another KEEPS_HOME")
    if user.switch and owner.st_uid != user.uid:
        user = RunUser(str(owner.st_uid), owner.st_uid, owner.st_gid, switch=True)
    folder = DataFolder(place / "postgres", place / "postgres.log", usable_binaries(user), user)
    if not folder.exists() and ((place / UPGRADED).is_dir() or old_data(place)):
        # An upgrade was interrupted between its last two steps. Creating an empty database would hide its data.
        moved = user.run("mv", "-T", "--", str(place / UPGRADED), str(folder.data))
        if moved.returncode != 0:
            raise UnavailableError(f"the upgraded data cannot be moved into place: {moved.stderr.strip()[-300:]}")
    return folder


def old_data(place: Path) -> list[Path]:
    """Return the data folders that upgrades kept, the latest one last."""
    return [each for each in sorted(place.glob(OLD_DATA.format(version="[0-9]*"))) if each.is_dir()]


def _make_server_place(home: Path, user: RunUser) -> Path:
    if user.can("-x", home):
        place = home / "server"
        place.mkdir(mode=0o700)
        if user.switch:
            os.chown(place, user.uid, user.gid, follow_symlinks=False)
        return place
    open_system_folder(SYSTEM_FOLDER / "homes")
    place = Path(tempfile.mkdtemp(prefix="home-", dir=SYSTEM_FOLDER / "homes"))
    (place / "made-for").write_text(f"{home}\n", encoding="utf-8")
    os.chown(place, user.uid, user.gid, follow_symlinks=False)
    (home / "server.location").write_text(f"{place}\n", encoding="utf-8")
    return place


def new_socket_folder(folder: DataFolder) -> Path:
    """Make a socket folder that only the server's user enters; under /tmp when the home's path is too long for a
    socket.
    """
    place = folder.data.parent / "socket"
    if len(os.fsencode(place)) <= MAX_SOCKET_PATH_BYTES and "," not in str(place) and '"' not in str(place):
        # Run as the server's user, who owns the folder and may have put a link there.
        make = '[ -d "$1" ] || mkdir -m 700 -- "$1"; chmod 700 -- "$1"'
        folder.user.run("/bin/sh", "-c", make, "sh", str(place))
        return place
    place = Path(tempfile.mkdtemp(prefix="keeps-", dir="/tmp"))  # noqa: S108
    if folder.user.switch:
        os.chown(place, folder.user.uid, folder.user.gid, follow_symlinks=False)
    return place


def remove_socket_folder(socket: Path) -> None:
    if socket.parent == Path("/tmp") and socket.name.startswith("keeps-"):  # noqa: S108
        socket.rmdir()


def passwords_of(home: Path) -> dict[str, str]:
    path = home / "secrets.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    passwords = {role: secrets.token_urlsafe(24) for role in (servers.SUPERUSER, "keeps_owner", "keeps_app")}
    descriptor, partial = tempfile.mkstemp(prefix=".secrets-", dir=home)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(passwords, file)
        file.flush()
        os.fsync(file.fileno())
    Path(partial).rename(path)
    return passwords

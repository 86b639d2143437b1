"""Record erasures beside the backups, so that data restored from an older backup is erased again.

Users and tenants are recorded as salted hashes. An erasure is recorded before it begins and when it is complete; one
that began and is not complete counts as erased.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from keeps.base.clock import Clock
from keeps.store.db.embedded.archiving import BACKUP_PLAN
from keeps_client.errors import UnavailableError

ABOUT, ERASED, FOLDERS = "keeps-backups.json", "erased.jsonl", "backup-folders.json"


def remember_folder(home: Path, folder: Path) -> None:
    """Record that a folder holds backups of this home, now or earlier: erasures are recorded there."""
    folders = backup_folders(home)
    if folder not in folders:
        (home / FOLDERS).write_text(json.dumps([str(each) for each in [*folders, folder]]) + "\n", encoding="utf-8")


class ErasureNotes:
    """Records erasures in every folder that has held backups of a home."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._home = home
        self._clock = clock

    def begin(self, *what: str) -> None:
        """Record that the erasure of a tenant, or of a tenant's user, begins.

        Folders of former plans are updated if they exist. Raises UnavailableError if the current folder cannot be
        written.
        """
        current = None
        try:
            plan = self._home / BACKUP_PLAN
            current = Path(json.loads(plan.read_text(encoding="utf-8"))["folder"]) if plan.is_file() else None
            if current is not None:
                self._note(current, "begun", *what)
        except (OSError, ValueError, KeyError) as error:
            raise UnavailableError(
                f"the erasure cannot be noted beside the backups in {current} ({error}), so a restore would bring it"
                " back: mend that, or turn backups off with `keeps backup off`"
            ) from None
        self._elsewhere(current, "begun", *what)

    def done(self, *what: str) -> None:
        """Record that the erasure is complete."""
        self._elsewhere(None, "done", *what)

    def _elsewhere(self, besides: Path | None, state: str, *what: str) -> None:
        for folder in backup_folders(self._home):
            if folder != besides and (folder / ABOUT).is_file():
                with suppress(OSError, ValueError, KeyError):
                    self._note(folder, state, *what)

    def _note(self, folder: Path, state: str, *what: str) -> None:
        salt = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["salt"]
        line = json.dumps({"at": self._clock().isoformat(), "state": state, "what": hashed(salt, *what)})
        descriptor = os.open(folder / ERASED, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"\n{line}\n")  # The leading line break separates this line from one that a crash cut.
            file.flush()
            os.fsync(file.fileno())
        holder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(holder)
        finally:
            os.close(holder)


def hashed(salt: str, *what: str) -> str:
    return hashlib.sha256(json.dumps([salt, *what]).encode()).hexdigest()


def erased_since(folder: Path, moment: datetime) -> frozenset[str]:
    """Return the hashes of users and tenants that were not completely erased before a time, and have been since."""
    open_, erased = set[str](), set[str]()
    for at, state, what in _noted(folder / ERASED):
        if state == "begun":
            open_.add(what)
        else:
            open_.discard(what)
            if at > moment:
                erased.add(what)
    return frozenset(open_ | erased)


def backup_folders(home: Path) -> list[Path]:
    """Return the folders that hold or have held backups of a home."""
    try:
        return [Path(each) for each in json.loads((home / FOLDERS).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def _noted(path: Path) -> Iterator[tuple[datetime, str, str]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError, KeyError, TypeError):  # An empty line, or one that a crash cut.
                said = json.loads(line)
                yield datetime.fromisoformat(said["at"]).astimezone(UTC), said["state"], said["what"]

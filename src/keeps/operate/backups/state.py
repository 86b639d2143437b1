"""The state of a home's backups, for metrics and `keeps doctor`. All of it is read from files."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel

from keeps.operate.backups.folder import BackupFolder
from keeps.operate.backups.making import Plan
from keeps.store.db.embedded.archiving import SPOOL

VERIFIED = "verified.json"


class Verification(BaseModel):
    """The last run of `keeps backup verify` on a backup folder."""

    at: datetime
    good: bool

    @staticmethod
    def of(folder: Path) -> Verification | None:
        try:
            return Verification.model_validate_json((folder / VERIFIED).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def write(self, folder: Path) -> None:
        """Store it in the folder, unless that may only be read."""
        with contextlib.suppress(OSError):
            (folder / VERIFIED).write_text(self.model_dump_json() + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class BackupState:
    """`last_at`: when the last backup ended. `oldest_at`: the Unix time of the oldest waiting segment of the log."""

    folder: BackupFolder
    last_at: datetime | None
    verified: Verification | None
    waiting_segments: int
    waiting_bytes: int
    oldest_at: float

    @property
    def waiting_seconds(self) -> float:
        return max(0.0, time.time() - self.oldest_at)

    @property
    def free_bytes(self) -> int:
        return shutil.disk_usage(self.folder.path).free

    @staticmethod
    def of(home: Path, data: Path) -> BackupState | None:
        """Return the state of a home with its data folder; None if it is not backed up.

        Raises KeepsError, OSError or ValueError when the plan or the folder cannot be read.
        """
        plan = Plan.of(home)
        if plan is None:
            return None
        folder = plan.opened()
        made = folder.backups()
        waiting = list(_waiting(data))
        return BackupState(
            folder=folder,
            last_at=made[-1].ended_at if made else None,
            verified=Verification.of(plan.folder),
            waiting_segments=len(waiting),
            waiting_bytes=sum(segment.st_size for segment in waiting),
            oldest_at=min((segment.st_mtime for segment in waiting), default=time.time()),
        )


def _waiting(data: Path) -> Iterator[os.stat_result]:
    """Yield the segments that the server has completed, and those in the spool."""
    log = data / "pg_wal"
    for folder, names in (
        (log, [name.removesuffix(".ready") for name in _names(log / "archive_status") if name.endswith(".ready")]),
        (data.parent / SPOOL, [name for name in _names(data.parent / SPOOL) if not name.startswith(".")]),
    ):
        for name in names:
            with contextlib.suppress(OSError):  # It was shipped meanwhile.
                yield (folder / name).stat(follow_symlinks=False)


def _names(folder: Path) -> list[str]:
    """Return the files of a folder; none if it is not there, or only its owner may look."""
    try:
        return os.listdir(folder)
    except OSError:
        return []

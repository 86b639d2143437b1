"""Who was erased, noted beside the backups: whatever an older backup brings back is erased again.

Noted are salted hashes: the note says nothing to whoever does not know already whom it is about.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from keeps.clock import Clock
from keeps.db.embedded.home import BACKUP_PLAN

ABOUT, ERASED = "keeps-backups.json", "erased.jsonl"


class ErasureNotes:
    """Beside the backups of a home, where it has a plan for them."""

    def __init__(self, home: Path, clock: Clock) -> None:
        self._home = home
        self._clock = clock

    def note(self, *what: str) -> None:
        """A tenant, or a tenant and a user. Noted before they go, so that no crash comes between."""
        plan = self._home / BACKUP_PLAN
        if not plan.is_file():
            return
        folder = Path(json.loads(plan.read_text(encoding="utf-8"))["folder"])
        salt = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["salt"]
        line = json.dumps({"at": self._clock().isoformat(), "what": hashed(salt, *what)}) + "\n"
        descriptor = os.open(folder / ERASED, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())


def hashed(salt: str, *what: str) -> str:
    return hashlib.sha256(json.dumps([salt, *what]).encode()).hexdigest()


def erased_since(folder: Path, moment: datetime) -> frozenset[str]:
    """The hashes of what was erased after a moment."""
    return frozenset(what for at, what in _noted(folder / ERASED) if at > moment)


def _noted(path: Path) -> Iterator[tuple[datetime, str]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8") as file:
        for line in file:
            try:
                said = json.loads(line)
                yield datetime.fromisoformat(said["at"]).astimezone(UTC), said["what"]
            except (ValueError, KeyError, TypeError):
                continue  # the end of a line that a crash cut

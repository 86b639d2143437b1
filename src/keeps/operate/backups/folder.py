"""A folder of backups.

keeps-backups.json     what it is; the salt under which erasures are noted
<name>/backup.json     one backup: full or incremental, of when, with how much
<name>/data.tar.gz     the data folder, as pg_basebackup gave it; manifest.gz beside it, home.json.gz with the secrets
wal/<segment>.gz       the write-ahead log since the first backup
erased.jsonl           who was erased since, as salted hashes

With a key the names end in .sealed.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import re
import secrets
import shutil
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from gzip import GzipFile
from pathlib import Path
from typing import IO, Annotated, Literal

from pydantic import BaseModel, Field, ValidationError

from keeps.memory.transfer.erased import ABOUT
from keeps.operate.backups import sealing
from keeps_client.errors import NotFoundError, ValidationFailedError

NAME = re.compile(r"\d{8}T\d{6}Z")
SEGMENT = re.compile(r"[0-9A-F]{24}(?:\.[0-9A-F]{8}\.backup)?|[0-9A-F]{8}\.history")


class About(BaseModel):
    """The description of a backup folder. `home` is the home whose backups it holds."""

    made_at: datetime
    home: str
    salt: str
    sealed: bool


_Name = Annotated[str, Field(pattern=rf"^{NAME.pattern}$")]


class Backup(BaseModel):
    """One backup.

    - `line`: the history that it belongs to; a restore begins another.
    - `of`: the backup that an incremental one continues.
    - `first_segment`: the first segment of the log that it needs.
    - `mac`: proof that it was written with the key.
    """

    name: _Name
    line: str
    kind: Literal["full", "incremental"]
    of: _Name | None
    began_at: datetime
    ended_at: datetime
    first_segment: Annotated[str, Field(pattern=r"^[0-9A-F]{24}$")]
    bytes: int
    keeps: str
    postgres: str
    tenants: int
    memories: int
    mac: str = ""

    @property
    def major(self) -> str:
        """Return the major version of PostgreSQL that made it, and that can restore it."""
        return self.postgres.split(".")[0]

    def signed(self, key: bytes) -> str:
        told = self.model_dump_json(exclude={"mac"}).encode()
        return hmac.new(key, b"keeps backup.json: " + told, hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class BackupFolder:
    path: Path
    about: About
    key: bytes | None

    @staticmethod
    def make(path: Path, home: Path, key: bytes | None, now: datetime) -> BackupFolder:
        """Return a new or existing folder of backups. Raises ValidationFailedError when the path cannot be one."""
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ValidationFailedError(
                f"cannot create {path}: {error.strerror}. As root, create it for the user that runs Keeps: install"
                f" --directory --mode 700 --owner {os.geteuid()} {path}"
            ) from None
        if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
            raise ValidationFailedError(
                f"user {os.geteuid()} cannot write to {path}; change its owner, or choose another folder"
            )
        if not (path / ABOUT).exists():
            if any(path.iterdir()):
                raise ValidationFailedError(f"{path} contains other files; choose an empty folder or a new one")
            (path / "wal").mkdir(mode=0o700)
            about = About(made_at=now, home=str(home), salt=secrets.token_hex(16), sealed=key is not None)
            _write(path / ABOUT, about.model_dump_json(indent=2))
        found = BackupFolder.open(path, key)
        if found.about.home != str(home):
            raise ValidationFailedError(f"{path} has the backups of {found.about.home}; choose another folder")
        return found

    @staticmethod
    def open(path: Path, key: bytes | None) -> BackupFolder:
        """Open a folder. Raises ValidationFailedError if it has no backups, or is sealed and no key is given."""
        try:
            about = About.model_validate_json((path / ABOUT).read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            raise ValidationFailedError(f"{path} is not a folder of backups: it has no {ABOUT}") from None
        if about.sealed and key is None:
            raise ValidationFailedError(f"the backups in {path} are encrypted: give the key with --key-file")
        if key is not None and not about.sealed:
            raise ValidationFailedError(
                f"the backups in {path} are not encrypted, but you gave a key; check the folder"
            )
        return BackupFolder(path, about, key)

    def file(self, *parts: str) -> Path:
        *folders, name = parts
        return self.path.joinpath(*folders, name + (".sealed" if self.about.sealed else ""))

    def writing(self, *parts: str) -> AbstractContextManager[GzipFile]:
        return sealing.writing(self.file(*parts), self.key, self._bound(*parts))

    def reading(self, *parts: str) -> AbstractContextManager[GzipFile]:
        return sealing.reading(self.file(*parts), self.key, self._bound(*parts))

    def _bound(self, *parts: str) -> str:
        return "/".join((self.about.salt, *parts))

    def backups(self) -> list[Backup]:
        """Return all complete backups, oldest first."""
        found = (self._read(each) for each in self._names())
        return [each for each in found if each is not None]

    def damaged(self) -> list[str]:
        """Return the backups whose description is unreadable, or was not written with this key."""
        return [each for each in self._names() if self._read(each) is None]

    def _names(self) -> list[str]:
        return sorted(
            each.name
            for each in self.path.iterdir()
            if NAME.fullmatch(each.name) and (each / "backup.json").is_file() and not each.is_symlink()
        )

    def _read(self, name: str) -> Backup | None:
        try:
            backup = Backup.model_validate_json((self.path / name / "backup.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if backup.name != name or (backup.of is not None and backup.of >= name):
            return None
        if self.key is not None and not hmac.compare_digest(backup.mac, backup.signed(self.key)):
            return None
        return backup

    def chain(self, name: str | None, at: datetime | None) -> list[Backup]:
        """Return the backups needed for one of them: a full one, and the incremental ones up to it.

        Without a name, it is the newest that had ended by the given time. Raises NotFoundError.
        """
        by_name = {backup.name: backup for backup in self.backups()}
        if name is not None and name not in by_name:
            raise NotFoundError(f"no backup {name!r} in {self.path}; the backups are {', '.join(by_name) or 'none'}")
        fit = [backup for backup in by_name.values() if at is None or backup.ended_at <= at]
        if name is None and not fit:
            ended = [backup.ended_at for backup in by_name.values()]
            first = f"; the first ended at {min(ended):%F %T} UTC" if ended else ""
            raise NotFoundError(f"no backup in {self.path} is older than that time{first}")
        last = by_name[name] if name is not None else fit[-1]
        if at is not None and last.ended_at > at:
            raise ValidationFailedError(f"backup {last.name} ended at {last.ended_at:%F %T} UTC, after that time")
        chain = [last]
        while chain[0].of is not None:
            if chain[0].of not in by_name:
                raise NotFoundError(f"backup {chain[0].of}, on which {chain[0].name} is based, is missing")
            chain.insert(0, by_name[chain[0].of])
        return chain

    def write_backup(self, backup: Backup) -> None:
        """Write the description of a backup, which makes it count and is therefore written last."""
        signed = backup if self.key is None else backup.model_copy(update={"mac": backup.signed(self.key)})
        _write(self.path / backup.name / "backup.json", signed.model_dump_json(indent=2))

    def remove_partial(self) -> None:
        """Remove the files of interrupted backups."""
        for each in self.path.iterdir():
            if NAME.fullmatch(each.name) and not (each / "backup.json").is_file():
                shutil.rmtree(each)

    # The log.

    def segments(self) -> list[str]:
        ending = ".gz.sealed" if self.about.sealed else ".gz"
        names = [each.name.removesuffix(ending) for each in (self.path / "wal").iterdir() if each.name.endswith(ending)]
        return sorted(each for each in names if SEGMENT.fullmatch(each))

    def needed(self, first: str, *, histories_only: bool) -> list[str]:
        """Return the segments of the log from `first` on, with the histories of timelines."""
        return [
            each
            for each in self.segments()
            if each.endswith(".history") or (not histories_only and each[8:24] >= first[8:24])
        ]

    def prune(self, days: float, now: datetime) -> tuple[list[str], int]:
        """Remove chains whose last backup is older, and the log that only they needed. The last chain is kept.

        Returns the names of the removed backups, and the number of removed segments.
        """
        chains: list[list[Backup]] = []
        for backup in self.backups():
            if backup.kind == "full":
                chains.append([backup])
            elif chains:
                chains[-1].append(backup)
        cutoff = now - timedelta(days=days)
        remaining = [chain for chain in chains[:-1] if chain[-1].ended_at >= cutoff] + chains[-1:]
        gone = [backup.name for chain in chains if chain not in remaining for backup in chain]
        for name in gone:
            (self.path / name / "backup.json").unlink()
            shutil.rmtree(self.path / name)
        removed = 0
        if remaining:
            first = remaining[0][0].first_segment
            for segment in self.segments():
                if not segment.endswith(".history") and segment[8:24] < first[8:24]:
                    self.file("wal", segment + ".gz").unlink()
                    removed += 1
        return gone, removed

    @contextmanager
    def alone(self) -> Generator[None]:
        """Hold the lock of the folder, so that only one process at a time changes it."""
        descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def copied(source: IO[bytes] | GzipFile, target: IO[bytes] | GzipFile) -> int:
    count = 0
    while piece := source.read(1 << 20):
        target.write(piece)
        count += len(piece)
    return count


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    partial.chmod(0o600)
    partial.rename(path)

"""The bundle of a frozen tenant: its rows as lines of JSON, compressed and sealed with a key of its own.

First a line with the format, the revision of the schema and the columns of each table. Then two lines for each batch:
the name of the table, and an array of rows, each an array of texts as PostgreSQL writes values. Last a line with the
number of rows and the digest: SHA-256 over the batches, in their order. The database computes the same digest of what
it loads.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from gzip import GzipFile
from pathlib import Path
from typing import Any

from keeps.operate.backups import sealing
from keeps_client.errors import ValidationFailedError

FORMAT = "keeps.frozen.1"
OLDEST = "0029"
"""The oldest revision whose bundles this schema loads. A revision that changes what rows mean raises it."""
Columns = Mapping[str, Sequence[str]]


@dataclass(slots=True)
class Contents:
    """The part of a bundle that was written or read so far."""

    rows: Counter[str] = field(default_factory=Counter[str])
    digest: bytes = b""

    def add(self, table: str, batch: str, rows: int) -> None:
        self.rows[table] += rows
        self.digest = hashlib.sha256(self.digest + hashlib.sha256(f"{table}\n{batch}".encode()).digest()).digest()

    @property
    def held(self) -> int:
        return self.rows.total()


class BundleWriter:
    """Writes batches. Made by `writing`."""

    def __init__(self, file: GzipFile, header: Mapping[str, Any]) -> None:
        self._file = file
        self.contents = Contents()
        self._line(json.dumps({"format": FORMAT, **header}))

    def add(self, table: str, batch: str, rows: int) -> None:
        self.contents.add(table, batch, rows)
        self._line(json.dumps(table))
        self._line(batch)

    def finish(self) -> None:
        self._line(json.dumps({"rows": self.contents.rows, "digest": self.contents.digest.hex()}))

    def _line(self, text: str) -> None:
        self._file.write(text.encode() + b"\n")


class BundleReader:
    """Reads batches. Made by `reading`. Raises ValidationFailedError for a file that is not a whole bundle."""

    def __init__(self, file: GzipFile, name: str) -> None:
        self._file = file
        self._name = name
        self.contents = Contents()
        header = self._json()
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValidationFailedError(f"the bundle {name} has another format than {FORMAT}")
        self.revision: str = header["revision"]
        self.columns: Columns = header["tables"]

    def next(self) -> tuple[str, str] | None:
        """Return the next table and batch; None at the end, when rows and digest are those that were written."""
        table = self._json()
        if isinstance(table, str):
            batch = self._file.readline().decode().rstrip("\n")
            self.contents.add(table, batch, len(json.loads(batch)))
            return table, batch
        if table != {"rows": dict(self.contents.rows), "digest": self.contents.digest.hex()}:
            raise ValidationFailedError(f"the bundle {self._name} does not hold what was written")
        return None

    def read_all(self) -> Contents:
        while self.next() is not None:
            pass
        return self.contents

    def _json(self) -> Any:
        line = self._file.readline()
        if not line:
            raise ValidationFailedError(f"the bundle {self._name} is truncated")
        return json.loads(line)


@contextmanager
def writing(path: Path, key: bytes, name: str, header: Mapping[str, Any]) -> Generator[BundleWriter]:
    """Write a bundle to a file, which is there when it is complete and on disk."""
    with sealing.writing(path, key, name) as file:
        writer = BundleWriter(file, header)
        yield writer
        writer.finish()


@contextmanager
def reading(path: Path, key: bytes, name: str) -> Generator[BundleReader]:
    """Read a bundle. Raises ValidationFailedError if it was changed, cut or renamed, or has another key."""
    with sealing.reading(path, key, name) as file:
        yield BundleReader(file, name)


def check_revision(reader: BundleReader, head: str) -> None:
    """Raise ValidationFailedError for a bundle of a revision that this schema cannot load."""
    if reader.revision > head:
        raise ValidationFailedError(
            f"the bundle is of schema revision {reader.revision}, which is newer than this Keeps, at {head}; install"
            " the release that froze it"
        )
    if reader.revision < OLDEST:
        raise ValidationFailedError(
            f"the bundle is of schema revision {reader.revision}, and this Keeps loads those from {OLDEST} on; thaw it"
            " with an earlier release, then upgrade"
        )

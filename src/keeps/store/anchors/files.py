"""Files of anchors: JSON lines that are only appended to."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from keeps_client.errors import UnavailableError, ValidationFailedError
from keeps_client.models import Anchor


def line_of(anchor: Anchor) -> str:
    """Return an anchor as a line of JSON without its time stamp: the text that is stamped."""
    return anchor.model_dump_json(exclude={"timestamp_response"})


def append(path: Path, anchor: Anchor) -> None:
    """Add an anchor to a file, and return when it is on the disk. Raises UnavailableError."""
    line = anchor.model_dump_json(exclude_none=True).encode() + b"\n"
    try:
        new = not path.exists()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if new:
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise UnavailableError(f"the anchor cannot be written to {path} ({error.strerror})") from None


def read(path: Path) -> list[Anchor]:
    """Return the anchors of a file. Raises ValidationFailedError for a line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationFailedError(f"{path} cannot be read ({error})") from None
    anchors: list[Anchor] = []
    for number, line in enumerate(lines, 1):
        try:
            anchors += [Anchor.model_validate_json(line)] if line.strip() else []
        except ValidationError:
            raise ValidationFailedError(f"{path}, line {number}: not an anchor") from None
    return anchors

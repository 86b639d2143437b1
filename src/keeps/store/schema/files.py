"""The plain .sql files of the schema."""

from __future__ import annotations

import re
from importlib.resources import files

_FOLDER = files("keeps.store.schema")


def read_sql_file(name: str) -> str:
    """Return the text of a file in this package."""
    return _FOLDER.joinpath(name).read_text(encoding="utf-8")


def has_sql_file(name: str) -> bool:
    """Return whether this package has a file of this name."""
    return _FOLDER.joinpath(name).is_file()


def read_statements(name: str) -> dict[str, str]:
    """Return the statements of a file in this package by their names."""
    parts = re.split(r"^-- name: (\w+)$", read_sql_file(name), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))

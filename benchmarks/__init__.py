"""Measures Keeps: `quality` of recall; `speed`, `http` and `soak` beside floors and peers of the same run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def temporary_folder(name: str) -> Generator[Path]:
    """A folder for a home, removed afterwards with the data that the launcher put elsewhere (as root)."""
    root = Path(tempfile.mkdtemp(prefix=f"keeps-{name}-"))
    try:
        yield root
    finally:
        for location in root.rglob("server.location"):
            shutil.rmtree(location.read_text().strip(), ignore_errors=True)
        shutil.rmtree(root, ignore_errors=True)

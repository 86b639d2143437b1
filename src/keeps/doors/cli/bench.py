"""bench: quality and speed, measured by the benchmarks of the repository."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import typer

import keeps
from keeps_client.errors import NotConfiguredError

app = typer.Typer()
ROOT = Path(keeps.__file__).parents[2]

if (ROOT / "benchmarks" / "commands.py").is_file():
    sys.path.insert(0, str(ROOT))
    app.add_typer(import_module("benchmarks.commands").bench, name="bench")
else:

    @app.command()
    def bench() -> None:
        """Measure recall quality and speed (needs a checkout of the repository)."""
        raise NotConfiguredError("the benchmarks come with the repository: clone it and run make bench")

"""Source distributions of packages whose own tests are run here: fetched by pip, never kept in the tree."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path


def sdist(package: str, folder: Path) -> Path:
    """The unpacked source distribution of `name==version`."""
    arguments = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), package]
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as held:
        held.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")

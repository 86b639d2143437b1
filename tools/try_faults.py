"""Put faults into the code, one at a time, and report which tests catch them: python tools/try_faults.py [NAME ...]

Each fault of `faults.toml` replaces one piece of text in a copy of the tree. The tests that the fault names run first,
then all of `make test`, then `make test-load`, until one fails. Run it when you move or remove tests.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SUITES = {"test": "not browser and not load and not models and not pages", "load": "load and not browser"}
COPIED = ("benchmarks", "client", "deploy", "docs", "examples", "src", "tests", "tools", ".github")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="faults to try; all without a name")
    parser.add_argument("--named-tests-only", action="store_true", help="run no whole suite")
    parser.add_argument("--processes", default="3", help="for the whole suites")
    given = parser.parse_args()
    faults: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("faults.toml").read_text("utf-8"))["fault"]
    survivors = 0
    for fault in faults:
        if given.names and fault["name"] not in given.names:
            continue
        with tempfile.TemporaryDirectory(prefix="keeps-faults-") as folder:
            _copy(Path(folder))
            caught = _caught(Path(folder), fault, given)
        survivors += caught == "nothing"
        print(f"| {fault['name']} | {fault['class']} | {caught} |", flush=True)
    return min(survivors, 1)


def _copy(folder: Path) -> None:
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ROOT.glob("*"):
        if file.is_file():
            shutil.copy(file, folder)
    folder.chmod(0o755)


def _caught(folder: Path, fault: dict[str, Any], given: argparse.Namespace) -> str:
    """Return the suite and the first test that fails with the fault, or "nothing"."""
    path = folder / fault["file"]
    text = path.read_text("utf-8")
    if text.count(fault["find"]) != 1:
        return "stale: its text is not in the file once"
    path.write_text(text.replace(fault["find"], fault["replace"]), "utf-8")
    for suite, marks in SUITES.items():
        if failed := _first_failure(folder, marks, fault["tests"]):
            return f"{suite}: {failed}"
    if not given.named_tests_only:
        for suite, marks in SUITES.items():
            if failed := _first_failure(folder, marks, ["-n", given.processes, "--dist", "worksteal"]):
                return f"{suite}: {failed}"
    return "nothing"


def _first_failure(folder: Path, marks: str, arguments: list[str]) -> str | None:
    command = [sys.executable, "-m", "pytest", "-m", marks, "--maxfail=1", *arguments]
    code = f"{folder / 'src'}:{folder / 'client' / 'src'}:{folder}"
    done = subprocess.run(command, cwd=folder, env=_environment(code), capture_output=True, text=True, check=False)
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if failures:
        return failures[0].split(" - ")[0].removeprefix("FAILED ").removeprefix("ERROR ")
    return None if done.returncode in (0, 5) else f"exit code {done.returncode}: {done.stdout[-300:]}"


def _environment(code: str) -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")} | {"PYTHONPATH": code}


if __name__ == "__main__":
    sys.exit(main())

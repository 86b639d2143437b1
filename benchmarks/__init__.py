"""Measures Keeps: `quality` of recall; `speed`, `http` and `soak` beside floors and peers of the same run."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from keeps.store.db.embedded import inspect_home


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


@contextmanager
def served(home: Path, *arguments: str, drained: bool = True, **environment: str) -> Generator[str]:
    """`keeps serve` as a process of its own on a free port, with variables of its own; its address. `drained`: what is
    on its way at the end is waited for."""
    command = [str(Path(sys.executable).parent / "keeps"), "serve", "--home", str(home), *arguments]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [*command, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | environment,
    )
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=1) as answer:
                    if answer.status == 200:
                        break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        while not drained and process.poll() is None:  # said again, it does not wait for requests on their way
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(1)
        if not drained and (pid := inspect_home(home).running_pid) is not None:
            os.kill(pid, signal.SIGQUIT)
        process.wait(90)  # requests on their way are answered first

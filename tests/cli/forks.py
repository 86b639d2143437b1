"""`keeps` as processes of their own, without the half second that each would take to load: forked from one that has
loaded it and built its tree of commands."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


class Forks:
    """Runs commands. The process that they are forked from begins with the first and ends with this one."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[str] | None = None

    def run(
        self, arguments: list[str], environment: dict[str, str], cwd: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        server = self._started()
        assert server.stdin is not None
        assert server.stdout is not None
        with tempfile.TemporaryDirectory(prefix="keeps-test-cli-") as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            job = {"arguments": arguments, "environment": environment, "cwd": cwd, "out": str(out), "err": str(err)}
            server.stdin.write(json.dumps(job) + "\n")
            server.stdin.flush()
            code = int(server.stdout.readline())
            return subprocess.CompletedProcess(arguments, code, out.read_text(), err.read_text())

    def close(self) -> None:
        if self._server is not None:
            self._server.communicate()
            self._server = None

    def _started(self) -> subprocess.Popen[str]:
        if self._server is None:
            clean = {name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")}
            self._server = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.forks"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=clean | {"COLUMNS": "150"},
                cwd=Path(__file__).parents[2],
            )
            atexit.register(self.close)
        return self._server


def _serve() -> None:
    import typer.main

    import keeps.bootstrap  # noqa: F401  what most commands need
    from keeps.doors.cli.listing import COMMANDS
    from keeps.doors.cli.main import app, main

    typer.main.get_command = functools.cache(typer.main.get_command)
    group: Any = typer.main.get_command(app)
    for name in COMMANDS:
        group.get_command(None, name)
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            for descriptor, path in ((1, job["out"]), (2, job["err"])):
                os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY), descriptor)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.chdir(job["cwd"] or ".")
            os.environ.clear()
            os.environ.update(job["environment"])
            sys.argv = ["keeps", *job["arguments"]]
            code = 0
            try:
                main()
            except SystemExit as stopped:
                code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
            except BaseException as error:  # noqa: BLE001  as the interpreter would
                sys.excepthook(type(error), error, error.__traceback__)
                code = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()

"""What each process that `keeps serve` forks for strangers' input can reach, with workers and without, where
namespaces are allowed and where they are not."""

from __future__ import annotations

import getpass
import itertools
import json
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from keeps.store.db.embedded.binaries import RunUser, choose_run_user
from tests.sandbox.serve import REFUSE_UNSHARE

SERVE = Path(__file__).with_name("serve.py")
TRUNCATED = Path("/tmp/keeps-probe-truncate")
KINDS = ("document", "gate", "sqlite", "postgresql", "mysql")


@dataclass(frozen=True)
class Way:
    """How `keeps serve` is started."""

    workers: int
    unshare: bool
    as_root: bool


ALL_WAYS = [Way(*each) for each in itertools.product((1, 2), (True, False), (True, False))]
QUICK_WAYS = (Way(1, unshare=False, as_root=False),)


@dataclass(frozen=True)
class Run:
    """What a `keeps serve` and its forked processes said."""

    user: int
    reports: dict[str, dict[str, Any]]
    hosts: list[tuple[str, list[str]]]


async def run(way: Way, app_url: str, folder: Path) -> Run:
    for parent in (folder, *folder.parents):
        if parent.is_relative_to(Path(tempfile.gettempdir(), f"pytest-of-{getpass.getuser()}")):
            parent.chmod(0o755)
    for name in ("shop.db", "plain.db"):
        with sqlite3.connect(folder / name) as connection:
            connection.execute("CREATE TABLE orders (id integer)")
        connection.close()
    (folder / "neighbour").write_text("of somebody else")
    TRUNCATED.write_text("whole")
    user = choose_run_user()
    python = Path(sys.executable) if way.as_root else python_for(user, folder)
    command = [str(python), str(SERVE), *([] if way.unshare else [REFUSE_UNSHARE])]
    command += ["serve", "--port", "0", "--home", str(folder / "home"), "--workers", str(way.workers), "--no-worker"]
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(SERVE.parents[2]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "KEEPS_DATABASE_URL": app_url,
        "KEEPS_EMBEDDER": "none",
        "KEEPS_SECRET_KEYS": "a-key-of-the-operator-for-tests-0001",
        "KEEPS_DATABASES_ALLOW": f"127.0.0.0/8,{folder}",
    }
    if not way.as_root:
        for path in (folder, *folder.iterdir(), TRUNCATED):
            os.chown(path, user.uid, user.gid)
        command = user.command(*command)
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd="/")
    try:
        url = url_of(process)
        reports = await reports_of(url, folder)
        return Run(psutil.Process(process.pid).uids().real, reports, hosts_of(process.pid))
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if found := re.search(r"http://\S+", line):
            return found.group()
    raise AssertionError(f"it does not serve: {said}")


def python_for(user: RunUser, folder: Path) -> Path:
    """An interpreter that this user may run: ours, or the system's of the same version with our packages."""
    if user.can("-x", Path(sys.executable).resolve()):
        return Path(sys.executable)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    system = Path("/usr/bin", version)
    if not system.exists():
        pytest.skip(f"other users may not run this interpreter, and there is no {system}")
    place = folder / "venv"
    packages = place / "lib" / version / "site-packages"
    packages.parent.mkdir(parents=True)
    packages.symlink_to(sysconfig.get_path("purelib"))
    (place / "bin").mkdir()
    (place / "bin" / "python").symlink_to(system)
    (place / "pyvenv.cfg").write_text(f"home = {system.parent}\n")
    return place / "bin" / "python"


async def reports_of(url: str, folder: Path) -> dict[str, dict[str, Any]]:
    urls = {
        "sqlite": f"sqlite:///{folder}/shop.db",
        "postgresql": "postgresql://asker:secret@127.0.0.1:1/shop",
        "mysql": "mysql://asker:secret@127.0.0.1:1/shop",
        "plain": f"sqlite:///{folder}/plain.db",
    }
    answers: dict[str, str] = {}
    async with aiohttp.ClientSession(url) as http:
        form = aiohttp.FormData()
        form.add_field("file", b"text", filename="a.txt")
        async with http.post("/v1/documents", data=form) as answer:
            answers["document"] = await answer.text()
        for name, address in urls.items():
            body = {"name": name, "url": address, "tables": {"orders": "*"}, "purpose": "orders"}
            async with http.post("/v1/databases", json=body) as answer:
                answers[name] = await answer.text()
        async with http.post("/v1/databases/plain/query", json={"sql": "SELECT id FROM orders"}) as answer:
            answers["gate"] = await answer.text()
        async with http.delete("/v1/databases/plain") as answer:
            assert answer.status == 200
    return {kind: report_in(answers[kind]) for kind in KINDS}


def report_in(answer: str) -> dict[str, Any]:
    detail = json.loads(answer)["detail"]
    start = detail.find('{"descriptors"')
    assert start >= 0, detail
    return json.JSONDecoder().raw_decode(detail[start:])[0]


def hosts_of(pid: int) -> list[tuple[str, list[str]]]:
    """The kinds of open files of each host, as the kernel lists them."""
    hosts: list[tuple[str, list[str]]] = []
    for child in psutil.Process(pid).children(recursive=True):
        name = child.cmdline()[-1]
        if name in ("keeps.sources.documents.host", "keeps.sources.databases.host"):
            files = Path(f"/proc/{child.pid}/fd").iterdir()
            hosts.append((name, sorted(stat.filemode(each.stat().st_mode)[0] for each in files)))
    return hosts


@pytest.mark.parametrize("way", QUICK_WAYS, ids=str)
async def test_forked_processes_reach_nothing(way: Way, app_url: str, tmp_path: Path) -> None:
    check(way, await run(way, app_url, tmp_path))


@pytest.mark.load
@pytest.mark.parametrize("way", [each for each in ALL_WAYS if each not in QUICK_WAYS], ids=str)
async def test_forked_processes_reach_nothing_in_other_ways(way: Way, app_url: str, tmp_path: Path) -> None:
    check(way, await run(way, app_url, tmp_path))


def check(way: Way, found: Run) -> None:
    assert {name for name, _ in found.hosts} == {"keeps.sources.documents.host", "keeps.sources.databases.host"}
    for name, files in found.hosts:
        assert files == ["c", "c", "c", "s"], f"{name}: the first three, and the socket that jobs come on"
    for kind, report in found.reports.items():
        network = kind in ("postgresql", "mysql")
        descriptors = report["descriptors"]
        assert [descriptors.pop(number) for number in "012"] == ["device"] * 3, kind
        assert sorted(descriptors.values()) == (["file", "socket"] if kind == "document" else ["socket"]), kind
        assert report["new_network"] == (way.unshare and not network), kind
        assert report["environment"] == {"TOKENIZERS_PARALLELISM": "false"}, kind
        seconds = 3 if kind == "gate" else 30
        assert report["limits"] == {"CORE": 0, "FSIZE": 0, "NPROC": 0, "DATA": 512 << 20, "CPU": seconds}, kind
        readable = [Path(path).name for path in report["readable"]]
        assert readable == (["shop.db"] if kind == "sqlite" else []), kind
        calls = report["calls"]
        assert calls.pop("tcp") == ("done" if network else "EACCES"), kind
        assert calls.pop("x32") == "ENOSYS", kind
        assert set(calls.values()) == {"EACCES"}, (kind, calls)
        if kind != "sqlite":
            assert report["user"] != 0, kind
    assert found.user == (0 if way.as_root else choose_run_user().uid)
    assert TRUNCATED.read_text() == "whole"

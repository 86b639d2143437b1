"""docs/deploying.md, "One machine", followed word for word: as root, with the units on a read-only root."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploying.units import last, read_unit

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "deploy" / "systemd"
FROM_PACKAGES = "python3 -m venv /opt/keeps && /opt/keeps/bin/pip install keeps"


def _commands() -> str:
    page = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"## One machine\n.*?```text\n(.*?)```", page, re.DOTALL)
    assert FROM_PACKAGES in block
    return block.replace(FROM_PACKAGES, "")


def _readable_by_all() -> str:
    """Shell that shows the programs of this test to every user, also where they are in somebody's private home."""
    needed = [Path(sys.base_prefix), Path(sys.prefix), ROOT]
    private = {each for path in needed for each in path.parents if not each.stat().st_mode & 0o001}
    hidden = [path for path in needed if private & set(path.parents)]
    script = [
        f"mkdir -p /opt/needed/{n}; mount --bind {shlex.quote(str(path))} /opt/needed/{n}"
        for n, path in enumerate(hidden)
    ]
    script += [
        f"mount -t tmpfs -o mode=755 none {shlex.quote(str(each))}"
        for each in sorted(private)
        if not private & set(each.parents)
    ]
    script += [
        f"mkdir -p {shlex.quote(str(path))}; mount --bind /opt/needed/{n} {shlex.quote(str(path))}"
        for n, path in enumerate(hidden)
    ]
    return "\n".join(script)


def _on_a_machine(script: str, port: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script as root, on a machine of its own folders, with Keeps in /opt/keeps."""
    if os.geteuid() != 0:
        pytest.skip("only root makes a mount namespace")
    units, python = ROOT / "tests" / "deploying" / "units.py", sys.executable
    whole = f"""
set -euo pipefail
for folder in /srv /opt /var/lib/keeps /etc/systemd/system; do
    mkdir -p $folder
    mount -t tmpfs -o mode=755 none $folder
done
mkdir -p /opt/keeps /opt/running
{_readable_by_all()}
mount --bind {shlex.quote(sys.prefix)} /opt/keeps
useradd() {{ id keeps >/dev/null 2>&1 || command useradd "$@"; }}
sudo() {{ setpriv --reuid "$2" --regid "$2" --clear-groups env -i PATH=/usr/bin:/bin KEEPS_EMBEDDER=none "${{@:3}}"; }}
systemctl() {{ {shlex.quote(python)} {shlex.quote(str(units))} "$@"; }}
trap 'systemctl stop keeps.service' EXIT
cd {shlex.quote(str(ROOT))}
{script}
"""
    command = ["unshare", "--mount", "--propagation", "private", "bash", "-c", whole]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")}
    settings = {"KEEPS_PORT": str(port), "KEEPS_EMBEDDER": "none", **environment}
    done = subprocess.run(command, env=clean | settings, capture_output=True, text=True, timeout=120, check=False)
    if "unshare: unshare failed" in done.stderr:
        pytest.skip("this machine allows no mount namespace")
    return done


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


KEEPS = "sudo -u keeps /opt/keeps/bin/keeps"
HOME = "--home /var/lib/keeps/home"


@pytest.mark.load
def test_page_gives_a_service_whose_log_reaches_the_backups(port: int) -> None:
    done = _on_a_machine(
        f"""{_commands()}
{KEEPS} remember 'Tea at five.' {HOME}
systemctl stop keeps.service
echo segments: $(ls /srv/backups/keeps/wal)
systemctl start keeps-backup.service
{KEEPS} backup list {HOME}
{KEEPS} doctor {HOME}
""",
        port,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"segments: [0-9A-F]{24}\.gz\.sealed", done.stdout), done.stdout
    assert "1 in /srv/backups/keeps" in done.stdout.replace("\n", " ")
    assert "✗" not in done.stdout


@pytest.mark.load
def test_doctor_sees_that_the_service_may_not_write_to_the_backups(port: int) -> None:
    commands = _commands().replace(
        "cp deploy/systemd/*", "grep -v ReadWritePaths deploy/systemd/keeps.service >/opt/unit; cp deploy/systemd/*"
    )
    commands = commands.replace("systemctl enable", "cp /opt/unit /etc/systemd/system/keeps.service\nsystemctl enable")
    done = _on_a_machine(commands, port)
    assert "backups  process" in done.stdout, done.stdout + done.stderr
    assert "Read-only file system" in done.stdout
    assert "ReadWritePaths" in done.stdout


def test_folder_of_another_user_is_refused_with_the_way_out(port: int) -> None:
    done = _on_a_machine(f"{KEEPS} backup on /srv/backups/keeps {HOME}", port)
    assert done.returncode == 2
    assert "install --directory --mode 700 --owner" in done.stderr


def test_every_unit_is_hardened_and_writes_where_the_page_says() -> None:
    for name in ("keeps.service", "keeps-backup.service"):
        unit = read_unit(UNITS / name)
        assert last(unit, "ProtectSystem") == "strict"
        assert last(unit, "NoNewPrivileges") == "yes"
        assert last(unit, "StateDirectory") == "keeps"
        assert last(unit, "ReadWritePaths") == "-/srv/backups/keeps"
        assert last(unit, "User") == "keeps"

"""docs/deploying.md, "One machine", followed word for word: as root, with the units on a read-only root."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploying.machine import ROOT, on_a_machine
from tests.deploying.units import last, read_unit

UNITS = ROOT / "deploy" / "systemd"
FROM_PACKAGES = "python3 -m venv /opt/keeps && /opt/keeps/bin/pip install keeps"


def _commands() -> str:
    page = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"## One machine\n.*?```text\n(.*?)```", page, re.DOTALL)
    assert FROM_PACKAGES in block
    return block.replace(FROM_PACKAGES, "")


KEEPS = "sudo -u keeps /opt/keeps/bin/keeps"
HOME = "--home /var/lib/keeps/home"


@pytest.mark.load
def test_page_gives_a_service_whose_log_reaches_the_backups(port: int) -> None:
    done = on_a_machine(
        f"""{_commands()}
{KEEPS} remember 'Tea at five.' {HOME}
systemctl stop keeps.service
echo segments: $(ls /srv/backups/keeps/wal)
systemctl start keeps-backup.service
systemctl start keeps-verify.service
cat /srv/backups/keeps/verified.json
{KEEPS} backup list {HOME}
{KEEPS} doctor {HOME}
""",
        port,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"segments: [0-9A-F]{24}\.gz\.sealed", done.stdout), done.stdout
    assert '"good":true' in done.stdout
    assert "1 in /srv/backups/keeps" in done.stdout.replace("\n", " ")
    assert "✗" not in done.stdout


@pytest.mark.load
def test_doctor_sees_that_the_service_may_not_write_to_the_backups(port: int) -> None:
    commands = _commands().replace(
        "cp deploy/systemd/*", "grep -v ReadWritePaths deploy/systemd/keeps.service >/opt/unit; cp deploy/systemd/*"
    )
    commands = commands.replace("systemctl enable", "cp /opt/unit /etc/systemd/system/keeps.service\nsystemctl enable")
    done = on_a_machine(commands, port)
    assert "backups  process" in done.stdout, done.stdout + done.stderr
    assert "Read-only file system" in done.stdout
    assert "ReadWritePaths" in done.stdout


def test_folder_of_another_user_is_refused_with_the_way_out(port: int) -> None:
    done = on_a_machine(f"{KEEPS} backup on /srv/backups/keeps {HOME}", port)
    assert done.returncode == 2
    assert "install --directory --mode 700 --owner" in done.stderr


def test_every_unit_is_hardened_and_writes_where_the_page_says() -> None:
    for name in ("keeps.service", "keeps-backup.service", "keeps-verify.service"):
        unit = read_unit(UNITS / name)
        assert last(unit, "ProtectSystem") == "strict"
        assert last(unit, "NoNewPrivileges") == "yes"
        assert last(unit, "StateDirectory") == "keeps"
        assert last(unit, "ReadWritePaths") == "-/srv/backups/keeps"
        assert last(unit, "User") == "keeps"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for path in UNITS.iterdir():  # Its programs are not installed here.
        text = path.read_text(encoding="utf-8").replace("/opt/keeps/bin/keeps", "/bin/true")
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    command = ["systemd-analyze", "verify", *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    about_ours = [line for line in done.stderr.splitlines() if "keeps" in line]
    assert (done.returncode, about_ours) == (0, []), done.stderr

"""What `systemctl` does with the units of Keeps, on a machine without systemd: a program for a mount namespace.

It starts a service as the unit's user, with the unit's environment, on a root that the unit makes read-only.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import URLError

UNITS, RUNNING = Path("/etc/systemd/system"), Path("/opt/running")
Unit = dict[str, list[str]]


def read_unit(path: Path) -> Unit:
    """Each directive of a unit, with every value that it has."""
    unit: Unit = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith(("#", ";", "[")):
            unit.setdefault(name, []).append(value)
    return unit


def last(unit: Unit, name: str) -> str:
    return unit.get(name, [""])[-1]


def folders(unit: Unit) -> str:
    """Shell that makes what the unit's user writes, and makes the rest read-only."""
    user, group = last(unit, "User"), last(unit, "Group")
    state = [f"/var/lib/{each}" for value in unit.get("StateDirectory", []) for each in value.split()]
    script = [f"install --directory --owner {user} --group {group} {each}" for each in state]
    paths = [each for value in unit.get("ReadWritePaths", []) for each in value.split()]
    writable = [
        *state,
        *(each.removeprefix("-") for each in paths if not each.startswith("-") or Path(each[1:]).exists()),
    ]
    script += [f"mount --bind {each} {each}" for each in writable]
    hidden = {"/home": 0, "/run/user": 0, "/root": 0} if last(unit, "ProtectHome") == "yes" else {}
    hidden |= {"/tmp": 1777, "/var/tmp": 1777} if last(unit, "PrivateTmp") == "yes" else {}
    for folder, mode in hidden.items():
        # The programs of the tests may be in a home, or in /tmp.
        if Path(folder).is_dir() and not any(each.startswith(folder) for each in (sys.prefix, sys.base_prefix)):
            script.append(f"mount -t tmpfs -o mode={mode} none {folder}")
    if last(unit, "ProtectSystem") == "strict":
        kept = "|".join(["/proc", "/sys", "/dev", "/tmp", "/var/tmp", *writable])
        script.append(
            f"awk '{{print $5}}' /proc/self/mountinfo | grep -vE '^({kept})(/|$)' | while read -r place; do"
            ' mount -o remount,bind,ro "$place" 2>/dev/null || true; done'
        )
        script.append("! touch /opt/written 2>/dev/null")
    return "\n".join(script)


def command(unit: Unit, line: str) -> list[str]:
    environment = [each for value in unit.get("Environment", []) for each in shlex.split(value)]
    given = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("KEEPS_")]
    privileges = ["--no-new-privs"] if last(unit, "NoNewPrivileges") == "yes" else []
    identity = ["setpriv", "--reuid", last(unit, "User"), "--regid", last(unit, "Group"), "--clear-groups", *privileges]
    program = [*identity, "env", "-i", "PATH=/usr/bin:/bin", *environment, *given, *shlex.split(line)]
    script = f"set -e\numask 022\ncd /\n{folders(unit)}\nexec {shlex.join(program)}"
    return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script]


def start(name: str) -> None:
    unit = read_unit(UNITS / name)
    if name.endswith(".timer"):
        read_unit(UNITS / name.replace(".timer", ".service"))
        return
    if last(unit, "Type") == "oneshot":
        for line in unit["ExecStart"]:
            subprocess.run(command(unit, line), check=True)
        return
    with (RUNNING / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(command(unit, unit["ExecStart"][-1]), stdout=log, stderr=log, start_new_session=True)
    (RUNNING / name).write_text(str(process.pid))
    while process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{os.environ['KEEPS_PORT']}/health", timeout=5).close()
            return
        except URLError:
            time.sleep(0.05)  # as a proxy would ask again
    raise SystemExit((RUNNING / f"{name}.log").read_text())


def stop(name: str) -> None:
    path = RUNNING / name
    if not path.exists():
        return
    pid = int(path.read_text())
    os.kill(pid, signal.SIGTERM)
    while Path(f"/proc/{pid}").exists() and "(zombie)" not in Path(f"/proc/{pid}/status").read_text():
        time.sleep(0.02)
    path.unlink()


def main() -> None:
    verb, *names = [each for each in sys.argv[1:] if not each.startswith("--")]
    for name in names:
        if verb in ("stop", "restart"):
            stop(name)
        if verb in ("enable", "start", "restart"):
            start(name)


if __name__ == "__main__":
    main()

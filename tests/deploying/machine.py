"""A machine of its own folders for a script: a mount namespace with Keeps in /opt/keeps."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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


def on_a_machine(script: str, port: int, **environment: str) -> subprocess.CompletedProcess[str]:
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
sudo() {{
    setpriv --reuid "$2" --regid "$2" --clear-groups \\
        env -i PATH=/usr/bin:/bin KEEPS_EMBEDDER=none KEEPS_BACKGROUND_SECONDS=0 "${{@:3}}"
}}
systemctl() {{ {shlex.quote(python)} {shlex.quote(str(units))} "$@"; }}
trap 'systemctl stop keeps.service' EXIT
cd {shlex.quote(str(ROOT))}
{script}
"""
    command = ["unshare", "--mount", "--propagation", "private", "bash", "-c", whole]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")}
    settings = {"KEEPS_PORT": str(port), "KEEPS_EMBEDDER": "none", "KEEPS_BACKGROUND_SECONDS": "0", **environment}
    done = subprocess.run(command, env=clean | settings, capture_output=True, text=True, timeout=300, check=False)
    if "unshare: unshare failed" in done.stderr:
        pytest.skip("this machine allows no mount namespace")
    return done

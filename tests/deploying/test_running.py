"""docs/running.md, followed as an ordinary user in their own home, and as root, who runs PostgreSQL as `keeps`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.deploying.machine import on_a_machine

PAGE = (Path(__file__).parents[2] / "docs" / "running.md").read_text(encoding="utf-8")
ENVIRONMENT = "PATH=/opt/keeps/bin:/usr/bin:/bin KEEPS_EMBEDDER=none KEEPS_BACKGROUND_SECONDS=5"
WHO = {
    "an ordinary user": ("setpriv --reuid 65534 --regid 65534 --clear-groups", "/srv/alice", "/srv/alice/.keeps"),
    "root": ("env", "/root", "/var/lib/keeps/default"),
}
CHECKED = """
keeps remember 'Tea at five.'
BLOCKS
kept=$(date -u +%Y-%m-%dT%H:%M:%S)
keeps remember 'Later.'
keeps backup restore --to at-a-moment --at "$kept"
name=$(keeps backup list --json | grep -o '[0-9]*T[0-9]*Z' | head -n 1)
keeps backup restore --to to-one --backup "$name"
keeps backup restore --to work --tenant acme --as acme-tuesday
keeps backup restore --to elsewhere --from backups --key-file backup.key
for home in restored at-a-moment to-one elsewhere; do keeps list --home $home --json | grep -q 'Tea at five.'; done
keeps list --tenant acme-tuesday --json | grep -q 'Coffee at six.'
stat --format 'export %a' acme.jsonl
! keeps export acme.jsonl --tenant acme 2>refused
grep -q overwrite refused
keeps reindex
keeps doctor
"""


def _blocks(heading: str) -> str:
    """The shell of a section of the page."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## )", PAGE, re.DOTALL | re.MULTILINE)
    return "\n".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))


@pytest.mark.load
@pytest.mark.parametrize("who", WHO)
def test_backups_and_exports_of_the_page(who: str, port: int) -> None:
    become, home, database = WHO[who]
    blocks = _blocks("Back up and restore")
    assert blocks.count("keeps backup") == 6
    whole = "set -euo pipefail\nkeeps remember 'Coffee at six.' --tenant acme\n" + CHECKED.replace("BLOCKS", blocks)
    done = on_a_machine(
        f"""mkdir -p /srv/alice /root; chown 65534:65534 /srv/alice
cd {home}
mkdir -p guard; [ {home} = /root ] || chown 65534:65534 guard; cd guard
{become} env -i HOME={home} {ENVIRONMENT} bash -c {shlex.quote(whole)}
stat --format 'secrets %U %a' {database}/secrets.json
rm -r {home}/guard
""",
        port,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "export 600" in done.stdout
    assert "✗" not in done.stdout
    assert re.search(r"secrets \w+ 600", done.stdout)

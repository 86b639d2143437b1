"""Three PostgreSQLs on this machine that fail over by themselves: Patroni, etcd and HAProxy, on loopback, to look at
and to measure with. Each setting below is one to have in production, too; the three nodes would be three machines, and
etcd would be three.

    sudo apt-get install etcd-server haproxy
    python3 -m pip install --target /opt/patroni 'patroni[etcd3]' 'psycopg[binary]'
    sudo python3 cluster.py up --user keeps --binaries …/pginstall/bin --patroni /opt/patroni
    python3 cluster.py status
    sudo python3 cluster.py down

Standard library only. PostgreSQL does not run as root: --user names who it runs as.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LEADER_PORT, STANDBY_PORT, ETCD_PORT = 7000, 7001, 7379
NAMES = ("node1", "node2", "node3")


@dataclass(frozen=True)
class Node:
    """`reached_at`, `asked_at`: the ports at which others reach its PostgreSQL and its Patroni. `etcd_at`: where it
    reaches etcd."""

    name: str
    postgres: int
    rest: int
    reached_at: int
    asked_at: int
    etcd_at: int


def nodes(*, relayed: bool = False) -> list[Node]:
    """`relayed`: others reach each by ports that can be cut off, as a network can."""
    return [
        Node(
            name,
            postgres=7100 + n,
            rest=7200 + n,
            reached_at=(7110 if relayed else 7100) + n,
            asked_at=(7210 if relayed else 7200) + n,
            etcd_at=(7310 + n) if relayed else ETCD_PORT,
        )
        for n, name in enumerate(NAMES, 1)
    ]


def patroni_settings(node: Node, folder: Path, binaries: Path, passwords: dict[str, str]) -> dict[str, object]:
    """What one node is told. JSON, which is YAML."""
    return {
        "scope": "keeps",
        "name": node.name,
        "restapi": {"listen": f"127.0.0.1:{node.rest}", "connect_address": f"127.0.0.1:{node.asked_at}"},
        "etcd3": {"host": f"127.0.0.1:{node.etcd_at}", "use_proxies": node.etcd_at != ETCD_PORT},
        "bootstrap": {
            "dcs": {
                # A leader that is gone is replaced after `ttl`; 20 is the least that Patroni takes.
                "ttl": 20,
                "loop_wait": 5,
                "retry_timeout": 5,
                # Acknowledged is what a standby has, too: nothing acknowledged is lost with the leader.
                "synchronous_mode": True,
                "maximum_lag_on_failover": 1 << 20,
                # A PostgreSQL that died is not waited for: a standby takes over.
                "primary_start_timeout": 0,
                "postgresql": {
                    "use_pg_rewind": True,
                    "parameters": {
                        "wal_level": "logical",
                        "wal_log_hints": "on",
                        "hot_standby_feedback": "on",
                        "max_connections": 100,
                        "shared_buffers": "128MB",
                        "jit": "off",
                        # A client that vanished with its machine is noticed.
                        "tcp_keepalives_idle": 10,
                        "tcp_user_timeout": 20000,
                    },
                },
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
        },
        "postgresql": {
            "listen": f"127.0.0.1:{node.postgres}",
            "connect_address": f"127.0.0.1:{node.reached_at}",
            "data_dir": str(folder / node.name / "data"),
            "bin_dir": str(binaries),
            "pgpass": str(folder / node.name / "pgpass"),
            "parameters": {"unix_socket_directories": str(folder / node.name)},
            "pg_hba": [
                "local all all scram-sha-256",
                "host all all 127.0.0.1/32 scram-sha-256",
                "host replication all 127.0.0.1/32 scram-sha-256",
            ],
            "authentication": {
                "superuser": {"username": "postgres", "password": passwords["postgres"]},
                "replication": {"username": "replicator", "password": passwords["replicator"]},
            },
        },
    }


def haproxy_settings(found: list[Node]) -> str:
    """One port that leads to the leader, one to the standbys; Patroni says which is which."""

    def servers(check: str) -> str:
        return f"    option httpchk GET /{check}\n    http-check expect status 200\n" + "".join(
            f"    server {each.name} 127.0.0.1:{each.reached_at} check port {each.asked_at}\n" for each in found
        )

    return (
        "global\n    maxconn 1000\n"
        "defaults\n    mode tcp\n    timeout connect 3s\n    timeout client 1h\n    timeout server 1h\n"
        "    timeout check 2s\n    default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions\n"
        f"listen leader\n    bind 127.0.0.1:{LEADER_PORT}\n{servers('primary')}"
        f"listen standbys\n    bind 127.0.0.1:{STANDBY_PORT}\n{servers('replica')}"
    )


class Cluster:
    """What `up` starts, in a folder that --user may enter."""

    def __init__(self, folder: Path, *, relayed: bool = False) -> None:
        self.folder = folder
        self.nodes = nodes(relayed=relayed)

    def up(self, user: str, binaries: Path, patroni: Path) -> None:
        """Make the settings and start everything; each in a session of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        passwords = self.passwords()
        (self.folder / "user").write_text(user)
        (self.folder / "started").write_text(json.dumps({"binaries": str(binaries), "patroni": str(patroni)}))
        for each in self.nodes:
            (self.folder / each.name).mkdir(exist_ok=True)
            settings = patroni_settings(each, self.folder, binaries, passwords)
            (self.folder / each.name / "patroni.yml").write_text(json.dumps(settings, indent=2))
        (self.folder / "haproxy.cfg").write_text(haproxy_settings(self.nodes))
        subprocess.run(["chown", "-R", user, str(self.folder)], check=True)  # noqa: S603, S607
        etcd_url = f"http://127.0.0.1:{ETCD_PORT}"
        self._start(
            "etcd",
            *("etcd", "--data-dir", str(self.folder / "etcd"), "--listen-client-urls", etcd_url),
            *("--advertise-client-urls", etcd_url, "--listen-peer-urls", "http://127.0.0.1:7380"),
        )
        for each in self.nodes:
            self.start_node(each.name)
        self._start("haproxy", "haproxy", "-f", str(self.folder / "haproxy.cfg"), "-db")

    def start_node(self, name: str) -> None:
        started = json.loads((self.folder / "started").read_text())
        os.environ["PYTHONPATH"] = started["patroni"]
        self._start(name, "/usr/bin/python3", "-m", "patroni", str(self.folder / name / "patroni.yml"))
        del os.environ["PYTHONPATH"]

    def _start(self, name: str, *command: str) -> None:
        user = (self.folder / "user").read_text()
        switch = ["setpriv", "--reuid", user, "--regid", user, "--init-groups"] if os.geteuid() == 0 else []
        log = (self.folder / f"{name}.log").open("ab")
        process = subprocess.Popen(  # noqa: S603
            [*switch, *command], stdout=log, stderr=log, cwd="/", start_new_session=True, stdin=subprocess.DEVNULL
        )
        (self.folder / f"{name}.pid").write_text(str(process.pid))

    def pids(self, name: str) -> list[int]:
        """Of a node: Patroni, and the PostgreSQL that it started."""
        found: list[int] = []
        with suppress(OSError, ValueError):
            found.append(int((self.folder / f"{name}.pid").read_text()))
        with suppress(OSError, ValueError):
            found.append(int((self.folder / name / "data" / "postmaster.pid").read_text().split("\n", 1)[0]))
        return [each for each in found if Path(f"/proc/{each}").exists()]

    def passwords(self) -> dict[str, str]:
        path = self.folder / "passwords.json"
        if not path.exists():
            path.write_text(json.dumps({role: secrets.token_urlsafe(18) for role in ("postgres", "replicator")}))
            path.chmod(0o600)
        return json.loads(path.read_text())

    def admin_url(self, port: int = LEADER_PORT) -> str:
        return f"postgresql://postgres:{self.passwords()['postgres']}@127.0.0.1:{port}/keeps"

    def status(self) -> list[dict[str, object]]:
        """Who leads and who lags, as any node says."""
        for each in self.nodes:
            url = f"http://127.0.0.1:{each.asked_at}/cluster"
            with suppress(OSError, ValueError), urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310
                return json.load(answer)["members"]
        return []

    def leader(self) -> str | None:
        return next((str(each["name"]) for each in self.status() if each["role"] == "leader"), None)

    def wait(self, seconds: float = 120.0, *, members: int = 3) -> None:
        """Until there is a leader, and standbys that stream from it. Raises TimeoutError."""
        ends_at = time.monotonic() + seconds
        while True:
            found = self.status()
            running = [each for each in found if each["state"] in ("running", "streaming")]
            roles = {each["role"] for each in found}
            if len(running) >= members and roles >= {"leader", "sync_standby"}:
                return
            if time.monotonic() > ends_at:
                raise TimeoutError(f"no whole cluster in {seconds:.0f} s: {found}")
            time.sleep(0.5)

    def down(self) -> None:
        """End what was started, and nothing else."""
        for name in ("haproxy", *NAMES, "etcd"):
            for pid in self.pids(name):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                    os.kill(pid, signal.SIGTERM)
            ends_at = time.monotonic() + 20
            while self.pids(name) and time.monotonic() < ends_at:
                time.sleep(0.2)
            for pid in self.pids(name):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reading.add_argument("does", choices=("up", "status", "down"))
    reading.add_argument("--folder", type=Path, default=Path("/var/lib/keeps-failover"))
    reading.add_argument("--user", default="keeps")
    reading.add_argument("--binaries", type=Path, help="the folder of postgres, initdb, pg_rewind")
    reading.add_argument("--patroni", type=Path, help="the folder into which Patroni was installed")
    asked = reading.parse_args()
    cluster = Cluster(asked.folder)
    if asked.does == "up":
        if asked.binaries is None or asked.patroni is None or not shutil.which("etcd") or not shutil.which("haproxy"):
            sys.exit("needs --binaries, --patroni, and etcd and haproxy on the path; see the top of this file")
        cluster.up(asked.user, asked.binaries, asked.patroni)
        cluster.wait()
        print(f"leader: {cluster.leader()}; administrator: {cluster.admin_url()} (make the database keeps first)")
    elif asked.does == "down":
        cluster.down()
    for each in cluster.status():
        print(f"{each['name']}: {each['role']}, {each['state']}, lag {each.get('lag', 0)}")


if __name__ == "__main__":
    main()

"""An upgrade under load: the release before writes and reads data of every kind, the schema is migrated meanwhile, the
new release joins, and at the end every row is compared with the log.

    .venv/bin/python tools/measure_upgrade.py --before 7d05d34 [--seconds 20]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from keeps.store.events.service import EventService

ROOT = Path(__file__).parents[1]
TENANTS = 3


async def drive(url: str, seconds: float, seed: int) -> None:
    """Run inside either release: random histories on some tenants; prints what came of them."""
    from keeps.base.scope import Scope
    from keeps.engine import Keeps
    from keeps_client.errors import KeepsError

    sys.path.insert(0, os.environ["KEEPS_TREE"])
    from tests.events.histories import History

    told = {"done": 0, "refused": 0, "failed": {}, "slowest": 0.0}
    ends_at = time.monotonic() + seconds
    async with Keeps.open(database_url=url, embedder=None) as keeps:
        print("open", flush=True)
        histories = [History(keeps, f"tenant-{number}", seed + number) for number in range(TENANTS)]

        async def run(history: History, tenant: str) -> None:
            while time.monotonic() < ends_at:
                began = time.monotonic()
                try:
                    await history.run(5)
                    await keeps.memory(Scope(tenant, "alice")).recall("Where does Alice live?")
                except KeepsError as error:
                    told["failed"][error.code] = told["failed"].get(error.code, 0) + 1
                told["slowest"] = max(told["slowest"], time.monotonic() - began)

        await asyncio.gather(*(run(each, f"tenant-{number}") for number, each in enumerate(histories)))
        told["done"] = sum(each.done for each in histories)
        told["refused"] = sum(each.refused for each in histories)
    print(json.dumps(told))


def driver(tree: Path, url: str, seconds: float, seed: int) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")}
    environment |= {
        "PYTHONPATH": f"{tree / 'src'}:{tree / 'client' / 'src'}",
        "KEEPS_TREE": str(tree),
        "KEEPS_EMBEDDER": "none",
    }
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, __file__, "--drive", url, "--seconds", str(seconds), "--seed", str(seed)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tree,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


async def upgrade(before: str, seconds: float) -> None:
    from keeps.base.scope import Scope
    from keeps.engine import Keeps
    from keeps.store.db.embedded import EmbeddedPostgres
    from keeps.store.db.provision import as_administrator, prepare, provision
    from keeps.store.db.statements import Statement

    with tempfile.TemporaryDirectory(prefix="keeps-upgrade-") as place:
        tree, home = Path(place) / "before", Path(place) / "home"
        os.chmod(place, 0o755)  # noqa: PTH101, S103  the server's user passes through
        await asyncio.to_thread(
            subprocess.run, ["git", "worktree", "add", "--detach", str(tree), before], cwd=ROOT, check=True
        )
        async with await EmbeddedPostgres.open(home) as server:
            await as_administrator(server.url("postgres", "postgres"), Statement("make", "CREATE DATABASE old"))
            admin, owner, app = (server.url(role, "old") for role in ("postgres", "keeps_owner", "keeps_app"))
            passwords = {role: server.password(role) for role in ("keeps_owner", "keeps_app")}
            await provision(None, admin, passwords)
            await asyncio.to_thread(
                subprocess.run,
                [
                    sys.executable,
                    "-c",
                    f"import asyncio; from keeps.store.schema.migrate import migrate; asyncio.run(migrate({owner!r}))",
                ],
                env={**os.environ, "PYTHONPATH": f"{tree / 'src'}:{tree / 'client' / 'src'}"},
                cwd=tree,
                check=True,
            )
            revision = Statement("revision", "SELECT version_num FROM keeps.alembic_version")
            print("schema before:", (await as_administrator(admin, revision))[0]["version_num"])
            old = await asyncio.to_thread(driver, tree, app, seconds, 1)
            await asyncio.sleep(seconds / 4)
            began = time.monotonic()
            await prepare(admin, passwords)
            print(
                f"migrated under load in {time.monotonic() - began:.2f} s, to",
                (await as_administrator(admin, revision))[0]["version_num"],
            )
            new = await asyncio.to_thread(driver, ROOT, app, seconds * 3 / 4, 1_000)
            for name, process in (("before", old), ("new", new)):
                said, _ = await asyncio.to_thread(process.communicate)
                print(name, said.strip(), "exit", process.returncode)
            async with Keeps.open(database_url=app, embedder=None) as keeps:
                for number in range(TENANTS):
                    found = await keeps.service(EventService).verify(Scope(f"tenant-{number}", "alice"))
                    kinds = {name: rows for name, rows in found.compared.items() if rows}
                    print(f"tenant-{number}: {found.events} events, rows as the log says: {found.equal} {kinds}")
        await asyncio.to_thread(
            subprocess.run, ["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True
        )


def main() -> None:
    reading = argparse.ArgumentParser()
    reading.add_argument("--before", help="the release before: a commit or a tag")
    reading.add_argument("--seconds", type=float, default=20.0)
    reading.add_argument("--drive", help=argparse.SUPPRESS)
    reading.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    asked = reading.parse_args()
    asyncio.run(drive(asked.drive, asked.seconds, asked.seed) if asked.drive else upgrade(asked.before, asked.seconds))


if __name__ == "__main__":
    main()

"""As root, in a folder that another user prepared with links: nothing outside changes owner, mode or content."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from keeps.store.db.embedded import EmbeddedPostgres
from keeps.store.db.embedded.binaries import OWN_USER, choose_run_user
from keeps_client.errors import UnavailableError

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root could do harm")
MALLORY = 65_534


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """Root's, outside of any home."""
    folder = tmp_path / "precious"
    folder.mkdir(mode=0o755)
    (folder / "shadow").write_text("root:secret\n")
    (folder / "shadow").chmod(0o600)
    (folder / "postmaster.pid").write_text("1\n")
    (folder / ".s.PGSQL.5432").write_text("x")
    (folder / "1-1-1").write_text("x")
    return folder


def state(folder: Path) -> dict[str, object]:
    paths = [folder, *sorted(folder.rglob("*"))]
    return {
        str(path): (path.lstat().st_uid, path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in paths
    }


async def opened(home: Path) -> str:
    try:
        async with await EmbeddedPostgres.open(home):
            return "opened"
    except (UnavailableError, OSError) as error:
        return f"refused: {error}"


def own(path: Path, uid: int) -> None:
    os.chown(path, uid, uid, follow_symlinks=False)


@pytest.mark.parametrize("name", ["server", "server.location", "leases", "lock", "secrets.json", "keeps.toml"])
async def test_a_home_that_another_user_made_is_refused(
    new_home: Callable[..., Path], precious: Path, name: str
) -> None:
    home = new_home("prepared")
    home.mkdir()
    target = precious if name in ("server", "leases") else precious / "shadow"
    (home / name).symlink_to(target)
    own(home, MALLORY)
    own(home / name, MALLORY)
    before = state(precious)
    assert "belongs to user" in await opened(home)
    assert state(precious) == before


async def test_a_home_that_others_may_change_and_a_link_are_refused(
    new_home: Callable[..., Path], precious: Path
) -> None:
    home = new_home("open")
    home.mkdir()
    home.chmod(0o777)
    assert "refused" in await opened(home)
    linked = new_home("linked")
    linked.symlink_to(precious)
    before = state(precious)
    assert "refused" in await opened(linked)
    assert state(precious) == before


async def test_links_that_the_server_s_user_puts_into_its_folder_lead_root_nowhere(
    new_home: Callable[..., Path], precious: Path
) -> None:
    home = new_home("used")
    assert await opened(home) == "opened"
    user = pwd.getpwnam(OWN_USER)
    server = home / "server"
    if not server.is_dir():
        server = Path((home / "server.location").read_text().strip())
    assert server.stat().st_uid == user.pw_uid
    before = state(precious)
    for name, target in (("postgres.log", precious / "shadow"), ("socket", precious), (".initdb-x", precious)):
        path = server / name
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        own(path, user.pw_uid)
    await opened(home)
    assert state(precious) == before
    (server / "postgres").rename(server / "moved")
    (server / "postgres").symlink_to(precious)
    own(server / "postgres", user.pw_uid)
    await opened(home)
    assert state(precious) == before


def test_the_database_runs_as_a_user_of_its_own() -> None:
    user = choose_run_user()
    assert (user.name, user.uid not in (0, MALLORY)) == (OWN_USER, True)
    assert pwd.getpwnam(OWN_USER).pw_shell.endswith("nologin")

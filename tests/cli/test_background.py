"""The background process that commands on an embedded home share."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keeps.base.settings import load_settings
from keeps.doors.cli import background, background_client
from keeps.doors.cli.background import Background, background_of, running, stop
from tests.cli.test_cli import FORKS, Cli, kept_running


@pytest.fixture(scope="module")
def home(made_home: Callable[..., Path]) -> Iterator[Path]:
    home = made_home("background")
    with kept_running(home):
        yield home
        stop(home)


@pytest.fixture
def cli(home: Path) -> Iterator[Cli]:
    yield Cli(home, KEEPS_BACKGROUND_SECONDS="100")
    stop(home)


def processes(home: Path) -> list[int]:
    return list(running(home).values())


def wait_until_ended(home: Path) -> None:
    deadline = time.monotonic() + 30
    while processes(home):
        assert time.monotonic() < deadline, "the background process did not end"
        time.sleep(0.05)


def test_commands_share_one_process_and_answer_like_those_without(cli: Cli) -> None:
    stored = cli.json("remember", "Bob grows mangoes.", "--user", "shared")
    (process,) = processes(cli.home)
    alone = Cli(cli.home)
    for command in (("list",), ("get", stored["memory_id"]), ("call", "get_plan", "plan_id=none"), ("forget", "x")):
        shared, without = (FORKS.run([*command, "--user", "shared"], each.environment) for each in (cli, alone))
        assert (shared.returncode, shared.stdout, shared.stderr) == (
            without.returncode,
            without.stdout,
            without.stderr,
        )
    assert "mangoes" in cli("recall", "mangoes", "--user", "shared").stdout
    assert "mangoes" not in cli("recall", "mangoes", "--user", "other").stdout
    assert processes(cli.home) == [process]
    assert f"process {process}" in cli("status").stdout


def run(cli: Cli, *command: str) -> subprocess.CompletedProcess[str]:
    entry = "from keeps.doors.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", entry, *command], env=cli.environment, capture_output=True, text=True, check=False
    )


def test_commands_at_the_same_time_start_one_process(cli: Cli) -> None:
    with ThreadPoolExecutor(3) as threads:
        done = list(threads.map(lambda number: run(cli, "remember", f"Fact {number}."), range(3)))
    assert [each.returncode for each in done] == [0, 0, 0], [each.stderr for each in done]
    assert len(processes(cli.home)) == 1


def test_a_killed_process_is_replaced(cli: Cli) -> None:
    cli("remember", "Carol keeps bees.", "--user", "killed")
    (first,) = processes(cli.home)
    os.kill(first, signal.SIGKILL)
    wait_until_ended(cli.home)
    assert "bees" in cli("recall", "bees", "--user", "killed").stdout
    assert processes(cli.home) != [first]


def test_other_settings_have_a_process_of_their_own(cli: Cli) -> None:
    cli("list")
    cli("list", KEEPS_TIMEZONE="Europe/Berlin")
    both = processes(cli.home)
    assert len(both) == 2
    assert sorted(cli.json("down")["ended"]) == sorted(both)
    assert not processes(cli.home)


def test_up_and_down_say_what_they_did(cli: Cli) -> None:
    first = cli("up").stdout
    assert "is running in the background" in first
    assert "100 seconds" in first
    assert "is already running" in cli("up").stdout
    (process,) = processes(cli.home)
    assert cli("down").stdout == f"Stopped process {process}.\n"
    assert "No background process" in cli("down").stdout
    assert "KEEPS_BACKGROUND_SECONDS is 0" in cli("up", code=1, KEEPS_BACKGROUND_SECONDS="0").stderr


def test_the_process_ends_when_nobody_asks(cli: Cli) -> None:
    cli("list", KEEPS_BACKGROUND_SECONDS="1")
    wait_until_ended(cli.home)


def test_the_process_ends_with_its_home(made_home: Callable[..., Path]) -> None:
    home = made_home("removed")
    Cli(home, KEEPS_BACKGROUND_SECONDS="100")("list")
    (process,) = processes(home)
    shutil.rmtree(home / background.FOLDER)
    deadline = time.monotonic() + 30
    while _lives(process):
        assert time.monotonic() < deadline, "the process outlived its home"
        time.sleep(0.05)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_folder_that_others_may_enter_is_not_used(cli: Cli) -> None:
    folder = cli.home / background.FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o777)
    try:
        cli("list")
        assert not processes(cli.home)
    finally:
        folder.chmod(0o700)


def test_a_home_that_others_can_change_has_no_process(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    link = tmp_path / "link"
    link.symlink_to(open_to_all)
    for folder in (open_to_all, link):
        assert background_of(load_settings({"KEEPS_HOME": str(folder / "h")})) is None
    open_to_all.chmod(0o755)
    assert background._is_only_ours(open_to_all / "h")  # noqa: SLF001
    if os.geteuid() == 0:
        os.chown(open_to_all, 65534, 65534)
        assert not background._is_only_ours(open_to_all / "h")  # noqa: SLF001


def test_a_lock_that_names_another_process_ends_nothing(tmp_path: Path) -> None:
    folder = tmp_path / background.FOLDER
    folder.mkdir(mode=0o700)
    with subprocess.Popen(["sleep", "100"]) as bystander:
        lock = (folder / "aaaa.lock").open("w")
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for text in (str(bystander.pid), "-1", "x", ""):
                lock.truncate(0)
                lock.seek(0)
                lock.write(text)
                lock.flush()
                assert stop(tmp_path) == []
        assert bystander.poll() is None
        bystander.kill()


def test_a_process_that_hangs_is_named(cli: Cli) -> None:
    cli("list")
    (process,) = processes(cli.home)
    os.kill(process, signal.SIGSTOP)
    try:
        assert "keeps down" in cli("list", code=1).stderr
    finally:
        os.kill(process, signal.SIGCONT)


def test_an_erasure_ends_the_process(cli: Cli) -> None:
    stored = cli.json("remember", "Dora has a scar on her knee.", "--user", "erased")
    assert processes(cli.home)
    cli("forget", stored["memory_id"], "--hard", "--user", "erased")
    assert not processes(cli.home)


def test_a_moment_after_backup_on_can_be_restored(made_home: Callable[..., Path], tmp_path: Path) -> None:
    cli = Cli(made_home("restored"), KEEPS_BACKGROUND_SECONDS="100")
    try:
        cli("remember", "Tea at five.")
        assert processes(cli.home)
        assert "Restart it" not in cli("backup", "on", str(tmp_path / "backups")).stdout
        cli("backup", "create")
        cli("remember", "Coffee at six.")
        moment = datetime.now(UTC).isoformat()
        cli("remember", "Supper at seven.")
        cli("backup", "restore", "--to", str(tmp_path / "then"), "--at", moment)
        texts = [memory["content"] for memory in Cli(tmp_path / "then").json("list")["items"]]
        assert sorted(texts) == ["Coffee at six.", "Tea at five."]
    finally:
        stop(cli.home)


@pytest.mark.slow_step(reason="PostgreSQL is started four times")
def test_a_home_in_place_of_a_moved_one_is_not_harmed(made_home: Callable[..., Path]) -> None:
    home = made_home("moved")
    copy, old = home.with_name("moved-copy"), home.with_name("moved-old")
    cli = Cli(home, KEEPS_BACKGROUND_SECONDS="100")
    cli("remember", "Before the copy.")
    cli("down")
    subprocess.run(["cp", "--archive", home, copy], check=True)
    cli("remember", "After the copy.")
    (process,) = processes(home)
    home.rename(old)
    subprocess.run(["cp", "--archive", copy, home], check=True)
    deadline = time.monotonic() + 30
    while _lives(process):
        assert time.monotonic() < deadline, "the process outlived its home"
        time.sleep(0.05)
    for place, memories in ((home, ["Before the copy."]), (old, ["After the copy.", "Before the copy."])):
        listed = Cli(place).json("list")["items"]
        assert sorted(item["content"] for item in listed) == memories


def test_a_home_that_cannot_be_opened_gives_the_error_of_the_database(made_home: Callable[..., Path]) -> None:
    home = made_home("broken")
    (home / "server" / "postgres" / "PG_VERSION").write_text("9\n")
    assert "was created by PostgreSQL 9" in Cli(home, KEEPS_BACKGROUND_SECONDS="100")("list", code=1).stderr
    assert not processes(home)


def test_settings_and_code_decide_which_process_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(**variables: str) -> str:
        found = background_of(load_settings({"KEEPS_HOME": "/somewhere", **variables}))
        assert found is not None
        return found.key

    first = key()
    assert key() == first
    monkeypatch.chdir("/")
    assert key(KEEPS_HOME="somewhere") == first
    assert key(KEEPS_LLM_API_KEY="another") != first
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert key() != first
    monkeypatch.delenv("HTTPS_PROXY")
    monkeypatch.setattr(background, "_stamp", lambda package: (package.__name__, 1, 2))
    assert key() != first


def test_none_serves_another_database_or_when_switched_off() -> None:
    for variables in (
        {"KEEPS_DATABASE_URL": "postgresql://keeps_app:x@127.0.0.1/keeps"},
        {"KEEPS_BACKGROUND_SECONDS": "0"},
        {"KEEPS_MARKDOWN_FOLDER": "notes"},
    ):
        assert background_of(load_settings({"KEEPS_HOME": "/somewhere", **variables})) is None


def test_a_home_with_a_long_path_has_a_process(made_home: Callable[..., Path]) -> None:
    home = made_home("long")
    longer = home.with_name("long" * 30)
    home.rename(longer)
    try:
        Cli(longer, KEEPS_BACKGROUND_SECONDS="100")("list")
        assert processes(longer)
    finally:
        stop(longer)
        longer.rename(home)


def test_an_answer_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError):
        background_client._response(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "GET")  # noqa: SLF001
    assert not Background(tmp_path, tmp_path, "none").answers()

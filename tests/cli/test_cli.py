"""The command line, as a user runs it: a process, its output, its exit code."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from keeps.base.scope import Scope
from keeps.doors.cli import demo
from keeps.engine import Keeps
from keeps.store.db.embedded import EmbeddedPostgres, inspect_home
from keeps.store.db.provision import prepare
from tests.cli.forks import Forks
from tests.conftest import admin

FORKS = Forks()


class Cli:
    """Runs commands against a home, without a model unless `KEEPS_EMBEDDER` names one."""

    def __init__(self, home: Path, **environment: str) -> None:
        self.home = home
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("KEEPS_")} | {
            "KEEPS_HOME": str(home),
            "COLUMNS": "150",
            "KEEPS_EMBEDDER": "none",
            "KEEPS_BACKGROUND_SECONDS": "0",
            **environment,
        }

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        done = FORKS.run([*arguments], self.environment | environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def json(self, *arguments: str, **environment: str) -> Any:
        return json.loads(self(*arguments, "--json", code=0, **environment).stdout)


HOLDER = """
import asyncio, sys
from pathlib import Path
from keeps.store.db.embedded import EmbeddedPostgres

async def main():
    server = await EmbeddedPostgres.open(Path(sys.argv[1]))
    print("open", flush=True)
    sys.stdin.read()
    await server.close()

asyncio.run(main())
"""


@contextmanager
def kept_running(home: Path) -> Iterator[None]:
    """Keep the server of a home running, so that no command has to start and stop it."""
    command = [sys.executable, "-c", HOLDER, str(home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        yield


@pytest.fixture(scope="module")
def cli(made_home: Callable[..., Path]) -> Iterator[Cli]:
    """A home whose server runs."""
    home = made_home("cli")
    with kept_running(home):
        yield Cli(home)


@pytest.fixture
def with_model(cli: Cli) -> Cli:
    """The home of `cli`, with the local model."""
    return Cli(cli.home, KEEPS_EMBEDDER="local")


@pytest.fixture(scope="module")
def alone(made_home: Callable[..., Path]) -> Cli:
    """A home whose server runs while a command does."""
    return Cli(made_home("alone"), KEEPS_EMBEDDER="local")


def test_a_memory_lives_through_its_life(with_model: Cli) -> None:
    cli = with_model
    assert "has no memories" in cli("list", "--tenant", "empty").stdout
    receipt = cli.json(
        "remember", "Alice is allergic to peanuts.", "--tag", "health", "--namespace", "facts", "--key", "allergy"
    )
    assert (receipt["status"], receipt["indexed"]) == ("created", True)
    memory_id = receipt["memory_id"]
    chosen = ("--kind", "semantic", "--namespace", "facts", "--tag", "food", "--tag", "health")
    assert [item["memory_id"] for item in cli.json("list", *chosen)["items"]] == [memory_id]
    first, second = cli("list", *chosen).stdout.splitlines()
    assert first == "Alice is allergic to peanuts."
    assert second.split(" · ")[1:] == ["semantic", "facts/allergy", f"health  {memory_id}"]
    assert "No memories match" in cli("list", "--tag", "work").stdout
    assert "peanuts" in cli("recall", "what is dangerous to eat?").stdout
    assert "matched" not in cli("recall", "peanuts", "--explain").stdout
    assert cli.json("recall", "peanuts", "--explain")["hits"][0]["explanation"]["matched_terms"] == ["peanut"]
    assert (
        cli.json("update", memory_id, "--content", "Alice is allergic to peanuts and cashews.")["memory"]["version"]
        == 2
    )
    assert cli.json("get", memory_id)["content"] == "Alice is allergic to peanuts and cashews."
    assert "memory.written" in cli("history", memory_id).stdout
    shared = cli("share", memory_id, "--to-agent", "cook")
    assert "created" in shared.stdout
    assert f"undo: keeps unshare {memory_id} --to-agent cook" in shared.stderr
    assert cli.json("share", memory_id[:18], "--to-agent", "cook")["status"] == "unchanged"
    assert cli.json("unshare", memory_id, "--to-agent", "cook")["status"] == "forgotten"
    assert "no space" in cli("share", memory_id, "--to-space", "kitchen", code=1).stderr
    assert "name one target" in cli("share", memory_id, code=2).stderr
    assert "undo within 30 days" in cli("forget", memory_id).stderr
    assert "Check --tenant" in cli("recall", "peanuts").stdout
    assert "No memories found" in cli("recall", "peanuts", "--kind", "procedural").stdout
    assert "is that relevant" in cli("recall", "peanuts", "--min-relevance", "0.9").stdout
    assert cli.json("restore", memory_id)["status"] == "restored"
    assert "deleted permanently" in cli("forget", "--namespace", "facts", "--key", "allergy", "--hard").stdout
    assert "(content erased)" in cli("history", memory_id).stdout


def test_a_home_without_a_name_is_no_home(cli: Cli) -> None:
    assert "must name a folder" in cli("recall", "hi", "--home", "", code=2).stderr


def test_tenants_and_users_are_apart(cli: Cli) -> None:
    cli("remember", "only for carol", "--tenant", "acme", "--user", "carol")
    assert cli.json("recall", "carol", "--tenant", "acme", "--user", "carol")["hits"]
    assert not cli.json("recall", "carol", "--tenant", "other", "--user", "carol")["hits"]
    assert not cli.json("recall", "carol", "--tenant", "acme", "--user", "dave")["hits"]


def test_errors_say_what_to_do_and_set_the_exit_code(cli: Cli) -> None:
    assert "validation_failed" in cli("remember", "", code=2).stderr
    assert "not_found" in cli("get", "01890000-0000-7000-8000-000000000000", code=1).stderr
    assert "give the full id" in cli("get", "nonsense", code=2).stderr
    assert "unknown field" in cli("list", "--filters", '{"colour": {"eq": 1}}', code=2).stderr
    assert "not JSON" in cli("list", "--filters", "{", code=2).stderr
    cli("remember", code=2)
    assert (
        "Traceback" not in cli("recall", "x", "--database-url", "postgresql://a:topsecret@127.0.0.1:9/x", code=1).stderr
    )


def test_import_reports_each_fate_and_can_be_repeated(with_model: Cli, tmp_path: Path) -> None:
    cli = with_model
    path = tmp_path / "chat.jsonl"
    path.write_text(
        "\n".join(json.dumps({"role": "user", "content": f"I saw {n} herons."}) for n in range(30)) + "\n{bad"
    )
    report = cli.json("import", str(path), "--user", "birder")
    assert (report["statuses"], len(report["rejected"])) == ({"created": 30}, 1)
    assert "30 unchanged" in cli("import", str(path), "--user", "birder").stdout
    assert cli.json("recall", "herons", "--user", "birder", "--limit", "1")["hits"][0]["tier"] == "indexed"


def test_doctor_and_status_tell_the_truth(alone: Cli, server: Any) -> None:
    cli = alone
    cli("remember", "something")
    assert inspect_home(cli.home).running_pid is None
    assert "not running" in cli("status").stdout
    assert "✓ isolation" in cli("doctor").stdout
    wrong = cli("doctor", code=1, KEEPS_DATABASE_URL="postgresql://keeps_app:topsecret@127.0.0.1:9/keeps")
    assert "no PostgreSQL answers" in wrong.stdout
    assert "topsecret" not in wrong.stdout + wrong.stderr
    refused = cli("doctor", code=1, KEEPS_DATABASE_URL=server.url("postgres"))
    assert "refusing to serve: role postgres is a superuser" in refused.stdout
    assert "refusing to serve" in cli("recall", "x", code=1, KEEPS_DATABASE_URL=server.url("postgres")).stderr
    assert "KEEPS_EMBEDDER is 'magic'" in cli("doctor", code=2, KEEPS_EMBEDDER="magic").stderr


def test_a_killed_server_is_seen_and_comes_back(alone: Cli) -> None:
    cli = alone
    cli("remember", "something")
    opener = subprocess.Popen(
        [
            sys.executable,
            "-c",
            (
                "import asyncio, sys; from keeps import Keeps\nasync def main():\n    async with Keeps.open():\n       "
                " print('open', flush=True); sys.stdin.read()\nasyncio.run(main())"
            ),
        ],
        env=cli.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert opener.stdout is not None
    assert opener.stdout.readline() == "open\n"
    status = cli.json("status")
    assert "{" not in cli("status").stdout, "it is written for people"
    assert "running" in status["server"]
    assert opener.pid in status["used_by_processes"]
    pid = inspect_home(cli.home).running_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert "not running" in cli("status").stdout
    assert cli.json("recall", "something")["hits"]
    opener.communicate("")


def _as_administrator(server: Any, *statements: str, database: str = "postgres") -> Any:
    """Run statements and return the first value of the last one."""

    async def run() -> Any:
        async with admin(server, database) as connection:
            values = [await connection.fetchval(statement) for statement in statements]
            return values[-1]

    return asyncio.run(run())


def test_your_own_postgresql_is_set_up_by_one_command(cli: Cli, server: Any, fresh_database: Any) -> None:
    _as_administrator(server, "DROP DATABASE IF EXISTS mine", "CREATE DATABASE mine")
    passwords = json.loads((server.home / "secrets.json").read_text())
    own = {"KEEPS_OWNER_PASSWORD": passwords["keeps_owner"], "KEEPS_APP_PASSWORD": passwords["keeps_app"]}
    before = cli("status", code=1, KEEPS_DATABASE_URL=server.url("keeps_app", "mine"))
    assert "keeps migrate" in before.stderr
    printed = cli("migrate", KEEPS_ADMIN_URL=server.url("postgres", "mine"), **own).stdout.strip()
    url = server.url("keeps_app", "mine")
    assert printed == f"KEEPS_DATABASE_URL={url.replace(passwords['keeps_app'], '…')}", "logs would hold the password"
    assert cli.json("remember", "in my own database", KEEPS_DATABASE_URL=url)["status"] == "created"
    assert "names no database" in cli("migrate", "--admin-url", "postgresql://localhost", code=2).stderr


def test_migrate_keeps_passwords_of_roles_that_exist(cli: Cli, server: Any, fresh_database: Any) -> None:
    _as_administrator(server, "DROP DATABASE IF EXISTS again", "CREATE DATABASE again")
    secrets = "SELECT string_agg(rolpassword, ' ' ORDER BY rolname) FROM pg_authid WHERE rolname LIKE 'keeps%'"
    before = _as_administrator(server, secrets)
    for _ in range(2):
        migrated = cli("migrate", KEEPS_ADMIN_URL=server.url("postgres", "again"))
        assert "the password of keeps_app is unchanged" in migrated.stderr
        assert not migrated.stdout
    assert _as_administrator(server, secrets) == before
    url = server.url("keeps_app", "again")
    assert cli.json("remember", "with the password from before", KEEPS_DATABASE_URL=url)["status"] == "created"
    owners = "SELECT string_agg(DISTINCT tableowner, ' ') FROM pg_tables WHERE schemaname = 'keeps'"
    assert _as_administrator(server, owners, database="again") == "keeps_owner"


async def test_a_new_role_gets_a_generated_password(made_home: Callable[..., Path]) -> None:
    home = made_home()
    async with await EmbeddedPostgres.open(home) as server:
        async with admin(server) as connection:
            await connection.execute("CREATE DATABASE other")
            await connection.execute("ALTER ROLE keeps_app RENAME TO somebody")
        url = await prepare(server.url("postgres", "other"), {})
        assert url is not None
        connection = await asyncpg.connect(url)
        assert await connection.fetchval("SELECT current_user") == "keeps_app"
        await connection.close()
        assert await prepare(server.url("postgres", "other"), {}) is None


def test_reindex_changes_the_model_while_recall_goes_on(alone: Cli) -> None:
    alone("remember", "something")
    assert alone.json("reindex")["pending"] == 0
    status = alone.json("status", KEEPS_EMBEDDER="none")
    assert (status["model"], status["server"]) == ("none", "not running")
    assert status["memories"] > 0


def test_help_and_version(cli: Cli) -> None:
    shown = cli("--help").stdout
    for command in (
        "demo",
        "remember",
        "recall",
        "list",
        "get",
        "forget",
        "history",
        "import",
        "migrate",
        "doctor",
        "status",
        "reindex",
        "events",
        "webhooks",
        "graph",
        "providers",
    ):
        assert command in shown
    assert cli("--version").stdout.startswith("keeps ")


async def test_the_demo_ends_with_the_visitors_questions(
    keeps: Keeps, tenant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alice = keeps.memory(Scope(tenant, "alice"))
    await alice.remember("Biscuit the dog sleeps [bold]under[/] the stairs.", metadata={"speaker": "Alice"})
    typed = iter(["Where does Biscuit sleep?", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(typed))
    await demo._your_questions(alice)
    shown = capsys.readouterr().out
    assert "Biscuit the dog sleeps [bold]under[/] the stairs." in shown
    assert "relevance" in shown


def test_the_demo_shows_what_it_promises(new_home: Callable[..., Path]) -> None:
    cli = Cli(new_home("demo"), KEEPS_EMBEDDER="local")
    own = Path(f"{cli.home}-demo")
    shown = cli("demo").stdout
    assert not cli.home.exists()
    again = cli("demo", "--home", str(own)).stdout
    assert [line for line in again.splitlines() if "Leeds:" in line] == ["  Leeds: created   Lisbon: updated"]
    assert "yes  Globex replaced Acme" in again
    assert "NO" not in again
    assert 'remember "I take my tea with lemon."' in again
    cli = Cli(own)
    assert "forgotten: 1; still found: 0" in shown.replace("\n", " ")
    assert "0 of them from another tenant" in shown.replace("\n", " ")
    assert "true on 01 August: Alice lives in Leeds." in shown
    assert "true on 01 November: Alice lives in Lisbon." in shown
    assert "yes  Globex replaced Acme" in shown
    assert "NO" not in shown
    tenants = [row["tenant_id"] for row in cli.json("tenants", "list")]
    assert tenants
    for tenant in tenants:
        assert cli.json("events", "verify", "--tenant", tenant)["differences"] == []


def test_stdout_holds_the_answer_alone_and_stored_text_moves_no_cursor(cli: Cli) -> None:
    cli(
        "remember",
        "Harmless \x1b[2J\x1b]0;title\x07 text.",
        "--namespace",
        "terminal",
        "--key",
        "k",
        "--user",
        "mallory",
    )
    shown = cli("list", "--user", "mallory").stdout
    assert "Harmless" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown
    for level in ("debug", "info"):
        json.loads(cli("context", "what?", "--json", KEEPS_LOG_LEVEL=level).stdout)
    question = "What did I say on 2026-07-05?"
    cases: list[tuple[str | None, dict[str, Any]]] = [("Europe/Berlin", {}), (None, {"KEEPS_TIMEZONE": "+02:00"})]
    for zone, environment in cases:
        options = ["--timezone", zone] if zone else []
        told = json.loads(cli("context", question, "--json", *options, **environment).stdout)
        assert told["since"] == "2026-07-04T22:00:00Z"


def test_a_terminal_without_unicode_loses_nothing(cli: Cli) -> None:
    said = "Zoë met 🙂 in Łódź."
    cli("remember", said, "--user", "zoe")
    keeps = Path(sys.executable).parent / "keeps"
    for arguments, shown in (("--json",), said), ((), json.dumps(said)[1:-1]):
        done = subprocess.run(
            [keeps, "recall", "Zoë", "--user", "zoe", *arguments],
            env=cli.environment | {"PYTHONIOENCODING": "ascii"},
            capture_output=True,
            check=True,
        )
        text = done.stdout.decode("ascii")
        assert shown in (json.loads(text)["hits"][0]["memory"]["content"] if arguments else text)


def test_who_names_a_user_makes_a_key_of_theirs(cli: Cli) -> None:
    assert cli.json("keys", "create", "hers", "--user", "alice")["user_id"] == "alice"
    assert cli.json("keys", "create", "anyones")["user_id"] is None


def test_of_a_long_memory_the_answer_is_shown(with_model: Cli) -> None:
    cli = with_model
    walks = "We walked along the river and talked about the weather. " * 40
    cli("remember", f"{walks}Then Ola told us that she keeps bees on a roof.")
    assert "… " in (shown := cli("recall", "who keeps bees on a roof?").stdout)
    assert "Ola told us" in " ".join(shown.split())

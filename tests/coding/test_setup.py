"""`keeps setup`: what it writes into the settings of agents, and what it leaves alone."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keeps.doors.cli import jsonc
from keeps.doors.cli.agents import AGENTS, Written
from keeps.doors.cli.openclaw import FOLDER
from keeps_client.errors import ConflictError, ValidationFailedError
from tests.cli.test_cli import FORKS

WRITTEN = Written("/opt/keeps", ("--user", "alice"))
OTHER = Written("/opt/new/keeps")
CLAUDE = """{
  // my model
  "model": "opus",   /* stays */
  "hooks": {
    "Stop": [
      {"matcher": "", "hooks": [{"type": "command", "command": "say done"}]},
    ],
    "PreToolUse": [{"hooks": [{"type": "command", "command": "check"}]}]
  },
  "mcpServers": {"other": {"command": "x", "args": []}}, // last
}
"""
OPENCLAW = """{
  gateway: { port: 18789, bind: 'loopback' }, // JSON5
  channels: {},
}
"""
TOML = '# models\nmodel = "gpt-x"   # best\n\n[mcp_servers.other]\ncommand = "x"\n'
TEXTS = {
    "json": ["", "{}\n", '{"a": 1}', CLAUDE, OPENCLAW, json.dumps({"hooks": {"Stop": []}, "b": [1, {}]}, indent=4)],
    "toml": ["", TOML, TOML.rstrip()],
}
COMMAND = "/opt/keeps hook {} --user alice"
HOOKS: dict[str, Any] = {
    "cursor": {
        "version": 1,
        "hooks": {
            event: [{"command": COMMAND.format(event)}]
            for event in ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse")
        },
    },
    "vscode": {
        "version": 1,
        "hooks": {
            event: [{"type": "command", "timeout": 5, "command": COMMAND.format(event)}]
            for event in ("SessionStart", "PreCompact", "Stop")
        },
    },
    "gemini-cli": {
        "mcpServers": {"keeps": {"command": "/opt/keeps", "args": ["mcp", "--user", "alice"]}},
        "hooks": {
            event: [{"hooks": [{"type": "command", "command": COMMAND.format(event), "timeout": 5_000}]}]
            for event in ("SessionStart", "BeforeAgent", "AfterAgent")
        },
    },
}
"""Settings that the agents' documentation describes, from empty files."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
FILES = [(agent, file) for agent, files in AGENTS.items() for file in files if FOLDER not in file.user]
PLUGIN = [file for file in AGENTS["openclaw"] if FOLDER in file.user]


@pytest.mark.parametrize(("agent", "file"), FILES, ids=[f"{agent}-{Path(file.user).name}" for agent, file in FILES])
def test_entries_are_added_once_and_removed_again(agent: str, file: Any) -> None:
    for text in TEXTS["toml" if file.user.endswith(".toml") else "json"]:
        after = file.change(text, WRITTEN)
        assert "/opt/keeps" in after
        assert file.change(after, WRITTEN) == after
        changed = file.change(after, OTHER)
        assert "alice" not in changed
        assert changed.count("/opt/new/keeps") == after.count("/opt/keeps")
        removed = file.change(after, None)
        assert "keeps" not in removed
        # What was empty before is removed with the entries.
        assert removed.rstrip() == text.rstrip() or text in ("", "{}\n") or '"Stop": []' in text
        assert file.change(text, None) == text


def test_values_of_entries() -> None:
    server, hooks = (file.change(CLAUDE, WRITTEN) for file in AGENTS["claude-code"])
    root = jsonc.parse(server)
    assert jsonc.find(root, ("mcpServers", "keeps")).value(server) == {  # type: ignore[union-attr]
        "type": "stdio",
        "command": "/opt/keeps",
        "args": ["mcp", "--user", "alice"],
    }
    stop = jsonc.find(jsonc.parse(hooks), ("hooks", "Stop"))
    assert stop is not None
    theirs, ours = stop.value(hooks)
    assert theirs["hooks"][0]["command"] == "say done"
    assert ours == {"hooks": [{"type": "command", "command": "/opt/keeps hook Stop --user alice", "timeout": 5}]}
    settings = tomllib.loads(AGENTS["codex"][0].change(TOML, WRITTEN))
    assert settings["mcp_servers"]["keeps"] == {"command": "/opt/keeps", "args": ["mcp", "--user", "alice"]}
    assert settings["mcp_servers"]["other"] == {"command": "x"}


@given(st.dictionaries(st.text(), JSON, max_size=4), st.sampled_from([None, 2, 4]), JSON)
def test_other_members_stay(settings: dict[str, Any], indent: int | None, value: Any) -> None:
    text = json.dumps(settings, indent=indent)
    if isinstance(settings.get("servers", {}), dict):
        after = jsonc.with_member(text, ("servers", "keeps"), value)
        assert json.loads(after) == settings | {"servers": {**settings.get("servers", {}), "keeps": value}}
        root = jsonc.parse(after)
        parent, child = jsonc.find(root, ("servers",)), jsonc.find(root, ("servers", "keeps"))
        assert parent is not None
        assert child is not None
        rest = json.loads(jsonc.without(after, parent, child))
        assert rest == settings | {"servers": {k: v for k, v in settings.get("servers", {}).items() if k != "keeps"}}


@pytest.mark.parametrize("text", ["{", '{"a" 1}', "{]", '{"a": 1} x', "[" * 1_000, '{"hooks": "x"', "\x00"])
def test_broken_settings_are_refused(text: str) -> None:
    with pytest.raises(ValidationFailedError):
        jsonc.parse(text)


def run(home: Path, *arguments: str, code: int = 0, folder: Path | None = None) -> str:
    environment = {"HOME": str(home), "PATH": "/usr/bin", "COLUMNS": "150"}
    done = FORKS.run(["setup", *arguments], environment, cwd=None if folder is None else str(folder))
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_command_shows_the_difference_and_keeps_a_backup(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(CLAUDE)
    settings.chmod(0o600)
    shown = run(tmp_path, "claude-code", "--dry-run")
    assert "+" in shown
    assert "hook UserPromptSubmit" in shown
    assert settings.read_text() == CLAUDE
    assert not (tmp_path / ".claude.json").exists()
    assert run(tmp_path, "claude-code", "--user", "alice").startswith("---")
    assert settings.stat().st_mode & 0o777 == 0o600
    assert settings.with_name("settings.json.keeps-backup").read_text() == CLAUDE
    assert "Nothing to change" in run(tmp_path, "claude-code", "--user", "alice")
    listed = run(tmp_path, "--list")
    assert f"claude-code  set up  {settings}" in listed
    assert "codex        -" in listed
    run(tmp_path, "claude-code", "--uninstall")
    assert settings.read_text() == CLAUDE


def test_hooks_of_each_agent() -> None:
    hooks = {agent: json.loads(files[-1].change("", WRITTEN)) for agent, files in AGENTS.items() if agent in HOOKS}
    assert hooks == HOOKS


@pytest.mark.parametrize(
    ("agent", "options", "names"),
    [
        ("cursor", (), (".cursor/mcp.json", ".cursor/hooks.json")),
        ("cursor", ("--project",), (".cursor/mcp.json", ".cursor/hooks.json")),
        ("vscode", (), (".config/Code/User/mcp.json", ".copilot/hooks/keeps.json")),
        ("vscode", ("--project",), (".vscode/mcp.json", ".github/hooks/keeps.json")),
        ("gemini-cli", (), (".gemini/settings.json",)),
        (
            "openclaw",
            (),
            (
                ".openclaw/openclaw.json",
                *(f"{FOLDER}/{name}" for name in ("index.js", "openclaw.plugin.json", "package.json")),
            ),
        ),
        ("gemini-cli", ("--project",), (".gemini/settings.json",)),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="VS Code has another folder")
def test_files_of_each_agent(tmp_path: Path, agent: str, options: tuple[str, ...], names: tuple[str, ...]) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    where, elsewhere = (project, home) if options else (home, project)

    def setup(*arguments: str) -> str:
        return run(home, agent, *options, *arguments, folder=project)

    setup("--dry-run")
    assert list(tmp_path.rglob("*.json")) == []
    setup()
    files = {name: (where / name).read_text() for name in names}
    assert sorted(path.relative_to(where).as_posix() for path in where.rglob("*") if path.is_file()) == sorted(names)
    assert list(elsewhere.iterdir()) == []
    assert "Nothing to change" in setup()
    assert all("keeps" in text for text in files.values())
    listed = run(home, "--list", *options, folder=project)
    assert listed.count("set up") == len(names)
    setup("--uninstall")
    assert not (where / FOLDER).exists()
    for name, text in files.items():
        if FOLDER in name:
            continue
        assert (where / f"{name}.keeps-backup").read_text() == text
        left = (where / name).read_text() if (where / name).exists() else None
        assert left is None if "hooks" in name else "keeps" not in (left or "")
    assert "Nothing to change" in setup("--uninstall")


@pytest.mark.parametrize("file", PLUGIN, ids=[Path(file.user).name for file in PLUGIN])
def test_plugin_is_written_whole(file: Any) -> None:
    after = file.change("", WRITTEN)
    assert file.change(after, WRITTEN) == after
    assert ("/opt/keeps" in after) == file.user.endswith(".js")
    assert "alice" not in file.change(after, OTHER)
    assert file.change(after, None) == ""
    with pytest.raises(ConflictError):
        file.change("// mine", WRITTEN)
    assert file.change("// mine", None) == "// mine"


def test_plugin_is_allowed_where_a_list_says_which_are() -> None:
    change = AGENTS["openclaw"][0].change
    listed = "{ plugins: { allow: ['voice-call'], entries: { keeps: { enabled: false } } } }"
    after = change(listed, WRITTEN)
    plugins = jsonc.parse(after).value(after)["plugins"]
    assert plugins["allow"] == ["voice-call", "keeps"]
    assert plugins["entries"] == {"keeps": {"enabled": True, "hooks": {"allowConversationAccess": True}}}
    assert change(after, WRITTEN) == after
    removed = change(after, None)
    assert jsonc.parse(removed).value(removed)["plugins"] == {"allow": ["voice-call"]}


def test_hooks_of_others_stay(tmp_path: Path) -> None:
    mine = '{\n  "version": 1,\n  "hooks": {\n    "stop": [{"command": "./check.sh"}] // mine\n  }\n}\n'
    hooks = tmp_path / ".cursor" / "hooks.json"
    hooks.parent.mkdir()
    hooks.write_text(mine)
    run(tmp_path, "cursor")
    assert jsonc.parse(hooks.read_text()).value(hooks.read_text())["hooks"]["stop"] == [{"command": "./check.sh"}]
    assert hooks.with_name("hooks.json.keeps-backup").read_text() == mine
    run(tmp_path, "cursor", "--uninstall")
    assert hooks.read_text() == mine


def test_a_link_to_settings_stays_a_link(tmp_path: Path) -> None:
    kept, link = tmp_path / "dotfiles.json", tmp_path / ".cursor" / "hooks.json"
    kept.write_text("")
    link.parent.mkdir()
    link.symlink_to(kept)
    run(tmp_path, "cursor")
    assert "sessionStart" in kept.read_text()
    run(tmp_path, "cursor", "--uninstall")
    assert link.is_symlink()
    assert kept.read_text() == ""


def test_command_refuses_what_it_cannot_change(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text("{broken")
    assert "line 1 is not valid JSON" in run(tmp_path, "cursor", code=2)
    assert (tmp_path / ".cursor" / "mcp.json").read_text() == "{broken"
    assert "choose from" in run(tmp_path, "emacs", code=2)
    assert "no settings of a project" in run(tmp_path, "openclaw", "--project", code=2)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('[mcp_servers.keeps]\ncommand = "mine"\n')
    assert "exists" in run(tmp_path, "codex", code=1)
    assert not (tmp_path / ".codex" / "hooks.json").exists()

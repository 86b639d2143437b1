"""The project of a folder: the same for worktrees, forks, clones and renamed folders of one repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from keeps.sources.coding.projects import project_of, remote_identity
from tests.coding.written import git, repository


def test_worktree_fork_subfolder_and_renamed_folder_are_one_project(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    namespace = project_of(str(origin)).namespace
    git(origin, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "feature")
    git(tmp_path, "clone", "-q", str(origin), "fork")
    git(tmp_path / "fork", "commit", "-q", "--allow-empty", "-m", "Fork")
    git(tmp_path / "fork", "remote", "set-url", "origin", "https://git.example/someone/else.git")
    (tmp_path / "fork" / "src").mkdir()
    for folder in ("tree", "fork", "fork/src"):
        assert project_of(str(tmp_path / folder)).namespace == namespace, folder
    (tmp_path / "fork").rename(tmp_path / "renamed")
    assert project_of(str(tmp_path / "renamed")).namespace == namespace


def test_another_repository_is_another_project(tmp_path: Path) -> None:
    one, other = repository(tmp_path / "one"), repository(tmp_path / "other")
    assert project_of(str(one)).namespace != project_of(str(other)).namespace


def test_shallow_clone_and_repository_without_commit_are_known_by_the_remote(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    git(origin, "commit", "-q", "--allow-empty", "-m", "Second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin}", "shallow")
    empty = repository(tmp_path / "empty", commit=False)
    git(tmp_path / "shallow", "remote", "set-url", "origin", "https://user:pw@git.example/acme/ledger.git")
    git(empty, "remote", "add", "origin", "git@git.example:acme/ledger.git")
    assert project_of(str(tmp_path / "shallow")) == project_of(str(empty))
    assert project_of(str(empty)).name == "ledger"


def test_without_git_the_folder_is_the_project(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert project_of(str(tmp_path / "a")) == project_of(f"{tmp_path}/./a")
    assert project_of(str(tmp_path / "a")).namespace != project_of(str(tmp_path / "b")).namespace
    assert project_of("/gone", "https://git.example/acme/ledger") == project_of(
        "/away", "git@git.example:acme/ledger.git"
    )


@pytest.mark.parametrize(
    "address",
    [
        "https://git.example/acme/ledger",
        "https://user:token@git.example/acme/ledger.git/",
        "git@git.example:acme/ledger.git",
        "ssh://git@git.example:2222/acme/ledger.git",
        "HTTPS://Git.Example/Acme/Ledger.git",
    ],
)
def test_addresses_of_one_remote_are_the_same(address: str) -> None:
    assert remote_identity(address) == "remote git.example/acme/ledger"

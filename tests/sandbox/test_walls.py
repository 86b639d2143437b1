"""What `keeps doctor` says about the walls, and what happens where there are none."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from keeps.base.sandbox import limits as sandbox
from keeps.base.sandbox import seccomp
from keeps.doors.cli.checks import sandbox_check


@pytest.mark.parametrize(
    ("walls", "state", "finding"),
    [
        ({"namespaces": True, "landlock": 7, "seccomp": True}, "ok", "namespaces, landlock, seccomp for documents"),
        ({"namespaces": False, "landlock": 7, "seccomp": True}, "ok", "landlock, seccomp for documents"),
        ({"namespaces": True, "landlock": 0, "seccomp": True}, "note", "no Landlock"),
        ({"namespaces": True, "landlock": 7, "seccomp": False}, "note", "no seccomp"),
        ({"namespaces": False, "landlock": 0, "seccomp": False}, "note", "can use the network"),
        ({"refused": "why"}, "failed", "cannot be used: why"),
        ({}, "failed", "no answer"),
    ],
)
def test_doctor_says_which_walls_stand(walls: dict[str, Any], state: str, finding: str) -> None:
    check = sandbox_check(walls)
    assert (check.state, finding in check.finding) == (state, True), check


def test_work_is_refused_where_the_network_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without namespaces whose processor's calls are not known."""
    monkeypatch.setattr(seccomp, "_ARCHITECTURES", {})
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            sandbox._NEWIPC = 1  # noqa: SLF001  no such namespace: refused
            sandbox.confine()
        except sandbox.SandboxError as error:
            os.write(writer, json.dumps(str(error)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        assert "keep the network" in answer.read()
    os.waitpid(child, 0)

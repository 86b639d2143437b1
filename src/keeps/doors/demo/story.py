"""The demo's conversations as memories to store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from keeps.base.scope import Scope

_HEADER = re.compile(r"# (?P<tenant>\S+) (?P<user>\S+) (?P<human>\S+) (?P<agent>\S+) (?P<at>\S+)")


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: its speaker, the memory it belongs to, and its time."""

    scope: Scope
    memory: dict[str, Any]

    @property
    def message(self) -> dict[str, Any]:
        """The message as an agent stores it with its conversation."""
        return {
            "role": self.memory["role"],
            "content": self.memory["content"],
            "speaker": self.memory["metadata"]["speaker"],
            "occurred_at": self.memory["valid_from"],
        }


@cache
def story_tenants() -> frozenset[str]:
    """Return the tenants of the conversations."""
    return frozenset(turn.scope.tenant_id for turn in read_story())


def read_story() -> Iterator[Turn]:
    """Yield all turns of all conversations, in order."""
    scope, human, begun, position, session = Scope(), "", datetime.now(UTC), 0, ""
    for line in files("keeps.doors.demo").joinpath("conversations.txt").read_text(encoding="utf-8").splitlines():
        if match := _HEADER.match(line):
            scope = Scope(match["tenant"], match["user"], agent_id=match["agent"].lower())
            human, position = match["human"], 0
            begun = datetime.fromisoformat(match["at"]).replace(tzinfo=UTC)
            session = f"{begun:%Y-%m-%d}"
        elif line.strip():
            speaker, _, text = line.partition(": ")
            yield Turn(
                scope,
                {
                    "content": text,
                    "kind": "episodic",
                    "content_type": "message",
                    "session_id": session,
                    "namespace": "demo",
                    "key": f"{session}/{position}",
                    "role": "user" if speaker == human else "assistant",
                    "metadata": {"speaker": speaker},
                    "valid_from": begun + timedelta(seconds=30 * position),
                },
            )
            position += 1

"""Random things to store, and a plain model of what is stored: for tests that nothing which is given is lost."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

USERS, AGENTS, RUNS, APPS = ("alice", "bob"), (None, "planner", "coder"), (None, "run1", "run2"), (None, "shop", "blog")
TEXTS = (
    "The user prefers short answers.",
    " blanks around \n",
    "e\u0301 is not \u00e9, nor ｅ",
    "שלום \u202babc\u202c עולם",
    "👩‍👩‍👧‍👦 and 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "zero\u200bwidth\ufeff and \u2028 lines \u2029",
    "not NUL: \\u0000 \\x00 %00",
    "'; DROP TABLE keeps.memories; --",
    '<script>alert("1")</script> & {"json": [1]} ${x} {{x}} %s',
    "private \ue000, none \uffff, far \U0010fffd",
    "control \x01\x1f\x7f\x85",
    "ไทย नमस्ते 漢字 ﷽",
)
VALUES: tuple[Any, ...] = (True, 0, 1, -1.5, 1e-7, 2**53 + 1, "", *TEXTS[2:], [], {}, [[None]], {"": {"ü": [1, None]}})
START = datetime(2026, 1, 1, tzinfo=UTC)
MEMORY_FIELDS = (
    "content kind content_type namespace key value tags importance metadata visibility source agent_id session_id"
    " expires_at valid_from role trigger_condition procedure_type"
).split()
ATTRIBUTES = (
    "kind content_type tags importance metadata visibility source agent_id session_id role trigger_condition"
    " procedure_type"
).split()


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON: 1 is not true."""
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


@dataclass
class Given:
    """One write: whose it is, and the fields that the call names."""

    user: str
    agent: str | None
    fields: dict[str, Any]


class Picker:
    """Random writes from one seed, on few names, so that they meet."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def some(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def often(self, probability: float = 0.4) -> bool:
        return self.random.random() < probability

    def metadata(self) -> dict[str, Any]:
        return {self.some("a", "ключ", "", "a.b", "$ne"): self.some(None, *VALUES) for _ in range(self.some(0, 1, 3))}

    def memory(self, names: frozenset[str] = frozenset(MEMORY_FIELDS)) -> Given:
        """Return a memory of one of the users, with some of the fields `names`."""
        fields: dict[str, Any] = {
            "content_type": self.some("fact", "preference"),
            "value": self.some(*VALUES),
            "tags": self.some([], ["t"], ["a", "b"]),
            "importance": self.some(0.0, 0.25, 1.0),
            "metadata": self.metadata(),
            "visibility": self.some("private", "tenant"),
            "source": self.some("chat", TEXTS[3]),
            "session_id": self.some("run1", "run2", "run ünï"),
            "expires_at": START + timedelta(days=self.some(36_000, 40_000)),
            "valid_from": START + timedelta(days=self.some(0, 1, 2)),
            "role": self.some("user", "assistant"),  # a tool that contradicts a user waits in the inbox
            "trigger_condition": self.some(*TEXTS),
            "procedure_type": self.some("system_prompt", "few_shot_example"),
            "kind": self.some("semantic", "procedural"),
            "agent_id": self.some("planner", "coder"),
        }
        fields = {name: value for name, value in fields.items() if name in names and self.often(0.3)}
        if "metadata" in names and self.often(0.3):
            fields["metadata"] = {**fields.get("metadata", {}), "app_id": self.some("shop", "blog")}
        if {"namespace", "key"} <= names and self.often(0.5):
            fields |= {"namespace": self.some("n", "m"), "key": self.some("k", *TEXTS[1:4])}
        return Given(self.some(*USERS), self.some(*AGENTS), {"content": self.some(*TEXTS[:5]), **fields})


@dataclass
class Memories:
    """What is stored, by what makes a memory one: its key, or its words and whom they belong to."""

    stored: dict[tuple[Any, ...], dict[str, Any]] = field(default_factory=dict[tuple[Any, ...], dict[str, Any]])

    def write(self, given: Given) -> tuple[Any, ...]:
        """Store as the documentation says (docs/layers.md); return the place."""
        new = given.fields
        place = self.place(given)
        held = self.stored.get(place)
        if held is None:
            begun: dict[str, Any] = {"kind": "semantic", "content_type": "fact", "tags": [], "metadata": {}}
            begun |= {"visibility": "private", "agent_id": given.agent}
            self.stored[place] = {**begun, **new}
            return place
        kept = {name: new[name] for name in ATTRIBUTES if name in new}
        if same(held["content"], new["content"]) and same(held.get("value"), new.get("value", held.get("value"))):
            if "expires_at" in new:
                kept["expires_at"] = new["expires_at"]
            if "valid_from" in new and new["valid_from"] < held.get("valid_from", datetime.max.replace(tzinfo=UTC)):
                kept["valid_from"] = new["valid_from"]
            held |= kept
            return place
        if "valid_from" in new and new["valid_from"] < held.get("valid_from", datetime.max.replace(tzinfo=UTC)):
            return place  # an older truth: it stands in the history
        for name in ("content", "value", "expires_at", "valid_from"):
            held.pop(name, None)
            if name in new:
                held[name] = new[name]
        held |= kept
        return place

    def place(self, given: Given) -> tuple[Any, ...]:
        new = given.fields
        if "key" in new:
            return given.user, new["namespace"], new["key"]
        kind = new.get("kind", "semantic")
        skill = tuple(new.get(name) for name in ("role", "trigger_condition", "procedure_type"))
        app = new.get("metadata", {}).get("app_id")
        owner = new.get("agent_id", given.agent), new.get("session_id"), app
        place = (given.user, new.get("namespace"), new["content"], kind, skill if kind == "procedural" else None, owner)
        while place in self.stored and not self._meets(self.stored[place], new, app):
            place = (*place, "twin")
        return place

    @staticmethod
    def _meets(held: Mapping[str, Any], new: Mapping[str, Any], app: Any) -> bool:
        published = new.get("visibility") == "tenant" and held["visibility"] == "private"
        return not published and held["metadata"].get("app_id") == app

    def of(self, user: str) -> list[dict[str, Any]]:
        return [fields for place, fields in self.stored.items() if place[0] == user]


def shown(memory: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields of a stored memory as they were given."""
    found = {name: getattr(memory, name) for name in names}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

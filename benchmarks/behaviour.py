"""Behaviour on 30 scenarios (isolation, deletion, updates, order, unicode), through the real engine.

    keeps bench behaviour --data ../shared/bench

Each scenario gets a tenant of its own; what it says of a user is that user's. Keys are keys, so writing one again
replaces it.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import quality, temporary_folder
from keeps import Scope

TARGET = 84
DEFAULT_USER = "default"


def run(data: Path, *, as_json: bool, home: Path | None) -> int:
    """Print what passed; 1 where fewer than 84 of 86 checks did."""
    if not (data / "benchlib.py").is_file():
        print(f"no scorers in {data}: give the folder that holds benchlib.py by --data", file=sys.stderr)
        return 2
    sys.path.insert(0, str(data))
    scenarios = importlib.import_module("behaviour_scenarios")
    names = iter(name for name, _ in scenarios.load())
    with temporary_folder("behaviour") as temporary, quality.Engine(home or temporary) as engine:
        found = scenarios.run(lambda: _Adapter(engine, next(names)))
    passed, checks = sum(each[0] for each in found.values()), sum(each[1] for each in found.values())
    if as_json:
        print(json.dumps({"passed": passed, "checks": checks, "scenarios": found}))
    else:
        for name, (good, asked, _) in found.items():
            if good < asked:
                print(f"  {name}: {good} of {asked}")
        print(f"{passed} of {checks} checks")
    return 0 if passed >= TARGET else 1


class _Adapter:
    """The calls of the scenarios, on one tenant."""

    def __init__(self, engine: Any, name: str) -> None:
        self._call = engine._call
        self._keeps = engine._keeps
        self._tenant = name
        self._owners: dict[str, str] = {}

    def write(self, key: str, content: str, step: dict[str, Any]) -> None:
        user = _user(step)
        self._owners[key] = user
        memory = {"content": content, "namespace": "scenario", "key": key, "kind": step.get("memory_type", "semantic")}
        self._call(self._memory(user).remember(**memory))

    def search(self, query: str, limit: int, step: dict[str, Any]) -> list[str]:
        result = self._call(self._memory(_user(step)).recall(query, limit=limit))
        return [hit.memory.content for hit in result.hits]

    def read(self, key: str) -> str:
        """Return an empty text where nothing is stored: the scenarios read texts, and take None for a failure of the
        reader."""
        found = self._call(self._memory(self._owners.get(key, DEFAULT_USER)).find("scenario", key))
        return found.content if found else ""

    def delete(self, key: str) -> None:
        self._call(self._memory(self._owners.get(key, DEFAULT_USER)).forget(namespace="scenario", key=key))

    def _memory(self, user: str) -> Any:
        return self._keeps.memory(Scope(self._tenant, user))


def _user(step: dict[str, Any]) -> str:
    named = (
        step.get("user_id") or (step.get("metadata") or {}).get("user_id") or (step.get("filters") or {}).get("user_id")
    )
    return str(named or DEFAULT_USER)

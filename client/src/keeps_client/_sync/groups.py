# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""Groups of methods: `memory.graph` offers those of the graph, `memory.state` those of state."""

from __future__ import annotations

from typing import Any

from keeps_client._sync.databases import Databases
from keeps_client._sync.folders import Folders
from keeps_client._sync.graph import Graph
from keeps_client._sync.items import Items
from keeps_client._sync.knowledge import Knowledge
from keeps_client._sync.plans import Plans
from keeps_client._sync.providers import Providers
from keeps_client._sync.sessions import Sessions
from keeps_client._sync.tasks import Tasks
from keeps_client._sync.tools import Tools
from keeps_client._sync.transcripts import Transcripts
from keeps_client._sync.working import Working


class State(Working, Tasks, Plans, Sessions, Transcripts, Items):
    """Working memory, task contexts, plans, sessions, transcripts, and items."""


GROUPS: dict[str, type] = {
    "databases": Databases,
    "documents": Folders,
    "graph": Graph,
    "knowledge": Knowledge,
    "providers": Providers,
    "state": State,
    "tools": Tools,
}


class Group:
    """The methods of a memory that belong to one group, with the same names."""

    def __init__(self, memory: object, name: str) -> None:
        self._memory = memory
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name not in methods_of(self._name):
            raise AttributeError(f"{self!r} has no method {name!r}; it has {', '.join(methods_of(self._name))}")
        return getattr(self._memory, name)

    def __dir__(self) -> list[str]:
        return methods_of(self._name)

    def __repr__(self) -> str:
        return f"<{self._name} of {self._memory!r}>"


def methods_of(group: str) -> list[str]:
    """Return the names of the methods of a group."""
    # Folders has the graph's methods as well, because it calls them.
    others = set(dir(Graph)) if group == "documents" else set[str]()
    return [name for name in dir(GROUPS[group]) if not name.startswith("_") and name not in others]

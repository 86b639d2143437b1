"""The type of a memory, in process or over HTTP, for helpers and integrations."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import cast

from keeps_client.memory.admin import Admin
from keeps_client.memory.context import Context
from keeps_client.memory.conversations import Conversations
from keeps_client.memory.databases import Databases
from keeps_client.memory.events import Events
from keeps_client.memory.folders import Folders
from keeps_client.memory.graph import Graph
from keeps_client.memory.groups import GROUPS, Group, State, methods_of
from keeps_client.memory.inbox import Inbox
from keeps_client.memory.knowledge import Knowledge
from keeps_client.memory.memories import Memories
from keeps_client.memory.operations import Operations
from keeps_client.memory.providers import Providers
from keeps_client.memory.requests import Requests
from keeps_client.memory.spaces import Spaces
from keeps_client.memory.tools import Tools
from keeps_client.memory.why import Why


class Memory(
    Memories,
    Knowledge,
    State,
    Conversations,
    Folders,
    Databases,
    Tools,
    Context,
    Events,
    Providers,
    Operations,
    Inbox,
    Why,
    Requests,
    Spaces,
):
    """All methods of a user. `admin` has those of an administrator.

    Most agents need `remember`, `recall`, `context` and `store_exchange`. The rest is in groups, such as `graph` and
    `state`; each of its methods is also a method of the memory itself.
    """

    def __dir__(self) -> list[str]:
        """Return the names without those that are in groups."""
        grouped = {name for group in GROUPS for name in methods_of(group)}
        return [name for name in super().__dir__() if name not in grouped]

    @property
    def state(self) -> State:
        """Working memory, task contexts, plans, sessions, transcripts, and items."""
        return cast("State", Group(self, "state"))

    @property
    def documents(self) -> Folders:
        """Documents that are searched and cited."""
        return cast("Folders", Group(self, "documents"))

    @property
    def graph(self) -> Graph:
        """Entities and relations."""
        return cast("Graph", Group(self, "graph"))

    @property
    def databases(self) -> Databases:
        """Databases that are asked by SQL or in plain language."""
        return cast("Databases", Group(self, "databases"))

    @property
    def knowledge(self) -> Knowledge:
        """Semantic, episodic and procedural memory by CoALA's names."""
        return cast("Knowledge", Group(self, "knowledge"))

    @property
    def tools(self) -> Tools:
        """Tools that agents can call."""
        return cast("Tools", Group(self, "tools"))

    @property
    def providers(self) -> Providers:
        """Memory providers beside the database."""
        return cast("Providers", Group(self, "providers"))

    @abstractmethod
    def idempotent(self, key: str) -> AbstractContextManager[None]:
        """Run each write inside the block once under this key, for 24 hours.

        Running the block again after a failure completes it: writes that were done return their first answers. A write
        and its record are one transaction. Each write is identified by its arguments: the same key with other arguments
        is another write.

            with memory.idempotent("order-77"):
                await memory.remember("Alice ordered a bicycle.")

        Args:
            key: 1 to 128 visible ASCII characters, such as the id of the processed message.

        Raises:
            ValidationFailedError: The key is invalid.
        """

    @property
    @abstractmethod
    def admin(self) -> Admin: ...

    @abstractmethod
    def for_user(self, user_id: str) -> Memory:
        """Return another user's memory, over the same connections."""

    @abstractmethod
    def for_space(self, space_id: str) -> Memory:
        """Return the memory of a space that you are a member of, over the same connections.

        All methods work in it: what is stored belongs to the space, and all members can find it.
        """

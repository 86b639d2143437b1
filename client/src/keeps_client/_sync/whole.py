# Generated from keeps_client/memory by tools/make_sync.py; change that instead.
"""The type of a memory, in process or over HTTP, for helpers and integrations."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager

from keeps_client._sync.admin import Admin
from keeps_client._sync.context import Context
from keeps_client._sync.conversations import Conversations
from keeps_client._sync.databases import Databases
from keeps_client._sync.events import Events
from keeps_client._sync.folders import Folders
from keeps_client._sync.items import Items
from keeps_client._sync.knowledge import Knowledge
from keeps_client._sync.memories import Memories
from keeps_client._sync.operations import Operations
from keeps_client._sync.plans import Plans
from keeps_client._sync.providers import Providers
from keeps_client._sync.sessions import Sessions
from keeps_client._sync.tasks import Tasks
from keeps_client._sync.tools import Tools
from keeps_client._sync.transcripts import Transcripts
from keeps_client._sync.working import Working


class Memory(
    Memories,
    Knowledge,
    Working,
    Tasks,
    Plans,
    Sessions,
    Transcripts,
    Items,
    Conversations,
    Folders,
    Databases,
    Tools,
    Context,
    Events,
    Providers,
    Operations,
):
    """All methods of a user. `admin` has those of an administrator."""

    @abstractmethod
    def idempotent(self, key: str) -> AbstractContextManager[None]:
        """Do each write inside the block once under this key, for 24 hours.

        Running the block again after a failure completes it: writes that were done return their first answers. A write
        and its
        record are one transaction. Each write is identified by its arguments: the same key with other arguments is
        another
        write.

            with memory.idempotent("order-77"):
                memory.remember("Alice ordered a bicycle.")

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

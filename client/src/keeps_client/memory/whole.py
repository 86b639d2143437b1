"""The type of a memory, in process or over HTTP, for helpers and integrations."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager

from keeps_client.memory.admin import Admin
from keeps_client.memory.context import Context
from keeps_client.memory.conversations import Conversations
from keeps_client.memory.databases import Databases
from keeps_client.memory.events import Events
from keeps_client.memory.folders import Folders
from keeps_client.memory.items import Items
from keeps_client.memory.knowledge import Knowledge
from keeps_client.memory.memories import Memories
from keeps_client.memory.operations import Operations
from keeps_client.memory.plans import Plans
from keeps_client.memory.providers import Providers
from keeps_client.memory.sessions import Sessions
from keeps_client.memory.tasks import Tasks
from keeps_client.memory.tools import Tools
from keeps_client.memory.transcripts import Transcripts
from keeps_client.memory.working import Working


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

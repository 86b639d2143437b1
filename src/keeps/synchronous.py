"""`keeps.Memory`: a user's memory without await, in this process."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, Self, TypeVar

from keeps.background import BACKGROUND
from keeps.base.defaults import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from keeps.base.scope import Scope
from keeps.base.settings import load_settings
from keeps.engine import Keeps, LocalAdmin
from keeps_client._sync.admin import Admin
from keeps_client._sync.whole import Memory as AnyMemory
from keeps_client.endpoint import AnswerT, Endpoint
from keeps_client.errors import UnavailableError

if TYPE_CHECKING:
    from keeps.models.chat import ChatModel
    from keeps.models.embedder import Embedder
    from keeps_client.models import DocumentReceipt, Event, ImportSummary, NewDocument

ResultT = TypeVar("ResultT")


class Run(Protocol):
    """Awaits the result of a call in the background loop."""

    def __call__(self, call: Callable[[], Awaitable[ResultT]], /) -> ResultT: ...


class Memory(AnyMemory):
    """The memory of one user, without await: the methods and results of the asynchronous library.

    memory = Memory(user="alice")
    memory.remember("I'm allergic to peanuts.")
    print(memory.recall("What must she not eat?")[0].text)

    It works in scripts, notebooks, threads and inside a running event loop, which it blocks meanwhile: for a server use
    `Keeps.open`. All objects of a process share one database and one model. Close it with `close()` or `with`; the end
    of the program closes it, too.

    Args:
        user: The user whose memory it is; else KEEPS_USER_ID, else `default`, as for the commands.
        tenant: The tenant; else KEEPS_TENANT_ID, else the default one, as for the commands.
        agent: The agent that acts for the user.
        home: The folder of the database; else KEEPS_HOME, else `~/.keeps`.
        database_url: A PostgreSQL of your own instead of the embedded one.
        embedder, chat: Models instead of those that the settings name.

    Raises:
        UnavailableError: The database cannot be used safely; the message says what to do.
        ValidationFailedError: A name or a setting is invalid, or the process is a fork of one that uses Keeps.
    """

    def __init__(
        self,
        user: str | None = None,
        *,
        tenant: str | None = None,
        agent: str | None = None,
        home: Path | str | None = None,
        database_url: str | None = None,
        embedder: Embedder | None = None,
        chat: ChatModel | None = None,
    ) -> None:
        scope = Scope(
            tenant or os.environ.get("KEEPS_TENANT_ID") or DEFAULT_TENANT_ID,
            user or os.environ.get("KEEPS_USER_ID") or DEFAULT_USER_ID,
            agent,
        )
        models = {name: model for name, model in (("embedder", embedder), ("chat", chat)) if model is not None}
        keeps = BACKGROUND.run(lambda: BACKGROUND.take(load_settings(home=home, database_url=database_url), **models))
        self._memory = keeps.memory(scope)
        self._open = [True]  # Shared with the memories of other users.

    def __repr__(self) -> str:
        """Say whose memory it is."""
        return repr(self._memory).replace("LocalMemory", "Memory", 1)

    @property
    def tenant_id(self) -> str:
        """Return the tenant whose memory it is."""
        return self._memory.scope.tenant_id

    @property
    def user_id(self) -> str:
        """Return the user whose memory it is."""
        return self._memory.scope.user_id

    @property
    def engine(self) -> Keeps:
        """Return the open Keeps, for asynchronous code: it belongs to the loop `engine.loop`."""
        return self._memory.keeps

    def close(self) -> None:
        """Close the database, if no other object of this process uses it. A second call does nothing."""
        if self._open:
            self._open.clear()
            BACKGROUND.run(lambda: BACKGROUND.leave(self._memory.keeps))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def admin(self) -> Admin:
        """Administration of the tenant."""
        return BlockingAdmin(self._run, self._memory.admin)

    def idempotent(self, key: str) -> AbstractContextManager[None]:
        """Do each write inside the block once under this key, for 24 hours."""
        return self._memory.idempotent(key)

    def for_user(self, user_id: str) -> Memory:
        """Return another user's memory in the same database, which closes with this one."""
        other = copy(self)
        other._memory = self._memory.for_user(user_id)
        return other

    def for_space(self, space_id: str) -> Memory:
        """Return the memory of a space in the same database, which closes with this one."""
        other = copy(self)
        other._memory = self._memory.for_space(space_id)
        return other

    def export_space_lines(self, space_id: str) -> list[str]:
        """Return everything in a space, and its members, as JSON lines. For curators."""
        return self._run(lambda: self._memory.export_space_lines(space_id))

    def warm(self) -> None:
        """Load the models now, which otherwise takes one to three seconds of the first recall or context."""
        self._run(self._memory.keeps.warm)

    def subscribe(
        self, *, after: int | None = None, types: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> Iterator[Event]:
        """Yield events as they happen, in order, without end: those after number `after`, or new ones.

        None is lost or repeated: store the `sequence` of the last one you handled, and subscribe after it.
        """
        events = self._memory.subscribe(after=after, types=types, kinds=kinds)
        while (event := self._run(lambda: anext(events, None))) is not None:
            yield event

    def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        return self._run(lambda: self._memory._do(endpoint, **fields))  # pyright: ignore[reportPrivateUsage]

    def _upload(self, file: BinaryIO, name: str, new: NewDocument, media_type: str | None) -> DocumentReceipt:
        return self._run(lambda: self._memory._upload(file, name, new, media_type))  # pyright: ignore[reportPrivateUsage]

    def _run(self, call: Callable[[], Awaitable[ResultT]]) -> ResultT:
        if not self._open:
            raise UnavailableError("this Memory is closed; make a new one")
        return BACKGROUND.run(call)


class BlockingAdmin(Admin):
    """Administration in process, without await."""

    def __init__(self, run: Run, admin: LocalAdmin) -> None:
        self._run = run
        self._admin = admin

    def export_lines(self, *, user_id: str | None = None, tenant_id: str | None = None) -> list[str]:
        """Return the tenant's data, or one user's, as JSON lines."""
        return self._run(lambda: self._admin.export_lines(user_id=user_id, tenant_id=tenant_id))

    def import_lines(self, lines: Iterable[str], *, dry_run: bool = False) -> ImportSummary:
        """Store exported lines with their ids; existing data stays as it is. With `dry_run` nothing is stored."""
        return self._run(lambda: self._admin.import_lines(lines, dry_run=dry_run))

    def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        return self._run(lambda: self._admin._do(endpoint, **fields))  # pyright: ignore[reportPrivateUsage]

"""Keeps in process: open it, get the memory of a scope, remember and recall."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn, Self

from keeps.base.scope import Scope, as_user, check_actor, in_space
from keeps.store.db.repeats import Request, one_write, repeatable
from keeps_client.endpoint import AnswerT, Endpoint
from keeps_client.errors import ValidationFailedError
from keeps_client.idempotency import checked_key
from keeps_client.memory.admin import Admin
from keeps_client.memory.whole import Memory
from keeps_client.validation import event_types, memory_kinds, named, named_session, named_space, position_of

if TYPE_CHECKING:
    from keeps.base.cache.redis import RedisCache
    from keeps.base.telemetry.metrics import Metrics
    from keeps.memory.indexing.service import IndexStatus
    from keeps.part import Core, Handler, ServiceT
    from keeps.providers.contract import MemoryProvider
    from keeps.store.db.session import Database
    from keeps_client.models import DocumentReceipt, Event, ImportSummary, NewDocument


HOW_TO_OPEN = "write `async with Keeps.open() as keeps:`, or `keeps = await Keeps.open()`"


@dataclass(eq=False, repr=False)
class Keeps:
    """An open Keeps: one database, any number of scopes. Created by keeps.bootstrap.

    async with Keeps.open() as keeps:
        memory = keeps.memory(Scope(tenant_id="acme", user_id="alice"))

    Attributes:
        handlers: The function that handles each endpoint.
        loop: The event loop in which it was opened and is used.
    """

    core: Core
    handlers: Mapping[Endpoint[Any, Any, Any], Handler]
    loop: asyncio.AbstractEventLoop

    @staticmethod
    def open(home: Path | str | None = None, *, database_url: str | None = None, **overrides: Any) -> OpeningKeeps:
        """Open the embedded database under `home` (KEEPS_HOME), or the one at `database_url` (KEEPS_DATABASE_URL).

        Use it as `async with Keeps.open() as keeps`, or `keeps = await Keeps.open()` and `await keeps.close()`.
        Raises UnavailableError, which says what to do, when the database cannot be used safely.
        """
        return OpeningKeeps(home, database_url, overrides)

    def __repr__(self) -> str:
        """Omit the services, whose addresses contain passwords."""
        return f"<Keeps, open, {len(self.handlers)} operations>"

    def memory(self, scope: Scope) -> LocalMemory:
        """Return the memory of `scope`. Cheap; call it wherever you need it.

        Raises ForbiddenError for a user id that owns shared data, since ids of users come from outside.
        """
        if not isinstance(scope, Scope):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValidationFailedError(
                f"memory() needs a Scope, not {type(scope).__name__}: keeps.memory(Scope(tenant_id={str(scope)[:64]!r},"
                " user_id=…))"
            )
        if scope.acting_user is None:
            check_actor(scope)
        return LocalMemory(self, scope)

    def service(self, kind: type[ServiceT]) -> ServiceT:
        """Return the service of a class, such as `keeps.service(EventService)`. Raises LookupError."""
        return self.core.get(kind)

    async def warm(self) -> None:
        """Load the models now, which otherwise takes one to three seconds of the first recall or context."""
        from keeps.memory.context.router import ContextRouter

        self.check_loop()
        await self.service(ContextRouter).warm()

    def check_loop(self) -> None:
        """Raise ValidationFailedError in any event loop but the one in which this Keeps was opened."""
        if asyncio.get_running_loop() is not self.loop:
            raise ValidationFailedError(
                "this Keeps was opened in another event loop, for example by an earlier asyncio.run(): open one in"
                " each loop, or"
                " pass the call to its loop with asyncio.run_coroutine_threadsafe(…, keeps.loop)"
            )

    async def status(self) -> IndexStatus:
        """Return the state of the index: model, rows that wait for a vector, lag, counts."""
        from keeps.memory.indexing.service import Indexer

        return await self.service(Indexer).status()

    async def server_version(self) -> str:
        """Return the versions of PostgreSQL and pgvector, for display."""
        from keeps.memory.indexing.service import Indexer

        return await self.service(Indexer).server_version()

    @property
    def database(self) -> Database:
        return self.core.database

    @property
    def metrics(self) -> Metrics:
        """Prometheus metrics; `metrics.registry` is a registry of prometheus_client."""
        return self.core.metrics

    @property
    def cache(self) -> RedisCache | None:
        """The Redis or Valkey cache; None unless one is configured."""
        return self.core.cache

    @property
    def admin_url(self) -> str | None:
        """Administrator URL of the embedded database; None for a database of your own."""
        return self.core.server.url("postgres") if self.core.server else None

    async def close(self) -> None:
        """Finish running work and close the database, which stops an embedded server that nobody else uses.

        All parts are closed, even if one of them fails to.
        """
        await self.core.stack.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class LocalMemory(Memory):
    """The memory of one scope, in process: the methods of the SDK's `MemoryClient`."""

    def __init__(self, keeps: Keeps, scope: Scope) -> None:
        self.keeps = keeps
        self.scope = scope

    def __repr__(self) -> str:
        """Say whose memory it is."""
        agent = f", agent {self.scope.agent_id!r}" if self.scope.agent_id else ""
        return f"<LocalMemory tenant {self.scope.tenant_id!r}, user {self.scope.user_id!r}{agent}>"

    @property
    def admin(self) -> LocalAdmin:
        """Administration of the tenant. Other tenants, and keys with more roles, need the role in the scope."""
        return LocalAdmin(self.keeps, self.scope)

    def idempotent(self, key: str) -> AbstractContextManager[None]:
        """Run each write inside the block once under this key, for 24 hours: see `Memory.idempotent`."""
        return repeatable(Request(checked_key(key), b"", writes_once=False))

    def for_user(self, user_id: str) -> LocalMemory:
        """Return another user's memory in the same engine."""
        return LocalMemory(self.keeps, as_user(self.scope, user_id))

    def for_space(self, space_id: str) -> LocalMemory:
        """Return the memory of a space that the user is a member of, in the same engine."""
        return LocalMemory(self.keeps, in_space(self.scope, named_space(space_id)))

    async def export_space_lines(self, space_id: str) -> list[str]:
        """Return everything in a space, and its members, as JSON lines. For curators."""
        from keeps.memory.spaces.service import SpaceService
        from keeps.memory.transfer.service import TransferService

        owner = await self.keeps.service(SpaceService).exported(self.scope, named_space(space_id))
        return [line.rstrip("\n") async for line in self.keeps.service(TransferService).export_owner(owner)]

    async def subscribe(
        self, *, after: int | None = None, types: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncIterator[Event]:
        """Yield events as they happen, in order and endlessly: those after number `after`, or new ones.

        None is lost or repeated: store the `sequence` of the last one you handled, and subscribe after it.
        """
        from keeps.memory.spaces.service import SpaceService
        from keeps.store.events.service import EventService

        await self.keeps.service(SpaceService).enter(self.scope, writes=False)
        start = None if after is None else position_of(after)
        events = self.keeps.service(EventService).subscribe(
            self.scope, after=start, types=event_types(types), kinds=memory_kinds(kinds)
        )
        async for event in events:
            yield event

    async def provider(self, provider_id: str, *, session_id: str | None = None) -> MemoryProvider:
        """Return one provider for direct use: `working`, `postgres`, `vector`, `graph`, or an installed one."""
        from keeps.memory.providers.service import ProviderService

        name, session = named("provider_id", provider_id, 100), named_session(session_id)
        return await self.keeps.service(ProviderService).provider(self.scope, name, session)

    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        self.keeps.check_loop()
        params, body = endpoint.split(fields)
        with one_write(endpoint.name, self.scope.agent_id, params, body):
            return await self.keeps.handlers[endpoint](self.scope, params, body)

    async def _upload(self, file: BinaryIO, name: str, new: NewDocument, media_type: str | None) -> DocumentReceipt:
        from keeps.memory.spaces.service import SpaceService
        from keeps.sources.documents.service import DocumentService

        await self.keeps.service(SpaceService).enter(self.scope, writes=True)
        return await self.keeps.service(DocumentService).add(
            self.scope, file.fileno(), name, new, media_type=media_type
        )


class LocalAdmin(Admin):
    """Administration in process."""

    def __init__(self, keeps: Keeps, scope: Scope) -> None:
        self._keeps = keeps
        self._scope = scope

    async def export_lines(self, *, user_id: str | None = None, tenant_id: str | None = None) -> list[str]:
        """Return the tenant's data, or one user's, as JSON lines."""
        from keeps.memory.transfer.service import TransferService
        from keeps.store.access.part import scope_of_tenant

        scope = self._scope if tenant_id is None else scope_of_tenant(self._scope, tenant_id)
        return [line.rstrip("\n") async for line in self._keeps.service(TransferService).export(scope, user_id)]

    async def import_lines(self, lines: Iterable[str], *, dry_run: bool = False) -> ImportSummary:
        """Store exported lines with their ids; existing data stays as it is. With `dry_run` nothing is stored."""
        from keeps.memory.transfer.service import TransferService

        return await self._keeps.service(TransferService).import_lines(self._scope, lines, dry_run=dry_run)

    async def _do(self, endpoint: Endpoint[AnswerT, Any, Any], /, **fields: Any) -> AnswerT:
        self._keeps.check_loop()
        params, body = endpoint.split(fields)
        with one_write(endpoint.name, self._scope.agent_id, params, body):
            return await self._keeps.handlers[endpoint](self._scope, params, body)


class OpeningKeeps:
    """A Keeps that is being opened: await it, or use it as `async with`."""

    def __init__(self, home: Path | str | None, database_url: str | None, overrides: dict[str, Any]) -> None:
        self._arguments = (home, database_url, overrides)
        self._opened: Keeps | None = None

    def __await__(self) -> Generator[Any, None, Keeps]:
        return self._open().__await__()

    async def _open(self) -> Keeps:
        from keeps.base.settings import load_settings
        from keeps.bootstrap import open_keeps

        home, database_url, overrides = self._arguments
        return await open_keeps(load_settings(home=home, database_url=database_url), **overrides)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"this Keeps is not open yet, so it has no {name!r}: {HOW_TO_OPEN}")

    def __repr__(self) -> str:
        return f"<Keeps, not open yet: {HOW_TO_OPEN}>"

    def __enter__(self) -> NoReturn:
        raise TypeError(f"Keeps is async: {HOW_TO_OPEN}")

    def __exit__(self, *raised: object) -> None:
        """Make `with` reach `__enter__`."""

    async def __aenter__(self) -> Keeps:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()

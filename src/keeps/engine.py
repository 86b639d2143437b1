"""Keeps, in process: open it, take a memory for a scope, remember and recall."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from keeps.db.repeats import Request, one_write, repeatable
from keeps.scope import Scope
from keeps_client.endpoint import AnswerT, Endpoint
from keeps_client.errors import ValidationFailedError
from keeps_client.idempotency import checked_key
from keeps_client.memory.admin import Admin
from keeps_client.memory.whole import Memory
from keeps_client.validation import event_types, memory_kinds, named, named_session, position_of

if TYPE_CHECKING:
    from keeps.access.keys import KeyService
    from keeps.cache.redis import RedisCache
    from keeps.context.router import ContextRouter
    from keeps.context.sources import SourceService
    from keeps.conversations.service import ConversationService
    from keeps.databases.service import DatabaseService
    from keeps.db.session import Database
    from keeps.documents.service import DocumentService
    from keeps.events.service import EventService
    from keeps.forgetting import Forgetting
    from keeps.graph.reading import Reader
    from keeps.graph.service import GraphService
    from keeps.indexing.service import Indexer, IndexStatus
    from keeps.insights.service import InsightService
    from keeps.items.service import ItemService
    from keeps.jobs.worker import JobQueue, Worker
    from keeps.knowledge.service import KnowledgeService
    from keeps.lifecycle.service import Lifecycle
    from keeps.memories.census import Census
    from keeps.memories.keys import MemoryKeys
    from keeps.memories.service import MemoryService
    from keeps.operations.service import OperationService
    from keeps.plans.service import PlanService
    from keeps.providers.contract import MemoryProvider
    from keeps.providers.service import ProviderService
    from keeps.providers.shown import ShownEntries
    from keeps.recall.access import AccessBuffer
    from keeps.recall.service import RecallService
    from keeps.sessions.service import SessionService
    from keeps.tasks.service import TaskService
    from keeps.telemetry.metrics import Metrics
    from keeps.tools.service import ToolService
    from keeps.transcripts.service import TranscriptService
    from keeps.transfer.erasure import TenantService
    from keeps.transfer.service import TransferService
    from keeps.webhooks.service import WebhookService
    from keeps.working.service import WorkingService
    from keeps_client.models import DocumentReceipt, Event, ImportSummary, NewDocument

Handler = Callable[[Scope, Any, Any], Awaitable[Any]]
"""Does an operation. Takes who asks, the parameters and the body, both valid."""


@dataclass(eq=False, kw_only=True)
class Keeps:
    """An open memory: one database, any number of scopes. Made by keeps.bootstrap.

    async with Keeps.open() as keeps:
        memory = keeps.memory(Scope(tenant_id="acme", user_id="alice"))
    """

    database: Database
    metrics: Metrics
    """For Prometheus; `metrics.registry` is a registry of prometheus_client."""
    cache: RedisCache | None
    """Redis or Valkey, where one is configured."""
    admin_url: str | None
    """PostgreSQL's administrator, of an embedded database only."""
    access: AccessBuffer
    memories: MemoryService
    memory_keys: MemoryKeys
    census: Census
    forgetting: Forgetting
    recall: RecallService
    knowledge: KnowledgeService
    indexer: Indexer
    working: WorkingService
    sessions: SessionService
    transcripts: TranscriptService
    items: ItemService
    plans: PlanService
    tasks: TaskService
    providers: ProviderService
    shown: ShownEntries
    graph: GraphService
    reader: Reader
    documents: DocumentService
    databases: DatabaseService
    tools: ToolService
    events: EventService
    webhooks: WebhookService
    keys: KeyService
    tenants: TenantService
    transfer: TransferService
    conversations: ConversationService
    sources: SourceService
    router: ContextRouter
    insights: InsightService
    operations: OperationService
    lifecycle: Lifecycle
    worker: Worker
    queue: JobQueue
    loop: asyncio.AbstractEventLoop
    """Where it was opened, and is used."""
    stack: AsyncExitStack
    """What was opened, and is closed again in turn."""
    handlers: Mapping[Endpoint[Any], Handler] = field(default_factory=dict[Endpoint[Any], Handler])
    """Who does what."""

    @staticmethod
    def open(home: Path | str | None = None, *, database_url: str | None = None, **overrides: Any) -> OpeningKeeps:
        """Open the embedded database under `home` (KEEPS_HOME), or the one at `database_url` (KEEPS_DATABASE_URL).

        Use it as `async with Keeps.open() as keeps`, or `keeps = await Keeps.open()` and `await keeps.close()`.
        Raises UnavailableError, which says what to do, when the database cannot be used safely.
        """
        return OpeningKeeps(home, database_url, overrides)

    def __repr__(self) -> str:
        """Without the services, whose addresses hold passwords."""
        return f"<Keeps, open, {len(self.handlers)} operations>"

    def memory(self, scope: Scope) -> LocalMemory:
        """The memory as `scope` sees it. Cheap; make one wherever you need it."""
        if not isinstance(scope, Scope):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValidationFailedError(
                f"memory() takes a Scope, not {type(scope).__name__}: keeps.memory(Scope(tenant_id={str(scope)[:64]!r},"
                " user_id=…)); `from keeps import Memory` is for one program"
            )
        return LocalMemory(self, scope)

    async def status(self) -> IndexStatus:
        """What the index says about itself: model, pending rows, lag, counts."""
        return await self.indexer.status()

    async def server_version(self) -> str:
        """PostgreSQL's and pgvector's versions, for people."""
        return await self.indexer.server_version()

    async def storage_bytes(self) -> int:
        """The size of the database."""
        return await self.indexer.storage_bytes()

    async def close(self) -> None:
        """Finish what is on its way and let go of the database; the last one out stops an embedded server. All of it is
        closed, also where one part fails to."""
        await self.stack.aclose()

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

    @property
    def admin(self) -> LocalAdmin:
        """What administrators do. Whoever holds the library holds the database: roles are asked of callers over
        HTTP."""
        return LocalAdmin(self.keeps, self.scope)

    def idempotent(self, key: str) -> AbstractContextManager[None]:
        """Do each write inside the block once under this key, for 24 hours: see `Memory.idempotent`."""
        return repeatable(Request(checked_key(key), b"", writes_once=False))

    def for_user(self, user_id: str) -> LocalMemory:
        """Return another user's memory in the same engine."""
        return LocalMemory(self.keeps, replace(self.scope, user_id=user_id))

    async def subscribe(
        self, *, after: int | None = None, types: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncIterator[Event]:
        """Events as they happen, in order, without end: those after number `after`, or those to come.

        None is lost or doubled: keep the `sequence` of the last one you handled, and subscribe after it.
        """
        start = None if after is None else position_of(after)
        found = self.keeps.events.subscribe(
            self.scope, after=start, types=event_types(types), kinds=memory_kinds(kinds)
        )
        async for event in found:
            yield event

    async def provider(self, provider_id: str, *, session_id: str | None = None) -> MemoryProvider:
        """One provider, to work with directly: `working`, `postgres`, `vector`, `graph`, or one that is installed."""
        name, session = named("provider_id", provider_id, 100), named_session(session_id)
        return await self.keeps.providers.provider(self.scope, name, session)

    async def _do(self, endpoint: Endpoint[AnswerT], /, **fields: Any) -> AnswerT:
        params, body = endpoint.split(fields)
        with one_write(endpoint.name, self.scope.agent_id, params, body):
            return await self.keeps.handlers[endpoint](self.scope, params, body)

    async def _upload(self, file: BinaryIO, name: str, new: NewDocument, media_type: str | None) -> DocumentReceipt:
        return await self.keeps.documents.add(self.scope, file.fileno(), name, new, media_type=media_type)


class LocalAdmin(Admin):
    """What administrators do, in process."""

    def __init__(self, keeps: Keeps, scope: Scope) -> None:
        self._keeps = keeps
        self._scope = scope

    async def export_lines(self, *, user_id: str | None = None) -> list[str]:
        """The tenant's data, or one user's, as JSON lines."""
        return [line.rstrip("\n") async for line in self._keeps.transfer.export(self._scope, user_id)]

    async def import_lines(self, lines: Iterable[str], *, dry_run: bool = False) -> ImportSummary:
        """Store exported lines with their ids. What is there already stays as it is. With `dry_run` nothing is
        stored."""
        return await self._keeps.transfer.import_lines(self._scope, lines, dry_run=dry_run)

    async def _do(self, endpoint: Endpoint[AnswerT], /, **fields: Any) -> AnswerT:
        params, body = endpoint.split(fields)
        with one_write(endpoint.name, self._scope.agent_id, params, body):
            return await self._keeps.handlers[endpoint](self._scope, params, body)


class OpeningKeeps:
    """A Keeps that is being opened: await it, or enter it."""

    def __init__(self, home: Path | str | None, database_url: str | None, overrides: dict[str, Any]) -> None:
        self._arguments = (home, database_url, overrides)
        self._opened: Keeps | None = None

    def __await__(self) -> Generator[Any, None, Keeps]:
        return self._open().__await__()

    async def _open(self) -> Keeps:
        from keeps.bootstrap import open_keeps
        from keeps.settings import load_settings

        home, database_url, overrides = self._arguments
        return await open_keeps(load_settings(home=home, database_url=database_url), **overrides)

    async def __aenter__(self) -> Keeps:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await self._opened.close()

"""A part: what the rest of the code needs to know about a noun. Its folder has one `part.py` with a `Part`.

    PART = Part("plans", make=make, endpoints=endpoints)

`make` builds the services, `endpoints` pairs endpoints with them, `jobs` and `exports` declare background work and
lines of an export. The list of all parts is `keeps.parts.PARTS`.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from uuid import UUID

from keeps.base.scope import Scope
from keeps_client.endpoint import AnswerT, BodyT, Endpoint, ParamsT

if TYPE_CHECKING:
    from keeps.base.cache.redis import RedisCache
    from keeps.base.clock import Clock
    from keeps.base.settings import Settings
    from keeps.base.telemetry.metrics import Metrics
    from keeps.models.chat import ChatModel
    from keeps.models.counted import CountedChat, CountedEmbedder, CountedReranker
    from keeps.store.costs.usage import ModelUsage
    from keeps.store.db.embedded import EmbeddedPostgres
    from keeps.store.db.session import Database
    from keeps.store.export import Export
    from keeps.store.tenants.service import Introducer

ServiceT = TypeVar("ServiceT")
Handler = Callable[[Scope, Any, Any], Awaitable[Any]]
"""Handles an operation. Takes the scope that asks, the parameters and the body, both validated."""


@dataclass(frozen=True, slots=True)
class EndpointHandler:
    """An endpoint with its handler. Made by `serves`, which checks their types."""

    endpoint: Endpoint[Any, Any, Any]
    handler: Handler


def serves(
    endpoint: Endpoint[AnswerT, ParamsT, BodyT], handler: Callable[[Scope, ParamsT, BodyT], Awaitable[AnswerT]]
) -> EndpointHandler:
    """Pair an endpoint with the handler that takes its parameters and body, and returns its answer."""
    return EndpointHandler(endpoint, handler)


@dataclass(slots=True)
class Run:
    """One run of a job over a tenant.

    Attributes:
        ends_at: Time on the monotonic clock at which the run leaves the rest to the next one.
        counts: Number of changes by name, such as `archived`.
    """

    operation_id: UUID
    tenant_id: str
    job: str
    now: datetime
    ends_at: float = math.inf
    counts: Counter[str] = field(default_factory=Counter[str])

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.ends_at


UserJob = Callable[[Scope, Run], Awaitable[None]]
Sweep = Callable[[Scope, datetime], Awaitable[int]]
"""Removes the rows of a user that are overdue at a moment, and returns their number. The job `expiry` calls it."""
Period = timedelta | Callable[["Settings"], timedelta] | None


@dataclass(frozen=True, slots=True)
class Job:
    """A background job, declared once: the engine schedules it for every tenant, and records its runs.

    Attributes:
        period: Time between two runs, or a function of the settings. None for a job that is due whenever work waits.
        undoable: True if its changes can be undone as one, from its receipt.
        run: Makes the function that does the work of one user, or of the tenant if `per_user` is False.
    """

    name: str
    period: Period
    run: Callable[[Core], UserJob]
    undoable: bool
    per_user: bool = True

    def period_by(self, settings: Settings) -> timedelta | None:
        return self.period(settings) if callable(self.period) else self.period


class Closing(Protocol):
    async def close(self) -> None: ...


ClosingT = TypeVar("ClosingT", bound=Closing)


@dataclass(slots=True, kw_only=True)
class Core:
    """The dependencies of parts: settings, database, models, metrics, users, and the services of earlier parts."""

    settings: Settings
    stack: AsyncExitStack
    clock: Clock
    zone: tzinfo
    database: Database
    server: EmbeddedPostgres | None
    """The embedded PostgreSQL; None for a database of one's own."""
    metrics: Metrics
    cache: RedisCache | None
    embedder: CountedEmbedder | None
    reranker: CountedReranker | None
    chat: ChatModel | None
    introducer: Introducer
    usage: ModelUsage
    parts: tuple[Part, ...]
    providers: Mapping[str, Callable[..., Any]]
    """Factories of memory providers, by name, beside the built-in ones."""
    provider_timeout_seconds: float
    services: dict[type[Any], object] = field(default_factory=dict[type[Any], object])
    sweeps: list[Sweep] = field(default_factory=list[Sweep])
    """Functions that the job `expiry` calls for each user, beside its work on memories; a part adds its own."""
    erasure_listeners: list[Callable[[str], None]] = field(default_factory=list[Callable[[str], None]])
    """Called with the tenant of which something was erased, to drop what is cached of it."""

    def add(self, service: ServiceT) -> ServiceT:
        """Register a service by its class, and return it."""
        self.services[type(service)] = service
        return service

    def open(self, service: ClosingT) -> ClosingT:
        """Register a service that is closed with the engine, before those that were opened earlier."""
        self.stack.push_async_callback(service.close)
        return self.add(service)

    def get(self, kind: type[ServiceT]) -> ServiceT:
        """Return the service of a class. Raises LookupError if no earlier part made it."""
        try:
            service = self.services[kind]
        except KeyError:
            raise LookupError(f"no part made {kind.__name__}; parts are made in the order of keeps.parts") from None
        assert isinstance(service, kind)
        return service

    def chat_for(self, job: str) -> CountedChat | None:
        """Return the LLM with its use counted for a job; None without an LLM."""
        from keeps.models.counted import CountedChat

        return None if self.chat is None else CountedChat(self.chat, self.metrics, job, self.usage)

    def erased(self, tenant_id: str) -> None:
        """Tell all listeners that something of a tenant was erased."""
        for listener in self.erasure_listeners:
            listener(tenant_id)

    @property
    def jobs(self) -> tuple[Job, ...]:
        return tuple(job for part in self.parts for job in part.jobs)

    @property
    def exports(self) -> tuple[Export[Any], ...]:
        return tuple(export for part in self.parts for export in part.exports)


def _none(_: Core) -> tuple[EndpointHandler, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Part:
    """A noun: its services, endpoints, jobs and lines of an export."""

    name: str
    make: Callable[[Core], None]
    endpoints: Callable[[Core], Iterable[EndpointHandler]] = _none
    jobs: tuple[Job, ...] = ()
    exports: tuple[Export[Any], ...] = ()

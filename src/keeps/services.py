"""Every service of an engine, and what the memory of a scope is made of."""

from __future__ import annotations

from dataclasses import dataclass

from keeps.access.keys import KeyService
from keeps.context.router import ContextRouter
from keeps.events.service import EventService
from keeps.exchanges.service import ExchangeService
from keeps.forgetting import Forgetting
from keeps.graph.reading import Reader
from keeps.graph.service import GraphService
from keeps.indexing.service import Indexer
from keeps.insights.service import InsightService
from keeps.jobs.worker import JobQueue, Worker
from keeps.lifecycle.operations import OperationService
from keeps.lifecycle.service import Lifecycle
from keeps.memories.service import MemoryService
from keeps.plans.service import PlanService
from keeps.providers.service import ProviderService
from keeps.recall.service import RecallService
from keeps.scope import Scope
from keeps.sessions.service import SessionService
from keeps.tasks.service import TaskService
from keeps.transfer.erasure import TenantService
from keeps.transfer.service import TransferService
from keeps.webhooks.service import WebhookService
from keeps.working.service import WorkingService


@dataclass(frozen=True, slots=True)
class Services:
    """Made by the composition root."""

    memories: MemoryService
    forgetting: Forgetting
    recall: RecallService
    indexer: Indexer
    working: WorkingService
    sessions: SessionService
    plans: PlanService
    tasks: TaskService
    providers: ProviderService
    graph: GraphService
    reader: Reader
    events: EventService
    webhooks: WebhookService
    keys: KeyService
    tenants: TenantService
    transfer: TransferService
    exchanges: ExchangeService
    router: ContextRouter
    insights: InsightService
    operations: OperationService
    lifecycle: Lifecycle
    worker: Worker
    queue: JobQueue


class Scoped:
    """A scope and the services that act for it."""

    def __init__(self, scope: Scope, services: Services) -> None:
        self.scope = scope
        self.services = services

"""The part of databases that are queried."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from keeps.base.scope import Scope
from keeps.memory.context.sources import SourceService
from keeps.memory.memories.service import MemoryService
from keeps.part import Core, EndpointHandler, Part, serves
from keeps.sources.databases import store
from keeps.sources.databases.export import EXPORTS
from keeps.sources.databases.runner import Runner
from keeps.sources.databases.sealing import KeyRing
from keeps.sources.databases.service import DatabaseService
from keeps.sources.databases.targets import Reach
from keeps.store.db.session import Database
from keeps_client.models import QueryResult
from keeps_client.models import databases as api


def make(core: Core) -> None:
    sources = core.get(SourceService)
    core.open(
        DatabaseService(
            core.database,
            core.introducer,
            core.get(MemoryService),
            Runner(core.database, Reach(core.settings.databases_allow)),
            KeyRing(core.settings.secret_keys),
            core.chat_for("queries"),
            core.embedder,
            core.clock,
            core.metrics,
            sources.add,
            sources.remove,
        )
    )
    core.sweeps.append(partial(_forget_audits, core.database))


async def _forget_audits(database: Database, scope: Scope, now: datetime) -> int:
    """Remove the user's old audits of queries. They are no memories, so they are not counted."""
    async for attempt in database.writing(scope):
        async with attempt as tx:
            await store.forget_audits(tx, now - store.AUDIT_KEPT)
    return 0


def endpoints(core: Core) -> tuple[EndpointHandler, ...]:
    service = core.get(DatabaseService)

    async def query(scope: Scope, database: api.DatabaseName, query: api.DatabaseQuery) -> QueryResult:
        if query.sql is not None:
            return await service.query_sql(scope, database.name, query.sql)
        # The path may hold a name that no database can have; the service then finds none.
        question = api.DataQuestion.model_construct(
            question=query.question, database=database.name, remember=query.remember
        )
        return await service.query_data(scope, question)

    return (
        serves(api.ADD_DATABASE, lambda s, _, b: service.add(s, b)),
        serves(api.LIST_DATABASES, lambda s, _, __: service.list(s)),
        serves(api.REFRESH_DATABASE, lambda s, p, _: service.refresh(s, p.name)),
        serves(api.REMOVE_DATABASE, lambda s, p, _: service.remove(s, p.name)),
        serves(api.QUERY_DATA, lambda s, _, b: service.query_data(s, b)),
        serves(api.QUERY_SQL, query),
        serves(api.LIST_QUERIES, lambda s, p, _: service.audits(s, p)),
    )


PART = Part("databases", make, endpoints, exports=EXPORTS)
